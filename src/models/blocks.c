#include "models/blocks.h"

#include "core/status.h"
#include "ops/ops.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void builder_enter(builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(b->block, sizeof b->block, format, args);
    va_end(args);
}

tensor *block_param(builder *b, param_spec spec, const char *part, const char *end)
{
    spec.part = b->part;
    return graph_param(b->g, &spec, "%s%s%s%s", b->block, *b->block ? "." : "", part, end);
}

static tensor *bias_from(builder *b, size_t count, initial_values initial, const char *part)
{
    const param_spec spec = {.rank = 1,
                             .shape = {count},
                             .group = PARAM_NO_DECAY,
                             .role = PARAM_BIAS,
                             .init = initial.init,
                             .scale = initial.scale};
    return block_param(b, spec, part, ".bias");
}

static tensor *block_bias(builder *b, size_t count, const char *part)
{
    return bias_from(b, count, (initial_values){PARAM_ZEROS, 0}, part);
}

/* The bias of a linear layer or convolution with `in` weights per output: with PyTorch's initial
 * values, biases are not 0. */
static tensor *linear_bias(builder *b, size_t count, size_t in, const char *part)
{
    const initial_values uniform = {PARAM_UNIFORM, 1 / sqrt((double)in)};
    return b->weights.init == PARAM_FAN_IN ? bias_from(b, count, uniform, part)
                                           : block_bias(b, count, part);
}

tensor *dense(builder *b, tensor *x, int out, int has_bias, const char *part)
{
    return dense_of_two(b, x, out, 0, has_bias, part);
}

tensor *dense_of_two(builder *b, tensor *x, int out, int first, int has_bias, const char *part)
{
    if (b->g->status) return NULL;
    const size_t in = x->shape[x->rank - 1];
    const param_spec spec = {.rank = 2,
                             .shape = {(size_t)out, in},
                             .first_rows = (size_t)first,
                             .init = b->weights.init,
                             .scale = b->weights.scale};
    tensor *w = block_param(b, spec, part, ".weight");
    return linear(b->g, x, w, has_bias ? linear_bias(b, (size_t)out, in, part) : NULL);
}

tensor *norm(builder *b, tensor *x, const char *part)
{
    if (b->g->status) return NULL;
    const size_t dim = x->shape[x->rank - 1];
    const param_spec spec = {.rank = 1, .shape = {dim}, .role = PARAM_SCALE, .init = PARAM_ONES};
    tensor *gamma = block_param(b, spec, part, ".weight");
    return layer_norm(b->g, keep(b->g, x), gamma, block_bias(b, dim, part), b->norm_eps);
}

tensor *norm_by_batch(builder *b, tensor *x, const char *part)
{
    if (b->g->status) return NULL;
    const size_t dim = x->shape[x->rank - 1];
    const double momentum = 0.1; /* as in PyTorch */
    const param_spec ones = {.rank = 1, .shape = {dim}, .role = PARAM_SCALE, .init = PARAM_ONES};
    param_spec mean = ones, variance = ones;
    mean.group = variance.group = PARAM_STATE;
    mean.init = PARAM_ZEROS;
    variance.nonnegative = 1;
    const batch_norm_arrays arrays = {.gamma = block_param(b, ones, part, ".weight"),
                                      .beta = block_bias(b, dim, part),
                                      .mean = block_param(b, mean, part, ".running_mean"),
                                      .variance = block_param(b, variance, part, ".running_var")};
    return b->g->status ? NULL : batch_norm(b->g, x, &arrays, momentum, b->norm_eps);
}

tensor *patch_convolution(builder *b, tensor *x, int patch, int out, const char *part)
{
    if (b->g->status) return NULL;
    const size_t side = (size_t)patch, in = x->shape[x->rank - 1];
    const param_spec spec = {.rank = 2,
                             .shape = {(size_t)out, in},
                             .file_rank = 4,
                             .file_shape = {(size_t)out, in / (side * side), side, side},
                             .init = b->weights.init,
                             .scale = b->weights.scale};
    tensor *w = block_param(b, spec, part, ".weight");
    tensor *bias = b->embed_bias.init != PARAM_ZEROS
                       ? bias_from(b, (size_t)out, b->embed_bias, part)
                       : linear_bias(b, (size_t)out, in, part);
    return linear(b->g, x, w, bias);
}

tensor *embed_patches(builder *b, tensor *images, int patch, int dim)
{
    return patch_convolution(b, patches(b->g, images, patch), patch, dim, "patch_embed.proj");
}

tensor *positions(builder *b, token_grid grid, int dim, initial_values initial, const char *name)
{
    const size_t tokens = (size_t)grid.first + grid_cells(grid.shape);
    const param_spec spec = {.rank = 3,
                             .shape = {1, tokens, (size_t)dim},
                             .init = initial.init,
                             .scale = initial.scale,
                             .resize = PARAM_GRID,
                             .grid = grid,
                             .role = PARAM_TOKEN};
    return block_param(b, spec, name, "");
}

tensor *mix_at(builder *b, tensor *x, mixer_place place)
{
    return (mixer_place)b->c->mixer.place == place ? mix(b->g, x, &b->c->mixer, b->block) : x;
}

int stage_list_sum(const ssm2d_list *list)
{
    int sum = 0;
    for (int i = 0; i < list->count; i++) sum += list->at[i];
    return sum;
}

void stage_list_fill(ssm2d_list *list, int stages, int max)
{
    if (list->count != 1) return;
    for (; list->count < stages && list->at[list->count - 1] <= max / 2; list->count++)
        list->at[list->count] = 2 * list->at[list->count - 1];
}

int stage_token_side(const ssm2d_list *depth, int patch, int blocks)
{
    int stage = 0;
    for (int left = blocks; stage + 1 < depth->count && left > depth->at[stage]; stage++)
        left -= depth->at[stage];
    return patch << stage;
}

int patch_side(int given, int small, int rows, int cols)
{
    return given ? given : rows >= 64 && cols >= 64 ? 2 * small : small;
}

ssm2d_grid patch_grid(const model_config *c, int patch)
{
    return ssm2d_grid_2d((size_t)(c->image[0] / patch), (size_t)(c->image[1] / patch));
}

int patches_fit(int patch, int rows, int cols) { return rows % patch == 0 && cols % patch == 0; }

ssm2d_status check_patch(const model_config *c, int patch, ssm2d_error *error)
{
    if (patches_fit(patch, c->image[0], c->image[1])) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "\"patch\" is %d: images of %d x %d cannot be cut into such patches", patch,
                c->image[0], c->image[1]);
}
