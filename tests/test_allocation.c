/* Memory: every allocation may fail, and nothing leaks; executing allocates nothing, neither from
 * the caller's allocator nor with malloc (the linker wraps malloc and related functions for the
 * library's objects, see layer.cmake). */
#include "problem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counter {
    /* the call with this index fails; with `all`, all later ones as well */
    atomic_long calls, live, fail_at;
    int all;
} counter;

static atomic_int watching; /* set while only the library runs */
static atomic_long behind;  /* calls of malloc that did not come through the allocator */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

static void note(void)
{
    if (watching) behind++;
}

void *__wrap_malloc(size_t size)
{
    note();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    note();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    note();
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    note();
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    note();
    return __real_posix_memalign(out, alignment, size);
}

static void *counted_take(size_t bytes, void *user)
{
    counter *c = user;
    long call = atomic_fetch_add(&c->calls, 1);
    if (c->all ? call >= c->fail_at : call == c->fail_at) return NULL;
    char *memory = __real_malloc(bytes + 8);
    if (!memory) return NULL;
    atomic_fetch_add(&c->live, 1);
    memset(memory, 0xa5, bytes + 8); /* nothing may rely on fresh memory being zero */
    return memory + 8;               /* nor on malloc's alignment */
}

static void counted_give(void *memory, void *user)
{
    counter *c = user;
    assert_non_null(memory);
    atomic_fetch_sub(&c->live, 1);
    free((char *)memory - 8);
}

static ssm2d_status start(counter *c, int threads, ssm2d_context **context, ssm2d_error *error)
{
    ssm2d_context_options options = {.size = sizeof options,
                                     .threads = threads,
                                     .allocate = counted_take,
                                     .release = counted_give,
                                     .user = c};
    return ssm2d_context_create(&options, context, error);
}

static ssm2d_plan_options options_for(const problem *p, const char *algorithm, int measure)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = p->batch;
    o.grid = ssm2d_grid_2d(p->rows, p->cols);
    o.type = SSM2D_DOUBLE;
    o.algorithm = algorithm;
    o.measure = measure;
    o.in = o.out = layout_strides(TOKENS, p);
    return o;
}

/* Calls everything that allocates, with the n-th allocation failing; returns whether all
 * succeeded. */
static int build_all(const problem *p, const char *algorithm, int measure, int threads,
                     long fail_at, int all)
{
    counter c = {.fail_at = fail_at, .all = all};
    ssm2d_context *context = NULL;
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    ssm2d_stream *stream = NULL;
    ssm2d_error error = {"untouched"};
    ssm2d_plan_options o = options_for(p, algorithm, measure);
    behind = 0;
    watching = 1;
    ssm2d_status status = start(&c, threads, &context, &error);
    if (!status) status = plan_create(context, &p->config, &o, &plan, &error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, &error);
    if (!status)
        status = stream_create(context, &p->config, p->batch, p->cols, SSM2D_DOUBLE, p->params,
                               &stream, &error);
    watching = 0;
    long calls = c.calls;
    ssm2d_stream_destroy(stream);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    ssm2d_context_destroy(context);
    assert_int_equal(c.live, 0);
    assert_int_equal(behind, 0);
    if (calls > fail_at) { /* the allocation did fail */
        if (status == SSM2D_OK && !measure)
            fail_msg("allocation %ld failed without an error", fail_at);
        if (status) {
            assert_int_equal(status, SSM2D_ERROR_MEMORY);
            assert_string_not_equal(error.line, "untouched");
            assert_null(strchr(error.line, '\n'));
        }
        return 0;
    }
    assert_int_equal(status, SSM2D_OK);
    return 1;
}

