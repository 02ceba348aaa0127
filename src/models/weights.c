/* weights - the list of arrays, and their initial values. */
#include "models/weights.h"

#include "core/context.h"
#include "core/hash.h"
#include "core/rng.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

ssm2d_status weights_create(ssm2d_context *context, const model_config *config, weights **out,
                            ssm2d_error *error)
{
    weights *w = mem_alloc(context, sizeof *w);
    *out = NULL;
    if (!w) return fail_memory(error, "model");
    w->context = context;
    w->config = *config;
    ssm2d_status status = graph_create(context, 0, &w->graph, error);
    if (!status) {
        model_build(w->graph, &w->config, 1);
        if (w->graph->status) status = fail(error, w->graph->status, "%s", w->graph->error.line);
    }
    if (status) {
        weights_destroy(w);
        return status;
    }
    w->total = w->graph->param_count;
    w->count = w->graph->array_count;
    w->arrays = w->graph->arrays;
    for (int i = 0; i < w->count; i++)
        if (w->arrays[i].spec.group != PARAM_STATE) w->learned += w->arrays[i].count;
    w->blocks = w->graph->block_count;
    w->block = w->graph->blocks;
    *out = w;
    return SSM2D_OK;
}

void weights_destroy(weights *w)
{
    if (!w) return;
    graph_destroy(w->graph);
    mem_free(w->context, w);
}

const param_array *weights_find(const weights *w, const char *name)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->arrays[i].name, name)) return &w->arrays[i];
    return NULL;
}

ssm2d_status weights_copy(const weights *w, const float *params, const graph *g, int first,
                          real *out, ssm2d_error *error)
{
    for (int i = first; i < g->array_count; i++) {
        const param_array *to = &g->arrays[i], *from = weights_find(w, to->name);
        if (!from || from->count != to->count)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "the model's weights have no %s of %zu elements", to->name, to->count);
        for (size_t k = 0; k < to->count; k++) out[to->offset + k] = params[from->offset + k];
    }
    return SSM2D_OK;
}

/* ---- initial values -------------------------------------------------------------------------- */

static uint64_t seed_of(uint64_t seed, const char *name)
{
    uint64_t hash = HASH_START;
    hash_add(&hash, name, strlen(name));
    rng r = rng_seed(seed);
    r.state = rng_next(&r) ^ hash;
    return rng_next(&r);
}

/* Truncated at +-2, as in PyTorch; rare for the small deviations in use. */
static double trunc_normal(rng *r, double deviation)
{
    double value;
    do value = deviation * rng_normal(r);
    while (fabs(value) > 2);
    return value;
}

/* The standard deviation of the initial values, or the bound of uniform ones. */
static double scale_of(const param_array *a, int in_first)
{
    const size_t rows = in_first ? a->spec.first_rows : a->shape[0] - a->spec.first_rows;
    const double in = (double)a->count / (double)a->shape[0], out = (double)rows;
    switch (a->spec.init) {
    case PARAM_FAN_IN: return 1 / sqrt(in);
    case PARAM_XAVIER_UNIFORM: return sqrt(6 / (in + out));
    case PARAM_XAVIER_NORMAL: return sqrt(2 / (in + out));
    default: return a->spec.scale;
    }
}

static void init_array(const param_array *a, uint64_t seed, float *x)
{
    rng r = rng_seed(seed_of(seed, a->name));
    const size_t row = a->count / a->shape[0], first = row * a->spec.first_rows;
    for (size_t i = 0; i < a->count; i++) {
        const double scale = scale_of(a, i < first);
        switch (a->spec.init) {
        case PARAM_ONES: x[i] = 1; break;
        case PARAM_CONSTANT: x[i] = (float)scale; break;
        case PARAM_UNIFORM:
        case PARAM_FAN_IN:
        case PARAM_XAVIER_UNIFORM: x[i] = (float)rng_uniform(&r, -scale, scale); break;
        case PARAM_NORMAL:
        case PARAM_XAVIER_NORMAL: x[i] = (float)(scale * rng_normal(&r)); break;
        case PARAM_TRUNC_NORMAL: x[i] = (float)trunc_normal(&r, scale); break;
        case PARAM_ZEROS:
        case PARAM_BY_BLOCK: x[i] = 0; break;
        }
    }
}

ssm2d_status weights_init(const weights *w, int parts, uint64_t seed, float *params,
                          ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < w->count && !status; i++) {
        const param_array *a = &w->arrays[i];
        const param_block *b = a->block < 0 ? NULL : &w->block[a->block];
        if (!((int)a->spec.part & parts)) continue;
        if (a->spec.init != PARAM_BY_BLOCK)
            init_array(a, seed, params + a->offset);
        else if (i == b->first_array) /* fills all arrays of the block */
            status = b->fill(b, seed_of(seed, b->name), params + b->offset, error);
    }
    return status;
}
