/* Wisdom: decisions of `measure` are exported, imported and used; hostile text is refused. */
#define SSM2D_EXPERIMENTAL
#include "problem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_context *context;
static ssm2d_error error;

static int setup(void **state)
{
    (void)state;
    context = context_of(2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

static ssm2d_layer *layer_with(const char *kind, const char *settings)
{
    ssm2d_layer *layer;
    if (ssm2d_layer_create(context, kind, settings, &layer, &error)) fail_msg("%s", error.line);
    return layer;
}

static ssm2d_plan_options measured(size_t rows, size_t cols)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = 2;
    o.grid = ssm2d_grid_2d(rows, cols);
    o.measure = 1;
    return o;
}

/* The algorithm of a plan, "" when it is refused. */
static const char *decided(ssm2d_context *c, const ssm2d_layer *layer, const ssm2d_plan_options *o)
{
    static char name[32];
    ssm2d_plan *plan;
    *name = 0;
    if (ssm2d_plan_create(c, layer, o, &plan, &error)) return name;
    snprintf(name, sizeof name, "%s", ssm2d_plan_algorithm(plan));
    ssm2d_plan_destroy(plan);
    return name;
}

/* A line with another algorithm is followed, which shows where decisions come from. */
static void decisions_are_exported_and_obeyed(void **state)
{
    (void)state;
    static const char *const layers[][2] = {{"ssm2d", "channels=6 values=polar init=authors"},
                                            {"s4nd", "channels=6 rate=0.25"},
                                            {"ema", "channels=6"}};
    for (size_t i = 0; i < 3; i++) {
        ssm2d_context *fresh = context_of(2), *other = context_of(2);
        ssm2d_layer *layer = layer_with(layers[i][0], layers[i][1]);
        const ssm2d_plan_options o = measured(5, 4);
        char text[2048], again[2048], first[32], wish[2048];
        assert_int_equal(ssm2d_wisdom_export(fresh, text, sizeof text), 0);
        assert_string_equal(text, "");
        snprintf(first, sizeof first, "%s", decided(fresh, layer, &o));
        assert_string_not_equal(first, "");
        const size_t length = ssm2d_wisdom_export(fresh, text, sizeof text);
        assert_int_equal(length, strlen(text));
        assert_int_equal(ssm2d_wisdom_export(fresh, NULL, 0), length);
        assert_int_equal(ssm2d_wisdom_export(fresh, again, 8), length);
        assert_int_equal(strlen(again), 7);
        assert_true(!strncmp(text, layers[i][0], strlen(layers[i][0])));
        assert_true(text[length - 1] == '\n' && strchr(text, '\n') == text + length - 1);
        assert_null(strstr(text, "init"));
        char *bar = strrchr(text, '|');
        assert_true(!strncmp(bar + 2, first, strlen(first)));

        for (int k = 0; ssm2d_kind_algorithm(layers[i][0], k); k++) {
            const char *name = ssm2d_kind_algorithm(layers[i][0], k);
            snprintf(wish, sizeof wish, "# a comment\n\n%.*s| %s", (int)(bar - text), text, name);
            if (ssm2d_wisdom_import(other, wish, &error)) fail_msg("%s", error.line);
            assert_string_equal(decided(other, layer, &o), name);
            ssm2d_plan_options unlike = o;
            unlike.measure = 0; /* estimated plans do not use it */
            decided(other, layer, &unlike);
            ssm2d_wisdom_export(other, again, sizeof again);
            snprintf(wish, sizeof wish, "%.*s| %s\n", (int)(bar - text), text, name);
            assert_string_equal(again, wish);
        }
        ssm2d_layer_destroy(layer);
        ssm2d_context_destroy(fresh);
        ssm2d_context_destroy(other);
    }
}

/* Every part of a request matters, except for initial values. */
static void requests_are_told_apart(void **state)
{
    (void)state;
    ssm2d_layer *layer = layer_with("ssm2d", "channels=6"),
                *alike = layer_with("ssm2d", "channels=6 init=authors"),
                *other = layer_with("ssm2d", "channels=6 d_state=3");
    ssm2d_plan_options o = measured(3, 4), options[7];
    for (int i = 0; i < 7; i++) options[i] = o;
    options[1].batch = 3;
    options[2].grid = ssm2d_grid_2d(4, 3);
    options[3].type = SSM2D_DOUBLE;
    options[4].inference = 1;
    options[5].max_bytes = (size_t)1 << 30;
    options[6].in = (ssm2d_strides){100, {25, 6}, 1};
    size_t lines = 0, length;
    char *text = malloc(1 << 16);
    for (int i = 0; i < 7; i++) {
        decided(context, layer, &options[i]);
        decided(context, layer, &options[i]);
        decided(context, alike, &options[i]);
        lines = 0;
        length = ssm2d_wisdom_export(context, text, 1 << 16);
        for (size_t k = 0; k < length; k++) lines += text[k] == '\n';
        assert_int_equal(lines, i + 1);
    }
    decided(context, other, &o);
    length = ssm2d_wisdom_export(context, text, 1 << 16);
    /* all of it, in another context */
    ssm2d_context *fresh = context_of(1);
    char *again = malloc(1 << 16);
    assert_int_equal(ssm2d_wisdom_import(fresh, text, &error), SSM2D_OK);
    assert_int_equal(ssm2d_wisdom_export(fresh, again, 1 << 16), length);
    assert_string_equal(again, text);
    ssm2d_context_destroy(fresh);
    free(text), free(again);
    ssm2d_layer_destroy(layer), ssm2d_layer_destroy(alike), ssm2d_layer_destroy(other);
}

/* A decision that cannot be used is measured again. */
static void unusable_decisions_are_measured_again(void **state)
{
    (void)state;
    ssm2d_layer *layer = layer_with("ema", "channels=6 trunc=3");
    const ssm2d_plan_options o = measured(5, 4);
    char text[2048], wish[2048];
    assert_string_not_equal(decided(context, layer, &o), "");
    ssm2d_wisdom_export(context, text, sizeof text);
    ssm2d_context *other = context_of(2);
    snprintf(wish, sizeof wish, "%.*s| scan\n", (int)(strrchr(text, '|') - text), text);
    assert_int_equal(ssm2d_wisdom_import(other, wish, &error), SSM2D_OK);
    const char *name = decided(other, layer, &o);
    assert_true(!strcmp(name, "direct") || !strcmp(name, "fft"));
    ssm2d_wisdom_export(other, text, sizeof text);
    assert_null(strstr(text, "| scan"));
    ssm2d_context_destroy(other);
    ssm2d_layer_destroy(layer);
}

static void hostile_text_is_refused(void **state)
{
    (void)state;
#define OPTIONS "batch=2 grid=3x4 in=48,16,4,1 out=48,16,4,1 type=float inference=0 max_bytes=0 "
    static const char good[] = "ema channels=4 | " OPTIONS "cpu=avx2 threads=4 | scan";
    static const char *const bad[][2] = {
        {"hello", "line 1: is not"},
        {good, ""},
        {"\n# x\nema", "line 3: is not"},
        {"em channels=4 | " OPTIONS "cpu=avx2 threads=4 | scan", "no kind of layer \"em\""},
        {"ema channels=0 | " OPTIONS "cpu=avx2 threads=4 | scan", "channels=0"},
        {"ema chanels=4 | " OPTIONS "cpu=avx2 threads=4 | scan", "did you mean"},
        {"ema | " OPTIONS "cpu=avx2 threads=4 | scan", "missing"},
        {"ema channels=4 | " OPTIONS "cpu=avx2 threads=4 | quick", "no algorithm \"quick\""},
        {"ema channels=4 | " OPTIONS "cpu=avx2 threads=4 |", "is not"},
        {"ema channels=4 | " OPTIONS "cpu=avx2 threads=4", "is not"},
        {"ema channels=4 | " OPTIONS "cpu=z80 threads=4 | scan", "malformed at \"z80"},
        {"ema channels=4 | " OPTIONS "cpu=avx2 threads=0 | scan", "malformed at \"0"},
        {"ema channels=4 | " OPTIONS "cpu=avx2 threads=4 x | scan", "malformed at"},
        {"ema channels=4 | batch=x | scan", "malformed at \"x"},
        {"ema channels=4 | batch=99999999999999999999 | scan", "malformed at \"999"},
        {"ema channels=4 | batch=2 grid=3x4x5x6 in=1 | scan", "malformed at \"x6"},
        {"ema channels=4 | batch=2 grid=3x4 in=48,1,1,1 out=48,16,4,1 type=float inference=0 "
         "max_bytes=0 cpu=avx2 threads=4 | scan",
         "share elements"},
        {"ema channels=4 | batch=2 grid=3x9999999999 in=48,1,1,1 out=48,16,4,1 type=float "
         "inference=0 max_bytes=0 cpu=avx2 threads=4 | scan",
         "cols=9999999999"},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ssm2d_context *fresh = context_of(1);
        snprintf(text, sizeof text, "%s", bad[i][0]);
        const ssm2d_status status = ssm2d_wisdom_import(fresh, text, &error);
        if (!*bad[i][1]) {
            assert_int_equal(status, SSM2D_OK);
            assert_true(ssm2d_wisdom_export(fresh, NULL, 0) > 0);
        } else {
            if (status != SSM2D_ERROR_ARGUMENT) fail_msg("\"%s\" is accepted", text);
            says(&error, "line ", bad[i][1]);
            /* a good line before it is ignored as well */
            snprintf(text, sizeof text, "%s\n%s", good, bad[i][0]);
            assert_int_equal(ssm2d_wisdom_import(fresh, text, &error), SSM2D_ERROR_ARGUMENT);
            assert_int_equal(ssm2d_wisdom_export(fresh, NULL, 0), 0);
        }
        ssm2d_context_destroy(fresh);
    }
    memset(text, 'a', sizeof text);
    text[2000] = 0;
    assert_int_equal(ssm2d_wisdom_import(context, text, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "line 1", "longer");
    assert_int_equal(ssm2d_wisdom_import(context, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(ssm2d_wisdom_import(NULL, "", &error), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(ssm2d_wisdom_import(context, "", &error), SSM2D_OK);
}

static void *plan_and_export(void *arg)
{
    const ssm2d_layer *layer = arg;
    char text[8192];
    for (int i = 0; i < 20; i++) {
        const ssm2d_plan_options o = measured(2 + (size_t)(i % 4), 3);
        ssm2d_plan *plan;
        if (ssm2d_plan_create(context, layer, &o, &plan, NULL)) return (void *)layer;
        ssm2d_plan_destroy(plan);
        ssm2d_wisdom_export(context, text, sizeof text);
        if (ssm2d_wisdom_import(context, text, NULL)) return (void *)layer;
    }
    return NULL;
}

static void threads_share_wisdom(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    ssm2d_layer *layer = layer_with("s4nd", "channels=3 d_state=2 n_ssm=1");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, plan_and_export, layer), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    ssm2d_layer_destroy(layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(decisions_are_exported_and_obeyed, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(unusable_decisions_are_measured_again, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_text_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_share_wisdom, setup, teardown)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