static problem streamable(int values, int layer_norm)
{
    rng r = rng_seed(51);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 9;
    config.directions = 2;
    config.pair = SSM2D_PAIR_COLUMNS;
    config.values = (ssm2d_values)values;
    config.layer_norm = layer_norm;
    return problem_make(config, 2, 5, 6, &r);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    for (int values = SSM2D_REAL; values <= SSM2D_CARTESIAN; values++) {
        problem p = streamable(values, values != SSM2D_POLAR);
        for (int k = -2; k < 0 || ssm2d_kind_algorithm("ssm2d", k); k++) {
            const char *algorithm = k < 0 ? "auto" : ssm2d_kind_algorithm("ssm2d", k);
            for (int all = 0; all < 2; all++) {
                long n = 0;
                while (!build_all(&p, algorithm, k == -2, 1 + 2 * all, n, all)) n++;
                assert_true(n >= 4); /* a context, a plan, a workspace and a stream at least */
            }
        }
        problem_free(&p);
    }
}

static void executing_allocates_nothing(void **state)
{
    (void)state;
    const char *algorithm;
    for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++)
        for (int values = SSM2D_REAL; values <= SSM2D_CARTESIAN; values++)
            for (int threads = 1; threads <= 2; threads++) {
                problem p = streamable(values, threads == 2);
                counter c = {.fail_at = -1};
                ssm2d_context *context;
                ssm2d_error error;
                if (start(&c, threads, &context, &error)) fail_msg("%s", error.line);
                ssm2d_plan_options o = options_for(&p, algorithm, 0);
                ssm2d_plan *plan;
                ssm2d_stream *stream;
                if (plan_create(context, &p.config, &o, &plan, &error)) fail_msg("%s", error.line);
                if (stream_create(context, &p.config, p.batch, p.cols, SSM2D_DOUBLE, p.params,
                                  &stream, &error))
                    fail_msg("%s", error.line);
                long before_workspace = c.calls;
                ssm2d_workspace *workspace = workspace_of(plan);
                long before = c.calls;
                assert_true(before > before_workspace);
                double *u = pack(SSM2D_DOUBLE, TOKENS, &p, p.u),
                       *y = pack(SSM2D_DOUBLE, TOKENS, &p, NULL);
                double *du = pack(SSM2D_DOUBLE, TOKENS, &p, NULL), *dparams = doubles(p.total),
                       *kernel = doubles(p.taps);
                size_t first = (size_t)p.config.channels;
                behind = 0;
                watching = 1;
                for (int i = 0; i < 3; i++) {
                    plan_forward(plan, workspace, p.params, u + first, y + first);
                    plan_backward(plan, workspace, p.params, u + first, y + first, du + first,
                                  dparams);
                    plan_prepare(plan, workspace, p.params);
                    plan_apply(plan, workspace, u + first, y + first);
                    plan_kernel(plan, workspace, p.params, kernel);
                    plan_kernel_backward(plan, workspace, p.params, kernel, dparams);
                    stream_push(stream, p.u, p.dy);
                    ssm2d_stream_reset(stream);
                }
                watching = 0;
                assert_int_equal(c.calls, before);
                assert_int_equal(behind, 0);
                free(u), free(y), free(du), free(dparams), free(kernel);
                ssm2d_stream_destroy(stream);
                ssm2d_workspace_destroy(workspace);
                ssm2d_plan_destroy(plan);
                ssm2d_context_destroy(context);
                assert_int_equal(c.live, 0);
                problem_free(&p);
            }
}

/* A workspace is as large as its plan says. */
static void plan_knows_its_bytes(void **state)
{
    (void)state;
    const char *algorithm;
    for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
        problem p = streamable(SSM2D_REAL, 0);
        ssm2d_context *context = context_of(2);
        ssm2d_plan *small = plan_of(context, &p, SSM2D_FLOAT, algorithm),
                   *large = plan_of(context, &p, SSM2D_DOUBLE, algorithm);
        assert_true(ssm2d_plan_bytes(small) > 0);
        assert_true(ssm2d_plan_bytes(small) <= ssm2d_plan_bytes(large));
        ssm2d_plan_destroy(small);
        ssm2d_plan_destroy(large);
        ssm2d_context_destroy(context);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(executing_allocates_nothing),
                                       cmocka_unit_test(plan_knows_its_bytes)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
