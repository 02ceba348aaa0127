/* ema_conv - EMA as a convolution with its kernel over a grid of 1 x cells.
 *
 * A kernel is the impulse response of the recurrence; applying the adjoint of the recurrence to the
 * gradient of the kernel gives the gradient of the decays. The convolution writes z, the values
 * before SiLU, into the workspace. It requires cells in raster order with one constant stride; u
 * and du are copied when their strides differ. */
#include "layers/ema/ema_internal.h"
#include "core/arith.h"
#include "core/status.h"

#include <string.h>

enum { MAX_CELLS = 1 << 24 };

typedef struct job {
    const ema_plan *plan;
    ssm2d_workspace *ws;
    const real *from;
    real *to;
    plane_strides from_strides, to_strides;
    const real *dy;
} job;

static plane_strides dense(const ema_plan *p)
{
    const ptrdiff_t H = p->base.channels;
    return (plane_strides){(ptrdiff_t)p->cells * H, p->base.cols * H, H, 1};
}

/* The largest positive offset of the kernel, and the largest negative one: with `shift` the first
 * tap of the second direction is at -1. */
static int after(const ema_plan *p) { return (int)p->taps - 1; }
static int before(const ema_plan *p)
{
    if (!p->config.bidirectional) return 0;
    const size_t taps = p->taps + (p->config.shift ? 1 : 0);
    return (int)min_size(taps, p->cells) - 1;
}

ssm2d_status ema_conv_make(ema_plan *p, ssm2d_error *error)
{
    ema_plan *e = p;
    const size_t elements = e->cells * (size_t)p->base.channels, batch = p->base.options.batch;
    const size_t size = sizeof(real), threads = (size_t)pool_threads(p->base.context->pool);
    const plane_strides in = p->base.in;
    if (e->cells > MAX_CELLS)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "rows=%d, cols=%d: algorithm %s convolves up to %d cells; use scan",
                    p->base.rows, p->base.cols, p->base.algorithm, MAX_CELLS);
    e->in_is_raster = p->base.rows == 1 || in.row == in.col * p->base.cols;
    const plane_strides of_u = e->in_is_raster ? in : dense(p);
    conv_problem problem = {.context = p->base.context,
                            .batch = batch,
                            .rows = 1,
                            .cols = (int)e->cells,
                            .channels = p->base.channels,
                            .trunc_rows = 1,
                            .trunc_cols = max_int(after(p), before(p)) + 1,
                            .in = of_u,
                            .out = dense(p),
                            .inference = p->base.options.inference};
    for (int s = 0; s < REACH_SIGNS; s++) problem.reach[s] = (conv_reach){1, 0};
    problem.reach[REACH_CENTRE] = (conv_reach){-before(p), after(p)};
    ssm2d_status status = conv_plan_draft(&problem, p->base.algorithm, &e->conv, error);
    if (status) return status;
    const size_t kernel = two_sided_size(conv_plan_layout(e->conv)) * (size_t)p->base.vectors;
    e->tile = e->cells * (size_t)p->base.lanes;
    e->worker = 4 * e->tile + e->scratch; /* impulse, kernel, dkernel, du */
    e->tiles = plan_reserve(&p->base, e->worker, threads * size);
    e->k2 = plan_reserve(&p->base, kernel, size);
    e->z = plan_reserve(&p->base, batch, elements * size);
    if (!e->in_is_raster) e->dense_u = plan_reserve(&p->base, batch, elements * size);
    e->conv_memory = plan_reserve(&p->base, conv_plan_bytes(e->conv), 1);
    if (p->base.options.inference) return SSM2D_OK;
    e->dk2 = plan_reserve(&p->base, kernel, size);
    e->dz = plan_reserve(&p->base, batch, elements * size);
    if (!e->in_is_raster) e->dense_du = plan_reserve(&p->base, batch, elements * size);
    return SSM2D_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The offset of tap t of a direction. */
static int offset_of(const ema_plan *p, int direction, int t)
{
    return !direction ? t : p->config.shift ? -(t + 1) : -t;
}

/* Sets u to an impulse at the cell where a direction starts. */
static void impulse(const ema_plan *p, int direction, real *u)
{
    const size_t lanes = (size_t)p->base.lanes, at = direction ? p->cells - 1 : 0;
    memset(u, 0, p->tile * sizeof(real));
    for (size_t l = 0; l < lanes; l++) u[at * lanes + l] = 1;
}

