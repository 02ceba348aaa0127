/* Measured plans: which candidates are timed, and that every plan of the layer and of the baselines
 * can be measured. */
#include "problem.h"
#include "layer_calls.h"

#include <stdlib.h>
#include <string.h>

/* An allocator that watches for workspaces: allocations of `watched` bytes, or up to `reach` more,
 * are counted, and refused when `refuses`. */
typedef struct watcher {
    size_t watched, reach;
    int seen, refuses;
} watcher;

enum { OVERHEAD = 128 }; /* the most that the library adds to a request */

static void *watched_take(size_t bytes, void *user)
{
    watcher *w = user;
    if (w->watched && bytes >= w->watched && bytes < w->watched + w->reach + OVERHEAD) {
        w->seen++;
        if (w->refuses) return NULL;
    }
    return malloc(bytes);
}

static void watched_give(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static ssm2d_context *watched_context(watcher *w)
{
    ssm2d_context_options o = ssm2d_context_options_default();
    o.threads = 1;
    o.allocate = watched_take;
    o.release = watched_give;
    o.user = w;
    ssm2d_context *context;
    assert_int_equal(ssm2d_context_create(&o, &context, NULL), SSM2D_OK);
    return context;
}

static ssm2d_layer subject_of(int kind, int channels)
{
    ssm2d_layer layer = layer_default(layer_kind_at(kind));
    layer_set_channels(&layer, channels);
    return layer;
}

typedef struct planned {
    ssm2d_status status;
    ssm2d_error error;
    const char *algorithm;
    size_t bytes;
} planned;

static planned plan(ssm2d_context *context, const ssm2d_layer *s, const ssm2d_plan_options *o)
{
    planned r = {.algorithm = ""};
    ssm2d_plan *p;
    r.status = ssm2d_plan_create(context, s, o, &p, &r.error);
    if (r.status) return r;
    r.algorithm = ssm2d_plan_algorithm(p);
    r.bytes = ssm2d_plan_bytes(p);
    ssm2d_plan_destroy(p);
    return r;
}

static planned planned_by(ssm2d_context *context, const ssm2d_layer *s, ssm2d_plan_options o,
                          const char *algorithm)
{
    o.algorithm = algorithm;
    o.measure = 0;
    const planned r = plan(context, s, &o);
    if (r.status) fail_msg("%s", r.error.line);
    return r;
}

static ssm2d_plan_options measured(size_t rows, size_t cols)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(rows, cols);
    o.measure = 1;
    return o;
}

/* No workspace is allocated for `direct` where others cost a tenth of it, but for one that could
 * win. */
static void hopeless_candidates_are_not_measured(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k += 2) { /* ssm2d and ema, which have a scan */
        watcher w = {0};
        ssm2d_context *context = watched_context(&w);
        const ssm2d_layer s = subject_of(k, 4);
        const ssm2d_plan_options o = measured(96, 96);
        w.watched = planned_by(context, &s, o, "direct").bytes;
        const planned r = plan(context, &s, &o);
        if (r.status) fail_msg("%s", r.error.line);
        assert_string_not_equal(r.algorithm, "direct");
        assert_int_equal(w.seen, 0);
        w.watched = r.bytes;
        plan(context, &s, &o); /* the context has stored the decision */
        assert_int_equal(w.seen, 0);
        ssm2d_context_destroy(context);
        context = watched_context(&w);
        plan(context, &s, &o);
        assert_true(w.seen > 0);
        ssm2d_context_destroy(context);
    }
}

/* If there is no memory for the workspace of the fastest algorithm, another one is chosen. */
static void candidates_without_memory_are_passed_over(void **state)
{
    (void)state;
    for (int k = 0; layer_kind_at(k); k++) {
        watcher w = {0};
        ssm2d_context *context = watched_context(&w);
        const ssm2d_layer s = subject_of(k, 8);
        const ssm2d_plan_options o = measured(12, 12);
        const planned all = plan(context, &s, &o);
        if (all.status) fail_msg("%s", all.error.line);
        ssm2d_context_destroy(context); /* with its stored decision */
        w = (watcher){0};
        context = watched_context(&w);
        w = (watcher){.watched = all.bytes, .refuses = 1};
        const planned others = plan(context, &s, &o);
        assert_true(w.seen > 0);
        if (layer_kind_at(k)->functions[0]->algorithm(1)) {
            if (others.status) fail_msg("%s", others.error.line);
            assert_string_not_equal(others.algorithm, all.algorithm);
        } else { /* the kind has no other algorithm */
            assert_int_equal(others.status, SSM2D_ERROR_MEMORY);
        }
        w = (watcher){.watched = 4096, .reach = SIZE_MAX / 2, .refuses = 1};
        const planned none = plan(context, &s, &o);
        assert_int_equal(none.status, SSM2D_ERROR_MEMORY);
        says(&none.error, "out of memory: ", "");
        ssm2d_context_destroy(context);
    }
}

static void negative_strides_are_measured(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    const ssm2d_strides mirrored[] = {{-320, {64, 16}, 1},
                                      {320, {-64, 16}, 1},
                                      {320, {64, -16}, 1},
                                      {320, {64, 16}, -1},
                                      {-320, {-4, -1}, -20}};
    for (int k = 0; layer_kind_at(k); k++)
        for (size_t i = 0; i < sizeof mirrored / sizeof *mirrored; i++)
            for (int side = 0; side < 2; side++) {
                const ssm2d_layer s = subject_of(k, 16);
                ssm2d_plan_options o = measured(5, 4);
                o.batch = 2;
                *(side ? &o.out : &o.in) = mirrored[i];
                if (i == 4) o.out = o.in = mirrored[i];
                const planned r = plan(context, &s, &o);
                if (r.status) fail_msg("%s", r.error.line);
            }
    ssm2d_context_destroy(context);
}

/* Arrays whose bytes do not fit a size_t, though each of them does. */
static void overflowing_strides_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    for (int k = 0; layer_kind_at(k); k++) {
        const ssm2d_layer s = subject_of(k, 1);
        ssm2d_plan_options o = measured(1, 1);
        o.batch = 2;
        o.type = SSM2D_DOUBLE;
        o.in = o.out = (ssm2d_strides){(ptrdiff_t)1 << 59, {1, 1}, 1};
        const planned r = plan(context, &s, &o);
        assert_int_equal(r.status, SSM2D_ERROR_UNSUPPORTED);
        says(&r.error, "measure=1", "strides");
        o.measure = 0;
        assert_int_equal(plan(context, &s, &o).status, SSM2D_OK);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hopeless_candidates_are_not_measured),
                                       cmocka_unit_test(candidates_without_memory_are_passed_over),
                                       cmocka_unit_test(negative_strides_are_measured),
                                       cmocka_unit_test(overflowing_strides_are_refused)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
