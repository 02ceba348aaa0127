/* execute - planning, a forward and a backward pass from parameters to output, in the order of
 * layer_internal.h, for one number type. */
#include "layer/assign.h"
#include "layer/layer_internal.h"
#include "layer/scan.h"
#include "layer/stream.h"

#include <string.h>

static const void *bodies_for(cpu_level level, int *lanes)
{
    const simd_table *simd = simd_for(level);
    *lanes = simd->lanes;
    return simd;
}

/* What every algorithm needs. */
static void plan_regions(ssm2d_plan *p)
{
    const size_t W = (size_t)p->wide, K = (size_t)p->systems, C = (size_t)p->c_rows,
                 H = (size_t)p->config.channels;
    const size_t cells = (size_t)p->rows * (size_t)p->cols, size = sizeof(real);
    const int training = !p->options.inference;
    p->at.coef = plan_reserve(p, K * COEFS * W, size);
    p->at.c = plan_reserve(p, C * 2 * W, size);
    p->at.centre = plan_reserve(p, C, sizeof(double));
    p->at.d = plan_reserve(p, H, size);
    p->states_per_worker = kernel_states(p, p->options.inference);
    p->at.states =
        plan_reserve(p, p->states_per_worker * (size_t)pool_threads(p->context->pool), size);
    if (training) {
        p->at.dcoef = plan_reserve(p, K * COEFS * W, size);
        p->at.dc = plan_reserve(p, C * 2 * W, size);
        p->at.dcentre = plan_reserve(p, C, size);
        p->at.dd = plan_reserve(p, H, size);
    }
    p->conv_out = p->options.out;
    if (p->config.layer_norm) {
        const ptrdiff_t h = p->config.channels;
        p->conv_out = (ssm2d_strides){h * p->rows * p->cols, h * p->cols, h, 1};
        p->at.norm = plan_reserve(p, 2 * H, size);
        p->at.z = plan_reserve(p, p->options.batch, cells * H * size);
        if (training) p->at.dz = plan_reserve(p, p->options.batch, cells * H * size);
        if (training) p->at.norm_sums = plan_reserve(p, output_norm_sums(p), size);
    }
}

/* Every convolution, then the recurrence. */
static const char *algorithm(int i)
{
    int convolutions = 0;
    while (conv_algorithm_name(convolutions)) convolutions++;
    return i == convolutions ? "scan" : conv_algorithm_name(i);
}

static ssm2d_status plan(ssm2d_plan *p, int i, ssm2d_error *error)
{
    p->algorithm = algorithm(i);
    plan_regions(p);
    if (!conv_algorithm_name(i)) return scan_plan_make(p, error);
    conv_problem problem = {.context = p->context,
                            .batch = p->options.batch,
                            .rows = p->rows,
                            .cols = p->cols,
                            .channels = p->config.channels,
                            .trunc_rows = p->trunc_rows,
                            .trunc_cols = p->trunc_cols,
                            .in = p->options.in,
                            .out = p->conv_out,
                            .inference = p->options.inference};
    directions_reach(p, problem.reach);
    ssm2d_status status = conv_plan_draft(&problem, p->algorithm, &p->conv, error);
    if (status) return status;
    directions_plan(p);
    p->at.conv = plan_reserve(p, conv_plan_bytes(p->conv), 1);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *p) { return p->conv ? conv_plan_cost(p->conv) : scan_cost(p); }

static int error_of_largest(const ssm2d_plan *p)
{
    return p->conv && conv_plan_error_of_largest(p->conv);
}

static ssm2d_status finish(ssm2d_plan *p, ssm2d_error *error)
{
    return p->conv ? conv_plan_finish(p->conv, error) : SSM2D_OK;
}

static void release(ssm2d_plan *p) { conv_plan_destroy(p->conv); }

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params)
{
    system_prepare(p, ws, params);
    if (!p->conv) return;
    const ptrdiff_t T2 = p->trunc_cols, cells = p->trunc_rows * T2;
    kernel_generate(p, ws, (kernel_view){REGION(real, ws, krows), cells, T2, 1, NULL});
    directions_prepare(p, ws);
    conv_prepare(p->conv, REGION(void, ws, conv), REGION(real, ws, k2));
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    real *out = p->config.layer_norm ? REGION(real, ws, z) : y;
    if (p->conv)
        conv_apply(p->conv, REGION(void, ws, conv), u, out);
    else
        scan_apply(p, ws, u, out);
    if (p->config.layer_norm) output_norm_apply(p, ws, y);
}

