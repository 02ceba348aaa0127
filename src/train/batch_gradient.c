#include "train/batch_gradient.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "train/adamw.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKET = 1 << 18 }; /* numbers, a megabyte */
enum { DEPTH = 32 };       /* of the stack of sums */

typedef struct bucket {
    reduction_bucket range;
    int ready; /* the visit after which its gradients are complete */
} bucket;

struct batch_gradient {
    gradient_setup setup;
    int own;            /* slices of this process */
    float *sums[DEPTH]; /* of subtrees that wait for the one to their right */
    int depth, waiting; /* there are, and are in use */
    float *state;       /* where it was before the step; NULL when the model has none to average */
    reduction *reduction;
    bucket *buckets; /* in the order in which they are sent */
    int bucket_count;
    /* of the run */
    const slice_hooks *hooks;
    int sends; /* the slice is the last: its gradients complete the sums */
    int begun; /* buckets that were sent */
    int abandoned;
};

/* ---- the tree -------------------------------------------------------------------------------- */

/* Slices that are added one by one: the odd part of the count. */
static int group_of(int count)
{
    while (count % 2 == 0) count /= 2;
    return count;
}

/* How many sums to its left are complete, and are added, once slice i of `count` is there. */
static int merges_after(int i, int count)
{
    const int group = group_of(count), place = i % group;
    int merges = place > 0;
    if (place == group - 1)
        for (int q = i / group; q % 2; q /= 2) merges++;
    return merges;
}

double slice_tree_sum(const double *values, int count)
{
    double sums[DEPTH];
    int waiting = 0;
    for (int i = 0; i < count; i++) {
        double sum = values[i];
        for (int m = merges_after(i, count); m > 0; m--) sum = sums[--waiting] + sum;
        sums[waiting++] = sum;
    }
    return sums[0];
}

/* ---- state ----------------------------------------------------------------------------------- */

/* Calls for each array that is state. */
#define EACH_STATE(b, a)                                                                           \
    for (const param_array *a = (b)->setup.weights->arrays;                                        \
         (b)->state && a < (b)->setup.weights->arrays + (b)->setup.weights->count; a++)            \
        if (a->spec.group == PARAM_STATE)

static void keep_state(batch_gradient *b)
{
    EACH_STATE(b, a)
    memcpy(b->state + a->offset, b->setup.params + a->offset, a->count * sizeof *b->state);
}

static void restore_state(const batch_gradient *b)
{
    EACH_STATE(b, a)
    memcpy(b->setup.params + a->offset, b->state + a->offset, a->count * sizeof *b->state);
}

