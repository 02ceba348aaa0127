/* ema_conv - EMA as a convolution with its kernel over a grid of 1 x cells.
 *
 * A kernel is what the recurrence makes of an impulse, and the gradient of its decays is the
 * adjoint of the recurrence at the gradient of the kernel. The convolution writes z, before SiLU,
 * into the workspace. It wants cells at one distance in raster order: where those of u are not, u
 * and du go through copies. */
#include "baselines/ema_internal.h"
#include "core/arith.h"
#include "core/status.h"

#include <string.h>

enum { MAX_CELLS = 1 << 24 };

typedef struct job {
    const ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *ws;
    const real *from;
    real *to;
    ssm2d_strides from_strides, to_strides;
    const real *dy;
} job;

static ssm2d_strides dense(const ssm2d_baseline_plan *p)
{
    const ptrdiff_t H = p->channels;
    return (ssm2d_strides){(ptrdiff_t)p->ema.cells * H, p->cols * H, H, 1};
}

/* Offsets that the kernel has after 0, and before: with `shift` the second direction's first tap
 * is at -1. */
static int after(const ssm2d_baseline_plan *p) { return (int)p->ema.taps - 1; }
static int before(const ssm2d_baseline_plan *p)
{
    if (!p->config.ema.bidirectional) return 0;
    const size_t taps = p->ema.taps + (p->config.ema.shift ? 1 : 0);
    return (int)min_size(taps, p->ema.cells) - 1;
}

ssm2d_status ema_conv_make(ssm2d_baseline_plan *p, ssm2d_error *error)
{
    ema_plan *e = &p->ema;
    const size_t numbers = e->cells * (size_t)p->channels, batch = p->options.batch;
    const size_t size = sizeof(real), threads = (size_t)pool_threads(p->context->pool);
    const ssm2d_strides in = p->options.in;
    if (e->cells > MAX_CELLS)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "rows=%d, cols=%d: algorithm %s convolves up to %d cells; use scan", p->rows,
                    p->cols, p->algorithm, MAX_CELLS);
    e->in_is_raster = p->rows == 1 || in.row == in.col * p->cols;
    const ssm2d_strides of_u = e->in_is_raster ? in : dense(p);
    conv_problem problem = {.context = p->context,
                            .batch = batch,
                            .rows = 1,
                            .cols = (int)e->cells,
                            .channels = p->channels,
                            .trunc_rows = 1,
                            .trunc_cols = max_int(after(p), before(p)) + 1,
                            .in = of_u,
                            .out = dense(p),
                            .inference = p->options.inference};
    for (int s = 0; s < REACH_SIGNS; s++) problem.reach[s] = (conv_reach){1, 0};
    problem.reach[REACH_CENTRE] = (conv_reach){-before(p), after(p)};
    ssm2d_status status = conv_plan_draft(&problem, p->algorithm, &e->conv, error);
    if (status) return status;
    const size_t kernel = two_sided_size(conv_plan_layout(e->conv)) * (size_t)p->vectors;
    e->tile = e->cells * (size_t)p->lanes;
    e->worker = 4 * e->tile + e->scratch; /* an impulse, a kernel, its gradient, a du */
    e->tiles = baseline_reserve(p, e->worker, threads * size);
    e->k2 = baseline_reserve(p, kernel, size);
    e->z = baseline_reserve(p, batch, numbers * size);
    if (!e->in_is_raster) e->dense_u = baseline_reserve(p, batch, numbers * size);
    e->conv_memory = baseline_reserve(p, conv_plan_bytes(e->conv), 1);
    if (p->options.inference) return SSM2D_OK;
    e->dk2 = baseline_reserve(p, kernel, size);
    e->dz = baseline_reserve(p, batch, numbers * size);
    if (!e->in_is_raster) e->dense_du = baseline_reserve(p, batch, numbers * size);
    return SSM2D_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The offset of tap t of a direction. */
static int offset_of(const ssm2d_baseline_plan *p, int direction, int t)
{
    return !direction ? t : p->config.ema.shift ? -(t + 1) : -t;
}

/* u <- an impulse where the walk of a direction begins. */
static void impulse(const ssm2d_baseline_plan *p, int direction, real *u)
{
    const size_t lanes = (size_t)p->lanes, at = direction ? p->ema.cells - 1 : 0;
    memset(u, 0, p->ema.tile * sizeof(real));
    for (size_t l = 0; l < lanes; l++) u[at * lanes + l] = 1;
}

