/* weights_fixture - shared by the tests of weights: a context, a temporary folder with one file,
 * and weights of models. Files that include it define _GNU_SOURCE, for mkdtemp. */
#ifndef TESTS_WEIGHTS_FIXTURE_H
#define TESTS_WEIGHTS_FIXTURE_H

#include "model_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssm2d_context *context;
static char folder[] = "/tmp/ssm2d-weights-XXXXXX", path[64];

static const char *const with_mixer[][2] = {{"mixer", "ssm2d"}, {"mixer.normalize", "true"}};

static inline int fixture_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    return ssm2d_context_create(NULL, &context, NULL) ? -1 : 0;
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    remove(path);
    return rmdir(folder);
}

/* The weights of a named model with `count` of its settings changed. */
static inline weights *weights_of(const char *name, const char *const (*set)[2], int count)
{
    model_config c;
    weights *w = NULL;
    ssm2d_error error;
    if (model_config_named(name, &c, &error)) fail_msg("%s", error.line);
    for (int i = 0; i < count; i++)
        if (model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error))
            fail_msg("%s", error.line);
    if (model_config_finish(&c, &error) || weights_create(context, &c, &w, &error))
        fail_msg("%s", error.line);
    return w;
}

/* To be freed. */
static inline float *initial(const weights *w, uint64_t seed)
{
    ssm2d_error error;
    float *params = malloc(w->total * sizeof *params);
    for (size_t i = 0; i < w->total; i++) params[i] = NAN;
    if (weights_init(w, PARAM_ALL, seed, params, &error)) fail_msg("%s", error.line);
    return params;
}

static inline const param_array *find(const weights *w, const char *name)
{
    const param_array *a = weights_find(w, name);
    if (!a) fail_msg("there is no %s", name);
    return a;
}

#endif
