/* The caller's floating-point mode: in any mode in which a context is created and functions are
 * called, results have the same bits, nothing traps, and the mode is as before afterwards. */
#define _GNU_SOURCE /* for float_modes.h */
#include "float_modes.h"
#include "problem.h"
#include "layer_calls.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 5, SIDE = 12, BATCH = 3, CELLS = BATCH * SIDE * SIDE * CHANNELS };

/* All results, one array after the other. */
typedef struct record {
    float *elements;
    size_t used, size;
} record;

static float *record_more(record *r, size_t count, float first)
{
    if (r->used + count > r->size) abort();
    float *p = r->elements + r->used;
    r->used += count;
    for (size_t i = 0; i < count; i++) p[i] = first;
    return p;
}

/* Some of them are subnormal, or become so. */
static float *random_array(uint64_t seed)
{
    rng r = rng_seed(seed);
    float *p = malloc(CELLS * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < CELLS; i++) {
        const double scale = i / CHANNELS % 3 ? 1 : i % 2 ? 1e-38 : 1e-41;
        p[i] = (float)(scale * rng_uniform(&r, -1, 1));
    }
    return p;
}

static ssm2d_plan_options options_of(const char *algorithm)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = BATCH;
    o.grid = ssm2d_grid_2d(SIDE, SIDE);
    o.algorithm = algorithm;
    return o;
}

/* Inside a mode there is no arithmetic but the library's. TINY: gradients are added to subnormal
 * numbers. */
static const float TINY = 1e-40f;

static void run_layer(ssm2d_context *context, const char *algorithm, const mode *m, const float *u,
                      const float *dy, record *r)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = CHANNELS;
    c.average = c.layer_norm = 1;
    c.directions = 2;
    c.pair = SSM2D_PAIR_COLUMNS;
    const ssm2d_plan_options o = options_of(algorithm);
    const size_t total = param_total(&c);
    const size_t taps = (size_t)c.directions * CHANNELS * SIDE * SIDE;
    float *params = record_more(r, total, 0), *y = record_more(r, CELLS, 0);
    float *du = record_more(r, CELLS, TINY), *dparams = record_more(r, total, TINY);
    float *kernel = record_more(r, taps, 0), *dkernel = record_more(r, total, TINY);
    float *pushed = record_more(r, CELLS / SIDE, 0);
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *ws = NULL;
    ssm2d_stream *stream = NULL;
    int failed = 0;
    enter(m);
    failed += params_init(&c, LAYER_INIT_IDENTITY, 7, SSM2D_FLOAT, params, NULL) != SSM2D_OK;
    failed += leave(m) == 0;
    params[0] = -800; /* exp(800) overflows */
    enter(m);
    failed += params_check(&c, SSM2D_FLOAT, params, NULL) != SSM2D_OK;
    failed += plan_create(context, &c, &o, &plan, NULL) != SSM2D_OK;
    failed += ssm2d_workspace_create(plan, &ws, NULL) != SSM2D_OK;
    failed +=
        stream_create(context, &c, BATCH, SIDE, SSM2D_FLOAT, params, &stream, NULL) != SSM2D_OK;
    if (!failed) {
        plan_forward(plan, ws, params, u, y);
        plan_backward(plan, ws, params, u, dy, du, dparams);
        plan_kernel(plan, ws, params, kernel);
        plan_kernel_backward(plan, ws, params, kernel, dkernel);
        stream_push(stream, u, pushed);
        stream_push(stream, u, pushed);
    }
    failed += leave(m) == 0;
    if (failed) fail_msg("%s, mode %s: failed or left another mode", algorithm, m->name);
    ssm2d_stream_destroy(stream);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
}

static void run_baseline(ssm2d_context *context, const ssm2d_layer *c, const char *algorithm,
                         const mode *m, const float *u, const float *dy, record *r)
{
    const ssm2d_plan_options o = options_of(algorithm);
    const size_t total = ssm2d_layer_param_count(c);
    float *params = record_more(r, total, 0), *y = record_more(r, CELLS, 0);
    float *du = record_more(r, CELLS, TINY), *dparams = record_more(r, total, TINY);
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *ws = NULL;
    int failed = 0;
    enter(m);
    failed += ssm2d_params_init(c, 7, params, NULL) != SSM2D_OK;
    failed += ssm2d_params_check(c, params, NULL) != SSM2D_OK;
    failed += ssm2d_plan_create(context, c, &o, &plan, NULL) != SSM2D_OK;
    failed += ssm2d_workspace_create(plan, &ws, NULL) != SSM2D_OK;
    if (!failed) {
        plan_forward(plan, ws, params, u, y);
        plan_backward(plan, ws, params, u, dy, du, dparams);
    }
    failed += leave(m) == 0;
    if (failed) fail_msg("%s, mode %s: failed or left another mode", algorithm, m->name);
    size_t shape[SSM2D_KERNEL_RANK] = {1, 1, 1};
    ssm2d_kernel_shape(plan, shape);
    float *kernel = record_more(r, shape[0] * shape[1] * shape[2], 0);
    enter(m);
    plan_kernel(plan, ws, params, kernel);
    failed += leave(m) == 0;
    assert_int_equal(failed, 0);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
}

static void run_all(const mode *made, const mode *m, int threads, record *r)
{
    ssm2d_context_options o = ssm2d_context_options_default();
    o.threads = threads;
    ssm2d_context *context;
    enter(made);
    const ssm2d_status status = ssm2d_context_create(&o, &context, NULL);
    leave(made);
    assert_int_equal(status, SSM2D_OK);
    ssm2d_layer ema = layer_default(&layer_ema), s4nd = layer_default(&layer_s4nd);
    layer_set_channels(&ema, CHANNELS);
    layer_set_channels(&s4nd, CHANNELS);
    float *u = random_array(1), *dy = random_array(2);
    const char *name;
    for (int i = 0; (name = ssm2d_kind_algorithm("ssm2d", i)); i++)
        run_layer(context, name, m, u, dy, r);
    for (int i = 0; (name = ssm2d_kind_algorithm("ema", i)); i++)
        run_baseline(context, &ema, name, m, u, dy, r);
    for (int i = 0; (name = ssm2d_kind_algorithm("s4nd", i)); i++)
        run_baseline(context, &s4nd, name, m, u, dy, r);
    free(u), free(dy);
    ssm2d_context_destroy(context);
}

static record record_of(size_t size)
{
    record r = {malloc(size * sizeof(float)), 0, size};
    assert_non_null(r.elements);
    return r;
}

static void mode_changes_no_bit(void **state)
{
    (void)state;
    enum { SIZE = 1 << 17 };
    record want = record_of(SIZE), got = record_of(SIZE);
    run_all(&modes[0], &modes[0], 1, &want);
    for (int threads = 1; threads <= 2; threads++)
        for (int i = 0; i < 2 * MODES; i++) {
            /* called in the mode, or the context made in it */
            const mode *m = &modes[i / 2], *usual = &modes[0];
            got.used = 0;
            run_all(i % 2 ? m : usual, i % 2 ? usual : m, threads, &got);
            assert_int_equal(got.used, want.used);
            for (size_t k = 0; k < want.used; k++)
                if (memcmp(&got.elements[k], &want.elements[k], sizeof(float)))
                    fail_msg("%d threads, %s in mode %s: element %zu differs", threads,
                             i % 2 ? "made" : "called", m->name, k);
        }
    free(want.elements), free(got.elements);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mode_changes_no_bit)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
