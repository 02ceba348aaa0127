/* batch_norm - y = (x - mean)/sqrt(variance + eps) * gamma + beta for each channel.
 *
 * x, y: [rows][D], rows being all tokens of all images; the rest: [D]. In training, mean and biased
 * variance are those of the rows, and the running ones move towards them by `momentum`, the
 * variance without its bias; otherwise the running ones are used. Saved: [2][D], mean and
 * 1/sqrt(variance + eps).
 *
 * Rows are cut into parts, their number a function of the shape alone, and parts into blocks that
 * stay in the cache; the moments of blocks and then of parts are joined in order, in double. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum { X, GAMMA, BETA, MEAN, VARIANCE, INPUTS };
enum { BLOCK_ROWS = 64 };
enum { COLUMNS = 32 }; /* of a task that joins the parts */
/* Arrays of D doubles in the scratch of a part: the moments so far and those of a block; or the two
 * sums of backward. */
enum { PART_MEAN, PART_SQUARES, BLOCK_MEAN, BLOCK_SQUARES, PART_ARRAYS };

typedef struct batch_norm_attributes {
    double momentum, eps;
    int from_batch; /* whether the rows' own moments are used */
} batch_norm_attributes;

static const batch_norm_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"eps", ATTRIBUTE_REAL, offsetof(batch_norm_attributes, eps)}, {0}};

static size_t part_begin(const node *n, size_t part)
{
    return rows_of(n->out) * part / row_parts(n);
}

/* Array `which` of a part, and after all parts the [2][D] elements of the whole. */
static double *array_of(const node *n, size_t part, size_t which)
{
    double *arrays = n->scratch;
    return arrays + (part * PART_ARRAYS + which) * last_axis(n->out);
}

static double *whole_of(const node *n) { return array_of(n, row_parts(n), 0); }

static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g, (void)back;
    return (row_parts(n) * PART_ARRAYS + 2) * last_axis(n->out) * sizeof(double);
}

static size_t saved(const graph *g, const node *n)
{
    (void)g;
    return 2 * last_axis(n->out) * sizeof(real);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Mean and sum of squared distances from it, of rows [first, end). */
static void block_moments(const node *n, size_t first, size_t end, double *mean, double *squares)
{
    const size_t D = last_axis(n->out);
    const double count = (double)(end - first);
    memset(mean, 0, D * sizeof *mean);
    memset(squares, 0, D * sizeof *squares);
    for (size_t r = first; r < end; r++) {
        const real *x = row_data(n->in[X], r);
        for (size_t d = 0; d < D; d++) mean[d] += (double)x[d];
    }
    for (size_t d = 0; d < D; d++) mean[d] /= count;
    for (size_t r = first; r < end; r++) {
        const real *x = row_data(n->in[X], r);
        for (size_t d = 0; d < D; d++) {
            const double distance = (double)x[d] - mean[d];
            squares[d] += distance * distance;
        }
    }
}

/* Joins the moments of `more` rows to those of `count` rows. */
static void join(double *mean, double *squares, double count, const double *other_mean,
                 const double *other_squares, double more, size_t D)
{
    const double all = count + more;
    for (size_t d = 0; d < D; d++) {
        const double distance = other_mean[d] - mean[d];
        mean[d] += distance * (more / all);
        squares[d] += other_squares[d] + distance * distance * (count * more / all);
    }
}

static void part_moments(void *arg, size_t part, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t D = last_axis(n->out), first = part_begin(n, part), end = part_begin(n, part + 1);
    double *mean = array_of(n, part, PART_MEAN), *squares = array_of(n, part, PART_SQUARES);
    double *more_mean = array_of(n, part, BLOCK_MEAN), *more = array_of(n, part, BLOCK_SQUARES);
    for (size_t r = first; r < end; r += BLOCK_ROWS) {
        const size_t next = min_size(r + BLOCK_ROWS, end);
        if (r == first) {
            block_moments(n, r, next, mean, squares);
            continue;
        }
        block_moments(n, r, next, more_mean, more);
        join(mean, squares, (double)(r - first), more_mean, more, (double)(next - r), D);
    }
}

/* Joins the moments of all parts, in order, for some of the columns. */
static void join_columns(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t first = task * COLUMNS, count = min_size(COLUMNS, last_axis(n->out) - first);
    double *mean = whole_of(n) + first, *squares = mean + last_axis(n->out);
    memcpy(mean, array_of(n, 0, PART_MEAN) + first, count * sizeof *mean);
    memcpy(squares, array_of(n, 0, PART_SQUARES) + first, count * sizeof *squares);
    for (size_t part = 1; part < row_parts(n); part++) {
        const size_t begin = part_begin(n, part), end = part_begin(n, part + 1);
        join(mean, squares, (double)begin, array_of(n, part, PART_MEAN) + first,
             array_of(n, part, PART_SQUARES) + first, (double)(end - begin), count);
    }
}

/* Moves the running moments towards those of the batch. */
static void move_running(const node *n, const double *mean, const double *squares)
{
    const double momentum = attributes_of(n)->momentum, rest = (double)(rows_of(n->out) - 1);
    real *running_mean = n->in[MEAN]->data, *running = n->in[VARIANCE]->data;
    for (size_t d = 0; d < last_axis(n->out); d++) {
        running_mean[d] = (real)((1 - momentum) * (double)running_mean[d] + momentum * mean[d]);
        running[d] = (real)((1 - momentum) * (double)running[d] + momentum * (squares[d] / rest));
    }
}

/* The moments that count, as mean and 1/sqrt(variance + eps), [2][D]. */
static void find_moments(const graph *g, const node *n, double *whole)
{
    const size_t D = last_axis(n->out), rows = rows_of(n->out);
    const double eps = attributes_of(n)->eps;
    double *squares = whole + D;
    if (!attributes_of(n)->from_batch) {
        for (size_t d = 0; d < D; d++) {
            whole[d] = (double)n->in[MEAN]->data[d];
            squares[d] = 1 / sqrt((double)n->in[VARIANCE]->data[d] + eps);
        }
        return;
    }
    pool_run(g->context->pool, row_parts(n), part_moments, (void *)n);
    pool_run(g->context->pool, div_up_size(D, COLUMNS), join_columns, (void *)n);
    move_running(n, whole, squares);
    for (size_t d = 0; d < D; d++) squares[d] = 1 / sqrt(squares[d] / (double)rows + eps);
}

/* y = (x - mean) * scale + beta, where scale holds gamma already. */
typedef struct job {
    const node *n;
    const real *mean, *scale;
} job;

static void forward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *n = j->n;
    const size_t D = last_axis(n->out);
    const real *restrict mean = j->mean, *restrict scale = j->scale, *beta = n->in[BETA]->data;
    for (size_t r = part_begin(n, part); r < part_begin(n, part + 1); r++) {
        const real *x = row_data(n->in[X], r);
        real *restrict y = n->out->data + r * D;
        for (size_t d = 0; d < D; d++) y[d] = (x[d] - mean[d]) * scale[d] + beta[d];
    }
}

