/* Parameters of layers in files, with both shared libraries in one program: saved parameters load
 * unchanged, in either element type and under any prefix; files that do not fit are refused.
 * python/tests/test_interchange.py exchanges the same files with PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ssm2d_model.h"

#include <fenv.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static ssm2d_error error;
static char folder[64], path[128];

static int setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ssm2d-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder);
}

static void assert_line(ssm2d_status status, const char *part)
{
    assert_int_not_equal(status, SSM2D_OK);
    assert_null(strchr(error.line, '\n'));
    if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);
}

static ssm2d_context *context;

static ssm2d_layer *layer_of(const char *kind, const char *settings)
{
    ssm2d_layer *layer;
    if (ssm2d_layer_create(context, kind, settings, &layer, &error)) fail_msg("%s", error.line);
    return layer;
}

static void *params_of(const ssm2d_layer *layer, ssm2d_type type, size_t *bytes)
{
    *bytes =
        ssm2d_layer_param_count(layer) * (type == SSM2D_FLOAT ? sizeof(float) : sizeof(double));
    void *params = malloc(*bytes);
    assert_non_null(params);
    assert_int_equal(type == SSM2D_FLOAT ? ssm2d_params_init(layer, 3, params, &error)
                                         : ssm2d_params_init_double(layer, 3, params, &error),
                     SSM2D_OK);
    return params;
}

static ssm2d_status save(const char *prefix, const ssm2d_layer *layer, ssm2d_type type,
                         const void *params)
{
    return type == SSM2D_FLOAT ? ssm2d_params_save(path, prefix, layer, params, &error)
                               : ssm2d_params_save_double(path, prefix, layer, params, &error);
}

static ssm2d_status load(const char *prefix, const ssm2d_layer *layer, ssm2d_type type,
                         void *params)
{
    return type == SSM2D_FLOAT ? ssm2d_params_load(path, prefix, layer, params, &error)
                               : ssm2d_params_load_double(path, prefix, layer, params, &error);
}

static void test_saved_parameters_load_unchanged(void **state)
{
    (void)state;
    static const char *const prefixes[] = {NULL, "", "blocks.0.mixer"};
    static const char *const layers[][2] = {
        {"ssm2d", "channels=24 init=authors"},
        {"ssm2d", "channels=24 init=authors values=polar layer_norm=true"},
        {"ssm2d", "channels=24 init=authors values=cartesian layer_norm=true c_per_channel=true"},
        {"s4nd", "channels=24 rate=0.5"},
        {"ema", "channels=24 bidirectional=false"}};
    for (size_t k = 0; k < sizeof layers / sizeof *layers; k++)
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int i = 0; i < 3; i++) {
                ssm2d_layer *layer = layer_of(layers[k][0], layers[k][1]);
                size_t bytes, others;
                void *params = params_of(layer, (ssm2d_type)type, &bytes), *again = malloc(bytes);
                if (save(prefixes[i], layer, (ssm2d_type)type, params)
                    || load(prefixes[i], layer, (ssm2d_type)type, again))
                    fail_msg("%s", error.line);
                assert_memory_equal(params, again, bytes);
                /* loaded as the other type: the same values, rounded */
                const ssm2d_type other = type == SSM2D_FLOAT ? SSM2D_DOUBLE : SSM2D_FLOAT;
                void *expected = params_of(layer, other, &others), *converted = malloc(others);
                assert_int_equal(load(prefixes[i], layer, other, converted), SSM2D_OK);
                if (type == SSM2D_DOUBLE) assert_memory_equal(converted, expected, others);
                free(params), free(again), free(expected), free(converted);
                ssm2d_layer_destroy(layer);
            }
}

/* The caller's rounding mode does not affect the conversion to a narrower type. */
static void test_rounding_mode_changes_no_bit(void **state)
{
    (void)state;
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    ssm2d_layer *layer = layer_of("ssm2d", "channels=6 init=authors");
    size_t bytes, half;
    void *params = params_of(layer, SSM2D_DOUBLE, &bytes),
         *first = params_of(layer, SSM2D_FLOAT, &half),
         *again = params_of(layer, SSM2D_FLOAT, &half);
    assert_int_equal(save(NULL, layer, SSM2D_DOUBLE, params), SSM2D_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fesetround(modes[i]), 0);
        const ssm2d_status status = load(NULL, layer, SSM2D_FLOAT, i ? again : first);
        const int kept = fegetround() == modes[i];
        fesetround(FE_TONEAREST);
        assert_int_equal(status, SSM2D_OK);
        assert_true(kept);
        if (i) assert_memory_equal(first, again, half);
    }
    free(params), free(first), free(again);
    ssm2d_layer_destroy(layer);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    ssm2d_layer *layer = layer_of("ssm2d", "channels=24");
    size_t bytes;
    float *params = params_of(layer, SSM2D_FLOAT, &bytes), *again = malloc(4 * bytes);
    assert_line(load(NULL, layer, SSM2D_FLOAT, again), "a.safetensors");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_line(load(NULL, layer, SSM2D_FLOAT, again), "a.safetensors");
    assert_line(save(NULL, layer, SSM2D_FLOAT, params), "a.safetensors");
    assert_int_equal(remove(path), 0);
    assert_int_equal(save("x", layer, SSM2D_FLOAT, params), SSM2D_OK);
    assert_line(load("y", layer, SSM2D_FLOAT, again), "y.A");
    assert_line(load(NULL, layer, SSM2D_FLOAT, again), "no array x.");
    /* another norm has the same shapes; settings of initial values are not compared */
    static const char *const others[][3] = {{"ssm2d", "channels=24 norm=half", "norm"},
                                            {"ssm2d", "channels=32", "channels"},
                                            {"s4nd", "channels=24", "kind"},
                                            {"ssm2d", "channels=24 init=authors", NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ssm2d_layer *other = layer_of(others[i][0], others[i][1]);
        const ssm2d_status status = load("x", other, SSM2D_FLOAT, again);
        if (others[i][2])
            assert_line(status, others[i][2]);
        else
            assert_int_equal(status, SSM2D_OK);
        ssm2d_layer_destroy(other);
    }
    assert_line(ssm2d_params_load(NULL, "x", layer, again, &error), "path=NULL");
    assert_line(ssm2d_params_load(path, "x", NULL, again, &error), "layer=NULL");
    assert_line(ssm2d_params_load(path, "x", layer, NULL, &error), "params=NULL");
    char prefix[400];
    memset(prefix, 'p', sizeof prefix);
    prefix[sizeof prefix - 1] = 0;
    assert_line(save(prefix, layer, SSM2D_FLOAT, params), "prefix");
    params[5] = NAN;
    assert_int_equal(remove(path), 0);
    assert_line(save(NULL, layer, SSM2D_FLOAT, params), "not written");
    assert_int_not_equal(access(path, F_OK), 0);
    assert_line(ssm2d_params_save("/proc/nowhere/x", NULL, layer, again, &error), "");
    free(params), free(again);
    ssm2d_layer_destroy(layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved_parameters_load_unchanged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rounding_mode_changes_no_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_files_are_refused, setup, teardown)};
    if (ssm2d_context_create(NULL, &context, &error)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ssm2d_context_destroy(context);
    return failed;
}
