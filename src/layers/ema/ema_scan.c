/* ema_scan - EMA as recurrences over the cells in raster order, vectorised over channels: cost
 * grows with cells * d_state. The adjoint recomputes states (simd/ema.h); z, the values before
 * SiLU, is kept from forward to backward. */
#include "layers/ema/ema_internal.h"
#include "core/arith.h"
#include "core/status.h"

#include <string.h>

typedef struct job {
    const ema_plan *plan;
    ssm2d_workspace *ws;
    const real *u, *dy;
    real *y, *du;
    int want_params;
} job;

/* Elements per vector of channels in `partial`: its decays, then omega. */
static size_t partial_size(const ema_plan *p) { return ema_decays_size(p) + (size_t)p->base.lanes; }

ssm2d_status ema_scan_make(ema_plan *p, ssm2d_error *error)
{
    ema_plan *e = p;
    const size_t V = (size_t)p->base.vectors, size = sizeof(real), batch = p->base.options.batch;
    if (e->taps < e->cells)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "algorithm=scan: a recurrence cannot truncate the kernel; use direct or fft "
                    "for trunc=%d",
                    p->config.trunc);
    e->tile = e->cells * (size_t)p->base.lanes;
    /* forward: u and y of a group, z of one vector; backward: u and dy of a group, dz of one
     * vector; du overwrites dy */
    e->groups = tile_groups_cut(&p->base, 2 * e->tile * size);
    e->worker = (2 * (size_t)e->groups.group + 1) * e->tile + e->scratch;
    e->tiles =
        plan_reserve(&p->base, e->worker, (size_t)pool_threads(p->base.context->pool) * size);
    if (p->base.options.inference) return SSM2D_OK;
    e->z = plan_reserve(&p->base, batch * V, e->tile * size);
    e->partial = plan_reserve(&p->base, partial_size(p) * V, (size_t)e->groups.chunks * size);
    return SSM2D_OK;
}

double ema_scan_cost(const ema_plan *p)
{
    const double cells =
        (double)p->base.options.batch * (double)p->cells * p->base.vectors * p->base.lanes;
    return cells * p->directions * 2 * p->states;
}

static real *z_of(const job *t, size_t b, int v)
{
    const ema_plan *p = t->plan;
    return REGION_AT(real, t->ws, p->z) + (b * (size_t)p->base.vectors + (size_t)v) * p->tile;
}

static real *worker_tiles(const job *t, int worker)
{
    return REGION_AT(real, t->ws, t->plan->tiles) + (size_t)worker * t->plan->worker;
}

static void forward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ema_plan *p = t->plan;
    const ema_plan *e = p;
    const ema_functions *f = &((const simd_table *)p->base.simd)->ema;
    const tile_task k = tile_task_at(&p->base, &e->groups, task);
    const size_t row = (size_t)(p->base.cols * p->base.lanes);
    real *u = worker_tiles(t, worker), *y = u + (size_t)e->groups.group * e->tile;
    real *spare = y + (size_t)e->groups.group * e->tile;
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(&p->base, &k, u, e->tile, row, t->u, p->base.in, b);
        for (int v = k.first; v < k.end; v++) {
            const size_t at = (size_t)(v - k.first) * e->tile;
            real *z = p->base.options.inference ? spare : z_of(t, b, v);
            f->scale(z, u + at, REGION_AT(real, t->ws, e->omega) + v * p->base.lanes, e->cells);
            ema_states_scan(p, -1, z, u + at,
                            REGION_AT(real, t->ws, e->decays) + (size_t)v * ema_decays_size(p));
            f->activate(y + at, z, e->cells);
        }
        tile_scatter(&p->base, &k, y, e->tile, row, t->y, p->base.out, b, 0);
    }
}

void ema_scan_apply(const ema_plan *p, ssm2d_workspace *ws, const real *u, real *y)
{
    job t = {.plan = p, .ws = ws, .u = u, .y = y};
    const tile_groups *g = &p->groups;
    pool_run(p->base.context->pool, (size_t)g->groups * (size_t)g->chunks, forward_task, &t);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ema_plan *p = t->plan;
    const ema_plan *e = p;
    const simd_table *simd = p->base.simd;
    const tile_task k = tile_task_at(&p->base, &e->groups, task);
    const size_t row = (size_t)(p->base.cols * p->base.lanes), size = partial_size(p);
    real *u = worker_tiles(t, worker), *dy = u + (size_t)e->groups.group * e->tile;
    real *dz = dy + (size_t)e->groups.group * e->tile, *scratch = dz + e->tile;
    real *partial = REGION_AT(real, t->ws, e->partial) + k.chunk * (size_t)p->base.vectors * size;
    memset(partial + (size_t)k.first * size, 0, (size_t)(k.end - k.first) * size * sizeof(real));
    for (size_t b = k.image; b < k.image_end; b++) {
        tile_gather(&p->base, &k, u, e->tile, row, t->u, p->base.in, b);
        tile_gather(&p->base, &k, dy, e->tile, row, t->dy, p->base.out, b);
        for (int v = k.first; v < k.end; v++) {
            const size_t at = (size_t)(v - k.first) * e->tile;
            const real *decays = REGION_AT(real, t->ws, e->decays) + (size_t)v * ema_decays_size(p);
            const real *omega = REGION_AT(real, t->ws, e->omega) + v * p->base.lanes;
            real *sums = partial + (size_t)v * size, *du = dy + at;
            simd->ema.activate_back(dz, dy + at, z_of(t, b, v), e->cells);
            simd->axis.dot(sums + ema_decays_size(p), dz, u + at, e->cells);
            simd->ema.scale(du, dz, omega, e->cells);
            ema_states_back(p, -1, du, dz, u + at, decays, sums, scratch);
        }
        if (t->du) tile_scatter(&p->base, &k, dy, e->tile, row, t->du, p->base.in, b, 1);
    }
}

/* Sums the gradients of the chunks, in their order. */
static void sum_vector(void *arg, size_t v, int worker)
{
    (void)worker;
    const job *t = arg;
    const ema_plan *p = t->plan;
    const size_t size = partial_size(p), decays = ema_decays_size(p);
    const real *from = REGION_AT(real, t->ws, p->partial) + v * size;
    real *ddecays = REGION_AT(real, t->ws, p->ddecays) + v * decays;
    real *domega = REGION_AT(real, t->ws, p->domega) + v * (size_t)p->base.lanes;
    for (size_t i = 0; i < size; i++) {
        real sum = 0;
        for (int chunk = 0; chunk < p->groups.chunks; chunk++)
            sum += from[(size_t)chunk * (size_t)p->base.vectors * size + i];
        *(i < decays ? ddecays + i : domega + (i - decays)) = sum;
    }
}

void ema_scan_backward(const ema_plan *p, ssm2d_workspace *ws, const real *u, const real *dy,
                       real *du, int want_params)
{
    job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du, .want_params = want_params};
    const tile_groups *g = &p->groups;
    pool_run(p->base.context->pool, (size_t)g->groups * (size_t)g->chunks, backward_task, &t);
    if (want_params) pool_run(p->base.context->pool, (size_t)p->base.vectors, sum_vector, &t);
}
