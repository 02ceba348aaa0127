#include "train/batch_gradient.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "optim/flat.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKET = 1 << 18 }; /* elements: a megabyte */
enum { DEPTH = 32 };       /* of the stack of partial sums */

typedef struct bucket {
    reduction_bucket range;
    int ready; /* the visit of the graph after which its gradients are complete */
} bucket;

struct batch_gradient {
    gradient_setup setup;
    int own;              /* slices of this process */
    float *sums[DEPTH];   /* of subtrees whose right neighbour is not complete yet */
    int depth, waiting;   /* sums allocated, and in use */
    float *state;         /* its values before the step; NULL if the model has none to average */
    reduction *reduction; /* NULL in one process */
    bucket *buckets;      /* in the order in which they are sent */
    int bucket_count;
    /* the current step */
    const run_control *control;
    float *slice_gradients;   /* of the current slice */
    slice_sums values[DEPTH]; /* parallel to sums */
    int done;                 /* slices finished */
    int sends;                /* this is the last slice: its gradients complete the sums */
    int begun;                /* buckets sent */
    int abandoned;
};

/* ---- the tree -------------------------------------------------------------------------------- */

/* The number of slices that are added one by one: the odd part of the count. */
static int group_of(int count)
{
    while (count % 2 == 0) count /= 2;
    return count;
}

/* The number of partial sums to the left of slice i that it completes, and that are added then. */
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

/* Loops over the arrays that are state; none if there is nothing to average. */
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

/* State has no gradient, so its range of the gradients carries this slice's share of the mean. */
static void add_state(const batch_gradient *b, float *gradients)
{
    EACH_STATE(b, a)
    for (size_t i = a->offset; i < a->offset + a->count; i++)
        gradients[i] = b->setup.params[i] / (float)b->setup.slices;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Completes this process's sum over a bucket, and starts its reduction. */
static void send_bucket(batch_gradient *b, const bucket *k)
{
    for (int i = b->waiting - 1; i >= 0 && !b->abandoned; i--)
        add_arrays(b->setup.context, b->setup.gradients + k->range.first,
                   b->sums[i] + k->range.first, k->range.count);
    if (b->reduction) reduction_begin(b->reduction, b->begun);
    b->begun++;
}

static int after_visit(void *user, int visit)
{
    batch_gradient *b = user;
    if (run_stop_requested(b->control)) {
        b->abandoned = 1;
        return 1;
    }
    while (b->sends && b->begun < b->bucket_count && b->buckets[b->begun].ready <= visit)
        send_bucket(b, &b->buckets[b->begun]);
    reduction_progress(b->reduction);
    return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

void batch_gradient_begin(batch_gradient *b, const run_control *control)
{
    b->control = control;
    b->begun = b->waiting = b->done = b->abandoned = 0;
    keep_state(b);
}

int batch_gradient_forward(batch_gradient *b, int slice, double *loss)
{
    const gradient_setup *s = &b->setup;
    graph *g = s->graph;
    /* a slice whose sum has to wait writes its gradients directly to where they wait */
    const int last = slice == b->own - 1;
    b->slice_gradients = last || merges_after(slice, b->own) ? s->gradients : b->sums[b->waiting];
    gradient_clear(g->context, s->weights->total, b->slice_gradients);
    graph_bind(g, s->params, b->slice_gradients);
    g->slice = row_major(s->cluster->rank, b->own, slice);
    g->after_visit = s->cluster->size > 1 ? after_visit : NULL;
    g->after_visit_user = b;
    restore_state(b);
    b->sends = 0;
    graph_forward(g);
    *loss = (double)s->loss->data[0];
    return !b->abandoned;
}

/* Adds a finished slice to the sums on its left that it completes. For the last slice, send_bucket
 * has added the gradients already. */
static void merge(batch_gradient *b, int slice, slice_sums own)
{
    const int last = slice == b->own - 1, merges = last ? b->waiting : merges_after(slice, b->own);
    const float *right = b->slice_gradients;
    for (int m = merges; m > 0; m--) {
        const int left = --b->waiting;
        if (!last) add_arrays(b->setup.context, b->sums[left], right, b->setup.weights->total);
        own.loss = b->values[left].loss + own.loss;
        own.score = b->values[left].score + own.score;
        right = b->sums[left];
    }
    b->values[b->waiting++] = own;
}

void batch_gradient_backward(batch_gradient *b, int slice, slice_sums own)
{
    const gradient_setup *s = &b->setup;
    graph *g = s->graph;
    add_state(b, b->slice_gradients);
    s->loss->grad[0] = 1 / (float)s->slices;
    b->sends = slice == b->own - 1;
    graph_backward(g);
    if (b->abandoned) return;
    /* with several processes, after_visit has sent most buckets during backward */
    while (b->sends && b->begun < b->bucket_count) send_bucket(b, &b->buckets[b->begun]);
    merge(b, slice, own);
    b->done++;
}

ssm2d_status batch_gradient_finish(batch_gradient *b, slice_sums *sums, int *abandoned,
                                   ssm2d_error *error)
{
    b->setup.graph->after_visit = NULL;
    if (!b->done && !b->abandoned) /* the caller had no images */
        gradient_clear(b->setup.context, b->setup.weights->total, b->setup.gradients);
    b->abandoned |= b->done < b->own;
    while (b->begun < b->bucket_count) send_bucket(b, &b->buckets[b->begun]);
    const ssm2d_status status = b->reduction ? reduction_finish(b->reduction, error) : SSM2D_OK;
    *abandoned = b->abandoned;
    *sums = b->abandoned ? (slice_sums){0} : b->values[0];
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
    return b->reduction ? reduction_spent(b->reduction) : (reduction_times){0};
}

/* ---- making ---------------------------------------------------------------------------------- */

static int earliest_first(const void *a, const void *b)
{
    const bucket *x = a, *y = b;
    if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
    return x->range.first > y->range.first ? -1 : 1;
}

/* Cuts the flat array into buckets from its end, because backward starts with the last arrays. */
static ssm2d_status make_buckets(batch_gradient *b, ssm2d_error *error)
{
    const gradient_setup *s = &b->setup;
    const size_t total = s->weights->total,
                 size = max_size(BUCKET, div_up_size(total, REDUCTION_MAX_BUCKETS));
    const size_t count = div_up_size(total, size);
    reduction_bucket *ranges = mem_alloc(s->context, count * sizeof *ranges);
    b->buckets = mem_alloc(s->context, count * sizeof *b->buckets);
    ssm2d_status status = SSM2D_OK;
    if (!ranges || !b->buckets) status = fail_memory(error, "%zu buckets", count);
    for (size_t end = total; end && !status; end -= min_size(end, size)) {
        const size_t first = end - min_size(end, size);
        b->buckets[b->bucket_count++] =
            (bucket){{first, end - first}, graph_last_gradient(s->graph, first, end - first)};
    }
    if (!status) {
        qsort(b->buckets, count, sizeof *b->buckets, earliest_first);
        for (size_t i = 0; i < count; i++) ranges[i] = b->buckets[i].range;
        if (s->cluster->size > 1)
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

/* The largest number of sums that wait at the same time. */
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
    return fail_memory(error, "gradients of %d slices of a batch", s->slices);
}

ssm2d_status batch_gradient_create(const gradient_setup *setup, batch_gradient **out,
                                   ssm2d_error *error)
{
    *out = NULL;
    batch_gradient *b = mem_alloc(setup->context, sizeof *b);
    if (!b) return fail_memory(error, "gradients");
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
