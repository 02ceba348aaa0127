/* s4nd_tiles - S4ND as passes of one-dimensional convolutions over tiles that stay in the cache:
 * all cells of one image in one vector of channels. T0 convolves along rows (down the image), T1
 * along columns.
 *
 *     forward     x = T1 u,  y = T0 x + D.u
 *     backward    x = T1 u recomputed,  dx = T0' dy,  du += T1' dx + D.dy
 *                 dtaps0[i-p] += dy[i][.] * x[p][.],  dtaps1[j-q] += dx[.][j] * u[.][q],
 *                 dD += dy.u
 *
 * A row of a tile has an odd number of vectors, so that the cells of a column do not map to the
 * same few cache sets. */
#include "layers/s4nd/s4nd_internal.h"

#include <string.h>

typedef struct job {
    const s4nd_plan *plan;
    ssm2d_workspace *ws;
    const real *u, *dy;
    real *y, *du;
    int want_params;
} job;

static const s4nd_algorithm *algorithm_of(const s4nd_plan *p) { return p->algorithm; }

/* Elements per worker: u, dy and sums of a group, x and dx of one vector, scratch. */
static size_t worker_elements(const s4nd_plan *p)
{
    const s4nd_plan *s = p;
    const size_t group = (size_t)s->groups.group;
    if (p->base.options.inference) return s->tile * (group + 1) + s->scratch;
    return s->tile * (2 * group + 2) + s->sums * group + s->scratch;
}

void s4nd_tiles_plan(s4nd_plan *p)
{
    s4nd_plan *s = p;
    const size_t lanes = (size_t)p->base.lanes, V = (size_t)p->base.vectors, size = sizeof(real);
    const size_t sets = s4nd_steps(&p->config);
    s->taps = 2 * p->base.rows - 1 + 2 * p->base.cols - 1;
    s->tile_row = ((size_t)p->base.cols | 1) * lanes;
    s->tile = (size_t)p->base.rows * s->tile_row;
    algorithm_of(p)->plan(p);
    const size_t taps = (size_t)s->taps;
    s->groups = tile_groups_cut(&p->base, 2 * s->tile * size);
    s->system_taps = plan_reserve(&p->base, taps * sets, sizeof(double));
    s->vector_taps = plan_reserve(&p->base, taps * lanes * V, size);
    s->d = plan_reserve(&p->base, lanes * V, size);
    s->tiles = plan_reserve(&p->base, worker_elements(p),
                            (size_t)pool_threads(p->base.context->pool) * size);
    if (!p->base.options.inference)
        s->partial =
            plan_reserve(&p->base, (taps + 1) * lanes * V, (size_t)s->groups.chunks * size);
}

static void prepare_vector(void *arg, size_t v, int worker)
{
    const job *t = arg;
    real *tiles =
        REGION_AT(real, t->ws, t->plan->tiles) + (size_t)worker * worker_elements(t->plan);
    const s4nd_pass pass = {t->plan, t->ws, v, tiles, NULL};
    algorithm_of(t->plan)->prepare(&pass);
}

void s4nd_tiles_prepare(const s4nd_plan *p, ssm2d_workspace *ws)
{
    job t = {.plan = p, .ws = ws};
    pool_run(p->base.context->pool, (size_t)p->base.vectors, prepare_vector, &t);
}

static real *worker_tiles(const job *t, int worker)
{
    return REGION_AT(real, t->ws, t->plan->tiles) + (size_t)worker * worker_elements(t->plan);
}

static const real *d_of(const job *t, int v)
{
    return REGION_AT(real, t->ws, t->plan->d) + v * t->plan->base.lanes;
}