static void forward(const graph *g, const node *n)
{
    const size_t D = last_axis(n->out);
    double *whole = whole_of(n);
    real *kept = n->saved;
    if (n->recomputing) /* the moments are there, and the running ones have moved */
        for (size_t i = 0; i < 2 * D; i++) whole[i] = (double)kept[i];
    else
        find_moments(g, n, whole);
    if (g->training)
        for (size_t i = 0; i < 2 * D; i++) kept[i] = (real)whole[i];
    real *mean = (real *)(void *)array_of(n, 0, PART_MEAN);
    real *scale = (real *)(void *)array_of(n, 0, PART_SQUARES);
    for (size_t d = 0; d < D; d++) {
        mean[d] = (real)whole[d];
        scale[d] = (real)whole[D + d] * n->in[GAMMA]->data[d];
    }
    pool_run(g->context->pool, row_parts(n), forward_part, &(job){n, mean, scale});
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Sums over the rows of a part: of dy, and of dy z with z = (x - mean)/sqrt(variance + eps). */
static void sum_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t D = last_axis(n->out);
    const real *mean = n->saved, *scale = mean + D;
    double *restrict dbeta = array_of(n, part, 0), *restrict dgamma = array_of(n, part, 1);
    memset(dbeta, 0, D * sizeof *dbeta);
    memset(dgamma, 0, D * sizeof *dgamma);
    for (size_t r = part_begin(n, part); r < part_begin(n, part + 1); r++) {
        const real *x = row_data(n->in[X], r), *dy = n->out->grad + r * D;
        for (size_t d = 0; d < D; d++) {
            dbeta[d] += (double)dy[d];
            dgamma[d] += (double)(dy[d] * ((x[d] - mean[d]) * scale[d]));
        }
    }
}

/* The sums of all parts, in order, for some of the 2*D columns. */
static void sum_columns(void *arg, size_t task, int worker)
{
    (void)worker;
    const node *n = arg;
    const size_t first = task * COLUMNS, end = min_size(first + COLUMNS, 2 * last_axis(n->out));
    double *sum = whole_of(n);
    memset(sum + first, 0, (end - first) * sizeof *sum);
    for (size_t part = 0; part < row_parts(n); part++)
        for (size_t d = first; d < end; d++) sum[d] += array_of(n, part, 0)[d];
}

