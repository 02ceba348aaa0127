/* onnx_from_mixers - exports mixers as depthwise convolutions, over the grid or over the sequence,
 * with their computed kernels.
 *
 * ONNX's Conv is a correlation: y[i] = sum over k of w[k] * x[i + k - pad]. The mixers' kernels are
 * indexed by input position - output position, so they can be used unchanged; the pad is the index
 * of offset 0. */
#include "core/context.h"
#include "export/onnx_ops.h"
#include "mixers/mixer.h"
#include "ops/mix.h"

#include <math.h>
#include <string.h>

enum { X, PARAMS };

static const double norm_eps = 1e-5; /* of the layer's LayerNorm */

/* Kernels of all channels: [channels][rows][cols] */
typedef struct kernel {
    size_t channels, rows, cols;
    size_t row, col; /* index of offset 0 */
    double *at;
} kernel;

static double *cell(const kernel *k, size_t h, size_t i, size_t j)
{
    return k->at + (h * k->rows + i) * k->cols + j;
}

static int is_zero(const kernel *k, size_t i0, size_t i1, size_t j0, size_t j1)
{
    for (size_t h = 0; h < k->channels; h++)
        for (size_t i = i0; i < i1; i++)
            for (size_t j = j0; j < j1; j++)
                if (*cell(k, h, i, j) != 0) return 0;
    return 1;
}

/* The kernel without border rows and columns that are zero in all channels, as in a layer with one
 * direction or a truncated kernel. Offset 0 always stays. */
typedef struct part {
    size_t top, bottom, left, right;
} part;

static part part_of(const kernel *k)
{
    part p = {0, k->rows, 0, k->cols};
    while (p.top < k->row && is_zero(k, p.top, p.top + 1, 0, k->cols)) p.top++;
    while (p.bottom > k->row + 1 && is_zero(k, p.bottom - 1, p.bottom, 0, k->cols)) p.bottom--;
    while (p.left < k->col && is_zero(k, 0, k->rows, p.left, p.left + 1)) p.left++;
    while (p.right > k->col + 1 && is_zero(k, 0, k->rows, p.right - 1, p.right)) p.right--;
    return p;
}

/* x: [B][channels][rows][cols], each channel with its kernel; bias: added to each channel, or
 * NULL. */
static const char *convolve(onnx_builder *b, const char *x, const kernel *k, const char *name,
                            const char *bias)
{
    if (onnx_status(b)) return NULL;
    const part p = part_of(k);
    const size_t shape[] = {k->channels, 1, p.bottom - p.top, p.right - p.left};
    if (!onnx_has_space(b, shape[0] * shape[2] * shape[3], sizeof(float))) return NULL;
    float *elements = onnx_scratch(b, shape[0] * shape[2] * shape[3], sizeof *elements),
          *at = elements;
    if (!elements) return NULL;
    for (size_t h = 0; h < k->channels; h++)
        for (size_t i = p.top; i < p.bottom; i++)
            for (size_t j = p.left; j < p.right; j++, at++) {
                *at = (float)*cell(k, h, i, j);
                if (!isfinite(*at))
                    onnx_fail(
                        b, SSM2D_ERROR_ARGUMENT,
                        "%s: the kernel contains %g: its parameters are too large for this image "
                        "size",
                        name, (double)*at);
            }
    const char *w = onnx_array(b, name, 4, shape, elements);
    mem_free(onnx_context(b), elements);
    const onnx_attribute a[] = {
        {.name = "group", .kind = ONNX_INT, .integer = (int64_t)k->channels},
        {.name = "kernel_shape",
         .kind = ONNX_INTS,
         .count = 2,
         .list = {(int64_t)shape[2], (int64_t)shape[3]}},
        {.name = "pads",
         .kind = ONNX_INTS,
         .count = 4,
         .list = {(int64_t)(k->row - p.top), (int64_t)(k->col - p.left),
                  (int64_t)(p.bottom - 1 - k->row), (int64_t)(p.right - 1 - k->col)}},
        {0}};
    return onnx_node(b, "Conv", bias ? 3 : 2, (const char *[]){x, w, bias}, a);
}