static void forward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const s4nd_plan *p = t->plan;
    const s4nd_plan *s = p;
    const s4nd_algorithm *a = algorithm_of(p);
    const tile_task k = tile_task_at(&p->base, &s->groups, task);
    real *scratch = worker_tiles(t, worker), *x = scratch + s->scratch, *u = x + s->tile;
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(&p->base, &k, u, s->tile, s->tile_row, t->u, p->base.in, b);
        for (int v = k.first; v < k.end; v++) {
            const s4nd_pass pass = {p, t->ws, (size_t)v, scratch, NULL};
            real *tile = u + (size_t)(v - k.first) * s->tile;
            a->convolve(&pass, 1, x, tile, NULL);
            a->convolve(&pass, 0, tile, x, d_of(t, v)); /* y overwrites u */
        }
        tile_scatter(&p->base, &k, u, s->tile, s->tile_row, t->y, p->base.out, b, 0);
    }
}

void s4nd_tiles_apply(const s4nd_plan *p, ssm2d_workspace *ws, const real *u, real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y};
    const tile_groups *g = &p->groups;
    pool_run(p->base.context->pool, (size_t)g->groups * (size_t)g->chunks, forward_task, &t);
}

/* Backward of one vector of one image; du overwrites dy. dd: the gradient of D. */
static void backward_tile(const job *t, const s4nd_pass *pass, const real *u, real *dy, real *x,
                          real *dx, real *dd)
{
    const s4nd_plan *p = t->plan;
    const s4nd_algorithm *a = algorithm_of(p);
    const simd_table *simd = p->base.simd;
    const size_t row = p->tile_row;
    if (t->want_params) {
        for (size_t i = 0; i < (size_t)p->base.rows; i++)
            simd->axis.dot(dd, dy + i * row, u + i * row, (size_t)p->base.cols);
        a->convolve(pass, 1, x, u, NULL);
    }
    a->adjoint(pass, 0, dx, dy, t->want_params ? x : NULL, NULL);
    a->adjoint(pass, 1, t->du ? dy : NULL, dx, t->want_params ? u : NULL,
               d_of(t, (int)pass->vector));
}

static void backward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const s4nd_plan *p = t->plan;
    const s4nd_plan *s = p;
    const tile_task k = tile_task_at(&p->base, &s->groups, task);
    const size_t lanes = (size_t)p->base.lanes, taps = (size_t)s->taps * lanes,
                 V = (size_t)p->base.vectors;
    const size_t per_vector = taps + lanes, group = (size_t)s->groups.group;
    real *scratch = worker_tiles(t, worker), *x = scratch + s->scratch, *dx = x + s->tile;
    real *u = dx + s->tile, *dy = u + group * s->tile, *sums = dy + group * s->tile;
    real *partial =
        REGION_AT(real, t->ws, s->partial) + (k.chunk * V + (size_t)k.first) * per_vector;
    memset(sums, 0, group * s->sums * sizeof(real));
    if (t->want_params) memset(partial, 0, (size_t)(k.end - k.first) * per_vector * sizeof(real));
    for (size_t b = k.image; b < k.image_end; b++) {
        if (t->want_params) tile_gather(&p->base, &k, u, s->tile, s->tile_row, t->u, p->base.in, b);
        tile_gather(&p->base, &k, dy, s->tile, s->tile_row, t->dy, p->base.out, b);
        for (int v = k.first; v < k.end; v++) {
            const size_t i = (size_t)(v - k.first), at = i * s->tile;
            const s4nd_pass pass = {p, t->ws, (size_t)v, scratch, sums + i * s->sums};
            backward_tile(t, &pass, u + at, dy + at, x, dx, partial + i * per_vector + taps);
        }
        if (t->du) tile_scatter(&p->base, &k, dy, s->tile, s->tile_row, t->du, p->base.in, b, 1);
    }
    for (int v = k.first; v < k.end && t->want_params; v++) {
        const size_t i = (size_t)(v - k.first);
        const s4nd_pass pass = {p, t->ws, (size_t)v, scratch, sums + i * s->sums};
        algorithm_of(p)->collect(&pass, partial + i * per_vector);
    }
}

void s4nd_tiles_backward(const s4nd_plan *p, ssm2d_workspace *ws, const real *u, const real *dy,
                         real *du, int want_params)
{
    job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du, .want_params = want_params};
    const tile_groups *g = &p->groups;
    pool_run(p->base.context->pool, (size_t)g->groups * (size_t)g->chunks, backward_task, &t);
}
