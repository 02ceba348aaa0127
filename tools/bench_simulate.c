#include "bench_simulate.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/processors.h"
#include "core/status.h"
#include "step_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 41, MIN_ROUNDS = 3 };
static const pool_costs no_costs = {0, 0, 0};

/* ---- simulating ------------------------------------------------------------------------------ */

static simulated_op *op_of(simulation *s, const trace_item *item)
{
    const char *name = item->op ? item->op : "between";
    for (int i = 0; i < s->op_count; i++)
        if (!strcmp(s->ops[i].name, name) && s->ops[i].backward == item->backward)
            return &s->ops[i];
    if (s->op_count == SIMULATED_OPS) return &s->ops[SIMULATED_OPS - 1];
    s->ops[s->op_count] = (simulated_op){.name = name, .backward = item->backward};
    return &s->ops[s->op_count++];
}

/* Adds one item, in milliseconds. */
static void add_item(simulated_op *sum, const trace_item *item, const double *times, int threads,
                     const pool_costs *costs, void *scratch)
{
    const double *tasks = times + 1, serial = 1e3 * times[0];
    double work = 0;
    for (size_t i = 0; i < item->tasks; i++) work += 1e3 * tasks[i];
    const double ideal = 1e3 * pool_schedule(tasks, item->tasks, threads, &no_costs, scratch),
                 run = 1e3 * pool_schedule(tasks, item->tasks, threads, costs, scratch);
    sum->runs += item->tasks > 0;
    sum->tasks += (long)item->tasks;
    sum->one += serial + work;
    sum->many += serial + run;
    sum->serial += serial;
    sum->uneven += ideal - work / threads;
    sum->pool += run - ideal;
}

static double simulated_step(const trace_item *items, size_t count, const double *times,
                             int threads, const pool_costs *costs, void *scratch)
{
    simulated_op step = {0};
    for (size_t i = 0; i < count; i++)
        add_item(&step, &items[i], times + items[i].first, threads, costs, scratch);
    return step.many;
}

static int longest_first(const void *a, const void *b)
{
    const simulated_op *x = a, *y = b;
    return (x->many < y->many) - (x->many > y->many);
}