/* Allocates kernels of this many channels and offsets; the caller frees k->at. */
static int make_kernel(onnx_builder *b, size_t channels, int rows, int cols, kernel *k)
{
    *k = (kernel){.channels = channels,
                  .rows = 2 * (size_t)rows - 1,
                  .cols = 2 * (size_t)cols - 1,
                  .row = (size_t)rows - 1,
                  .col = (size_t)cols - 1};
    if (!onnx_has_space(b, channels * k->rows * k->cols, sizeof(float))) return 0;
    k->at = onnx_scratch(b, channels * k->rows * k->cols, sizeof *k->at);
    return k->at != NULL;
}

/* Fills k with the kernels of the layer's first channels. */
static void fill_kernel(onnx_builder *b, const node *n, const ssm2d_layer *layer, token_grid grid,
                        kernel *k)
{
    ssm2d_error error;
    const float *params = onnx_params(b, n->in[PARAMS]);
    const mixer_config m = {.kind = layer->kind, .values = layer->values};
    if (onnx_status(b)) return;
    /* computing kernels uses the context's threads */
    ssm2d_context *context = (ssm2d_context *)onnx_context(b);
    const ssm2d_status status =
        mixer_kernel(context, &m, ssm2d_layer_channels(layer), grid_rows(grid.shape),
                     grid_cols(grid.shape), params, (int)k->channels, k->at, &error);
    if (status) onnx_fail(b, status, "%s", error.line);
}

/* ---- tokens and grids ------------------------------------------------------------------------ */

/* The tokens of the grid: [B][rows*cols][H] */
static const char *grid_tokens(onnx_builder *b, const node *n, token_grid g)
{
    const char *x = onnx_in(b, n, X);
    return g.first ? onnx_slice(b, x, 1, (size_t)g.first, n->out->shape[1]) : x;
}

/* The others pass unchanged. */
static const char *with_others(onnx_builder *b, const node *n, token_grid g, const char *y)
{
    if (!g.first) return y;
    const char *others = onnx_slice(b, onnx_in(b, n, X), 1, 0, (size_t)g.first);
    return onnx_concat(b, 1, 2, (const char *[]){others, y});
}

/* [B][rows*cols][H] -> [B][H][rows][cols], and back */
static const char *to_grid(onnx_builder *b, const char *x, token_grid g, size_t channels)
{
    x = onnx_reshape(b, x,
                     ONNX_SHAPE(0, grid_rows(g.shape), grid_cols(g.shape), (int64_t)channels));
    return onnx_transpose(b, x, ONNX_SHAPE(0, 3, 1, 2));
}

static const char *to_tokens(onnx_builder *b, const char *x, token_grid g, size_t channels)
{
    x = onnx_transpose(b, x, ONNX_SHAPE(0, 2, 3, 1));
    return onnx_reshape(b, x, ONNX_SHAPE(0, (int64_t)grid_cells(g.shape), (int64_t)channels));
}

/* A constant that is named after the mixer: blocks.0.mixer.kernel */
static const char *part_name(onnx_builder *b, const node *n, const char *what)
{
    return onnx_text(b, "%s.%s", n->in[PARAMS]->name, what);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Where an array of the layer begins in its parameters; NULL: it has none of this name. */
static const float *array_of(const ssm2d_layer *layer, const float *params, const char *name)
{
    ssm2d_param p;
    for (int i = 0; name && ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, name)) return params + p.offset;
    return NULL;
}

/* One convolution over the grid, including the skip term at offset 0. x: [B][H][rows][cols] */
static const char *from_kernel(onnx_builder *b, const node *n, const ssm2d_layer *layer,
                               token_grid grid, const float *skip, const char *x)
{
    const size_t channels = (size_t)ssm2d_layer_channels(layer);
    kernel k;
    if (!make_kernel(b, channels, grid_rows(grid.shape), grid_cols(grid.shape), &k)) return NULL;
    fill_kernel(b, n, layer, grid, &k);
    for (size_t h = 0; skip && h < channels; h++) *cell(&k, h, k.row, k.col) += (double)skip[h];
    const float *bias =
        array_of(layer, onnx_params(b, n->in[PARAMS]), layer->kind->convolution->bias);
    const char *added = bias ? onnx_array(b, part_name(b, n, "bias"), 1, &channels, bias) : NULL;
    const char *y = convolve(b, x, &k, part_name(b, n, "kernel"), added);
    mem_free(onnx_context(b), k.at);
    return y;
}

