/* Parameters of the bare layer in files, with both shared libraries in one program: what is saved
 * is loaded again to the bit, in either number type and under any prefix; what does not fit is
 * refused. python/tests/test_interchange.py has the same files from and to PyTorch. */
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

static ssm2d_config config_of(ssm2d_values values, int channels)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = channels;
    c.values = values;
    c.layer_norm = values != SSM2D_REAL;
    c.c_per_channel = values == SSM2D_CARTESIAN;
    return c;
}

static void *params_of(const ssm2d_config *c, ssm2d_type type, size_t *bytes)
{
    *bytes = ssm2d_param_total(c) * (type == SSM2D_FLOAT ? sizeof(float) : sizeof(double));
    void *params = malloc(*bytes);
    assert_non_null(params);
    assert_int_equal(ssm2d_params_init(c, SSM2D_INIT_AUTHORS, 3, type, params, &error), SSM2D_OK);
    return params;
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const prefixes[] = {NULL, "", "blocks.0.mixer"};
    for (int values = SSM2D_REAL; values <= SSM2D_CARTESIAN; values++)
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int i = 0; i < 3; i++) {
                const ssm2d_config c = config_of((ssm2d_values)values, 24);
                size_t bytes, others;
                void *params = params_of(&c, (ssm2d_type)type, &bytes), *again = malloc(bytes);
                if (ssm2d_params_save(path, prefixes[i], &c, (ssm2d_type)type, params, &error)
                    || ssm2d_params_load(path, prefixes[i], &c, (ssm2d_type)type, again, &error))
                    fail_msg("%s", error.line);
                assert_memory_equal(params, again, bytes);
                /* as the other type: the same numbers, rounded */
                const ssm2d_type other = type == SSM2D_FLOAT ? SSM2D_DOUBLE : SSM2D_FLOAT;
                void *expected = params_of(&c, other, &others), *converted = malloc(others);
                assert_int_equal(ssm2d_params_load(path, prefixes[i], &c, other, converted, &error),
                                 SSM2D_OK);
                if (type == SSM2D_DOUBLE) assert_memory_equal(converted, expected, others);
                free(params), free(again), free(expected), free(converted);
            }
}

/* The caller's rounding changes no bit of numbers that are made shorter. */
static void test_rounding(void **state)
{
    (void)state;
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const ssm2d_config c = config_of(SSM2D_REAL, 6);
    size_t bytes, half;
    void *params = params_of(&c, SSM2D_DOUBLE, &bytes), *first = params_of(&c, SSM2D_FLOAT, &half),
         *again = params_of(&c, SSM2D_FLOAT, &half);
    assert_int_equal(ssm2d_params_save(path, NULL, &c, SSM2D_DOUBLE, params, &error), SSM2D_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fesetround(modes[i]), 0);
        const ssm2d_status status =
            ssm2d_params_load(path, NULL, &c, SSM2D_FLOAT, i ? again : first, &error);
        const int kept = fegetround() == modes[i];
        fesetround(FE_TONEAREST);
        assert_int_equal(status, SSM2D_OK);
        assert_true(kept);
        if (i) assert_memory_equal(first, again, half);
    }
    free(params), free(first), free(again);
}

static void test_refused(void **state)
{
    (void)state;
    const ssm2d_config c = config_of(SSM2D_REAL, 24);
    ssm2d_config other = c;
    size_t bytes;
    float *params = params_of(&c, SSM2D_FLOAT, &bytes), *again = malloc(4 * bytes);
    assert_line(ssm2d_params_load(path, NULL, &c, SSM2D_FLOAT, again, &error), "a.safetensors");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_line(ssm2d_params_load(path, NULL, &c, SSM2D_FLOAT, again, &error), "a.safetensors");
    assert_line(ssm2d_params_save(path, NULL, &c, SSM2D_FLOAT, params, &error), "a.safetensors");
    assert_int_equal(remove(path), 0);
    assert_int_equal(ssm2d_params_save(path, "x", &c, SSM2D_FLOAT, params, &error), SSM2D_OK);
    assert_line(ssm2d_params_load(path, "y", &c, SSM2D_FLOAT, again, &error), "y.A");
    assert_line(ssm2d_params_load(path, NULL, &c, SSM2D_FLOAT, again, &error), "no array x.");
    other.norm = SSM2D_NORM_HALF; /* of the same shapes */
    assert_line(ssm2d_params_load(path, "x", &other, SSM2D_FLOAT, again, &error), "norm");
    other = c;
    other.channels = 32;
    assert_line(ssm2d_params_load(path, "x", &other, SSM2D_FLOAT, again, &error), "channels");
    other = c;
    other.directions = 3;
    assert_line(ssm2d_params_load(path, "x", &other, SSM2D_FLOAT, again, &error), "directions");
    assert_line(ssm2d_params_load(path, "x", &c, (ssm2d_type)5, again, &error), "type=5");
    assert_line(ssm2d_params_load(NULL, "x", &c, SSM2D_FLOAT, again, &error), "path=NULL");
    assert_line(ssm2d_params_load(path, "x", NULL, SSM2D_FLOAT, again, &error), "config=NULL");
    assert_line(ssm2d_params_load(path, "x", &c, SSM2D_FLOAT, NULL, &error), "params=NULL");
    char prefix[400];
    memset(prefix, 'p', sizeof prefix);
    prefix[sizeof prefix - 1] = 0;
    assert_line(ssm2d_params_save(path, prefix, &c, SSM2D_FLOAT, params, &error), "prefix");
    params[5] = NAN;
    assert_int_equal(remove(path), 0);
    assert_line(ssm2d_params_save(path, NULL, &c, SSM2D_FLOAT, params, &error), "not written");
    assert_int_not_equal(access(path, F_OK), 0);
    assert_line(ssm2d_params_save("/proc/nowhere/x", NULL, &c, SSM2D_FLOAT, again, &error), "");
    free(params), free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rounding, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
