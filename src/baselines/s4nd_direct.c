/* s4nd_direct - S4ND as two passes of one-dimensional convolutions over tiles that stay in the
 * cache: all cells of one image in one vector of channels. T0 convolves along rows (down the
 * image), T1 along columns.
 *
 *     forward     x = T1 u,  y = T0 x + D.u
 *     backward    dx = T0' dy,  du += T1' dx + D.dy,  and with x = T1 u again
 *                 dtaps0[i-p] += dy[i][.] * x[p][.],  dtaps1[j-q] += dx[.][j] * u[.][q],
 *                 dD += dy.u
 *
 * A row of a tile has an odd number of vectors, so that the cells of a column do not compete for
 * the same few cache sets. */
#include "baselines/s4nd_internal.h"
#include "core/arith.h"

#include <string.h>

typedef struct job {
    const ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *ws;
    const real *u, *dy;
    real *y, *du;
    int want_params;
} job;

static side_cut cut(int side, int limit)
{
    const int parts = div_up(side, limit);
    return (side_cut){parts, side % parts, side / parts};
}

/* Numbers of the tiles of a worker: u and dy of a group, x and dx of one vector. */
static size_t worker_numbers(const s4nd_plan *s, int inference)
{
    const size_t group = (size_t)s->groups.group;
    return s->tile * (inference ? group + 1 : 2 * group + 2);
}

void s4nd_direct_make(ssm2d_baseline_plan *p)
{
    s4nd_plan *s = &p->s4nd;
    const simd_table *simd = p->simd;
    const size_t lanes = (size_t)p->lanes, V = (size_t)p->vectors, size = sizeof(real);
    const size_t S = (size_t)p->config.s4nd.n_ssm;
    s->taps = 2 * p->rows - 1 + 2 * p->cols - 1;
    s->max_a = CORRELATE_MAX_A;
    while (!simd->axis.convolve[s->max_a][1]) s->max_a--;
    for (int A = 1; A <= s->max_a; A++) {
        int C = CORRELATE_MAX_C;
        while (!simd->axis.convolve[A][C]) C--;
        for (int axis = 0; axis < 2; axis++)
            s->positions[A][axis] = cut(axis ? p->cols : p->rows, C);
    }
    s->tile_row = ((size_t)p->cols | 1) * lanes;
    s->tile = (size_t)p->rows * s->tile_row;
    s->groups = tile_groups_cut(p, 2 * s->tile * size);
    const size_t taps = (size_t)s->taps;
    s->system_taps = baseline_reserve(p, taps * S, sizeof(double));
    s->vector_taps = baseline_reserve(p, taps * lanes * V, size);
    s->mirrored = baseline_reserve(p, taps * lanes * V, size);
    s->d = baseline_reserve(p, lanes * V, size);
    s->tiles = baseline_reserve(p, worker_numbers(s, p->options.inference),
                                (size_t)pool_threads(p->context->pool) * size);
    if (!p->options.inference)
        s->partial = baseline_reserve(p, (taps + 1) * lanes * V, (size_t)s->groups.chunks * size);
}

double s4nd_direct_cost(const ssm2d_baseline_plan *p)
{
    const double cells = (double)p->options.batch * p->rows * p->cols;
    return cells * p->vectors * p->lanes * (p->rows + p->cols);
}

/* How a tile is walked over: along an axis, and across it. */
typedef struct walk {
    ptrdiff_t step, line; /* numbers from position to position, and from line to line */
    int n, lines;
} walk;

static walk walk_of(const ssm2d_baseline_plan *p, int axis)
{
    const ptrdiff_t row = (ptrdiff_t)p->s4nd.tile_row;
    return axis ? (walk){p->lanes, row, p->cols, p->rows} : (walk){row, p->lanes, p->rows, p->cols};
}

/* out[j] = sum over q of taps[q-j] * in[q] along an axis (+ scale * out), for all lines; centre:
 * the tap at 0. */
static void convolve(const ssm2d_baseline_plan *p, int axis, real *out, const real *in,
                     const real *centre, const real *scale)
{
    const simd_table *simd = p->simd;
    const walk w = walk_of(p, axis);
    for (int line = 0, A = min_int(p->s4nd.max_a, w.lines); line < w.lines;) {
        while (A > w.lines - line) A--;
        const int blocks = (w.lines - line) / A;
        const side_cut c = p->s4nd.positions[A][axis];
        for (int part = 0, at = 0; part < c.parts; part++) {
            const int C = c.size + (part < c.larger);
            simd->axis.convolve[A][C](out + line * w.line + at * w.step, w.line, w.step,
                                      centre - at * p->lanes, in + line * w.line, w.line, w.step,
                                      w.n, blocks, scale);
            at += C;
        }
        line += A * blocks;
    }
}

/* dtaps[i-p] += sum across of dy[i] * x[p]. */
static void gradient(const ssm2d_baseline_plan *p, int axis, real *centre, const real *dy,
                     const real *x)
{
    const simd_table *simd = p->simd;
    const walk w = walk_of(p, axis);
    for (int at = 0, A = min_int(p->s4nd.max_a, w.n); at < w.n;) {
        while (A > w.n - at) A--;
        const int blocks = (w.n - at) / A;
        const side_cut c = p->s4nd.positions[A][axis];
        for (int part = 0, other = 0; part < c.parts; part++) {
            const int C = c.size + (part < c.larger);
            simd->axis.gradient[A][C](centre + (at - other) * p->lanes, dy + at * w.step, w.step,
                                      w.line, x + other * w.step, w.step, w.line, w.lines, blocks);
            other += C;
        }
        at += A * blocks;
    }
}