static size_t tap_at(const ssm2d_baseline_plan *p, int direction, int t)
{
    const size_t cell = direction ? p->ema.cells - 1 : 0;
    return (size_t)((ptrdiff_t)cell + offset_of(p, direction, t)) * (size_t)p->lanes;
}

static int in_grid(const ssm2d_baseline_plan *p, int direction, int t)
{
    return direction ? -offset_of(p, direction, t) <= before(p) : t <= after(p);
}

static real *worker_tiles(const job *t, int worker)
{
    return BASELINE_REGION(real, t->ws, t->plan->ema.tiles) + (size_t)worker * t->plan->ema.worker;
}

static void prepare_vector(void *arg, size_t v, int worker)
{
    const job *j = arg;
    const ssm2d_baseline_plan *p = j->plan;
    const two_sided *layout = conv_plan_layout(p->ema.conv);
    const size_t lanes = (size_t)p->lanes;
    const real *decays = BASELINE_REGION(real, j->ws, p->ema.decays) + v * ema_decays_size(p);
    const real *omega = BASELINE_REGION(real, j->ws, p->ema.omega) + v * lanes;
    real *u = worker_tiles(j, worker), *k = u + p->ema.tile;
    real *k2 = BASELINE_REGION(real, j->ws, p->ema.k2) + v * two_sided_size(layout);
    memset(k2, 0, two_sided_size(layout) * sizeof(real));
    for (int r = 0; r < p->ema.directions; r++) {
        impulse(p, r, u);
        memset(k, 0, p->ema.tile * sizeof(real));
        ema_states_scan(p, r, k, u, decays);
        for (int t = 0; t < (int)p->ema.taps && in_grid(p, r, t); t++) {
            real *to = k2 + two_sided_at(layout, 0, offset_of(p, r, t));
            for (size_t l = 0; l < lanes; l++) to[l] += k[tap_at(p, r, t) + l];
        }
    }
    real *centre = k2 + two_sided_at(layout, 0, 0);
    for (size_t l = 0; l < lanes; l++) centre[l] += omega[l];
}

void ema_conv_prepare(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws)
{
    job t = {.plan = p, .ws = ws};
    pool_run(p->context->pool, (size_t)p->vectors, prepare_vector, &t);
    conv_prepare(p->ema.conv, BASELINE_REGION(void, ws, p->ema.conv_memory),
                 BASELINE_REGION(real, ws, p->ema.k2));
}

