/* conv_execute - planning, forward and backward of the depthwise convolution, for one number type.
 * src/conv does the convolution; this file converts the weights to its kernel layout and computes
 * the gradient of the bias. */
#include "conv/conv.h"
#include "core/arith.h"
#include "core/tasks.h"
#include "layers/conv/conv_layer.h"
#include "layers/layer_names.h"

#include <string.h>

/* The number of parts that cells are cut into is fixed, so that sums over cells do not depend on
 * the number of threads. */
enum { PARTS = 2 * TASKS_THREADS };

static const conv_layer_plan *own(const ssm2d_plan *plan) { return (const conv_layer_plan *)plan; }

static const char *algorithm(int i) { return conv_algorithm_name(i); }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    conv_layer_plan *p = (conv_layer_plan *)base;
    const int reach = p->config.kernel / 2 + 1;
    conv_plan *conv;
    (void)i;
    p->trunc_rows = min_int(reach, base->rows);
    p->trunc_cols = min_int(reach, base->cols);
    conv_problem problem = {.context = base->context,
                            .batch = base->options.batch,
                            .rows = base->rows,
                            .cols = base->cols,
                            .channels = base->channels,
                            .trunc_rows = p->trunc_rows,
                            .trunc_cols = p->trunc_cols,
                            .in = base->in,
                            .out = base->out,
                            .inference = base->options.inference};
    for (int sign = 0; sign < REACH_SIGNS; sign++)
        problem.reach[sign] = (conv_reach){1 - p->trunc_cols, p->trunc_cols - 1};
    ssm2d_status status = conv_plan_draft(&problem, base->algorithm, &conv, error);
    if (status) return status;
    const size_t vectors = (size_t)base->vectors * sizeof(real);
    const size_t kernel = two_sided_size(conv_plan_layout(conv));
    p->conv = conv;
    p->k2 = plan_reserve(base, kernel, vectors);
    p->bias = plan_reserve(base, (size_t)base->lanes, vectors);
    if (!base->options.inference) {
        p->dk2 = plan_reserve(base, kernel, vectors);
        if (p->config.bias)
            p->sums = plan_reserve(base, PARTS * (size_t)base->channels, sizeof(real));
    }
    p->memory = plan_reserve(base, conv_plan_bytes(conv), 1);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *p) { return conv_plan_cost(own(p)->conv); }

static ssm2d_status finish(ssm2d_plan *p, ssm2d_error *error)
{
    return conv_plan_finish(own(p)->conv, error);
}

static void release(ssm2d_plan *p) { conv_plan_destroy(own(p)->conv); }

/* Index of the weight of channel 0 at offset (d, o) = output position - input position. */
static size_t weight_at(const conv_layer_plan *p, int d, int o)
{
    const int side = p->config.kernel, r = side / 2;
    return row_major(r - d, side, r - o);
}

/* Weights and kernels: those of a layer into the layout of the convolution, or back. */
typedef struct kernel_job {
    const conv_layer_plan *plan;
    const real *weight; /* NULL: dweight += k2 */
    real *dweight, *k2;
} kernel_job;

/* One vector of channels. */
static void move_kernel(void *arg, size_t vector, int worker)
{
    (void)worker;
    const kernel_job *t = arg;
    const conv_layer_plan *p = t->plan;
    const two_sided *k = conv_plan_layout(p->conv);
    const size_t taps = (size_t)p->config.kernel * (size_t)p->config.kernel,
                 lanes = (size_t)k->lanes, first = vector * lanes,
                 channels = min_size(lanes, (size_t)p->base.channels - first);
    real *k2 = t->k2 + vector * two_sided_size(k);
    for (int d = 1 - p->trunc_rows; d < p->trunc_rows; d++)
        for (int o = 1 - p->trunc_cols; o < p->trunc_cols; o++) {
            const size_t at = first * taps + weight_at(p, d, o);
            real *tap = k2 + two_sided_at(k, d, o);
            if (t->weight)
                for (size_t h = 0; h < channels; h++) tap[h] = t->weight[at + h * taps];
            else
                for (size_t h = 0; h < channels; h++) t->dweight[at + h * taps] += tap[h];
        }
}

