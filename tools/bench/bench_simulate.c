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
    sum->many += serial + run;
    sum->serial += serial;
    sum->uneven += ideal - work / threads;
    sum->pool += run - ideal;
}

static int longest_first(const void *a, const void *b)
{
    const simulated_op *x = a, *y = b;
    return (x->many < y->many) - (x->many > y->many);
}

/* The time of a recorded step; s, unless NULL, gets the time of each operator. */
static simulated_op simulate(simulation *s, const step_record *r, int threads,
                             const pool_costs *costs, void *scratch)
{
    simulated_op step = {.name = "step"};
    for (size_t i = 0; i < r->count; i++) {
        const double *t = r->times + r->items[i].first;
        if (s) add_item(op_of(s, &r->items[i]), &r->items[i], t, threads, costs, scratch);
        add_item(&step, &r->items[i], t, threads, costs, scratch);
    }
    return step;
}

/* Adds the time of each operator with one thread, from a step that was split for one thread. */
static void add_one_thread(simulation *s, const step_record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const double *t = r->times + r->items[i].first;
        simulated_op *sum = op_of(s, &r->items[i]);
        for (size_t k = 0; k <= r->items[i].tasks; k++) {
            sum->one += 1e3 * t[k];
            s->step.one += 1e3 * t[k];
        }
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* A model whose steps are recorded on one thread, split into tasks for `threads`; and the same
 * model with as many real threads, or NULL. */
typedef struct testbed {
    ssm2d_context *recording, *real_threads;
    bench_model *recorded, *measured;
    step_trace *trace;
} testbed;

static void testbed_destroy(testbed *b)
{
    bench_model_destroy(b->recorded);
    step_trace_destroy(b->trace);
    bench_model_destroy(b->measured);
    ssm2d_context_destroy(b->recording);
    ssm2d_context_destroy(b->real_threads);
}

static ssm2d_status make_context(int threads, ssm2d_context **context, ssm2d_error *error)
{
    ssm2d_context_options o;
    ssm2d_context_options_init(&o, sizeof o);
    o.threads = threads;
    return ssm2d_context_create(&o, context, error);
}

static ssm2d_status testbed_create(testbed *b, const model_config *config, size_t batch,
                                   int threads, int measures, ssm2d_error *error)
{
    ssm2d_status status = make_context(1, &b->recording, error);
    if (status) return status;
    status = step_trace_create(b->recording, threads, MAX_ROUNDS, &b->trace, error);
    if (!status)
        status =
            bench_model_create(b->recording, config, batch, BENCH_TRAINING, &b->recorded, error);
    if (status || !measures) return status;
    status = make_context(threads, &b->real_threads, error);
    return status ? status
                  : bench_model_create(b->real_threads, config, batch, BENCH_TRAINING, &b->measured,
                                       error);
}

/* Records steps, and with a check times real ones in alternation. The record belongs to the
 * testbed. */
static ssm2d_status record_steps(testbed *b, double seconds, int *rounds, simulation_check *check,
                                 double *spread, step_record *record, ssm2d_error *error)
{
    double measured[MAX_ROUNDS];
    const double start = bench_now();
    ssm2d_status status = SSM2D_OK;
    int n = 0;
    while (!status && n < MAX_ROUNDS && (n < MIN_ROUNDS || bench_now() - start < seconds * 1e3)) {
        status = step_trace_record(b->trace, b->recorded, error);
        if (check && !status) measured[n] = bench_time(bench_model_run, b->measured, 1);
        n++;
    }
    if (!status) status = step_trace_medians(b->trace, record, error);
    if (status) return status;
    *rounds = n;
    if (!check) return SSM2D_OK;
    check->measured = bench_median(measured, n);
    *spread = fmax(*spread, check->measured / measured[0]); /* sorted: the shortest is first */
    return SSM2D_OK;
}

ssm2d_status bench_simulate(const model_config *config, size_t batch, int threads, double seconds,
                            simulation *s, ssm2d_error *error)
{
    *s = (simulation){.threads = threads};
    ssm2d_status status = pool_costs_measure(&s->costs, error);
    if (status) return status;
    s->check_count = processors_available() < 2 ? 1 : SIMULATION_CHECKS;
    for (int i = -1; i < s->check_count && !status; i++) { /* -1: the threads to simulate */
        testbed b = {.trace = NULL};
        step_record record;
        simulation_check *check = i < 0 ? NULL : &s->checks[i];
        int rounds;
        const int cut_for = i < 0 ? threads : i + 1;
        status = testbed_create(&b, config, batch, cut_for, check != NULL, error);
        void *scratch = b.recording ? mem_alloc(b.recording, pool_schedule_bytes(cut_for)) : NULL;
        if (!status && !scratch) status = fail_memory(error, "%d threads", cut_for);
        if (!status)
            status = record_steps(&b, seconds / 3, &rounds, check, &s->spread, &record, error);
        if (!status && !check) {
            s->rounds = rounds;
            s->step = simulate(s, &record, threads, &s->costs, scratch);
        }
        if (!status && check) {
            check->threads = cut_for;
            check->simulated = simulate(NULL, &record, cut_for, &s->costs, scratch).many;
        }
        if (!status && cut_for == 1 && check) add_one_thread(s, &record);
        if (b.recording) mem_free(b.recording, scratch);
        testbed_destroy(&b);
    }
    qsort(s->ops, (size_t)s->op_count, sizeof *s->ops, longest_first);
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
    printf("thread pool: %.0f ns until a worker sees a run, %.0f ns to take a task, %.0f ns per "
           "worker at the end\n",
           1e9 * s->costs.signal, 1e9 * s->costs.counter, 1e9 * s->costs.line);
    printf("%-16s %-8s %6s %6s %10s %10s %8s %8s %9s %9s %9s\n", "operator", "", "runs", "tasks",
           "1 thr. ms", "all ms", "speed-up", "share", "serial", "uneven", "pool");
    for (int i = 0; i < s->op_count; i++) print_row(&s->ops[i], &s->step);
    print_row(&s->step, &s->step);
}