static size_t tap_at(const ema_plan *p, int direction, int t)
{
    const size_t cell = direction ? p->cells - 1 : 0;
    return (size_t)((ptrdiff_t)cell + offset_of(p, direction, t)) * (size_t)p->base.lanes;
}

static int in_grid(const ema_plan *p, int direction, int t)
{
    return direction ? -offset_of(p, direction, t) <= before(p) : t <= after(p);
}

static real *worker_tiles(const job *t, int worker)
{
    return REGION_AT(real, t->ws, t->plan->tiles) + (size_t)worker * t->plan->worker;
}

static void prepare_vector(void *arg, size_t v, int worker)
{
    const job *j = arg;
    const ema_plan *p = j->plan;
    const two_sided *layout = conv_plan_layout(p->conv);
    const size_t lanes = (size_t)p->base.lanes;
    const real *decays = REGION_AT(real, j->ws, p->decays) + v * ema_decays_size(p);
    const real *omega = REGION_AT(real, j->ws, p->omega) + v * lanes;
    real *u = worker_tiles(j, worker), *k = u + p->tile;
    real *k2 = REGION_AT(real, j->ws, p->k2) + v * two_sided_size(layout);
    memset(k2, 0, two_sided_size(layout) * sizeof(real));
    for (int r = 0; r < p->directions; r++) {
        impulse(p, r, u);
        memset(k, 0, p->tile * sizeof(real));
        ema_states_scan(p, r, k, u, decays);
        for (int t = 0; t < (int)p->taps && in_grid(p, r, t); t++) {
            real *to = k2 + two_sided_at(layout, 0, offset_of(p, r, t));
            for (size_t l = 0; l < lanes; l++) to[l] += k[tap_at(p, r, t) + l];
        }
    }
    real *centre = k2 + two_sided_at(layout, 0, 0);
    for (size_t l = 0; l < lanes; l++) centre[l] += omega[l];
}

void ema_conv_prepare(const ema_plan *p, ssm2d_workspace *ws)
{
    job t = {.plan = p, .ws = ws};
    pool_run(p->base.context->pool, (size_t)p->base.vectors, prepare_vector, &t);
    conv_prepare(p->conv, REGION_AT(void, ws, p->conv_memory), REGION_AT(real, ws, p->k2));
}

static void adjoint_vector(void *arg, size_t v, int worker)
{
    const job *j = arg;
    const ema_plan *p = j->plan;
    const two_sided *layout = conv_plan_layout(p->conv);
    const size_t lanes = (size_t)p->base.lanes, decays_size = ema_decays_size(p), tile = p->tile;
    const real *decays = REGION_AT(real, j->ws, p->decays) + v * decays_size;
    const real *dk2 = REGION_AT(real, j->ws, p->dk2) + v * two_sided_size(layout);
    real *ddecays = REGION_AT(real, j->ws, p->ddecays) + v * decays_size;
    real *domega = REGION_AT(real, j->ws, p->domega) + v * lanes;
    real *u = worker_tiles(j, worker), *dk = u + 2 * tile, *du = dk + tile, *scratch = du + tile;
    memset(ddecays, 0, decays_size * sizeof(real));
    memset(du, 0, tile * sizeof(real)); /* unused, but sums in it must not overflow */
    for (int r = 0; r < p->directions; r++) {
        impulse(p, r, u);
        memset(dk, 0, tile * sizeof(real));
        for (int t = 0; t < (int)p->taps && in_grid(p, r, t); t++)
            memcpy(dk + tap_at(p, r, t), dk2 + two_sided_at(layout, 0, offset_of(p, r, t)),
                   lanes * sizeof(real));
        ema_states_back(p, r, du, dk, u, decays, ddecays, scratch);
    }
    memcpy(domega, dk2 + two_sided_at(layout, 0, 0), lanes * sizeof(real));
}

/* ---- copies in raster order ------------------------------------------------------------------ */

/* One task per row of cells. */
static void copy_row(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const plane_strides a = t->from_strides, b = t->to_strides;
    const ptrdiff_t image = (ptrdiff_t)(task / (size_t)t->plan->base.rows);
    const ptrdiff_t i = (ptrdiff_t)(task % (size_t)t->plan->base.rows);
    const real *from = t->from + image * a.batch + i * a.row;
    real *to = t->to + image * b.batch + i * b.row;
    for (int j = 0; j < t->plan->base.cols; j++)
        for (int h = 0; h < t->plan->base.channels; h++)
            to[j * b.col + h * b.channel] = from[j * a.col + h * a.channel];
}

