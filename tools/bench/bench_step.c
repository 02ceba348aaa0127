#include "bench_step.h"

#include "bench.h"
#include "bench_model.h"
#include "bench_training.h"
#include "core/context.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

enum { MIN_STEPS = 3, MAX_STEPS = 500, MAX_VISITS = 1 << 16 };

struct bench_step {
    bench_step_setup setup;
    bench_training training; /* with this process's slices */
    batch_gradient *gradient;
    /* of a timeline */
    double *visits, last;
    int visit_count;
};

/* ---- running --------------------------------------------------------------------------------- */

ssm2d_status bench_step_run(bench_step *b, ssm2d_error *error)
{
    slice_sums sums;
    double scratch;
    int abandoned;
    bench_training *t = &b->training;
    t->graph->step = (uint64_t)t->steps;
    batch_gradient_begin(b->gradient, NULL);
    for (int i = 0; i < batch_gradient_own(b->gradient); i++) {
        slice_sums own = {0};
        bench_training_slice(t, i);
        batch_gradient_forward(b->gradient, i, &own.loss);
        batch_gradient_backward(b->gradient, i, own);
    }
    ssm2d_status status = batch_gradient_finish(b->gradient, &sums, &abandoned, error);
    if (!status) status = cluster_sum(b->setup.cluster, &sums.loss, &scratch, 1, error);
    if (!status && !isfinite(sums.loss))
        status = fail(error, SSM2D_ERROR_ARGUMENT, "the model's loss is not finite");
    if (!status) {
        batch_gradient_move_state(b->gradient);
        bench_training_update(&b->training);
    }
    return status;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Replaces *value by its maximum over all processes. */
static ssm2d_status max_over_processes(const bench_step *b, double *value, ssm2d_error *error)
{
    cluster *c = b->setup.cluster;
    double *all = mem_alloc(b->setup.context, (size_t)c->size * sizeof *all);
    if (!all) return fail_memory(error, "%d processes", c->size);
    const ssm2d_status status = cluster_gather(c, value, sizeof *value, all, error);
    for (int i = 0; i < c->size && !status; i++) *value = fmax(*value, all[i]);
    mem_free(b->setup.context, all);
    return status;
}

ssm2d_status bench_step_measure(bench_step *b, double seconds, bench_step_cost *cost,
                                ssm2d_error *error)
{
    cluster *c = b->setup.cluster;
    double samples[MAX_STEPS], elapsed = 0;
    ssm2d_status status = bench_step_run(b, error);
    const reduction_times before = batch_gradient_spent(b->gradient);
    const double bytes = c->bytes;
    double gathered = 0;
    int n = 0;
    for (; !status && (n < MIN_STEPS || (n < MAX_STEPS && elapsed < seconds * 1e3)); n++) {
        const double start = bench_now();
        status = bench_step_run(b, error);
        samples[n] = bench_now() - start;
        const double sent = c->bytes;
        /* the same value everywhere, so that all processes run the same number of steps */
        if (!status) status = max_over_processes(b, &samples[n], error);
        gathered += c->bytes - sent;
        elapsed += samples[n];
    }
    if (status) return status;
    const reduction_times after = batch_gradient_spent(b->gradient);
    *cost = (bench_step_cost){.ms = bench_median(samples, n),
                              .working = 1e3 * (after.working - before.working) / n,
                              .waiting = 1e3 * (after.waiting - before.waiting) / n,
                              .bytes = (c->bytes - bytes - gathered) / n};
    return SSM2D_OK;
}

static int note_visit(void *user, int visit)
{
    bench_step *b = user;
    const double now = bench_now();
    if (visit < b->visit_count) b->visits[visit] += now - b->last;
    b->last = now;
    return 0;
}

static int count_visit(void *user, int visit)
{
    bench_step *b = user;
    b->visit_count = visit + 1;
    return 0;
}

static void run_slice(bench_step *b, int (*after)(void *user, int visit))
{
    bench_training *t = &b->training;
    memset(t->grads, 0, t->weights->total * sizeof *t->grads);
    graph_bind(t->graph, t->params, t->grads);
    bench_training_slice(t, 0);
    t->graph->after_visit = after;
    t->graph->after_visit_user = b;
    b->last = bench_now();
    bench_training_gradient(t);
    t->graph->after_visit = NULL;
}

int bench_step_visits(bench_step *b)
{
    if (!b->visit_count) run_slice(b, count_visit);
    return b->visit_count;
}

ssm2d_status bench_step_timeline(bench_step *b, double seconds, double *visits, double *update_ms,
                                 ssm2d_error *error)
{
    double own = 0, slowest = 0;
    int n = 0;
    ssm2d_status status = SSM2D_OK;
    memset(visits, 0, (size_t)bench_step_visits(b) * sizeof *visits);
    b->visits = visits;
    *update_ms = 0;
    for (; !status && (n < MIN_STEPS || slowest < seconds * 1e3); n++) {
        const double start = bench_now();
        run_slice(b, note_visit);
        const double done = bench_now();
        bench_training_update(&b->training);
        const double updated = bench_now();
        double whole = 0;
        status = max_over_processes(b, &whole, error); /* a barrier: all end the step together */
        whole = bench_now() - start - (updated - done);
        if (!status) status = max_over_processes(b, &whole, error);
        own += done - start;
        slowest += whole;
        *update_ms += updated - done;
    }
    /* with fewer processors than processes, some processes wait for others */
    for (int i = 0; i < b->visit_count && !status; i++) visits[i] *= slowest / own / n;
    *update_ms /= n;
    return status;
}

const batch_gradient *bench_step_gradient(const bench_step *b) { return b->gradient; }

/* ---- creating -------------------------------------------------------------------------------- */

static ssm2d_status create(bench_step *b, ssm2d_error *error)
{
    const bench_step_setup *s = &b->setup;
    bench_training *t = &b->training;
    const size_t slices = (size_t)s->slices, own = slices / (size_t)s->cluster->size;
    const ssm2d_status status = bench_training_create(s->context, s->config, s->batch / slices, own,
                                                      BENCH_TRAINING, t, error);
    if (status) return status;
    const gradient_setup g = {s->context, s->cluster, t->graph,  t->loss,     t->weights,
                              t->params,  t->grads,   s->slices, s->unordered};
    return batch_gradient_create(&g, &b->gradient, error);
}

ssm2d_status bench_step_create(const bench_step_setup *setup, bench_step **out, ssm2d_error *error)
{
    *out = NULL;
    bench_step *b = mem_alloc(setup->context, sizeof *b);
    ssm2d_status status = SSM2D_OK;
    if (!b) status = fail_memory(error, "step");
    if (b) b->setup = *setup;
    if (b) status = create(b, error);
    status = cluster_agree(setup->cluster, status, error);
    if (status)
        bench_step_destroy(b);
    else
        *out = b;
    return status;
}

void bench_step_destroy(bench_step *b)
{
    if (!b) return;
    const ssm2d_context *context = b->setup.context;
    batch_gradient_destroy(b->gradient);
    bench_training_destroy(&b->training);
    mem_free(context, b);
}
