/* ema_scan - EMA as recurrences over the cells in raster order, vectorised over channels: cost
 * grows with cells * d_state. The adjoint computes states anew (simd/ema.h); z, before SiLU, is
 * kept from forward to backward. */
#include "baselines/ema_internal.h"
#include "core/arith.h"
#include "core/status.h"

#include <string.h>

typedef struct job {
    const ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *ws;
    const real *u, *dy;
    real *y, *du;
    int want_params;
} job;

/* Numbers of a vector in `partial`: those of its decays, then omega. */
static size_t partial_size(const ssm2d_baseline_plan *p)
{
    return ema_decays_size(p) + (size_t)p->lanes;
}

ssm2d_status ema_scan_make(ssm2d_baseline_plan *p, ssm2d_error *error)
{
    ema_plan *e = &p->ema;
    const size_t V = (size_t)p->vectors, size = sizeof(real), batch = p->options.batch;
    if (e->taps < e->cells)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "algorithm=scan: a recurrence has no end, so trunc=%d is for direct or fft",
                    p->config.ema.trunc);
    e->tile = e->cells * (size_t)p->lanes;
    /* forward: u and y of a group, z of one vector; backward: u and dy of a group, dz of one
     * vector; du takes the place of dy */
    e->groups = tile_groups_cut(p, 2 * e->tile * size);
    e->worker = (2 * (size_t)e->groups.group + 1) * e->tile + e->scratch;
    e->tiles = baseline_reserve(p, e->worker, (size_t)pool_threads(p->context->pool) * size);
    if (p->options.inference) return SSM2D_OK;
    e->z = baseline_reserve(p, batch * V, e->tile * size);
    e->partial = baseline_reserve(p, partial_size(p) * V, (size_t)e->groups.chunks * size);
    return SSM2D_OK;
}

double ema_scan_cost(const ssm2d_baseline_plan *p)
{
    const double cells = (double)p->options.batch * (double)p->ema.cells * p->vectors * p->lanes;
    return cells * p->ema.directions * 2 * p->ema.states;
}

static real *z_of(const job *t, size_t b, int v)
{
    const ssm2d_baseline_plan *p = t->plan;
    return BASELINE_REGION(real, t->ws, p->ema.z)
           + (b * (size_t)p->vectors + (size_t)v) * p->ema.tile;
}

static real *worker_tiles(const job *t, int worker)
{
    return BASELINE_REGION(real, t->ws, t->plan->ema.tiles) + (size_t)worker * t->plan->ema.worker;
}

static void forward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const ema_plan *e = &p->ema;
    const ema_functions *f = &((const simd_table *)p->simd)->ema;
    const tile_task k = tile_task_at(p, &e->groups, task);
    const size_t row = (size_t)(p->cols * p->lanes);
    real *u = worker_tiles(t, worker), *y = u + (size_t)e->groups.group * e->tile;
    real *spare = y + (size_t)e->groups.group * e->tile;
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(p, &k, u, e->tile, row, t->u, p->options.in, b);
        for (int v = k.first; v < k.end; v++) {
            const size_t at = (size_t)(v - k.first) * e->tile;
            real *z = p->options.inference ? spare : z_of(t, b, v);
            f->scale(z, u + at, BASELINE_REGION(real, t->ws, e->omega) + v * p->lanes, e->cells);
            ema_states_scan(p, -1, z, u + at,
                            BASELINE_REGION(real, t->ws, e->decays)
                                + (size_t)v * ema_decays_size(p));
            f->activate(y + at, z, e->cells);
        }
        tile_scatter(p, &k, y, e->tile, row, t->y, p->options.out, b, 0);
    }
}

void ema_scan_apply(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                    real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y};
    const tile_groups *g = &p->ema.groups;
    pool_run(p->context->pool, (size_t)g->groups * (size_t)g->chunks, forward_task, &t);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const ema_plan *e = &p->ema;
    const simd_table *simd = p->simd;
    const tile_task k = tile_task_at(p, &e->groups, task);
    const size_t row = (size_t)(p->cols * p->lanes), numbers = partial_size(p);
    real *u = worker_tiles(t, worker), *dy = u + (size_t)e->groups.group * e->tile;
    real *dz = dy + (size_t)e->groups.group * e->tile, *scratch = dz + e->tile;
    real *partial =
        BASELINE_REGION(real, t->ws, e->partial) + k.chunk * (size_t)p->vectors * numbers;
    memset(partial + (size_t)k.first * numbers, 0,
           (size_t)(k.end - k.first) * numbers * sizeof(real));
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(p, &k, u, e->tile, row, t->u, p->options.in, b);
        tile_gather(p, &k, dy, e->tile, row, t->dy, p->options.out, b);
        for (int v = k.first; v < k.end; v++) {
            const size_t at = (size_t)(v - k.first) * e->tile;
            const real *decays =
                BASELINE_REGION(real, t->ws, e->decays) + (size_t)v * ema_decays_size(p);
            const real *omega = BASELINE_REGION(real, t->ws, e->omega) + v * p->lanes;
            real *sums = partial + (size_t)v * numbers, *du = dy + at;
            simd->ema.activate_back(dz, dy + at, z_of(t, b, v), e->cells);
            simd->axis.dot(sums + ema_decays_size(p), dz, u + at, e->cells);
            simd->ema.scale(du, dz, omega, e->cells);
            ema_states_back(p, -1, du, dz, u + at, decays, sums, scratch);
        }
        if (t->du) tile_scatter(p, &k, dy, e->tile, row, t->du, p->options.in, b, 1);
    }
}

/* Sums the gradients of the chunks, in their order. */
static void sum_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const size_t numbers = partial_size(p), decays = ema_decays_size(p);
    const real *from = BASELINE_REGION(real, t->ws, p->ema.partial) + v * numbers;
    real *ddecays = BASELINE_REGION(real, t->ws, p->ema.ddecays) + v * decays;
    real *domega = BASELINE_REGION(real, t->ws, p->ema.domega) + v * (size_t)p->lanes;
    for (size_t i = 0; i < numbers; i++) {
        real sum = 0;
        for (int chunk = 0; chunk < p->ema.groups.chunks; chunk++)
            sum += from[(size_t)chunk * (size_t)p->vectors * numbers + i];
        *(i < decays ? ddecays + i : domega + (i - decays)) = sum;
    }
}

void ema_scan_backward(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                       const real *dy, real *du, int want_params)
{
    job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du, .want_params = want_params};
    const tile_groups *g = &p->ema.groups;
    pool_run(p->context->pool, (size_t)g->groups * (size_t)g->chunks, backward_task, &t);
    if (want_params) pool_run(p->context->pool, (size_t)p->vectors, sum_vector, &t);
}