static void adjoint_vector(void *arg, size_t v, int worker)
{
    const job *j = arg;
    const ssm2d_baseline_plan *p = j->plan;
    const two_sided *layout = conv_plan_layout(p->ema.conv);
    const size_t lanes = (size_t)p->lanes, numbers = ema_decays_size(p), tile = p->ema.tile;
    const real *decays = BASELINE_REGION(real, j->ws, p->ema.decays) + v * numbers;
    const real *dk2 = BASELINE_REGION(real, j->ws, p->ema.dk2) + v * two_sided_size(layout);
    real *ddecays = BASELINE_REGION(real, j->ws, p->ema.ddecays) + v * numbers;
    real *domega = BASELINE_REGION(real, j->ws, p->ema.domega) + v * lanes;
    real *u = worker_tiles(j, worker), *dk = u + 2 * tile, *du = dk + tile, *scratch = du + tile;
    memset(ddecays, 0, numbers * sizeof(real));
    memset(du, 0, tile * sizeof(real)); /* of no use, but adding to it must not overflow */
    for (int r = 0; r < p->ema.directions; r++) {
        impulse(p, r, u);
        memset(dk, 0, tile * sizeof(real));
        for (int t = 0; t < (int)p->ema.taps && in_grid(p, r, t); t++)
            memcpy(dk + tap_at(p, r, t), dk2 + two_sided_at(layout, 0, offset_of(p, r, t)),
                   lanes * sizeof(real));
        ema_states_back(p, r, du, dk, u, decays, ddecays, scratch);
    }
    memcpy(domega, dk2 + two_sided_at(layout, 0, 0), lanes * sizeof(real));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Rows of cells, one task each. */
static void copy_row(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_strides a = t->from_strides, b = t->to_strides;
    const ptrdiff_t image = (ptrdiff_t)(task / (size_t)t->plan->rows);
    const ptrdiff_t i = (ptrdiff_t)(task % (size_t)t->plan->rows);
    const real *from = t->from + image * a.batch + i * a.row;
    real *to = t->to + image * b.batch + i * b.row;
    for (int j = 0; j < t->plan->cols; j++)
        for (int h = 0; h < t->plan->channels; h++)
            to[j * b.col + h * b.channel] = from[j * a.col + h * a.channel];
}

static void add_row(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_strides a = t->from_strides, b = t->to_strides;
    const ptrdiff_t image = (ptrdiff_t)(task / (size_t)t->plan->rows);
    const ptrdiff_t i = (ptrdiff_t)(task % (size_t)t->plan->rows);
    const real *from = t->from + image * a.batch + i * a.row;
    real *to = t->to + image * b.batch + i * b.row;
    for (int j = 0; j < t->plan->cols; j++)
        for (int h = 0; h < t->plan->channels; h++)
            to[j * b.col + h * b.channel] += from[j * a.col + h * a.channel];
}

static void each_row(const ssm2d_baseline_plan *p, pool_task run, job *t)
{
    pool_run(p->context->pool, p->options.batch * (size_t)p->rows, run, t);
}

/* u as the convolution takes it. */
static const real *raster(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u)
{
    if (p->ema.in_is_raster) return u;
    job t = {.plan = p,
             .from = u,
             .from_strides = p->options.in,
             .to = BASELINE_REGION(real, ws, p->ema.dense_u),
             .to_strides = dense(p)};
    each_row(p, copy_row, &t);
    return t.to;
}

/* ---- forward, backward ----------------------------------------------------------------------- */

/* y = SiLU(z), z being dense, in whole vectors of numbers through a worker's tile; a row of cells
 * is one task. */
static void activate_row(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_baseline_plan *p = t->plan;
    const simd_table *simd = p->simd;
    const size_t rows = (size_t)p->rows, b = task / rows, i = task % rows;
    const size_t lanes = (size_t)p->lanes, cells = (size_t)p->cols;
    const ssm2d_strides z = dense(p), s = p->options.out;
    const ptrdiff_t from = (ptrdiff_t)b * z.batch + (ptrdiff_t)i * z.row;
    const ptrdiff_t to = (ptrdiff_t)b * s.batch + (ptrdiff_t)i * s.row;
    real *tile = worker_tiles(t, worker), *other = tile + p->ema.tile;
    for (int first = 0; first < p->channels; first += p->lanes) {
        const int count = min_int(p->lanes, p->channels - first);
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

void ema_conv_apply(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                    real *y)
{
    real *z = BASELINE_REGION(real, ws, p->ema.z);
    job t = {.plan = p, .ws = ws, .from = z, .to = y};
    conv_apply(p->ema.conv, BASELINE_REGION(void, ws, p->ema.conv_memory), raster(p, ws, u), z);
    each_row(p, activate_row, &t);
}

void ema_conv_backward(const ssm2d_baseline_plan *p, ssm2d_baseline_workspace *ws, const real *u,
                       const real *dy, real *du, int want_params)
{
    const ema_plan *e = &p->ema;
    real *dz = BASELINE_REGION(real, ws, e->dz), *sum = du;
    job t = {.plan = p, .ws = ws, .from = BASELINE_REGION(real, ws, e->z), .to = dz, .dy = dy};
    each_row(p, activate_row, &t);
    if (du && !e->in_is_raster) {
        sum = BASELINE_REGION(real, ws, e->dense_du);
        memset(sum, 0, p->options.batch * e->cells * (size_t)p->channels * sizeof(real));
    }
    conv_backward(e->conv, BASELINE_REGION(void, ws, e->conv_memory),
                  BASELINE_REGION(real, ws, e->k2), raster(p, ws, u), dz, sum,
                  want_params ? BASELINE_REGION(real, ws, e->dk2) : NULL);
    if (sum != du) {
        job back = {.plan = p,
                    .from = sum,
                    .from_strides = dense(p),
                    .to = du,
                    .to_strides = p->options.in};
        each_row(p, add_row, &back);
    }
    if (want_params) pool_run(p->context->pool, (size_t)p->vectors, adjoint_vector, &t);
}
