/* bench train - the training step of a model: forward, backward, AdamW. */
#include "bench_model.h"
#include "bench_together.h"
#include "processes.h"
#include "setting_hint.h"

#include <stdio.h>

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const bench_values *o = v;
    model_config config;
    bench_outcome r;
    const size_t batch = o->batch == OPTION_UNSET ? 128 : (size_t)o->batch;
    ssm2d_status status = bench_model_config(o, &config, error);
    if (!status && processes()->size > 1)
        return bench_together(context, &config, batch, o->quick ? 4 : 30, o->json, error);
    if (!status) status = bench_compare(context, &config, batch, 1, o->quick ? 2 : 30, &r, error);
    if (status) return status;
    if (o->json) {
        printf("{\"model\":\"%s\",\"mixer\":\"%s\",", config.model->name, config.mixer.kind->name);
        bench_outcome_json(&r, ssm2d_context_threads(context));
        printf("}\n");
    } else {
        bench_outcome_head(context, &config, "training");
        bench_outcome_table(&r, 1);
    }
    bench_warn(r.spread);
    return SSM2D_OK;
}

const command command_bench_train = {
    "bench train",
    "the training step of a model, operator by operator",
    "Times a training step (forward, backward, AdamW; cross-entropy, random images) beside "
    "that of the same model without a mixer and beside oneDNN's sgemm on large matrices, in "
    "alternation; prints medians, and the time of each operator.\n"
    "The share of the sgemm peak is that of the step's matrix products, counted from the "
    "shapes (a Linear layer: forward, dx and dW; attention: 2 products forward, 5 backward), "
    "over the time of the whole step. Peak memory is that of the process with this model "
    "alone.\n"
    "In several processes (mpirun -np N) it times the step that they make together, of which each "
    "has a part of the batch, with the sum in a fixed order and without (docs/scaling.md): the "
    "bytes that a process sends, the part of the time in communication, and the part in which "
    "nothing is computed for it.\n"
    "bench/peers/torch_vit.py and torch_swin.py time the same with PyTorch.",
    bench_model_options,
    bench_model_check,
    run,
    .setting = setting_of_model,
    .several = 1};
