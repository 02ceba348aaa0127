/* bench infer - inference of a model, on batches and on single images. */
#include "bench_model.h"
#include "tools/setting_hint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *precision_name(int i)
{
    static const char *const names[] = {"float32", "bf16", "int8"};
    return i < 3 ? names[i] : NULL;
}

static int mode_of(const char *precision)
{
    return !strcmp(precision, "int8")   ? BENCH_INT8
           : !strcmp(precision, "bf16") ? BENCH_BFLOAT16
                                        : 0;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const bench_values *o = v;
    const int both = o->batch == OPTION_UNSET, threads = ssm2d_context_threads(context);
    const double seconds = (o->quick ? 2 : 30) / (both ? 2.0 : 1.0);
    const int task = BENCH_INFERENCE | mode_of(o->precision);
    model_config config;
    bench_outcome r, one = {.spread = 0};
    ssm2d_status status = bench_model_config(o, &config, error);
    if (!status)
        status = bench_compare(context, &config, both ? 128 : (size_t)o->batch, task, seconds, &r,
                               error);
    if (!status && both) status = bench_compare(context, &config, 1, task, seconds, &one, error);
    if (status) return status;
    if (o->json) {
        printf("{\"model\":\"%s\",\"mixer\":\"%s\",", config.model->name, config.mixer.kind->name);
        bench_outcome_json(&r, threads);
        if (both) {
            printf(",\n\"single\":{");
            bench_outcome_json(&one, threads);
            printf("}");
        }
        printf("}\n");
    } else {
        bench_outcome_head(context, &config, "inference", threads);
        bench_outcome_table(&r, 0);
        if (both) bench_outcome_table(&one, 0);
    }
    bench_warn(fmax(r.spread, one.spread));
    return SSM2D_OK;
}

static const option options[] = {
#include "bench_model_options.def"
    {"precision", OPTION_CHOICE, BENCH_AT(precision),
     "factors of matrix products; bf16, and int8 with ranges from the random images, are timed "
     "beside float32",
     .choice = precision_name, .default_value = "float32"},
    {0}};

const command command_bench_infer = {
    "bench infer",
    "inference of a model, on a batch and on one image",
    "Times inference on random images through the C API (ssm2d_model.h), with kernels computed "
    "beforehand, beside the same "
    "model without a mixer and beside oneDNN's sgemm on large matrices, in alternation; "
    "prints medians, and the time of each operator. Without --batch, for batches of 128 "
    "images and of one.\n"
    "bench/peers/torch_vit.py, torch_swin.py and torch_mega.py time the same with PyTorch, "
    "onnxruntime_vit.py with ONNX Runtime.",
    options,
    bench_model_check,
    run,
    .setting = setting_of_model};
