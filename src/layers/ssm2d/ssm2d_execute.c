/* ssm2d_execute - planning, forward and backward of the 2-D SSM, for one number type; calls the
 * functions of ssm2d_internal.h in their order. */
#include "layers/output_norm.h"
#include "layers/ssm2d/assign.h"
#include "layers/ssm2d/ssm2d_internal.h"
#include "layers/ssm2d/scan.h"

#include "core/status.h"

#include <string.h>

/* Whether LayerNorm or an activation follows the convolution. */
static int has_end(const ssm2d_kind_plan *p)
{
    return p->config.layer_norm || p->config.activation;
}

static output_norm norm_of(const ssm2d_kind_plan *p)
{
    return (output_norm){.z = p->at.z,
                         .dz = p->at.dz,
                         .values = p->at.norm,
                         .sums = p->at.norm_sums,
                         .gamma = p->params.gamma,
                         .beta = p->params.beta};
}

static void end_apply(const ssm2d_kind_plan *p, ssm2d_workspace *ws, void *y)
{
    const output_norm norm = norm_of(p);
    if (p->config.layer_norm) output_norm_apply(&p->base, &norm, ws, y);
    if (p->config.activation) output_silu_apply(p, ws, y);
}

/* Reserves the regions that every algorithm needs. */
static void plan_regions(ssm2d_kind_plan *p)
{
    const size_t W = (size_t)p->wide, K = (size_t)p->systems, C = (size_t)p->c_rows,
                 H = (size_t)p->config.channels;
    const size_t cells = (size_t)p->base.rows * (size_t)p->base.cols, size = sizeof(real);
    const int training = !p->base.options.inference;
    p->at.coef = plan_reserve(&p->base, K * COEFS * W, size);
    p->at.c = plan_reserve(&p->base, C * 2 * W, size);
    p->at.centre = plan_reserve(&p->base, C, sizeof(double));
    p->at.d = plan_reserve(&p->base, H, size);
    p->states_per_worker = kernel_states(p, p->base.options.inference);
    p->at.states = plan_reserve(
        &p->base, p->states_per_worker * (size_t)pool_threads(p->base.context->pool), size);
    if (training) {
        p->at.dcoef = plan_reserve(&p->base, K * COEFS * W, size);
        p->at.dc = plan_reserve(&p->base, C * 2 * W, size);
        p->at.dcentre = plan_reserve(&p->base, C, size);
        p->at.dd = plan_reserve(&p->base, H, size);
    }
    p->conv_out = p->base.out;
    if (has_end(p)) {
        const ptrdiff_t h = p->config.channels;
        p->conv_out = (plane_strides){h * p->base.rows * p->base.cols, h * p->base.cols, h, 1};
        p->at.z = plan_reserve(&p->base, p->base.options.batch, cells * H * size);
        if (training) p->at.dz = plan_reserve(&p->base, p->base.options.batch, cells * H * size);
    }
    if (p->config.layer_norm) {
        p->at.norm = plan_reserve(&p->base, 2 * H, size);
        if (training) p->at.norm_sums = plan_reserve(&p->base, output_norm_sums(&p->base), size);
    }
}

/* The convolutions of src/conv, then the recurrence. */
static const char *algorithm(int i)
{
    int convolutions = 0;
    while (conv_algorithm_name(convolutions)) convolutions++;
    return i == convolutions ? "scan" : conv_algorithm_name(i);
}

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    ssm2d_kind_plan *p = (ssm2d_kind_plan *)base;
    plan_regions(p);
    if (!conv_algorithm_name(i)) return scan_plan_make(p, error);
    conv_problem problem = {.context = p->base.context,
                            .batch = p->base.options.batch,
                            .rows = p->base.rows,
                            .cols = p->base.cols,
                            .channels = p->config.channels,
                            .trunc_rows = p->trunc_rows,
                            .trunc_cols = p->trunc_cols,
                            .in = p->base.in,
                            .out = p->conv_out,
                            .inference = p->base.options.inference};
    directions_reach(p, problem.reach);
    ssm2d_status status = conv_plan_draft(&problem, p->base.algorithm, &p->conv, error);
    if (status) return status;
    directions_plan(p);
    p->at.conv = plan_reserve(&p->base, conv_plan_bytes(p->conv), 1);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *base)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    return p->conv ? conv_plan_cost(p->conv) : scan_cost(p);
}

/* Without a norm kernels grow by orders of magnitude. In a Fourier transform the rounding error of
 * the large values would swamp the small ones near the border of the image. */
static ssm2d_status auto_check(const ssm2d_plan *base, ssm2d_error *error)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    if (p->config.norm != SSM2D_NORM_NONE || !p->conv || !conv_plan_error_of_largest(p->conv))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "algorithm=auto: %s loses small values with norm none; name it to use it anyway",
                base->algorithm);
}

static ssm2d_status finish(ssm2d_plan *base, ssm2d_error *error)
{
    conv_plan *conv = ((ssm2d_kind_plan *)base)->conv;
    return conv ? conv_plan_finish(conv, error) : SSM2D_OK;
}

