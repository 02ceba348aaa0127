/* mixer - layers as mixers: names, parameters and nodes in a graph, and kernels in pictures. */
#include "mixers/mixer.h"

#include "core/status.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

static const ssm2d_field no_fields[] = {{0}};

const layer_kind mixer_none = {.name = "none", .help = "the plain model", .fields = no_fields};

const layer_kind *mixer_at(int i) { return i ? layer_kind_at(i - 1) : &mixer_none; }

const layer_kind *mixer_find(const char *name)
{
    return strcmp(name, mixer_none.name) ? layer_kind_find(name) : &mixer_none;
}

const char *mixer_names(char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; mixer_at(i) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !i                ? ""
                                 : mixer_at(i + 1) ? ", "
                                                   : " or ",
                                 mixer_at(i)->name);
    return text;
}

const ssm2d_field *mixer_fields(const layer_kind *kind)
{
    return kind == &mixer_none ? kind->fields : kind->fields + 1; /* channels is the first */
}

ssm2d_layer mixer_layer(const mixer_config *m, int channels)
{
    ssm2d_layer layer = {SSM2D_VERSION, NULL, m->kind, m->values};
    layer_set_channels(&layer, channels);
    return layer;
}

/* ---- in a graph ------------------------------------------------------------------------------ */

static ssm2d_status fill(const param_block *b, uint64_t seed, float *values, ssm2d_error *error)
{
    ssm2d_layer layer = mixer_layer(b->owner, b->channels);
    if (b->grid.shape.axes == 2)
        layer_fit(&layer, grid_rows(b->grid.shape), grid_cols(b->grid.shape));
    return ssm2d_params_init(&layer, seed, values, error);
}

tensor *mixer_params(graph *g, const mixer_config *m, int channels, token_grid grid,
                     const char *block)
{
    param_block b = {.fill = fill, .owner = m, .channels = channels, .grid = grid};
    param_spec specs[LAYER_ARRAYS];
    ssm2d_param p;
    ssm2d_error error;
    char text[GRID_TEXT];
    int count = 0;
    if (g->status || m->kind == &mixer_none) return NULL;
    if (grid.shape.axes < 1 || !(m->kind->axes & 1U << grid.shape.axes))
        return graph_fail(g, "the mixer %s does not take a grid of %d axes (\"%s\")", m->kind->name,
                          grid.shape.axes, grid_text(grid.shape, text));
    const ssm2d_layer layer = mixer_layer(m, channels);
    if (layer_check(&layer, &error)) return graph_fail(g, "mixer: %s", error.line);
    strncpy(b.name, block, sizeof b.name - 1);
    for (; ssm2d_layer_param(&layer, count, &p); count++) {
        param_spec *s = &specs[count];
        *s = (param_spec){.name = p.name, .rank = p.rank, .part = PARAM_MIXER};
        memcpy(s->shape, p.shape, (size_t)p.rank * sizeof *p.shape);
        s->group = p.system ? PARAM_SYSTEM : p.decay ? PARAM_DECAY : PARAM_NO_DECAY;
        s->role = p.decay_paper ? PARAM_WEIGHT : PARAM_INNER;
        s->init = PARAM_BY_BLOCK;
    }
    return graph_param_block(g, &b, count, specs);
}

tensor *mix(graph *g, tensor *x, const mixer_config *m, const char *block)
{
    if (g->status) return NULL;
    if (m->kind == &mixer_none) return x;
    const ssm2d_layer layer = mixer_layer(m, (int)x->shape[x->rank - 1]);
    tensor *params = mixer_params(g, m, ssm2d_layer_channels(&layer), x->grid, block);
    return g->status ? NULL : mix_layer(g, x, params, &layer, x->grid);
}

/* ---- pictures -------------------------------------------------------------------------------- */

int mixer_has_kernels(const mixer_config *m) { return m->kind->picture != NULL; }

int mixer_kernels(const mixer_config *m, int channels)
{
    const ssm2d_layer layer = mixer_layer(m, channels);
    return m->kind->pictures(layer_config(&layer));
}

ssm2d_status mixer_kernel(ssm2d_context *context, const mixer_config *m, int channels, int rows,
                          int cols, const float *params, int count, double *out, ssm2d_error *error)
{
    const ssm2d_layer layer = mixer_layer(m, channels);
    const size_t field = (2 * (size_t)rows - 1) * (2 * (size_t)cols - 1);
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    float *kernels = NULL;
    size_t shape[SSM2D_KERNEL_RANK], elements = 1;
    options.grid = ssm2d_grid_2d((size_t)rows, (size_t)cols);
    options.inference = 1;
    ssm2d_status status = ssm2d_plan_create(context, &layer, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (status) goto done;
    const int rank = ssm2d_kernel_shape(plan, shape);
    for (int i = 0; i < rank; i++) elements *= shape[i];
    kernels = mem_alloc(context, elements * sizeof *kernels);
    if (!kernels) {
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for kernels");
        goto done;
    }
    ssm2d_kernel(plan, workspace, params, kernels);
    for (int h = 0; h < count; h++)
        m->kind->picture(layer_config(&layer), kernels, shape, h, rows, cols,
                         out + (size_t)h * field);
done:
    mem_free(context, kernels);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return status;
}
