/* model_values - reference values for export_check.py, of a model in a file:
 *
 *     model_values weights CONFIG OUT SEED           weights with which every part has an effect
 *     model_values tokens CONFIG WEIGHTS BLOCK IN OUT    the tokens after a block */
#include "core/context.h"
#include "core/rng.h"
#include "io/npy.h"
#include "models/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_context *context;
static ssm2d_error error;

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "model_values: %s\n", error.line);                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static weights *model_in(const char *path, model_config *c)
{
    weights *w;
    good(model_config_read(context, path, c, &error));
    good(model_config_finish(c, &error));
    good(weights_create(context, c, &w, &error));
    return w;
}

/* By how much elements of an array are perturbed: weights of a product by an amount that keeps sums
 * of the size of one. */
static double deviation_of(const param_array *a)
{
    size_t inputs = 1;
    for (int i = 1; i < a->rank; i++) inputs *= a->shape[i];
    return a->rank > 1 && a->spec.part != PARAM_MIXER ? 0.5 / sqrt((double)inputs) : 0.2;
}

/* Initial values, moved: biases, embeddings and the mixers' small C are not left close to zero, nor
 * norms at one. Variances stay positive. */
static void make_weights(const char *config, const char *out, uint64_t seed)
{
    model_config c;
    weights *w = model_in(config, &c);
    rng r = rng_seed(seed);
    float *params = mem_alloc(context, w->total * sizeof *params);
    good(weights_init(w, PARAM_ALL, seed, params, &error));
    for (int i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->arrays[i].count; k++) {
            float *x = &params[w->arrays[i].offset + k];
            *x += (float)(deviation_of(&w->arrays[i]) * rng_normal(&r));
            if (w->arrays[i].spec.nonnegative) *x = fabsf(*x) + 0.1f;
        }
    good(weights_save(w, out, params, &error));
    mem_free(context, params);
    weights_destroy(w);
}

static void run_tokens(const char *config, const char *file, int block, const char *in,
                       const char *out)
{
    model_config c;
    npy_array images;
    graph *g;
    weights *w = model_in(config, &c);
    float *params = mem_alloc(context, w->total * sizeof *params);
    good(weights_load(w, file, NULL, params, NULL, &error));
    good(npy_read(context, in, &images, &error));
    float *x = mem_alloc(context, images.count * sizeof *x);
    npy_to_float(&images, x);
    good(graph_create(context, 0, &g, &error));
    model_build(g, &c, images.shape[0]); /* declares the parameters in the order of the weights */
    tensor *tokens = c.model->family->tokens(g, &c, graph_find(g, "images"), block);
    good(graph_finish(g, tokens, &error));
    graph_bind(g, params, NULL);
    graph_find(g, "images")->data = x;
    graph_forward(g);
    good(npy_write(context, out, NPY_FLOAT32, tokens->rank, tokens->shape, tokens->data, &error));
    graph_destroy(g);
    npy_free(context, &images);
    mem_free(context, x);
    mem_free(context, params);
    weights_destroy(w);
}

int main(int argc, char **argv)
{
    good(ssm2d_context_create(NULL, &context, &error));
    if (argc == 5 && !strcmp(argv[1], "weights"))
        make_weights(argv[2], argv[3], strtoull(argv[4], NULL, 10));
    else if (argc == 7 && !strcmp(argv[1], "tokens"))
        run_tokens(argv[2], argv[3], atoi(argv[4]), argv[5], argv[6]);
    else
        return 2;
    ssm2d_context_destroy(context);
    return 0;
}