/* dx = gamma scale (dy - mean(dy) - z mean(dy z)) = scale_gamma dy - shift - (x - mean) slope; the
 * last two are zero where the moments do not depend on x. */
typedef struct back_job {
    const node *n;
    const real *factor, *shift, *slope;
} back_job;

static void backward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const back_job *j = arg;
    const node *n = j->n;
    const size_t D = last_axis(n->out);
    const real *mean = n->saved, *restrict factor = j->factor, *restrict shift = j->shift,
               *restrict slope = j->slope;
    const int adds = n->adds[X];
    for (size_t r = part_begin(n, part); r < part_begin(n, part + 1); r++) {
        const real *x = row_data(n->in[X], r), *dy = n->out->grad + r * D;
        real *dx = row_grad(n->in[X], r);
        for (size_t d = 0; d < D; d++)
            dx[d] = factor[d] * dy[d] - shift[d] - (x[d] - mean[d]) * slope[d] + (adds ? dx[d] : 0);
    }
}

static void backward(const graph *g, const node *n)
{
    const size_t D = last_axis(n->out);
    const double rows = (double)rows_of(n->out);
    double *dbeta = whole_of(n), *dgamma = dbeta + D;
    pool_run(g->context->pool, row_parts(n), sum_part, (void *)n);
    pool_run(g->context->pool, div_up_size(2 * D, COLUMNS), sum_columns, (void *)n);
    for (size_t d = 0; d < D; d++) {
        if (n->in[BETA]->needs_grad) n->in[BETA]->grad[d] += (real)dbeta[d];
        if (n->in[GAMMA]->needs_grad) n->in[GAMMA]->grad[d] += (real)dgamma[d];
    }
    if (!n->in[X]->needs_grad) return;
    real *factor = (real *)(void *)array_of(n, 0, 0), *shift = (real *)(void *)array_of(n, 0, 1),
         *slope = (real *)(void *)array_of(n, 0, 2);
    const int from_batch = attributes_of(n)->from_batch;
    const real *kept_scale = (const real *)n->saved + D;
    for (size_t d = 0; d < D; d++) {
        const double scale = (double)kept_scale[d], f = scale * (double)n->in[GAMMA]->data[d];
        factor[d] = (real)f;
        shift[d] = from_batch ? (real)(f * (dbeta[d] / rows)) : 0;
        slope[d] = from_batch ? (real)(f * scale * (dgamma[d] / rows)) : 0;
    }
    pool_run(g->context->pool, row_parts(n), backward_part, &(back_job){n, factor, shift, slope});
}

const op op_batch_norm = {.name = "batch_norm",
                          .reads_in = 1 << X | 1 << GAMMA,
                          .cheap = 1,
                          .strided_in = 1 << X,
                          .saved = saved,
                          .scratch = scratch,
                          .forward = forward,
                          .backward = backward,
                          .attributes = attributes};

/* ---- building -------------------------------------------------------------------------------- */

tensor *batch_norm(graph *g, tensor *x, const batch_norm_arrays *a, double momentum, double eps)
{
    char one[64], two[64];
    if (g->status) return NULL;
    tensor *const in[INPUTS] = {x, a->gamma, a->beta, a->mean, a->variance};
    for (int i = GAMMA; i < INPUTS; i++) {
        if (in[i]->count != last_axis(x))
            return graph_fail(g, "batch_norm: input %s does not fit weights %s", shape_text(x, one),
                              shape_text(in[i], two));
        /* gradients of parameters are added to; those of values would not be cleared */
        if (in[i]->role != ROLE_PARAM && in[i]->role != ROLE_INPUT)
            return graph_fail(g, "batch_norm: %s must be a parameter or an input", in[i]->name);
    }
    if (g->random && rows_of(x) < 2)
        return graph_fail(g, "batch_norm: one token in all has no variance: use larger batches");
    if (g->random
        && (a->mean->role != ROLE_PARAM || a->mean->needs_grad || a->variance->role != ROLE_PARAM
            || a->variance->needs_grad))
        return graph_fail(g, "batch_norm: the running moments must be of the group PARAM_STATE");
    const batch_norm_attributes given = {momentum, eps, g->random};
    node *n = graph_add(g, &op_batch_norm, INPUTS, in, 0, NULL, &given, sizeof given);
    return n ? n->out : NULL;
}
