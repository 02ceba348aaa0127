/* ConvNeXt in double: gradients by finite differences for any map and mixer (golden cases 19 and 20
 * have the values), parameter counts, timm's names and shapes, and refused configurations. */

#include "layers/ssm2d/ssm2d_config.h"
#include "model_trial.h"
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#define SMALL "image=[12, 10];patch=1;dim=6,8;depth=1,1;mixer="

/* The comment after each line says what it tests. */
static void test_gradients_equal_finite_differences(void **state)
{
    (void)state;
    static const char *const kinds[] = {"stem",  "conv_dw",    "mixer", "norm", "mlp",
                                        "gamma", "downsample", "head",  "",     NULL};
    static const char *const cases[] = {
        SMALL "conv",
        SMALL "none",
        SMALL "ssm2d",
        SMALL "ssm2d;mixer.values=cartesian;mixer.directions=2;mixer.trunc_rows=3",
        SMALL "s4nd;mixer.d_state=4",
        SMALL "ema;mixer.d_state=3",
        SMALL "conv;mixer.kernel=3;mixer.bias=false",
        "image=14;patch=2;dim=4,6,10;depth=1,2,1;mixer=conv", /* 7, 3 and 1 cells; odd sides */
        "image=[8, 24];patch=4;dim=5;depth=2;mixer=conv",     /* 2 x 6 cells, less than 7 */
        "image=16;patch=1;dim=4;depth=1,1,1,1,1;mixer=conv;channels=1", /* down to one cell */
        "image=9;patch=3;dim=12;depth=1;mixer=conv;mlp_ratio=0.5"};
    rng r = rng_seed(3);
    ssm2d_context *context = context_of(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_config c = trial_config("convnext", cases[i]);
        trial t = trial_make(context, &c, &r);
        check_gradients(&t, cases[i], kinds, &r);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
}

static size_t count_of(ssm2d_context *context, const char *name, const char *settings, int classes)
{
    ssm2d_error error;
    model_config c = trial_config(name, settings);
    weights *w = NULL;
    c.outputs = classes;
    if (weights_create(context, &c, &w, &error)) fail_msg("%s", error.line);
    const size_t count = w->learned;
    weights_destroy(w);
    return count;
}

/* The authors' own counts include D, which their models do not use: skip=true counts it. */
static void test_parameter_counts_are_published_ones(void **state)
{
    (void)state;
#define LAYER "mixer=ssm2d;mixer.n_ssm=2;mixer.d_state=16;mixer.c_per_channel=true;mixer.skip=true;"
    static const struct {
        const char *model, *settings;
        int classes;
        size_t count;
    } table[] = {
        {"convnext-small", "mixer=conv", 100, 6424548},
        {"convnext-small", LAYER "mixer.directions=4", 100, 6582372},
        {"convnext-small", LAYER "mixer.directions=2;mixer.values=cartesian", 100, 6582372},
        {"convnext-small", "mixer=conv;image=64", 200, 6475848},
        {"convnext-small", LAYER "mixer.directions=2;image=64", 200, 6507720},
        {"convnext-small", LAYER "mixer.directions=2;mixer.values=cartesian;image=64", 200,
         6633672},
        {"convnext-small", "mixer=none", 100, 6424548 - 50 * 1920},
        {"convnext-small", "mixer=ssm2d", 100, 6582372 - 1920}, /* without D, as the model is run */
        {"convnext", "mixer=conv", 1000, 28589128},             /* timm's convnext_tiny */
    };
    ssm2d_context *context = context_of(1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t count = count_of(context, table[i].model, table[i].settings, table[i].classes);
        if (count != table[i].count)
            fail_msg("%s, %s: %zu parameters, not %zu", table[i].model, table[i].settings, count,
                     table[i].count);
    }
    ssm2d_context_destroy(context);
}

/* The layer with the settings of a model that names no others: the authors' run on CIFAR-100. */
static void test_default_layer_is_that_of_the_authors(void **state)
{
    (void)state;
    model_config c = trial_config("convnext-small", "mixer=ssm2d");
    const ssm2d_config *s = ssm2d_config_of(&c.mixer.values);
    assert_true(model_default_mixer(c.model) == &layer_conv);
    assert_int_equal(s->trunc_rows, 9);
    assert_int_equal(s->trunc_cols, 9);
    assert_int_equal(s->assign, SSM2D_ASSIGN_AUTHORS);
    assert_true(!s->skip && s->c_per_channel && s->init == LAYER_INIT_AUTHORS);
}

static void assert_shape(const weights *w, const char *name, int rank, const size_t *shape)
{
    const param_array *a = weights_find(w, name);
    if (!a) fail_msg("there is no %s", name);
    assert_int_equal(a->rank, rank);
    for (int i = 0; i < rank; i++)
        if (a->shape[i] != shape[i]) fail_msg("%s: axis %d has %zu", name, i, a->shape[i]);
}

#define SHAPE(...)                                                                                 \
    (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }

static void test_names_are_those_of_timm(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_error error;
    model_config c = trial_config("convnext", "mixer=conv");
    weights *w = NULL;
    if (weights_create(context, &c, &w, &error)) fail_msg("%s", error.line);
    assert_int_equal(w->count, 4 + 3 * 4 + 18 * 9 + 4); /* stem, downsamples, blocks, head */
    assert_shape(w, "stem.0.weight", SHAPE(96, 3, 4, 4));
    assert_shape(w, "stem.0.bias", SHAPE(96));
    assert_shape(w, "stem.1.weight", SHAPE(96));
    assert_null(weights_find(w, "stages.0.downsample.0.weight"));
    assert_shape(w, "stages.1.downsample.0.weight", SHAPE(96));
    assert_shape(w, "stages.1.downsample.1.weight", SHAPE(192, 96, 2, 2));
    assert_shape(w, "stages.3.downsample.1.bias", SHAPE(768));
    assert_shape(w, "stages.2.blocks.8.conv_dw.weight", SHAPE(384, 1, 7, 7));
    assert_shape(w, "stages.2.blocks.8.conv_dw.bias", SHAPE(384));
    assert_shape(w, "stages.2.blocks.8.norm.weight", SHAPE(384));
    assert_shape(w, "stages.2.blocks.8.mlp.fc1.weight", SHAPE(1536, 384));
    assert_shape(w, "stages.2.blocks.8.mlp.fc2.bias", SHAPE(384));
    assert_shape(w, "stages.2.blocks.8.gamma", SHAPE(384));
    assert_shape(w, "head.norm.weight", SHAPE(768));
    assert_shape(w, "head.fc.weight", SHAPE(3, 768));
    float *params = calloc(w->total, sizeof *params);
    assert_non_null(params);
    if (weights_init(w, PARAM_ALL, 1, params, &error)) fail_msg("%s", error.line);
    assert_true(params[weights_find(w, "stages.2.blocks.8.gamma")->offset] == 1e-6F);
    free(params);
    weights_destroy(w);
    ssm2d_context_destroy(context);
}

static void test_bad_configurations_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"mixer.place", "ffn", "\"mixer.place\" is not attn"},
        {"depth", "2,2", "\"depth\" has 2 stages and \"dim\" 3"},
        {"image", "6", "a map of 3 x 3 patches cannot be halved 2 times"},
        {"image", "33", "\"patch\" is 2"},
        {"mlp_ratio", "0.015", "too small for \"dim\" 48"},
        {"layer_scale", "0", "\"layer_scale\" is 0"},
        {"mixer.kernel", "4", "\"mixer.kernel\" is 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model_config c;
        ssm2d_error error;
        assert_int_equal(model_config_named("convnext-mini", &c, &error), SSM2D_OK);
        assert_int_equal(model_config_use_mixer(&c, &layer_conv, &error), SSM2D_OK);
        ssm2d_status status =
            model_config_set((field_source){.where = "test"}, cases[i][0], cases[i][1], &c, &error);
        if (!status) status = model_config_finish(&c, &error);
        if (status != SSM2D_ERROR_ARGUMENT || !strstr(error.line, cases[i][2]))
            fail_msg("%s=%s: %d, %s", cases[i][0], cases[i][1], (int)status, error.line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_equal_finite_differences),
        cmocka_unit_test(test_parameter_counts_are_published_ones),
        cmocka_unit_test(test_default_layer_is_that_of_the_authors),
        cmocka_unit_test(test_names_are_those_of_timm),
        cmocka_unit_test(test_bad_configurations_are_refused),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