/* The taps at offset 0 of a vector, of rows and of columns. */
typedef struct centres {
    real *rows, *cols;
} centres;

static centres centres_of(const ssm2d_baseline_plan *p, real *taps, size_t vector_step, int v)
{
    real *first = taps + (size_t)v * vector_step;
    return (centres){first + (size_t)s4nd_centre(p, 0) * (size_t)p->lanes,
                     first + (size_t)s4nd_centre(p, 1) * (size_t)p->lanes};
}

static real *worker_tiles(const job *t, int worker)
{
    const ssm2d_baseline_plan *p = t->plan;
    return BASELINE_REGION(real, t->ws, p->s4nd.tiles)
           + (size_t)worker * worker_numbers(&p->s4nd, p->options.inference);
}

static void forward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const s4nd_plan *s = &p->s4nd;
    const tile_task k = tile_task_at(p, &s->groups, task);
    const size_t taps = (size_t)s->taps * (size_t)p->lanes;
    real *mirrored = BASELINE_REGION(real, t->ws, s->mirrored);
    real *x = worker_tiles(t, worker), *u = x + s->tile;
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(p, &k, u, s->tile, s->tile_row, t->u, p->options.in, b);
        for (int v = k.first; v < k.end; v++) {
            const centres m = centres_of(p, mirrored, taps, v);
            const real *d = BASELINE_REGION(real, t->ws, s->d) + v * p->lanes;
            real *tile = u + (size_t)(v - k.first) * s->tile;
            convolve(p, 1, x, tile, m.cols, NULL);
            convolve(p, 0, tile, x, m.rows, d); /* y takes the place of u */
        }
        tile_scatter(p, &k, u, s->tile, s->tile_row, t->y, p->options.out, b, 0);
    }
}

void s4nd_direct_apply(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                       real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y};
    const tile_groups *g = &p->s4nd.groups;
    pool_run(p->context->pool, (size_t)g->groups * (size_t)g->chunks, forward_task, &t);
}

static void gradients_of_tile(const job *t, size_t chunk, int v, const real *u, const real *dy,
                              const real *x, const real *dx)
{
    const ssm2d_baseline_plan *p = t->plan;
    const s4nd_plan *s = &p->s4nd;
    const size_t per_vector = (size_t)(s->taps + 1) * (size_t)p->lanes;
    real *partial =
        BASELINE_REGION(real, t->ws, s->partial) + chunk * (size_t)p->vectors * per_vector;
    const centres d = centres_of(p, partial, per_vector, v);
    real *dd = partial + (size_t)v * per_vector + (size_t)(s->taps * p->lanes);
    gradient(p, 0, d.rows, dy, x);
    gradient(p, 1, d.cols, dx, u);
    for (int i = 0; i < p->rows; i++)
        ((const simd_table *)p->simd)
            ->axis.dot(dd, dy + (size_t)i * s->tile_row, u + (size_t)i * s->tile_row,
                       (size_t)p->cols);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const s4nd_plan *s = &p->s4nd;
    const tile_task k = tile_task_at(p, &s->groups, task);
    const size_t taps = (size_t)s->taps * (size_t)p->lanes, V = (size_t)p->vectors;
    const size_t per_vector = taps + (size_t)p->lanes;
    real *plain = BASELINE_REGION(real, t->ws, s->vector_taps);
    real *mirrored = BASELINE_REGION(real, t->ws, s->mirrored);
    real *x = worker_tiles(t, worker), *dx = x + s->tile, *u = dx + s->tile;
    real *dy = u + (size_t)s->groups.group * s->tile;
    if (t->want_params)
        memset(BASELINE_REGION(real, t->ws, s->partial)
                   + (k.chunk * V + (size_t)k.first) * per_vector,
               0, (size_t)(k.end - k.first) * per_vector * sizeof(real));
    for (size_t b = k.image; b < k.image_end; b++) {
        if (t->want_params) tile_gather(p, &k, u, s->tile, s->tile_row, t->u, p->options.in, b);
        tile_gather(p, &k, dy, s->tile, s->tile_row, t->dy, p->options.out, b);
        for (int v = k.first; v < k.end; v++) {
            const centres c = centres_of(p, plain, taps, v);
            const real *d = BASELINE_REGION(real, t->ws, s->d) + v * p->lanes;
            const size_t at = (size_t)(v - k.first) * s->tile;
            convolve(p, 0, dx, dy + at, c.rows, NULL);
            if (t->want_params) {
                convolve(p, 1, x, u + at, centres_of(p, mirrored, taps, v).cols, NULL);
                gradients_of_tile(t, k.chunk, v, u + at, dy + at, x, dx);
            }
            if (t->du) convolve(p, 1, dy + at, dx, c.cols, d); /* du takes the place of dy */
        }
        if (t->du) tile_scatter(p, &k, dy, s->tile, s->tile_row, t->du, p->options.in, b, 1);
    }
}

void s4nd_direct_back(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                      const real *dy, real *du, int want_params)
{
    job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du, .want_params = want_params};
    const tile_groups *g = &p->s4nd.groups;
    pool_run(p->context->pool, (size_t)g->groups * (size_t)g->chunks, backward_task, &t);
}
