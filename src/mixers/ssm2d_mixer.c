/* ssm2d_mixer - the 2-D state-space layer as a mixer. */
#include "mixers/ssm2d_mixer.h"

#include "core/context.h"
#include "core/status.h"
#include "io/layer_config.h"
#include "layer/config.h"
#include "ops/ops.h"

#include <string.h>

_Static_assert(sizeof(ssm2d_mixer) <= MIXER_OWN, "MIXER_OWN is too small");

static const char *const init_names[] = {
    [SSM2D_INIT_IDENTITY] = "identity", [SSM2D_INIT_AUTHORS] = "authors", NULL};

static const ssm2d_field own_fields[] = {
    {"init", "initial values: identity (close to no mixer), or authors (as published)",
     SSM2D_KIND_CHOICE, offsetof(ssm2d_mixer, init), 0, 1, "identity", init_names, NULL},
    {0}};

/* All of the layer's but `channels`, which comes first. */
static const field_group fields[] = {
    {own_fields, 0}, {&layer_fields[1], offsetof(ssm2d_mixer, layer)}, {NULL, 0}};

static ssm2d_config layer_of(const void *own, int channels)
{
    ssm2d_config layer = ((const ssm2d_mixer *)own)->layer;
    layer.size = sizeof layer;
    layer.channels = channels;
    return layer;
}

/* Files that do not say `assign` are older than the choice, or of others. */
static void from_file(void *own) { ((ssm2d_mixer *)own)->layer.assign = SSM2D_ASSIGN_AUTHORS; }

static ssm2d_status read_old(field_source from, const cJSON *object, void *own, ssm2d_error *error)
{
    return layer_config_read_old(from, object, &((ssm2d_mixer *)own)->layer, error);
}

static ssm2d_status check(const void *own, int channels, ssm2d_error *error)
{
    const ssm2d_config layer = layer_of(own, channels);
    return ssm2d_config_check(&layer, error);
}

/* ---- parameters ------------------------------------------------------------------------------ */

enum { MAX_ARRAYS = 9 };

static ssm2d_status fill(const void *owner, int channels, uint64_t seed, float *values,
                         ssm2d_error *error)
{
    const ssm2d_mixer *own = owner;
    const ssm2d_config layer = layer_of(own, channels);
    return ssm2d_params_init(&layer, (ssm2d_init)own->init, seed, SSM2D_FLOAT, values, error);
}

static tensor *params(graph *g, const mixer_config *m, int channels, token_grid grid,
                      const char *block)
{
    const ssm2d_config layer = layer_of(m->own, channels);
    param_block b = {.fill = fill, .owner = m->own, .channels = channels, .grid = grid};
    param_spec specs[MAX_ARRAYS];
    ssm2d_param p;
    ssm2d_error error;
    int count = 0;
    if (ssm2d_config_check(&layer, &error)) return graph_fail(g, "mixer: %s", error.line);
    strncpy(b.name, block, sizeof b.name - 1);
    for (; ssm2d_param_get(&layer, count, &p); count++) {
        param_spec *s = &specs[count];
        *s = (param_spec){.name = p.name, .rank = p.rank, .part = PARAM_MIXER};
        memcpy(s->shape, p.shape, (size_t)p.rank * sizeof *p.shape);
        s->group = p.system ? PARAM_SYSTEM : p.decay ? PARAM_DECAY : PARAM_NO_DECAY;
        s->init = PARAM_BY_BLOCK;
    }
    return graph_param_block(g, &b, count, specs);
}

static tensor *apply(graph *g, tensor *x, tensor *values, const mixer_config *m)
{
    const ssm2d_config layer = layer_of(m->own, (int)x->shape[x->rank - 1]);
    return mix_ssm2d(g, x, values, &layer, x->grid.first, x->grid.rows, x->grid.cols);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static int kernels(const void *own, int channels)
{
    const ssm2d_config layer = layer_of(own, channels);
    const int rows = config_c_rows(&layer);
    return rows < channels ? rows : channels;
}

/* Adds the kernels of all directions of channel h where they meet: the weight of the input at each
 * offset from the output. */
static void add_directions(const ssm2d_config *c, int rows, int cols, const float *kernel, int h,
                           double *out)
{
    const size_t cells = (size_t)rows * (size_t)cols, width = 2 * (size_t)cols - 1;
    const double scale = c->average ? 1.0 / c->directions : 1;
    for (int r = 0; r < c->directions; r++) {
        const flip f = config_flip(c, r);
        const float *one = kernel + (size_t)(r * c->channels + h) * cells;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++) {
                const int di = f.rows ? i : -i, dj = f.cols ? j : -j;
                out[(size_t)(di + rows - 1) * width + (size_t)(dj + cols - 1)] +=
                    scale * (double)one[i * cols + j];
            }
    }
}

static ssm2d_status kernel(ssm2d_context *context, const void *own, int channels, int rows,
                           int cols, const float *values, int count, double *out,
                           ssm2d_error *error)
{
    const ssm2d_config layer = layer_of(own, channels);
    const size_t cells = (size_t)rows * (size_t)cols;
    const size_t field = (2 * (size_t)rows - 1) * (2 * (size_t)cols - 1);
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    float *all =
        mem_alloc(context, (size_t)(layer.directions * layer.channels) * cells * sizeof *all);
    ssm2d_status status = all ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for kernels");
    options.rows = (size_t)rows;
    options.cols = (size_t)cols;
    options.inference = 1;
    if (!status) status = ssm2d_plan_create(context, &layer, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (!status) {
        ssm2d_kernel(plan, workspace, values, all);
        memset(out, 0, (size_t)count * field * sizeof *out);
        for (int h = 0; h < count; h++)
            add_directions(&layer, rows, cols, all, h, out + (size_t)h * field);
    }
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    mem_free(context, all);
    return status;
}

const mixer mixer_ssm2d = {.name = "ssm2d",
                           .help = "the 2-D state-space layer",
                           .own_size = sizeof(ssm2d_mixer),
                           .fields = fields,
                           .headline = "values",
                           .from_file = from_file,
                           .old_keys = layer_config_old_keys,
                           .read_old = read_old,
                           .check = check,
                           .params = params,
                           .apply = apply,
                           .kernels = kernels,
                           .kernel = kernel};
