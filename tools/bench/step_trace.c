#include "step_trace.h"

#include "core/clock.h"
#include "core/context.h"
#include "core/status.h"

#include <string.h>

struct step_trace {
    ssm2d_context *context;
    pool_executor executor;
    int recording;
    trace_item *items;
    double *times, *sorted;                       /* [steps][time_count], [max_steps] */
    size_t item_count, time_count, item_capacity; /* time_count: of one step */
    size_t time_capacity;                         /* of all steps */
    int steps, max_steps;
    /* of the step that is being recorded */
    size_t item, time;
    const char *op;
    int backward, depth; /* depth: of runs within tasks */
    double last;         /* when the last time was taken */
    double clock;        /* seconds that reading the clock takes */
    int failed, differs;
};

/* As mem_grow. The pool clears large memory, which is not part of the step. */
static void *grow(step_trace *t, void *list, size_t element, size_t count, size_t *capacity)
{
    t->depth++;
    void *larger = t->failed ? NULL : mem_grow(t->context, list, element, count, 1, capacity);
    t->depth--;
    t->failed |= !larger;
    return larger;
}

/* Records the time since the last one. */
static void take_time(step_trace *t)
{
    const double now = clock_seconds(), spent = now - t->last - t->clock;
    const size_t at = (size_t)t->steps * t->time_count + t->time;
    double *times = grow(t, t->times, sizeof *times, at, &t->time_capacity);
    if (times) {
        t->times = times;
        t->times[at] = spent > 0 ? spent : 0;
    }
    t->time++;
    t->last = clock_seconds();
}

/* The next item: recorded in the first step, compared in the others. */
static void next_item(step_trace *t, size_t tasks)
{
    const trace_item item = {t->op, t->backward, tasks, t->time};
    const size_t at = t->item++;
    if (t->steps == 0) {
        trace_item *items = grow(t, t->items, sizeof *items, t->item_count, &t->item_capacity);
        if (!items) return;
        t->items = items;
        t->items[t->item_count++] = item;
    } else if (at >= t->item_count || t->items[at].tasks != tasks
               || t->items[at].first != item.first) {
        t->differs = 1;
    }
}

/* A run within a task is part of the task. */
static void execute(void *user, size_t tasks, pool_task run, void *arg)
{
    step_trace *t = user;
    const int records = t->recording && t->depth++ == 0;
    if (records) {
        next_item(t, tasks);
        take_time(t);
    }
    for (size_t task = 0; task < tasks; task++) {
        run(arg, task, 0);
        if (records) take_time(t);
    }
    t->depth -= t->recording;
}

static void operator_begins(void *arg, const char *name, int backward)
{
    step_trace *t = arg;
    next_item(t, 0);
    take_time(t);
    t->op = name;
    t->backward = backward;
}

static double clock_cost(void)
{
    enum { CALLS = 4096 };
    const double start = clock_seconds();
    double last = start;
    for (int i = 0; i < CALLS; i++) last = clock_seconds();
    return (last - start) / CALLS;
}

ssm2d_status step_trace_create(ssm2d_context *context, int threads, int max_steps, step_trace **out,
                               ssm2d_error *error)
{
    step_trace *t = mem_alloc(context, sizeof *t);
    double *sorted = mem_alloc(context, (size_t)max_steps * sizeof *sorted);
    if (!t || !sorted) {
        mem_free(context, t);
        mem_free(context, sorted);
        return fail_memory(error, "recording a step");
    }
    *t = (step_trace){.context = context,
                      .executor = {threads, t, execute},
                      .sorted = sorted,
                      .max_steps = max_steps,
                      .clock = clock_cost()};
    pool_delegate(context->pool, &t->executor);
    *out = t;
    return SSM2D_OK;
}

void step_trace_destroy(step_trace *t)
{
    if (!t) return;
    ssm2d_context *context = t->context;
    pool_delegate(context->pool, NULL);
    mem_free(context, t->items);
    mem_free(context, t->times);
    mem_free(context, t->sorted);
    mem_free(context, t);
}

ssm2d_status step_trace_record(step_trace *t, bench_model *m, ssm2d_error *error)
{
    if (t->steps == t->max_steps)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%d steps are recorded already", t->steps);
    t->item = t->time = 0;
    t->op = NULL;
    t->recording = 1;
    bench_model_watch(m, operator_begins, t);
    t->last = clock_seconds();
    bench_model_run(m);
    operator_begins(t, NULL, 0);
    bench_model_watch(m, NULL, NULL);
    t->recording = 0;
    if (t->failed) return fail_memory(error, "tasks of a step");
    if (t->steps == 0) t->time_count = t->time;
    if (t->differs || t->item != t->item_count || t->time != t->time_count)
        return fail(error, SSM2D_ERROR_ARGUMENT, "a step has other tasks than the step before it");
    t->steps++;
    return SSM2D_OK;
}

ssm2d_status step_trace_medians(step_trace *t, step_record *record, ssm2d_error *error)
{
    if (!t->steps) return fail(error, SSM2D_ERROR_ARGUMENT, "no step is recorded");
    for (size_t i = 0; i < t->time_count; i++) {
        for (int s = 0; s < t->steps; s++) t->sorted[s] = t->times[(size_t)s * t->time_count + i];
        t->times[i] = bench_median(t->sorted, t->steps);
    }
    *record = (step_record){t->items, t->item_count, t->times};
    return SSM2D_OK;
}
