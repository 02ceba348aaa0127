/* bench_together - `bench train` in several processes: a data-parallel step. */
#include "bench_model.h"
#include "bench_step.h"
#include "core/arith.h"
#include "core/status.h"
#include "tools/processes.h"

#include <stdio.h>

enum { ORDERED, UNORDERED, MODES, ROUNDS = 5, SLICES = 8 };

static const char *const names[MODES] = {"ordered", "unordered"};

/* Medians over the rounds, in each of which both modes are timed. */
typedef struct outcome {
    bench_step_cost cost[MODES];
    double ratio; /* of the ordered step to the unordered one of the same round */
} outcome;

static ssm2d_status measure(bench_step *const *steps, double seconds, outcome *o,
                            ssm2d_error *error)
{
    double ms[MODES][ROUNDS], working[MODES][ROUNDS], waiting[MODES][ROUNDS], ratio[ROUNDS];
    ssm2d_status status = SSM2D_OK;
    for (int r = 0; r < ROUNDS && !status; r++) {
        for (int m = 0; m < MODES && !status; m++) {
            status = bench_step_measure(steps[m], seconds / ROUNDS / MODES, &o->cost[m], error);
            ms[m][r] = o->cost[m].ms;
            working[m][r] = o->cost[m].working;
            waiting[m][r] = o->cost[m].waiting;
        }
        ratio[r] = ms[ORDERED][r] / ms[UNORDERED][r];
    }
    for (int m = 0; m < MODES && !status; m++) {
        o->cost[m].ms = bench_median(ms[m], ROUNDS);
        o->cost[m].working = bench_median(working[m], ROUNDS);
        o->cost[m].waiting = bench_median(waiting[m], ROUNDS);
    }
    o->ratio = bench_median(ratio, ROUNDS);
    return status;
}

static void print_json(const model_config *config, size_t batch, int threads, int slices,
                       const outcome *o)
{
    printf("{\"model\":\"%s\",\"mixer\":\"%s\",\"batch\":%zu,\"processes\":%d,\"threads\":%d,"
           "\"slices\":%d",
           config->model->name, config->mixer.kind->name, batch, processes()->size, threads,
           slices);
    bench_number("ordered_to_unordered", o->ratio);
    for (int m = 0; m < MODES; m++) {
        const bench_step_cost *c = &o->cost[m];
        printf(",\n\"%s\":{\"step_ms\":%.6g", names[m], c->ms);
        bench_number("images_per_s", (double)batch * 1e3 / c->ms);
        printf(",\"bytes_per_step\":%.0f,\"communication\":%.4f,\"waiting\":%.4f}", c->bytes,
               (c->working + c->waiting) / c->ms, c->waiting / c->ms);
    }
    printf("}\n");
}

static void print_table(size_t batch, int slices, const outcome *o)
{
    printf("\nbatch %zu in %d processes, %d slices (medians of %d rounds)\n", batch,
           processes()->size, slices, ROUNDS);
    printf("%-10s %10s %10s %14s %14s %9s\n", "sum", "images/s", "step ms", "sent MB/step",
           "communicating", "waiting");
    for (int m = 0; m < MODES; m++) {
        const bench_step_cost *c = &o->cost[m];
        printf("%-10s %10.1f %10.4g %14.3f %12.2f %% %7.2f %%\n", names[m],
               (double)batch * 1e3 / c->ms, c->ms, c->bytes * 1e-6,
               100 * (c->working + c->waiting) / c->ms, 100 * c->waiting / c->ms);
    }
    printf("the fixed order costs %.1f %% of the step's time\n", 100 * (o->ratio - 1));
}

ssm2d_status bench_together(ssm2d_context *context, const model_config *config, size_t batch,
                            double seconds, int json, ssm2d_error *error)
{
    cluster *c = processes();
    const int slices = max_int(SLICES, c->size);
    bench_step *steps[MODES] = {NULL};
    outcome o;
    if (c->size & (c->size - 1) || batch % (size_t)slices)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--batch=%zu in %d processes: the number of processes must be a power of two, "
                    "and the batch a multiple of %d",
                    batch, c->size, slices);
    ssm2d_status status = SSM2D_OK;
    for (int m = 0; m < MODES && !status; m++) {
        const bench_step_setup setup = {.context = context,
                                        .cluster = c,
                                        .config = config,
                                        .batch = batch,
                                        .slices = m == ORDERED ? slices : c->size,
                                        .unordered = m == UNORDERED};
        status = bench_step_create(&setup, &steps[m], error);
    }
    if (!status) status = measure(steps, seconds, &o, error);
    if (!status && json) print_json(config, batch, ssm2d_context_threads(context), slices, &o);
    if (!status && !json) {
        bench_outcome_head(context, config, "training", ssm2d_context_threads(context));
        print_table(batch, slices, &o);
    }
    for (int m = 0; m < MODES; m++) bench_step_destroy(steps[m]);
    return status;
}