static void release(ssm2d_plan *base) { conv_plan_destroy(((ssm2d_kind_plan *)base)->conv); }

static void prepare(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    system_prepare(p, ws, params);
    if (!p->conv) return;
    const ptrdiff_t T2 = p->trunc_cols, cells = p->trunc_rows * T2;
    kernel_generate(p, ws, (kernel_view){REGION(real, ws, krows), cells, T2, 1, NULL});
    directions_prepare(p, ws);
    conv_prepare(p->conv, REGION(void, ws, conv), REGION(real, ws, k2));
}

static void apply(const ssm2d_plan *base, ssm2d_workspace *ws, const void *u, void *y)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    real *out = has_end(p) ? REGION(real, ws, z) : y;
    if (p->conv)
        conv_apply(p->conv, REGION(void, ws, conv), u, NULL, out);
    else
        scan_apply(p, ws, u, out);
    end_apply(p, ws, y);
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    const output_norm norm = norm_of(p);
    if (p->config.layer_norm) output_norm_backward(&p->base, &norm, ws, dy, dparams);
    if (p->config.activation) output_silu_backward(p, ws, dy);
    if (has_end(p)) dy = REGION(void, ws, dz);
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

static int kernel_shape(const ssm2d_plan *base, size_t shape[SSM2D_KERNEL_RANK])
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    shape[0] = (size_t)p->config.directions;
    shape[1] = (size_t)p->config.channels;
    shape[2] = (size_t)base->rows;
    shape[3] = (size_t)base->cols;
    return 4;
}

/* Index of the first [direction][channel] that uses a row of C; negative if none does. */
static ptrdiff_t first_use(const ssm2d_kind_plan *p, int c)
{
    const int H = p->config.channels;
    for (int r = 0; r < p->config.directions; r++) {
        const int h = assigned_channel(assign_c_rows(&p->config, r), c, 0);
        if (h < H) return (ptrdiff_t)r * H + h;
    }
    return -1;
}

/* Each kernel is generated at its first use and copied to the others. C includes the factor of the
 * average, which is divided out: the result has the kernels of the single directions. */
static void kernel(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, void *out)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    const int H = p->config.channels;
    const size_t cells = (size_t)p->base.rows * (size_t)p->base.cols;
    real *k = out;
    system_prepare(p, ws, params);
    for (int c = 0; c < p->c_rows; c++) {
        const ptrdiff_t use = first_use(p, c);
        if (use >= 0) memset(k + (size_t)use * cells, 0, cells * sizeof(real));
    }
    kernel_generate(p, ws, (kernel_view){k, (ptrdiff_t)cells, p->base.cols, 1, first_use});
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

/* Row i of the gradient of the kernel of row c of C: the sum over all channels that use it. */
static void fetch_kernel(const ssm2d_kind_plan *p, const real *dkernel, int c, int i, real *row)
{
    const size_t cells = (size_t)p->base.rows * (size_t)p->base.cols;
    const real scale = p->config.average ? (real)p->config.directions : 1;
    memset(row, 0, (size_t)p->trunc_cols * sizeof(real));
    for (int r = 0; r < p->config.directions; r++) {
        const assignment a = assign_c_rows(&p->config, r);
        for (int h = assigned_channel(a, c, 0); h < p->config.channels; h += a.period) {
            const size_t index = (size_t)r * (size_t)p->config.channels + (size_t)h;
            const real *from = dkernel + index * cells + (size_t)i * (size_t)p->base.cols;
            for (int j = 0; j < p->trunc_cols; j++) row[j] += scale * from[j];
        }
    }
}

static void kernel_backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params,
                            const void *dkernel, void *dparams)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    system_prepare(p, ws, params);
    kernel_adjoint(p, ws, fetch_kernel, dkernel);
    memset(REGION(real, ws, dd), 0, (size_t)p->config.channels * sizeof(real));
    system_adjoint(p, ws, params, dparams);
}

static void stream_push(ssm2d_stream *s, const void *u, void *y)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(s->plan);
    scan_push(p, s->workspace, s->states, u, has_end(p) ? REGION(void, s->workspace, z) : y);
    end_apply(p, s->workspace, y);
}

static size_t stream_elements(const ssm2d_plan *base)
{
    const ssm2d_kind_plan *p = ssm2d_plan_of(base);
    size_t walks =
               p->base.options.batch * (size_t)p->config.channels * (size_t)p->config.directions,
           elements;
    return __builtin_mul_overflow(walks, p->scan.state, &elements) ? SIZE_MAX : elements;
}

const layer_functions ssm2d_functions = {.size = sizeof(real),
                                         .algorithm = algorithm,
                                         .plan = plan,
                                         .auto_check = auto_check,
                                         .cost = cost,
                                         .finish = finish,
                                         .release = release,
                                         .prepare = prepare,
                                         .apply = apply,
                                         .backward = backward,
                                         .kernel_shape = kernel_shape,
                                         .kernel = kernel,
                                         .kernel_backward = kernel_backward,
                                         .stream_push = stream_push,
                                         .stream_elements = stream_elements};