/* State has no gradient: its place in that array takes this slice's part of the mean. */
static void add_state(const batch_gradient *b, float *gradients)
{
    EACH_STATE(b, a)
    for (size_t i = a->offset; i < a->offset + a->count; i++)
        gradients[i] = b->setup.params[i] / (float)b->setup.slices;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Completes the sum of this process over a range, and hands it on. */
static void send_bucket(batch_gradient *b, const bucket *k)
{
    for (int i = b->waiting - 1; i >= 0 && !b->abandoned; i--)
        add_arrays(b->setup.context, b->setup.gradients + k->range.first,
                   b->sums[i] + k->range.first, k->range.count);
    reduction_begin(b->reduction, b->begun++);
}

static int after_visit(void *user, int visit)
{
    batch_gradient *b = user;
    if (b->hooks->stop && b->hooks->stop(b->hooks->user)) {
        b->abandoned = 1;
        return 1;
    }
    while (b->sends && b->begun < b->bucket_count && b->buckets[b->begun].ready <= visit)
        send_bucket(b, &b->buckets[b->begun]);
    reduction_progress(b->reduction);
    return 0;
}

/* Sends what is left: after the last visit nothing, except when the step is abandoned. */
static ssm2d_status finish(batch_gradient *b, ssm2d_error *error)
{
    while (b->begun < b->bucket_count) send_bucket(b, &b->buckets[b->begun]);
    return reduction_finish(b->reduction, error);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Runs a slice, whose gradients go to `gradients`. Returns its loss. */
static double run_slice(batch_gradient *b, int slice, float *gradients)
{
    const gradient_setup *s = &b->setup;
    graph *g = s->graph;
    gradient_clear(g->context, s->weights->total, gradients);
    graph_bind(g, s->params, gradients);
    b->hooks->begin(b->hooks->user, slice);
    g->slice = (uint64_t)(s->cluster->rank * b->own + slice);
    restore_state(b);
    b->sends = 0;
    graph_forward(g);
    if (b->abandoned) return 0;
    const double loss = (double)s->loss->data[0];
    if (b->hooks->forwarded) b->hooks->forwarded(b->hooks->user, slice);
    add_state(b, gradients);
    s->loss->grad[0] = 1 / (float)s->slices;
    b->sends = slice == b->own - 1;
    graph_backward(g);
    return loss;
}

/* The losses are added as the gradients are. */
static double run_slices(batch_gradient *b)
{
    const size_t total = b->setup.weights->total;
    double losses[DEPTH];
    b->waiting = 0;
    for (int i = 0; i < b->own; i++) {
        int merges = merges_after(i, b->own);
        const int last = i == b->own - 1;
        /* a sum that has to wait is made where it waits */
        float *gradients = merges || last ? b->setup.gradients : b->sums[b->waiting];
        double loss = run_slice(b, i, gradients);
        if (b->abandoned) return 0;
        if (last) {
            for (int k = b->waiting - 1; k >= 0; k--) loss = losses[k] + loss;
            return loss;
        }
        for (int m = merges; m > 0; m--) {
            const int left = --b->waiting;
            add_arrays(b->setup.context, b->sums[left], m == merges ? gradients : b->sums[left + 1],
                       total);
            loss = losses[left] + loss;
        }
        losses[b->waiting++] = loss;
    }
    return 0;
}

ssm2d_status batch_gradient_run(batch_gradient *b, const slice_hooks *hooks, double *loss,
                                int *abandoned, ssm2d_error *error)
{
    graph *g = b->setup.graph;
    b->hooks = hooks;
    b->begun = b->waiting = b->abandoned = 0;
    *loss = 0;
    keep_state(b);
    if (hooks) {
        const int watches = b->setup.cluster->size > 1;
        g->after_visit = watches ? after_visit : NULL;
        g->after_visit_user = b;
        *loss = run_slices(b);
        g->after_visit = NULL;
    } else {
        gradient_clear(g->context, b->setup.weights->total, b->setup.gradients);
        b->abandoned = 1;
    }
    const ssm2d_status status = finish(b, error);
    *abandoned = b->abandoned;
    restore_state(b);
    return status;
}

void batch_gradient_move_state(batch_gradient *b)
{
    EACH_STATE(b, a)
    for (size_t i = a->offset; i < a->offset + a->count; i++) {
        b->setup.params[i] = b->setup.gradients[i];
        b->setup.gradients[i] = 0;
    }
}

int batch_gradient_own(const batch_gradient *b) { return b->own; }

int batch_gradient_bucket(const batch_gradient *b, int i, size_t *count, int *ready)
{
    if (i < 0 || i >= b->bucket_count) return 0;
    *count = b->buckets[i].range.count;
    *ready = b->buckets[i].ready;
    return 1;
}

reduction_times batch_gradient_spent(const batch_gradient *b)
{
    return reduction_spent(b->reduction);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int earliest_first(const void *a, const void *b)
{
    const bucket *x = a, *y = b;
    if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
    return x->range.first > y->range.first ? -1 : 1;
}

/* Cuts the flat array from its end, where backward begins. */
static ssm2d_status make_buckets(batch_gradient *b, ssm2d_error *error)
{
    const gradient_setup *s = &b->setup;
    const size_t total = s->weights->total,
                 size = max_size(BUCKET, div_up_size(total, REDUCTION_MAX_BUCKETS));
    const size_t count = div_up_size(total, size);
    reduction_bucket *ranges = mem_alloc(s->context, count * sizeof *ranges);
    b->buckets = mem_alloc(s->context, count * sizeof *b->buckets);
    ssm2d_status status = SSM2D_OK;
    if (!ranges || !b->buckets)
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu buckets", count);
    for (size_t end = total; end && !status; end -= min_size(end, size)) {
        const size_t first = end - min_size(end, size);
        b->buckets[b->bucket_count++] =
            (bucket){{first, end - first}, graph_last_gradient(s->graph, first, end - first)};
    }
    if (!status) {
        qsort(b->buckets, count, sizeof *b->buckets, earliest_first);
        for (size_t i = 0; i < count; i++) ranges[i] = b->buckets[i].range;
        status = reduction_create(s->cluster, s->context, s->gradients, (int)count, ranges,
                                  s->unordered, &b->reduction, error);
    }
    mem_free(s->context, ranges);
    return status;
}

static int has_state(const weights *w)
{
    for (int i = 0; i < w->count; i++)
        if (w->arrays[i].spec.group == PARAM_STATE) return 1;
    return 0;
}

/* The sums that wait at one time, at most. */
static int stack_depth(int own)
{
    int depth = 0, waiting = 0;
    for (int i = 0; i < own - 1; i++) {
        waiting += 1 - merges_after(i, own);
        depth = max_int(depth, waiting);
    }
    return depth;
}

static ssm2d_status take_memory(batch_gradient *b, ssm2d_error *error)
{
    const gradient_setup *s = &b->setup;
    const size_t bytes = s->weights->total * sizeof(float);
    int good = 1;
    b->depth = stack_depth(b->own);
    for (int i = 0; i < b->depth && good; i++) good = !!(b->sums[i] = mem_alloc(s->context, bytes));
    if (good && s->slices > 1 && has_state(s->weights))
        good = !!(b->state = mem_alloc(s->context, bytes));
    if (good) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_MEMORY, "no memory for the gradients of %d slices of a batch",
                s->slices);
}

ssm2d_status batch_gradient_create(const gradient_setup *setup, batch_gradient **out,
                                   ssm2d_error *error)
{
    *out = NULL;
    batch_gradient *b = mem_alloc(setup->context, sizeof *b);
    if (!b) return fail(error, SSM2D_ERROR_MEMORY, "no memory for gradients");
    b->setup = *setup;
    b->own = setup->slices / setup->cluster->size;
    ssm2d_status status = take_memory(b, error);
    if (!status) status = make_buckets(b, error);
    if (status)
        batch_gradient_destroy(b);
    else
        *out = b;
    return status;
}

void batch_gradient_destroy(batch_gradient *b)
{
    if (!b) return;
    const ssm2d_context *context = b->setup.context;
    reduction_destroy(b->reduction);
    for (int i = 0; i < b->depth; i++) mem_free(context, b->sums[i]);
    mem_free(context, b->state);
    mem_free(context, b->buckets);
    mem_free(context, b);
}