static void prepare(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params)
{
    const conv_layer_plan *p = own(base);
    const size_t taps = (size_t)p->config.kernel * (size_t)p->config.kernel;
    const real *weight = params, *bias = weight + taps * (size_t)base->channels;
    kernel_job t = {.plan = p, .weight = weight, .k2 = REGION_AT(real, ws, p->k2)};
    pool_run(base->context->pool, (size_t)base->vectors, move_kernel, &t);
    if (p->config.bias)
        memcpy(REGION_AT(real, ws, p->bias), bias, (size_t)base->channels * sizeof(real));
    conv_prepare(p->conv, REGION_AT(void, ws, p->memory), t.k2);
}

static void apply(const ssm2d_plan *base, ssm2d_workspace *ws, const void *u, void *y)
{
    const conv_layer_plan *p = own(base);
    conv_apply(p->conv, REGION_AT(void, ws, p->memory), u,
               p->config.bias ? REGION_AT(real, ws, p->bias) : NULL, y);
}

typedef struct sum_job {
    const conv_layer_plan *plan;
    const real *dy;
    real *sums;
} sum_job;

/* Sums dy over one part of the cells. */
static void sum_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const sum_job *t = arg;
    const ssm2d_plan *p = &t->plan->base;
    const size_t rows = (size_t)p->rows, cols = (size_t)p->cols;
    const size_t lines = p->options.batch * rows;
    real *sums = t->sums + part * (size_t)p->channels;
    memset(sums, 0, (size_t)p->channels * sizeof *sums);
    for (size_t line = lines * part / PARTS; line < lines * (part + 1) / PARTS; line++) {
        const real *dy =
            t->dy + (ptrdiff_t)(line / rows) * p->out.batch + (ptrdiff_t)(line % rows) * p->out.row;
        for (size_t j = 0; j < cols; j++, dy += p->out.col)
            if (p->out.channel == 1) /* known when compiling, so that vectors are added */
                for (int h = 0; h < p->channels; h++) sums[h] += dy[h];
            else
                for (int h = 0; h < p->channels; h++) sums[h] += dy[h * p->out.channel];
    }
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const conv_layer_plan *p = own(base);
    const size_t taps = (size_t)p->config.kernel * (size_t)p->config.kernel;
    const size_t H = (size_t)base->channels;
    real *dk2 = REGION_AT(real, ws, p->dk2), *dweight = dparams;
    (void)params;
    conv_backward(p->conv, REGION_AT(void, ws, p->memory), REGION_AT(real, ws, p->k2), u, dy, du,
                  dparams ? dk2 : NULL);
    if (!dparams) return;
    kernel_job moved = {.plan = p, .dweight = dweight, .k2 = dk2};
    pool_run(base->context->pool, (size_t)base->vectors, move_kernel, &moved);
    if (!p->config.bias) return;
    sum_job t = {p, dy, REGION_AT(real, ws, p->sums)};
    pool_run(base->context->pool, PARTS, sum_part, &t);
    for (size_t part = 0; part < PARTS; part++)
        for (size_t h = 0; h < H; h++) dweight[taps * H + h] += t.sums[part * H + h];
}

static int kernel_shape(const ssm2d_plan *p, size_t shape[SSM2D_KERNEL_RANK])
{
    shape[0] = (size_t)p->channels;
    shape[1] = shape[2] = (size_t)own(p)->config.kernel;
    return 3;
}

/* The weight itself, indexed by input position - output position. */
static void kernel(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params, void *out)
{
    const size_t side = (size_t)own(p)->config.kernel;
    (void)ws;
    memcpy(out, params, (size_t)p->channels * side * side * sizeof(real));
}

const layer_functions conv_functions = {.size = sizeof(real),
                                        .algorithm = algorithm,
                                        .plan = plan,
                                        .cost = cost,
                                        .finish = finish,
                                        .release = release,
                                        .kernel_shape = kernel_shape,
                                        .prepare = prepare,
                                        .apply = apply,
                                        .backward = backward,
                                        .kernel = kernel};
