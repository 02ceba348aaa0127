/* bench train - the training step of a model: forward, backward, AdamW. */
#include "bench_model.h"
#include "bench_simulate.h"
#include "bench_step.h"
#include "core/status.h"
#include "tools/processes.h"
#include "tools/setting_hint.h"

#include <stdio.h>
#include <string.h>

static ssm2d_status run_simulation(ssm2d_context *context, const bench_values *o,
                                   const model_config *config, size_t batch, ssm2d_error *error)
{
    simulation s;
    ssm2d_status status =
        bench_simulate(config, batch, (int)o->simulate_threads, o->quick ? 5 : 60, &s, error);
    if (status) return status;
    if (o->json) {
        printf("{\"model\":\"%s\",\"mixer\":\"%s\",", config->model->name,
               config->mixer.kind->name);
        bench_simulation_json(&s, batch);
        printf("}\n");
    } else {
        bench_outcome_head(context, config, "training", s.threads);
        bench_simulation_table(&s, batch);
    }
    bench_warn(s.spread);
    return SSM2D_OK;
}

static int precision_task(const bench_values *o)
{
    if (!strcmp(o->precision, "bf16")) return BENCH_BFLOAT16;
    return !strcmp(o->precision, "bf16-tiles") ? BENCH_BFLOAT16_TILES : 0;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const bench_values *o = v;
    model_config config;
    bench_outcome r;
    const size_t batch = o->batch == OPTION_UNSET ? 128 : (size_t)o->batch;
    const int task =
        BENCH_TRAINING | (!strcmp(o->memory, "low") ? BENCH_LOW_MEMORY : 0) | precision_task(o);
    ssm2d_status status = bench_model_config(o, &config, error);
    if (!status && processes()->size > 1
        && (o->simulate_threads != OPTION_UNSET || task > BENCH_TRAINING))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--simulate-threads, --memory low and --precision are measured in one "
                    "process, not in %d",
                    processes()->size);
    if (!status && o->simulate_threads != OPTION_UNSET)
        return run_simulation(context, o, &config, batch, error);
    if (!status && processes()->size > 1)
        return bench_together(context, &config, batch, o->quick ? 4 : 30, o->json, error);
    if (!status)
        status = bench_compare(context, &config, batch, task, o->quick ? 2 : 30, &r, error);
    if (status) return status;
    if (o->json) {
        printf("{\"model\":\"%s\",\"mixer\":\"%s\",", config.model->name, config.mixer.kind->name);
        bench_outcome_json(&r, ssm2d_context_threads(context));
        printf("}\n");
    } else {
        bench_outcome_head(context, &config, "training", ssm2d_context_threads(context));
        bench_outcome_table(&r, 1);
    }
    bench_warn(r.spread);
    return SSM2D_OK;
}

static const char *memory_name(int i)
{
    static const char *const names[] = {"normal", "low"};
    return i < 2 ? names[i] : NULL;
}

static const char *precision_name(int i)
{
    static const char *const names[] = {"float32", "bf16", "bf16-tiles"};
    return i < 3 ? names[i] : NULL;
}

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const bench_values *o = v;
    if (o->simulate_threads != OPTION_UNSET && (!strcmp(o->memory, "low") || precision_task(o)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--simulate-threads cannot be combined with --memory low or --precision");
    return bench_model_check(v, error);
}

static const option options[] = {
#include "bench_model_options.def"
    {"simulate-threads", OPTION_INT, BENCH_AT(simulate_threads),
     "predict the time of a step with this many threads from the times of its tasks, measured with "
     "one and with two threads (ignores --threads)",
     .low = 1, .high = 1024},
    {"memory", OPTION_CHOICE, BENCH_AT(memory), "as --memory of train; low is timed beside normal",
     .choice = memory_name, .default_value = "normal"},
    {"precision", OPTION_CHOICE, BENCH_AT(precision),
     "as --precision of train; others are timed beside float32", .choice = precision_name,
     .default_value = "float32"},
    {0}};

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
    "With --simulate-threads, a step is split into the tasks that it would have with that many "
    "threads, but runs on one thread, which records the time of each task. The tasks are then "
    "scheduled as the thread pool would: each thread takes the next task when it is free, and all "
    "wait for the last. The pool's overhead per run is measured between two threads here; where "
    "threads wait for each other it is multiplied by their number. The table shows what limits the "
    "speed-up of an operator: work outside tasks (serial), threads waiting for the longest task "
    "(uneven), and the pool. Contention for memory bandwidth, caches and power is not simulated. "
    "The same simulation for 1 and 2 threads is compared with real threads; its error shows how "
    "far to trust the prediction.\n"
    "In several processes (mpirun -np N) it times a data-parallel step, with the sum of gradients "
    "in a fixed order and without (docs/scaling.md), and prints the bytes that a process sends, "
    "the share of the time spent in communication, and the share in which the process waits for "
    "it.\n"
    "bench/peers/torch_vit.py, torch_swin.py and torch_mega.py time the same with PyTorch.",
    options,
    check,
    run,
    .setting = setting_of_model,
    .several = SEVERAL_TOGETHER};