static void simulate(simulation *s, const trace_item *items, size_t count, const double *times,
                     void *scratch)
{
    s->op_count = 0;
    s->step = (simulated_op){.name = "step"};
    for (size_t i = 0; i < count; i++) {
        const double *t = times + items[i].first;
        add_item(op_of(s, &items[i]), &items[i], t, s->threads, &s->costs, scratch);
        add_item(&s->step, &items[i], t, s->threads, &s->costs, scratch);
    }
    qsort(s->ops, (size_t)s->op_count, sizeof *s->ops, longest_first);
    for (int i = 0; i < s->check_count; i++)
        s->checks[i].simulated =
            simulated_step(items, count, times, s->checks[i].threads, &s->costs, scratch);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The same model in a context of one thread, and in one of two. */
typedef struct bed {
    ssm2d_context *contexts[SIMULATION_CHECKS];
    bench_model *models[SIMULATION_CHECKS];
    step_trace *trace;
    void *scratch; /* of pool_schedule */
} bed;

static void bed_clear(bed *b)
{
    if (b->contexts[0]) mem_free(b->contexts[0], b->scratch);
    step_trace_destroy(b->trace);
    for (int i = 0; i < SIMULATION_CHECKS; i++) {
        bench_model_destroy(b->models[i]);
        ssm2d_context_destroy(b->contexts[i]);
    }
}

static ssm2d_status bed_make(bed *b, const model_config *config, size_t batch, simulation *s,
                             ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    s->check_count = processors_available() < 2 ? 1 : SIMULATION_CHECKS;
    for (int i = 0; i < s->check_count && !status; i++) {
        ssm2d_context_options o;
        ssm2d_context_options_init(&o, sizeof o);
        s->checks[i] = (simulation_check){.threads = i + 1};
        o.threads = i + 1;
        status = ssm2d_context_create(&o, &b->contexts[i], error);
        if (!status)
            status = bench_model_create(b->contexts[i], config, batch, 1, &b->models[i], error);
    }
    if (!status) status = step_trace_create(b->contexts[0], MAX_ROUNDS, &b->trace, error);
    if (status) return status;
    b->scratch =
        mem_alloc(b->contexts[0], pool_schedule_bytes(max_int(s->threads, SIMULATION_CHECKS)));
    return b->scratch ? SSM2D_OK
                      : fail(error, SSM2D_ERROR_MEMORY, "no memory for %d threads", s->threads);
}

ssm2d_status bench_simulate(const model_config *config, size_t batch, int threads, double seconds,
                            simulation *s, ssm2d_error *error)
{
    double measured[SIMULATION_CHECKS][MAX_ROUNDS];
    const trace_item *items;
    const double *times;
    size_t count;
    bed b = {.scratch = NULL};
    *s = (simulation){.threads = threads};
    ssm2d_status status = pool_costs_measure(&s->costs, error);
    if (!status) status = bed_make(&b, config, batch, s, error);
    const double start = bench_now();
    int n = 0;
    while (!status && n < MAX_ROUNDS && (n < MIN_ROUNDS || bench_now() - start < seconds * 1e3)) {
        status = step_trace_record(b.trace, b.models[0], error);
        for (int i = 0; i < s->check_count && !status; i++)
            measured[i][n] = bench_time(bench_model_run, b.models[i], 1);
        n++;
    }
    if (!status) status = step_trace_medians(b.trace, &items, &count, &times, error);
    if (!status) {
        s->rounds = n;
        simulate(s, items, count, times, b.scratch);
        for (int i = 0; i < s->check_count; i++)
            s->checks[i].measured = bench_median(measured[i], n);
        s->spread = s->checks[0].measured / measured[0][0];
    }
    bed_clear(&b);
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static double error_of(const simulation_check *c) { return c->simulated / c->measured - 1; }

static void print_op_json(const simulated_op *o)
{
    printf("\"runs\":%ld,\"tasks\":%ld", o->runs, o->tasks);
    bench_number("one_ms", o->one);
    bench_number("many_ms", o->many);
    bench_number("speedup", o->one / o->many);
    printf(",\"serial_ms\":%.5g,\"uneven_ms\":%.5g,\"pool_ms\":%.5g", o->serial, o->uneven,
           o->pool);
}

void bench_simulation_json(const simulation *s, size_t batch)
{
    printf("\"batch\":%zu,\"simulated_threads\":%d,\"rounds\":%d,", batch, s->threads, s->rounds);
    print_op_json(&s->step);
    printf(",\"costs_ns\":{\"signal\":%.4g,\"counter\":%.4g,\"line\":%.4g},\"check\":[",
           1e9 * s->costs.signal, 1e9 * s->costs.counter, 1e9 * s->costs.line);
    for (int i = 0; i < s->check_count; i++)
        printf("%s{\"threads\":%d,\"simulated_ms\":%.5g,\"measured_ms\":%.5g,\"error\":%.4f}",
               i ? "," : "", s->checks[i].threads, s->checks[i].simulated, s->checks[i].measured,
               error_of(&s->checks[i]));
    printf("],\"ops\":[");
    for (int i = 0; i < s->op_count; i++) {
        printf("%s\n{\"op\":\"%s\",\"backward\":%s,", i ? "," : "", s->ops[i].name,
               s->ops[i].backward ? "true" : "false");
        print_op_json(&s->ops[i]);
        printf("}");
    }
    printf("]");
}

static void print_row(const simulated_op *o, const simulated_op *step)
{
    printf("%-16s %-8s %6ld %6ld %10.3f %10.3f %8.1f %6.1f %% %9.3f %9.3f %9.3f\n", o->name,
           o == step     ? ""
           : o->backward ? "backward"
                         : "forward",
           o->runs, o->tasks, o->one, o->many, o->one / o->many, 100 * o->many / step->many,
           o->serial, o->uneven, o->pool);
}

void bench_simulation_table(const simulation *s, size_t batch)
{
    printf("\nbatch %zu, simulated %d threads: %.1f times as fast as one (medians of %d steps)\n",
           batch, s->threads, s->step.one / s->step.many, s->rounds);
    for (int i = 0; i < s->check_count; i++)
        printf("check: %d thread%s simulated %.4g ms, measured %.4g ms, error %+.1f %%\n",
               s->checks[i].threads, i ? "s" : "", s->checks[i].simulated, s->checks[i].measured,
               100 * error_of(&s->checks[i]));
    printf(
        "the pool: %.0f ns until a worker sees a run, %.0f ns for a task number in turn, %.0f ns "
        "for each worker at the end\n",
        1e9 * s->costs.signal, 1e9 * s->costs.counter, 1e9 * s->costs.line);
    printf("%-16s %-8s %6s %6s %10s %10s %8s %8s %9s %9s %9s\n", "operator", "", "runs", "tasks",
           "1 thr. ms", "all ms", "speed-up", "share", "serial", "uneven", "pool");
    for (int i = 0; i < s->op_count; i++) print_row(&s->ops[i], &s->step);
    print_row(&s->step, &s->step);
}
