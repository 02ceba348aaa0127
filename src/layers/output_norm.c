/* output_norm - the LayerNorm at the end of the layer:
 *     y = (z - mean) / sqrt(variance + eps) * gamma + beta
 * with the mean and the biased variance over the channels of each cell. */
#include "layers/output_norm.h"

#include "core/tasks.h"
#include "layers/layer_names.h"

#include <math.h>
#include <string.h>

/* The number of parts that cells are cut into is fixed, so that sums over cells do not depend on
 * the number of threads. */
enum { PARTS = 2 * TASKS_THREADS };

static const double EPSILON = 1e-5;

typedef struct job {
    const ssm2d_plan *plan;
    const output_norm *norm;
    ssm2d_workspace *ws;
    real *y;
    const real *dy;
} job;

static size_t cells(const ssm2d_plan *p)
{
    return p->options.batch * (size_t)p->rows * (size_t)p->cols;
}

static ptrdiff_t out_at(const ssm2d_plan *p, size_t cell)
{
    const size_t cols = (size_t)p->cols, rows = (size_t)p->rows;
    const plane_strides s = p->out;
    return (ptrdiff_t)(cell / (rows * cols)) * s.batch + (ptrdiff_t)(cell / cols % rows) * s.row
           + (ptrdiff_t)(cell % cols) * s.col;
}

static void moments(const real *z, int H, real *mean, real *scale)
{
    double sum = 0, squares = 0;
    for (int h = 0; h < H; h++) sum += (double)z[h];
    sum /= H;
    for (int h = 0; h < H; h++) squares += ((double)z[h] - sum) * ((double)z[h] - sum);
    *mean = (real)sum;
    *scale = (real)(1 / sqrt(squares / H + EPSILON));
}

static void apply_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const int H = p->channels;
    const ptrdiff_t step = p->out.channel;
    const real *gamma = REGION_AT(real, t->ws, t->norm->values), *beta = gamma + H;
    for (size_t cell = cells(p) * part / PARTS; cell < cells(p) * (part + 1) / PARTS; cell++) {
        const real *z = REGION_AT(real, t->ws, t->norm->z) + cell * (size_t)H;
        real *y = t->y + out_at(p, cell), mean, scale;
        moments(z, H, &mean, &scale);
        for (int h = 0; h < H; h++) y[h * step] = (z[h] - mean) * scale * gamma[h] + beta[h];
    }
}

void output_norm_apply(const ssm2d_plan *plan, const output_norm *norm, ssm2d_workspace *ws,
                       real *y)
{
    job t = {.plan = plan, .norm = norm, .ws = ws, .y = y};
    pool_run(plan->context->pool, PARTS, apply_part, &t);
}

size_t output_norm_sums(const ssm2d_plan *plan) { return PARTS * 2 * (size_t)plan->channels; }

static void backward_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const int H = p->channels;
    const ptrdiff_t step = p->out.channel;
    const real *gamma = REGION_AT(real, t->ws, t->norm->values);
    real *dgamma = REGION_AT(real, t->ws, t->norm->sums) + part * 2 * (size_t)H,
         *dbeta = dgamma + H;
    memset(dgamma, 0, 2 * (size_t)H * sizeof(real));
    for (size_t cell = cells(p) * part / PARTS; cell < cells(p) * (part + 1) / PARTS; cell++) {
        const real *z = REGION_AT(real, t->ws, t->norm->z) + cell * (size_t)H,
                   *dy = t->dy + out_at(p, cell);
        real *dz = REGION_AT(real, t->ws, t->norm->dz) + cell * (size_t)H, mean, scale;
        /* sums over channels of dzn and of dzn * zn, where zn is the normalised z */
        double sum = 0, along = 0;
        moments(z, H, &mean, &scale);
        for (int h = 0; h < H; h++) {
            real x = (z[h] - mean) * scale, d = dy[h * step];
            dgamma[h] += d * x;
            dbeta[h] += d;
            sum += (double)(d * gamma[h]);
            along += (double)(d * gamma[h] * x);
        }
        sum /= H;
        along /= H;
        for (int h = 0; h < H; h++) {
            real x = (z[h] - mean) * scale;
            dz[h] = scale * (dy[h * step] * gamma[h] - (real)sum - x * (real)along);
        }
    }
}

void output_norm_backward(const ssm2d_plan *plan, const output_norm *norm, ssm2d_workspace *ws,
                          const real *dy, real *dparams)
{
    job t = {.plan = plan, .norm = norm, .ws = ws, .dy = dy};
    const size_t H = (size_t)plan->channels;
    pool_run(plan->context->pool, PARTS, backward_part, &t);
    if (!dparams) return;
    part_sums sums = {{dparams + norm->gamma, dparams + norm->beta},
                      REGION_AT(real, ws, norm->sums),
                      PARTS,
                      2 * H,
                      H};
    part_sums_add(plan->context->pool, &sums);
}
