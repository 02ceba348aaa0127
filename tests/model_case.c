#include "model_case.h"

#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const model_cases[MODEL_CASES] = {"01_vit",
                                              "02_vit_nopos",
                                              "03_vit_rect",
                                              "04_deit",
                                              "05_vit_ssm2d_attn",
                                              "06_vit_ssm2d_polar",
                                              "07_vit_ssm2d_block",
                                              "08_vit_ssm2d_ffn",
                                              "09_vit_s4nd",
                                              "10_vit_ema",
                                              "11_swin",
                                              "12_swin_nopos",
                                              "13_swin_ssm2d",
                                              "14_mega",
                                              "15_mega_ema",
                                              "16_mega_ssm2d",
                                              "17_mega_softmax",
                                              "18_swin_rect",
                                              "19_convnext",
                                              "20_convnext_ssm2d"};

static double *read_npy(ssm2d_context *context, const model_case *c, const char *name,
                        size_t *first)
{
    char path[600];
    npy_array array;
    ssm2d_error error;
    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    if (npy_read(context, path, &array, &error)) fail_msg("%s", error.line);
    double *x = malloc(array.count * sizeof *x);
    assert_non_null(x);
    npy_to_double(&array, x);
    *first = array.shape[0];
    npy_free(context, &array);
    return x;
}

double *read_arrays(const weights *w, const char *path)
{
    safetensors *file;
    ssm2d_error error;
    double *out = malloc(w->total * sizeof *out);
    assert_non_null(out);
    if (safetensors_open(w->context, path, &file, &error)) fail_msg("%s", error.line);
    if (safetensors_count(file) != (size_t)w->count)
        fail_msg("%s has %zu arrays, the model %d", path, safetensors_count(file), w->count);
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        const safetensors_array *found;
        if (safetensors_expect(file, a->name, a->rank, a->shape, &found, &error)
            || safetensors_read_double(file, found, out + a->offset, &error))
            fail_msg("%s", error.line);
    }
    safetensors_close(file);
    return out;
}

model_case model_case_read(ssm2d_context *context, const char *name)
{
    model_case c = {.batch = 0};
    char path[600];
    ssm2d_error error;
    cJSON *expected;
    size_t labels_count, logits_count;
    snprintf(c.folder, sizeof c.folder, GOLDEN_MODELS "/%s", name);
    snprintf(path, sizeof path, "%s/config.json", c.folder);
    if (model_config_read(context, path, &c.config, &error)
        || model_config_finish(&c.config, &error)
        || weights_create(context, &c.config, &c.weights, &error))
        fail_msg("%s: %s", name, error.line);
    c.classes = (size_t)c.config.outputs;
    c.params = malloc(c.weights->total * sizeof *c.params);
    snprintf(path, sizeof path, "%s/weights.safetensors", c.folder);
    if (weights_load(c.weights, path, NULL, c.params, NULL, &error))
        fail_msg("%s: %s", name, error.line);
    snprintf(path, sizeof path, "%s/grads.safetensors", c.folder);
    c.grads = read_arrays(c.weights, path);

    c.images = read_npy(context, &c, "x.npy", &c.batch);
    c.pixels = (size_t)(c.config.channels * c.config.image[0] * c.config.image[1]);
    c.logits = read_npy(context, &c, "logits.npy", &logits_count);
    double *labels = read_npy(context, &c, "labels.npy", &labels_count);
    assert_int_equal(logits_count, c.batch);
    assert_int_equal(labels_count, c.batch);
    c.targets = calloc(c.batch * c.classes, sizeof *c.targets);
    for (size_t b = 0; b < c.batch; b++) c.targets[b * c.classes + (size_t)labels[b]] = 1;
    free(labels);

    snprintf(path, sizeof path, "%s/expected.json", c.folder);
    if (json_read(context, path, &expected, &error)) fail_msg("%s", error.line);
    c.loss = cJSON_GetObjectItemCaseSensitive(expected, "loss")->valuedouble;
    assert_int_equal(c.weights->learned,
                     cJSON_GetObjectItemCaseSensitive(expected, "parameters")->valueint);
    cJSON_Delete(expected);
    return c;
}

void model_case_free(model_case *c)
{
    weights_destroy(c->weights);
    free(c->params), free(c->images), free(c->targets), free(c->logits), free(c->grads);
}

void assert_close(const char *what, const double *got, const double *expected, size_t count,
                  double tolerance)
{
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(expected[i]));
        if (!(fabs(got[i] - expected[i]) <= difference)) difference = fabs(got[i] - expected[i]);
        if (isnan(difference)) break;
    }
    if (!(difference <= tolerance * largest))
        fail_msg("%s: largest %g, difference %g is more than %g of it", what, largest, difference,
                 tolerance);
}

void assert_arrays(const model_case *c, const double *got, double tolerance)
{
    for (int i = 0; i < c->weights->count; i++) {
        const param_array *a = &c->weights->arrays[i];
        char what[700];
        snprintf(what, sizeof what, "%s, gradient of %s", c->folder, a->name);
        assert_close(what, got + a->offset, c->grads + a->offset, a->count, tolerance);
    }
}
