/* layer_dkernel - the gradient with respect to each direction's kernel, by its definition, in
 * double:
 *
 *     dkernel[r,h,p,q] = sum_b sum_ij g'[b,h,i,j] * u'[b,h,i-p,j-q]
 *
 * g is the gradient at the output of the convolution: dy, or the result of the LayerNorm's
 * backward. u' and g' are u and g, flipped as direction r flips them. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/text.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "layer_case.h"

#include <math.h>
#include <string.h>

typedef struct correlation {
    const layer_case *c;
    const ssm2d_config *config;
    size_t rows, cols;
    const double *g; /* [batch][channels][rows][cols] */
    double *dkernel; /* [directions][channels][rows][cols] */
} correlation;

/* One direction of one channel. */
static void correlate(void *arg, size_t task, int worker)
{
    const correlation *x = arg;
    const layer_case *c = x->c;
    size_t channels = (size_t)x->config->channels, r = task / channels, h = task % channels,
           cells = x->rows * x->cols;
    double scale = x->config->average ? 1.0 / x->config->directions : 1;
    flip f = config_flip(x->config, (int)r);
    (void)worker;
    for (size_t p = 0; p < x->rows; p++)
        for (size_t q = 0; q < x->cols; q++) {
            /* Instead of flipping both arrays, exchange the roles of the two positions: the offset
             * between them stays the same. */
            size_t g_row = f.rows ? 0 : p, u_row = f.rows ? p : 0, g_col = f.cols ? 0 : q,
                   u_col = f.cols ? q : 0;
            double sum = 0;
            for (size_t b = 0; b < c->batch; b++) {
                const double *g = x->g + (b * channels + h) * cells,
                             *u = c->u + (b * channels + h) * cells;
                for (size_t i = 0; i + p < x->rows; i++)
                    for (size_t j = 0; j + q < x->cols; j++)
                        sum += g[(i + g_row) * x->cols + j + g_col]
                               * u[(i + u_row) * x->cols + j + u_col];
            }
            x->dkernel[task * cells + p * x->cols + q] = scale * sum;
        }
}

/* Computes g[b,h,cell] from dy and z, the layer's output before the LayerNorm over channels. */
static void layer_norm_backward(const layer_case *c, const double *gamma, const double *z,
                                double *g)
{
    size_t channels = (size_t)ssm2d_layer_channels(&c->layer),
           cells = c->grid.extent[0] * c->grid.extent[1];
    for (size_t b = 0; b < c->batch; b++)
        for (size_t cell = 0; cell < cells; cell++) {
            size_t at = b * channels * cells + cell;
            double mean = 0, variance = 0, d_mean = 0, d_slope = 0;
            for (size_t h = 0; h < channels; h++) mean += z[at + h * cells] / (double)channels;
            for (size_t h = 0; h < channels; h++)
                variance += pow(z[at + h * cells] - mean, 2) / (double)channels;
            double inverse = 1 / sqrt(variance + 1e-5);
            for (size_t h = 0; h < channels; h++) {
                double d = c->dy[at + h * cells] * gamma[h],
                       normal = (z[at + h * cells] - mean) * inverse;
                d_mean += d / (double)channels;
                d_slope += d * normal / (double)channels;
            }
            for (size_t h = 0; h < channels; h++) {
                double d = c->dy[at + h * cells] * gamma[h],
                       normal = (z[at + h * cells] - mean) * inverse;
                g[at + h * cells] = (d - d_mean - normal * d_slope) * inverse;
            }
        }
}

/* Computes z: the output of the same layer without the LayerNorm, whose parameters are the last in
 * the flat array, so that the others stay where they are. */
static ssm2d_status before_norm(ssm2d_context *context, const layer_case *c, double *z,
                                ssm2d_error *error)
{
    ssm2d_layer layer = c->layer;
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    size_t shape[4];
    ssm2d_config_of(&layer.values)->layer_norm = 0;
    options.batch = c->batch;
    options.grid = c->grid;
    options.type = SSM2D_DOUBLE;
    options.inference = 1;
    layer_case_grid(c, shape, &options.in);
    options.out = options.in;
    ssm2d_status status = ssm2d_plan_create(context, &layer, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (!status) status = ssm2d_forward_double(plan, workspace, c->params, c->u, z);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return status;
}

ssm2d_status layer_dkernel(ssm2d_context *context, const layer_case *c, double *dkernel,
                           ssm2d_error *error)
{
    const ssm2d_config *config = layer_config(&c->layer);
    correlation x = {c, config, c->grid.extent[0], c->grid.extent[1], c->dy, dkernel};
    double *z = NULL, *g = NULL;
    ssm2d_status status = SSM2D_OK;
    if (config->layer_norm) {
        ssm2d_param param;
        z = mem_alloc(context, c->grid_count * sizeof *z);
        g = mem_alloc(context, c->grid_count * sizeof *g);
        if (!z || !g) {
            status = fail_memory(error, "%s: dK", text_path(c->folder));
            goto done;
        }
        if ((status = before_norm(context, c, z, error))) goto done;
        for (int i = 0; ssm2d_layer_param(&c->layer, i, &param); i++)
            if (!strcmp(param.name, "gamma"))
                layer_norm_backward(c, c->params + param.offset, z, g);
        x.g = g;
    }
    pool_run(context->pool, row_major(config->directions, config->channels, 0), correlate, &x);
done:
    mem_free(context, z);
    mem_free(context, g);
    return status;
}
