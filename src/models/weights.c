/* weights - the list of arrays, and their initial values.
 *
 * Weight decay acts on everything but biases and the mixers' A, B and C (and LayerNorm's beta,
 * which is a bias): so also on cls_token, pos_embed, D and the LayerNorms' weights, as the paper
 * states it. */
#include "models/weights.h"

#include "core/context.h"
#include "core/hash.h"
#include "core/rng.h"
#include "core/status.h"
#include "models/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char mixer_end[] = ".mixer";

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

/* Appends the arrays of one parameter of the graph; only counts when the list is NULL. */
static void list_param(weights *w, const tensor *t)
{
    const model_config *c = &w->config;
    ssm2d_param p;
    if (!ends_with(t->name, mixer_end)) {
        weights_array *a = w->arrays ? &w->arrays[w->count] : NULL;
        w->count++;
        if (!a) return;
        snprintf(a->name, sizeof a->name, "%s", t->name);
        a->rank = t->rank;
        memcpy(a->shape, t->shape, sizeof a->shape);
        a->offset = t->offset;
        a->count = t->count;
        a->decay = t->decay;
        a->part = strncmp(t->name, "head.", 5) ? WEIGHTS_BODY : WEIGHTS_HEAD;
        if (strcmp(t->name, "patch_embed.proj.weight")) return;
        a->rank = 4; /* a matrix in the graph, a convolution in files */
        memcpy(a->shape,
               (size_t[]){(size_t)c->dim, (size_t)c->channels, (size_t)c->patch, (size_t)c->patch},
               sizeof a->shape);
        return;
    }
    for (int i = 0; c->mixer.kind->array(&c->mixer, model_mixer_channels(c), i, &p); i++) {
        weights_array *a = w->arrays ? &w->arrays[w->count] : NULL;
        w->count++;
        if (!a) continue;
        snprintf(a->name, sizeof a->name, "%s.%s", t->name, p.name);
        a->rank = p.rank;
        memcpy(a->shape, p.shape, sizeof a->shape);
        a->offset = t->offset + p.offset;
        a->count = p.size;
        a->decay = p.decay;
        a->part = WEIGHTS_MIXERS;
        /* A, A_angle, B_radius ..; not D, gamma, beta */
        a->system = p.name[0] >= 'A' && p.name[0] <= 'C';
    }
}

static void list_params(weights *w, const graph *g)
{
    w->count = 0;
    for (int i = 0; i < g->tensor_count; i++)
        if (g->tensors[i]->role == ROLE_PARAM) list_param(w, g->tensors[i]);
}

ssm2d_status weights_create(ssm2d_context *context, const model_config *config, weights **out,
                            ssm2d_error *error)
{
    graph *g = NULL;
    weights *w = mem_alloc(context, sizeof *w);
    ssm2d_status status = w ? graph_create(context, 0, &g, error)
                            : fail(error, SSM2D_ERROR_MEMORY, "no memory for a model");
    *out = NULL;
    if (status) goto done;
    w->context = context;
    w->config = *config;
    model_build(g, config, 1);
    if (g->status) {
        status = fail(error, g->status, "%s", g->error.line);
        goto done;
    }
    w->total = g->param_count;
    list_params(w, g);
    w->arrays = mem_alloc(context, (size_t)w->count * sizeof *w->arrays);
    if (!w->arrays) {
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for the names of %d arrays", w->count);
        goto done;
    }
    list_params(w, g);
    *out = w;
    w = NULL;
done:
    graph_destroy(g);
    mem_free(context, w);
    return status;
}

void weights_destroy(weights *w)
{
    if (!w) return;
    mem_free(w->context, w->arrays);
    mem_free(w->context, w);
}

const weights_array *weights_find(const weights *w, const char *name)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->arrays[i].name, name)) return &w->arrays[i];
    return NULL;
}

/* ---- initial values -------------------------------------------------------------------------- */

static uint64_t seed_of(uint64_t seed, const char *name, size_t length)
{
    uint64_t hash = HASH_START;
    hash_add(&hash, name, length);
    rng r = rng_seed(seed);
    r.state = rng_next(&r) ^ hash;
    return rng_next(&r);
}

/* Within +-2, which with so small a deviation hardly ever matters. */
static double trunc_normal(rng *r, double deviation)
{
    double value;
    do value = deviation * rng_normal(r);
    while (fabs(value) > 2);
    return value;
}

static void init_array(const weights *w, const weights_array *a, uint64_t seed, float *x)
{
    rng r = rng_seed(seed_of(seed, a->name, strlen(a->name)));
    const int xavier = w->config.model->start == START_XAVIER;
    const double in = (double)a->count / (double)a->shape[0], out = (double)a->shape[0];
    const int is_bias = ends_with(a->name, ".bias"), is_norm = a->rank == 1 && !is_bias,
              is_token = a->rank == 3;
    for (size_t i = 0; i < a->count; i++) {
        if (is_bias || is_norm)
            x[i] = is_norm;
        else if (xavier)
            x[i] = (float)(is_token ? rng_normal(&r) : sqrt(2 / (in + out)) * rng_normal(&r));
        else
            x[i] = (float)trunc_normal(&r, 0.02);
    }
}

ssm2d_status weights_init(const weights *w, weights_part parts, uint64_t seed, float *params,
                          ssm2d_error *error)
{
    const model_config *c = &w->config;
    const size_t mixer_size = mixer_total(&c->mixer, model_mixer_channels(c));
    size_t end = 0; /* of the last mixer begun: its first array stands for all of it */
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < w->count && !status; i++) {
        const weights_array *a = &w->arrays[i];
        if (!(a->part & parts) || a->offset < end) continue;
        if (a->part != WEIGHTS_MIXERS) {
            init_array(w, a, seed, params + a->offset);
            continue;
        }
        const size_t block = (size_t)(strstr(a->name, mixer_end) - a->name);
        status = c->mixer.kind->init(&c->mixer, model_mixer_channels(c),
                                     seed_of(seed, a->name, block), params + a->offset, error);
        end = a->offset + mixer_size;
    }
    return status;
}