static void backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    if (p->config.layer_norm) {
        output_norm_backward(p, ws, dy, dparams);
        dy = REGION(void, ws, dz);
    }
    if (p->conv)
        conv_backward(p->conv, REGION(void, ws, conv), REGION(real, ws, k2), u, dy, du,
                      dparams ? REGION(real, ws, dk2) : NULL);
    else
        scan_backward(p, ws, u, dy, du, dparams != NULL);
    if (!dparams) return;
    if (p->conv) {
        directions_adjoint(p, ws);
        kernel_adjoint(p, ws, directions_fetch, REGION(real, ws, ktable));
    }
    system_adjoint(p, ws, params, dparams);
}

/* Where [direction][channel] first uses a row of C; negative when nothing does. */
static ptrdiff_t first_use(const ssm2d_plan *p, int c)
{
    const int H = p->config.channels;
    for (int r = 0; r < p->config.directions; r++) {
        const int h = channel_of_c_row(&p->config, r, c);
        if (h < H) return (ptrdiff_t)r * H + h;
    }
    return -1;
}

/* Each kernel is generated where it is used first and copied from there. The averaging is in C, and
 * is taken out again: kernels are those of the single directions. */
static void kernel(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params, void *out)
{
    const int H = p->config.channels;
    const size_t cells = (size_t)p->rows * (size_t)p->cols;
    real *k = out;
    system_prepare(p, ws, params);
    for (int c = 0; c < p->c_rows; c++) {
        const ptrdiff_t use = first_use(p, c);
        if (use >= 0) memset(k + (size_t)use * cells, 0, cells * sizeof(real));
    }
    kernel_generate(p, ws, (kernel_view){k, (ptrdiff_t)cells, p->cols, 1, first_use});
    for (int r = 0; r < p->config.directions; r++)
        for (int h = 0; h < H; h++) {
            const size_t at = (size_t)r * (size_t)H + (size_t)h;
            const size_t from = (size_t)first_use(p, c_row_of(&p->config, r, h));
            if (from != at) {
                memcpy(k + at * cells, k + from * cells, cells * sizeof(real));
                continue;
            }
            for (size_t i = 0; p->config.average && i < cells; i++)
                k[at * cells + i] *= (real)p->config.directions;
        }
}

/* Row i of the gradient of the kernel of row c: the sum over all that use it. */
static void fetch_kernel(const ssm2d_plan *p, const real *dkernel, int c, int i, real *row)
{
    const size_t cells = (size_t)p->rows * (size_t)p->cols;
    const real scale = p->config.average ? (real)p->config.directions : 1;
    memset(row, 0, (size_t)p->trunc_cols * sizeof(real));
    for (int r = 0; r < p->config.directions; r++)
        for (int h = channel_of_c_row(&p->config, r, c); h < p->config.channels; h += p->c_rows) {
            const size_t index = (size_t)r * (size_t)p->config.channels + (size_t)h;
            const real *from = dkernel + index * cells + (size_t)i * (size_t)p->cols;
            for (int j = 0; j < p->trunc_cols; j++) row[j] += scale * from[j];
        }
}

static void kernel_backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *params,
                            const void *dkernel, void *dparams)
{
    system_prepare(p, ws, params);
    kernel_adjoint(p, ws, fetch_kernel, dkernel);
    memset(REGION(real, ws, dd), 0, (size_t)p->config.channels * sizeof(real));
    system_adjoint(p, ws, params, dparams);
}

static void stream_push(ssm2d_stream *s, const void *u, void *y)
{
    const ssm2d_plan *p = s->plan;
    scan_push(p, s->workspace, s->states, u,
              p->config.layer_norm ? REGION(void, s->workspace, z) : y);
    if (p->config.layer_norm) output_norm_apply(p, s->workspace, y);
}

static size_t stream_numbers(const ssm2d_plan *p)
{
    size_t walks = p->options.batch * (size_t)p->config.channels * (size_t)p->config.directions,
           numbers;
    return __builtin_mul_overflow(walks, p->scan.state, &numbers) ? SIZE_MAX : numbers;
}

const typed_functions layer_functions = {.size = sizeof(real),
                                         .simd = bodies_for,
                                         .algorithm = algorithm,
                                         .plan = plan,
                                         .cost = cost,
                                         .error_of_largest = error_of_largest,
                                         .finish = finish,
                                         .release = release,
                                         .prepare = prepare,
                                         .apply = apply,
                                         .backward = backward,
                                         .kernel = kernel,
                                         .kernel_backward = kernel_backward,
                                         .stream_push = stream_push,
                                         .stream_numbers = stream_numbers};