static void add_row(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const plane_strides a = t->from_strides, b = t->to_strides;
    const ptrdiff_t image = (ptrdiff_t)(task / (size_t)t->plan->base.rows);
    const ptrdiff_t i = (ptrdiff_t)(task % (size_t)t->plan->base.rows);
    const real *from = t->from + image * a.batch + i * a.row;
    real *to = t->to + image * b.batch + i * b.row;
    for (int j = 0; j < t->plan->base.cols; j++)
        for (int h = 0; h < t->plan->base.channels; h++)
            to[j * b.col + h * b.channel] += from[j * a.col + h * a.channel];
}

static void each_row(const ema_plan *p, pool_task run, job *t)
{
    pool_run(p->base.context->pool, p->base.options.batch * (size_t)p->base.rows, run, t);
}

/* u in raster order with one stride: u itself or a copy. */
static const real *raster(const ema_plan *p, ssm2d_workspace *ws, const real *u)
{
    if (p->in_is_raster) return u;
    job t = {.plan = p,
             .from = u,
             .from_strides = p->base.in,
             .to = REGION_AT(real, ws, p->dense_u),
             .to_strides = dense(p)};
    each_row(p, copy_row, &t);
    return t.to;
}

/* ---- forward, backward ----------------------------------------------------------------------- */

/* y = SiLU(z) for a dense z. Each row of cells is one task, which copies elements through the
 * worker's tile in whole vectors. */
static void activate_row(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ema_plan *p = t->plan;
    const simd_table *simd = p->base.simd;
    const size_t rows = (size_t)p->base.rows, b = task / rows, i = task % rows;
    const size_t lanes = (size_t)p->base.lanes, cells = (size_t)p->base.cols;
    const plane_strides z = dense(p), s = p->base.out;
    const ptrdiff_t from = (ptrdiff_t)b * z.batch + (ptrdiff_t)i * z.row;
    const ptrdiff_t to = (ptrdiff_t)b * s.batch + (ptrdiff_t)i * s.row;
    real *tile = worker_tiles(t, worker), *other = tile + p->tile;
    for (int first = 0; first < p->base.channels; first += p->base.lanes) {
        const int count = min_int(p->base.lanes, p->base.channels - first);
        simd->gather(tile, cells * lanes, t->from + from + first, cells, z.col, 1, count);
        if (t->dy) {
            simd->gather(other, cells * lanes, t->dy + to + first * s.channel, cells, s.col,
                         s.channel, count);
            simd->ema.activate_back(tile, other, tile, cells);
            simd->scatter(t->to + from + first, tile, cells * lanes, cells, z.col, 1, count, 0);
        } else {
            simd->ema.activate(tile, tile, cells);
            simd->scatter(t->to + to + first * s.channel, tile, cells * lanes, cells, s.col,
                          s.channel, count, 0);
        }
    }
}

void ema_conv_apply(const ema_plan *p, ssm2d_workspace *ws, const real *u, real *y)
{
    real *z = REGION_AT(real, ws, p->z);
    job t = {.plan = p, .ws = ws, .from = z, .to = y};
    conv_apply(p->conv, REGION_AT(void, ws, p->conv_memory), raster(p, ws, u), NULL, z);
    each_row(p, activate_row, &t);
}

void ema_conv_backward(const ema_plan *p, ssm2d_workspace *ws, const real *u, const real *dy,
                       real *du, int want_params)
{
    const ema_plan *e = p;
    real *dz = REGION_AT(real, ws, e->dz), *sum = du;
    job t = {.plan = p, .ws = ws, .from = REGION_AT(real, ws, e->z), .to = dz, .dy = dy};
    each_row(p, activate_row, &t);
    if (du && !e->in_is_raster) {
        sum = REGION_AT(real, ws, e->dense_du);
        memset(sum, 0, p->base.options.batch * e->cells * (size_t)p->base.channels * sizeof(real));
    }
    conv_backward(e->conv, REGION_AT(void, ws, e->conv_memory), REGION_AT(real, ws, e->k2),
                  raster(p, ws, u), dz, sum, want_params ? REGION_AT(real, ws, e->dk2) : NULL);
    if (sum != du) {
        job back = {
            .plan = p, .from = sum, .from_strides = dense(p), .to = du, .to_strides = p->base.in};
        each_row(p, add_row, &back);
    }
    if (want_params) pool_run(p->base.context->pool, (size_t)p->base.vectors, adjoint_vector, &t);
}