/* Separates a kernel that is the product of one for rows and one for columns: takes the row and the
 * column through its largest element and divides the row by that element. rows, cols: those of
 * channel h. */
static void separate(const kernel *k, size_t system, kernel *rows, kernel *cols, size_t h)
{
    size_t row = 0, col = 0;
    for (size_t i = 0; i < k->rows; i++)
        for (size_t j = 0; j < k->cols; j++)
            if (fabs(*cell(k, system, i, j)) > fabs(*cell(k, system, row, col))) row = i, col = j;
    const double largest = *cell(k, system, row, col);
    for (size_t i = 0; i < k->rows; i++) *cell(rows, h, i, 0) = *cell(k, system, i, col);
    for (size_t j = 0; j < k->cols; j++)
        *cell(cols, h, 0, j) = largest != 0 ? *cell(k, system, row, j) / largest : 0;
}

/* A convolution along columns of the grid, one along rows, and the skip term. */
static const char *from_separable(onnx_builder *b, const node *n, const ssm2d_layer *layer,
                                  token_grid grid, const float *skip, const char *x)
{
    const size_t channels = (size_t)ssm2d_layer_channels(layer),
                 own = (size_t)layer->kind->pictures(layer_config(layer));
    kernel k = {0}, rows = {0}, cols = {0};
    const char *y = NULL;
    if (!make_kernel(b, own, grid_rows(grid.shape), grid_cols(grid.shape), &k)
        || !make_kernel(b, channels, grid_rows(grid.shape), 1, &rows)
        || !make_kernel(b, channels, 1, grid_cols(grid.shape), &cols))
        goto done;
    fill_kernel(b, n, layer, grid, &k);
    for (size_t h = 0; h < channels; h++) separate(&k, h % own, &rows, &cols, h);
    y = convolve(b, x, &rows, part_name(b, n, "row_kernel"), NULL);
    y = convolve(b, y, &cols, part_name(b, n, "column_kernel"), NULL);
    if (skip) {
        const char *name = part_name(b, n, layer->kind->convolution->skip);
        const char *d = onnx_array(b, name, 3, (size_t[]){channels, 1, 1}, skip);
        y = onnx_join(b, "Add", y, onnx_join(b, "Mul", x, d));
    }
done:
    mem_free(onnx_context(b), k.at);
    mem_free(onnx_context(b), rows.at);
    mem_free(onnx_context(b), cols.at);
    return y;
}

/* Cells in raster order are a grid of one row. */
const char *onnx_from_mix(onnx_builder *b, const node *n)
{
    const mix_setup setup = mix_setup_of(n);
    const ssm2d_layer *layer = &setup.layer;
    const layer_convolution *form = layer->kind->convolution;
    const float *params = onnx_params(b, n->in[PARAMS]);
    const size_t channels = (size_t)ssm2d_layer_channels(layer);
    token_grid grid = setup.grid;
    if (!form) {
        onnx_fail(b, SSM2D_ERROR_UNSUPPORTED, "the mixer %s cannot be exported to ONNX",
                  layer->kind->name);
        return NULL;
    }
    if (!params) return NULL;
    if (layer->kind->raster)
        grid = (token_grid){grid.first, ssm2d_grid_2d(1, grid_cells(grid.shape))};
    const float *skip = array_of(layer, params, form->skip),
                *gamma = array_of(layer, params, form->gamma),
                *beta = array_of(layer, params, form->beta);
    const char *y = to_grid(b, grid_tokens(b, n, grid), grid, channels);
    y = (form->separable ? from_separable : from_kernel)(b, n, layer, grid, skip, y);
    y = to_tokens(b, y, grid, channels);
    if (gamma && beta)
        y = onnx_layer_norm(b, y, onnx_array(b, part_name(b, n, "gamma"), 1, &channels, gamma),
                            onnx_array(b, part_name(b, n, "beta"), 1, &channels, beta), norm_eps);
    if (form->silu && form->silu(layer_config(layer))) y = onnx_silu(b, y);
    return with_others(b, n, grid, y);
}
