/* Planning: refusals, the decisions of auto, and inference. */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_config config_of(int channels)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = channels;
    return c;
}

static void refuse(ssm2d_context *context, const ssm2d_config *config, ssm2d_plan_options o,
                   const char *word, const char *value)
{
    ssm2d_plan *plan = (ssm2d_plan *)context;
    ssm2d_error error = {""};
    if (plan_create(context, config, &o, &plan, &error) == SSM2D_OK)
        fail_msg("%s=%s is accepted", word, value);
    assert_null(plan);
    says(&error, word, value);
    assert_int_not_equal(plan_create(context, config, &o, &plan, NULL), SSM2D_OK);
}

static void bad_plan_options_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_config c = config_of(8), bad = config_of(0);
    ssm2d_plan_options standard = ssm2d_plan_options_default(), o;
    assert_true(standard.batch == 1 && standard.grid.axes == 0 && standard.type == SSM2D_FLOAT);
    assert_true(standard.max_bytes == 0 && !standard.inference && !standard.measure);
    refuse(context, &c, standard, "grid.axes", "0");
    o = standard, o.grid.axes = 4;
    refuse(context, &c, o, "grid.axes", "4");
    o = standard, o.grid = ssm2d_grid_1d(6);
    refuse(context, &c, o, "grid.axes=1", "ssm2d take 2");
    o = standard, o.grid = ssm2d_grid_3d(2, 3, 6);
    refuse(context, &c, o, "grid.axes=3", "ssm2d take 2");
    standard.grid = ssm2d_grid_2d(6, 6);
    o = standard, o.grid.extent[0] = 0;
    refuse(context, &c, o, "rows", "0");
    o = standard, o.grid.extent[1] = 0;
    refuse(context, &c, o, "cols", "0");
    o = standard, o.batch = 0;
    refuse(context, &c, o, "batch", "0");
    refuse(context, &bad, standard, "channels", "0");
    o = standard, o.type = (ssm2d_type)9;
    refuse(context, &c, o, "type", "9");
    o = standard, o.algorithm = "quantum";
    refuse(context, &c, o, "algorithm", "quantum");
    for (int i = 0; ssm2d_kind_algorithm("ssm2d", i); i++)
        refuse(context, &c, o, "quantum", ssm2d_kind_algorithm("ssm2d", i));
    for (int i = 0; i == 0 || ssm2d_kind_algorithm("ssm2d", i - 1); i++) {
        o = standard, o.algorithm = i ? ssm2d_kind_algorithm("ssm2d", i - 1) : "auto";
        o.batch = SIZE_MAX / 4;
        refuse(context, &c, o, "batch", "");
        o = standard, o.grid.extent[0] = SIZE_MAX / 2;
        o.algorithm = i ? ssm2d_kind_algorithm("ssm2d", i - 1) : "auto";
        refuse(context, &c, o, "", "");
        o.grid = ssm2d_grid_2d((size_t)1 << 31, (size_t)1 << 31);
        o.batch = 8;
        refuse(context, &c, o, "", "");
        o = standard, o.algorithm = i ? ssm2d_kind_algorithm("ssm2d", i - 1) : "auto";
        ssm2d_plan *plan;
        assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
        o.max_bytes = ssm2d_plan_bytes(plan);
        assert_true(o.max_bytes > 0);
        if (i) assert_string_equal(ssm2d_plan_algorithm(plan), o.algorithm);
        ssm2d_plan_destroy(plan);
        /* exactly enough */
        assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
        ssm2d_plan_destroy(plan);
        o.max_bytes = 1;
        refuse(context, &c, o, "max_bytes", "1");
    }
    /* A recurrence cannot truncate its kernel; truncation beyond the grid has no effect, and auto
     * finds an algorithm that can. */
    c.trunc_cols = 5;
    o = standard, o.algorithm = "scan";
    refuse(context, &c, o, "scan", "trunc");
    ssm2d_plan *plan;
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_ERROR_UNSUPPORTED);
    c.trunc_cols = 6;
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
    ssm2d_plan_destroy(plan);
    ssm2d_plan_destroy(NULL);
    ssm2d_workspace_destroy(NULL);
    ssm2d_context_destroy(context);
}

/* auto chooses an algorithm that exists, measured or not. */
static void auto_chooses_an_existing_algorithm(void **state)
{
    (void)state;
    rng r = rng_seed(42);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < 12; i++) {
        ssm2d_config c = random_config(&r);
        problem p = problem_make(c, 2, 9, 7, &r);
        answer want = run(context, &p, SSM2D_DOUBLE, "direct", DENSE, DENSE);
        ssm2d_plan_options o = ssm2d_plan_options_default();
        o.batch = 2;
        o.grid = ssm2d_grid_2d(9, 7);
        o.type = SSM2D_DOUBLE;
        o.algorithm = i % 2 ? "auto" : NULL;
        o.measure = i / 2 % 2;
        o.inference = i / 4 % 2;
        ssm2d_plan *plan;
        ssm2d_error error;
        if (plan_create(context, &c, &o, &plan, &error)) fail_msg("%s", error.line);
        int exists = 0;
        for (int k = 0; ssm2d_kind_algorithm("ssm2d", k); k++)
            exists += strcmp(ssm2d_kind_algorithm("ssm2d", k), ssm2d_plan_algorithm(plan)) == 0;
        assert_int_equal(exists, 1);
        ssm2d_workspace *workspace = workspace_of(plan);
        double *y = doubles(p.cells);
        plan_forward(plan, workspace, p.params, p.u, y);
        wrong += differs(problem_text(&p), y, want.y, p.cells, 1e-11);
        ssm2d_workspace_destroy(workspace);
        ssm2d_plan_destroy(plan);
        free(y);
        answer_free(&want);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Without a norm kernels grow by orders of magnitude: auto is as accurate at every cell as the
 * recurrence in double. All values are positive, so that no cell is small by cancellation. */
static void auto_without_norm_is_accurate_at_every_cell(void **state)
{
    (void)state;
    rng r = rng_seed(46);
    ssm2d_context *context = context_of(2);
    for (int i = 0; i < 4; i++) {
        ssm2d_config c = config_of(8);
        c.directions = 1 + i % 2;
        c.norm = SSM2D_NORM_NONE;
        problem p = problem_make(c, 1, 32, 32, &r);
        ssm2d_param a;
        assert_true(param_get(&c, 0, &a));
        for (size_t k = 0; k < p.total; k++) p.params[k] = (double)(float)fabs(p.params[k]);
        for (size_t k = 0; k < a.count; k++) p.params[a.offset + k] = 1;
        for (size_t k = 0; k < p.cells; k++) p.u[k] = (double)(float)(0.5 + fabs(p.u[k]));
        ssm2d_plan_options o = ssm2d_plan_options_default();
        o.grid = ssm2d_grid_2d(32, 32);
        o.measure = i / 2;
        o.inference = 1;
        ssm2d_plan *plan;
        assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
        ssm2d_workspace *workspace = workspace_of(plan);
        float *params = convert(SSM2D_FLOAT, p.params, p.total);
        float *u = convert(SSM2D_FLOAT, p.u, p.cells), *y = convert(SSM2D_FLOAT, p.u, p.cells);
        plan_forward(plan, workspace, params, u, y);
        answer want = run(context, &p, SSM2D_DOUBLE, "scan", DENSE, DENSE);
        for (size_t k = 0; k < p.cells; k++)
            if (!(fabs((double)y[k] - want.y[k]) <= 1e-4 * want.y[k]))
                fail_msg("%s: y[%zu] is %g, not %g", ssm2d_plan_algorithm(plan), k, (double)y[k],
                         want.y[k]);
        ssm2d_workspace_destroy(workspace);
        ssm2d_plan_destroy(plan);
        free(params), free(u), free(y);
        answer_free(&want);
        /* it can still be chosen by name */
        o.algorithm = "fft";
        assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
        ssm2d_plan_destroy(plan);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
}

/* auto stays within a limit that only some algorithms meet, and does not report those it passed
 * over. */
static void auto_respects_max_bytes(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_config c = config_of(8);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(40, 40);
    size_t smallest = SIZE_MAX;
    const char *thrifty = NULL;
    for (int k = 0; (o.algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
        ssm2d_plan *plan;
        assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
        if (ssm2d_plan_bytes(plan) < smallest) {
            smallest = ssm2d_plan_bytes(plan);
            thrifty = ssm2d_plan_algorithm(plan);
        }
        ssm2d_plan_destroy(plan);
    }
    o.algorithm = "auto";
    o.max_bytes = smallest;
    ssm2d_plan *plan;
    ssm2d_error error = {"untouched"};
    assert_int_equal(plan_create(context, &c, &o, &plan, &error), SSM2D_OK);
    assert_string_equal(ssm2d_plan_algorithm(plan), thrifty);
    assert_string_equal(error.line, "untouched");
    ssm2d_plan_destroy(plan);
    o.max_bytes = smallest - 1;
    refuse(context, &c, o, "max_bytes", "");
    ssm2d_context_destroy(context);
}

/* Planning the largest sides there are, for every algorithm and auto: refused or not, it must not
 * take time that grows with the cells. */
static void planning_time_does_not_grow_with_cells(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_config c = config_of(8);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(1 << 20, 1 << 20);
    o.inference = 1;
    for (int i = -1; i < 0 || ssm2d_kind_algorithm("ssm2d", i); i++) {
        ssm2d_plan *plan;
        o.algorithm = i < 0 ? "auto" : ssm2d_kind_algorithm("ssm2d", i);
        if (!plan_create(context, &c, &o, &plan, NULL)) ssm2d_plan_destroy(plan);
    }
    ssm2d_context_destroy(context);
}

/* Only the context must outlive what is made from it. */
static void plan_may_be_destroyed_before_its_workspace(void **state)
{
    (void)state;
    rng r = rng_seed(44);
    ssm2d_context *context = context_of(1);
    problem p = problem_make(config_of(3), 1, 2, 2, &r);
    ssm2d_plan *plan = plan_of(context, &p, SSM2D_FLOAT, NULL);
    ssm2d_workspace *workspace = workspace_of(plan);
    ssm2d_plan_destroy(plan);
    ssm2d_workspace_destroy(workspace);
    problem_free(&p);
    ssm2d_context_destroy(context);
}

static void bad_strides_are_refused(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_config c = config_of(8);
    ssm2d_plan_options standard = ssm2d_plan_options_default(), o;
    standard.batch = 2;
    standard.grid = ssm2d_grid_2d(4, 5);
    standard.in = standard.out = (ssm2d_strides){.batch = 160, .axis = {40, 8}, .channel = 1};
    o = standard, o.in.axis[0] = 0;
    refuse(context, &c, o, "in", "axis[0]");
    o = standard, o.out.channel = 0;
    refuse(context, &c, o, "out", "channel");
    o = standard, o.in.batch = 0;
    refuse(context, &c, o, "in", "batch");
    o = standard, o.in = (ssm2d_strides){1, {1, 1, 1}, 1};
    refuse(context, &c, o, "in", "share");
    o = standard, o.out.axis[0] = 39; /* one short of a row */
    refuse(context, &c, o, "out.axis[0]=39", "share");
    o = standard, o.in.batch = -159;
    refuse(context, &c, o, "in.batch=-159", "share");
    ssm2d_plan *plan;
    o = standard, o.in.batch = PTRDIFF_MAX;
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_ERROR_UNSUPPORTED);
    o = standard, o.in.batch = PTRDIFF_MIN;
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_ERROR_UNSUPPORTED);
    /* permuted and mirrored */
    o = standard, o.in = (ssm2d_strides){.batch = -160, .axis = {1, -4}, .channel = 20};
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
    ssm2d_plan_destroy(plan);
    o = standard, o.batch = 1, o.in.batch = 0; /* a stride that is never taken */
    assert_int_equal(plan_create(context, &c, &o, &plan, NULL), SSM2D_OK);
    ssm2d_plan_destroy(plan);
    ssm2d_context_destroy(context);
}

/* Strides of axes with one element are never taken, however extreme they are. */
static void strides_of_single_elements_are_ignored(void **state)
{
    (void)state;
    rng r = rng_seed(77);
    ssm2d_context *context = context_of(1);
    const ptrdiff_t extremes[] = {0, PTRDIFF_MIN, PTRDIFF_MAX, PTRDIFF_MIN + 1};
    int wrong = 0;
    for (int shape = 0; shape < 5; shape++) {
        ssm2d_config c = config_of(shape == 4 ? 1 : 19);
        c.directions = 4;
        problem p = problem_make(c, shape == 3 ? 2 : 1, shape % 2 ? 1 : 4, shape < 2 ? 1 : 3, &r);
        answer want = run(context, &p, SSM2D_DOUBLE, "direct", DENSE, DENSE);
        for (size_t e = 0; e < sizeof extremes / sizeof *extremes; e++)
            for (int k = 0; ssm2d_kind_algorithm("ssm2d", k); k++) {
                const ptrdiff_t H = c.channels, never = extremes[e];
                ssm2d_plan_options o = ssm2d_plan_options_default();
                o.batch = p.batch;
                o.grid = ssm2d_grid_2d(p.rows, p.cols);
                o.type = SSM2D_DOUBLE;
                o.algorithm = ssm2d_kind_algorithm("ssm2d", k);
                o.in.batch = p.batch == 1 ? never : (ptrdiff_t)(p.rows * p.cols) * H;
                o.in.axis[0] = p.rows == 1 ? never : (ptrdiff_t)p.cols * H;
                o.in.axis[1] = p.cols == 1 ? never : H;
                o.in.channel = H == 1 ? never : 1;
                o.out = o.in;
                ssm2d_plan *plan;
                ssm2d_error error;
                if (plan_create(context, &c, &o, &plan, &error)) fail_msg("%s", error.line);
                ssm2d_workspace *workspace = workspace_of(plan);
                double *y = doubles(p.cells), *du = doubles(p.cells), *dparams = doubles(p.total);
                plan_forward(plan, workspace, p.params, p.u, y);
                plan_backward(plan, workspace, p.params, p.u, p.dy, du, dparams);
                wrong += differs(o.algorithm, y, want.y, p.cells, 1e-11);
                wrong += differs(o.algorithm, du, want.du, p.cells, 1e-11);
                wrong += differs(o.algorithm, dparams, want.dparams, p.total, 1e-11);
                free(y), free(du), free(dparams);
                ssm2d_workspace_destroy(workspace);
                ssm2d_plan_destroy(plan);
            }
        answer_free(&want);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* A plan for inference needs no more memory and gives the same; prepared once, apply serves many
 * inputs. */
static void inference_plan_needs_less_memory_and_gives_same_bits(void **state)
{
    (void)state;
    rng r = rng_seed(43);
    ssm2d_context *context = context_of(1);
    const char *algorithm;
    int wrong = 0;
    for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++)
        for (int norm = 0; norm < 2; norm++) {
            ssm2d_config c = config_of(19);
            c.layer_norm = norm;
            problem p = problem_make(c, 3, 8, 5, &r);
            answer want = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
            ssm2d_plan *training = plan_of(context, &p, SSM2D_DOUBLE, algorithm), *plan;
            ssm2d_plan_options o = ssm2d_plan_options_default();
            o.batch = p.batch;
            o.grid = ssm2d_grid_2d(p.rows, p.cols);
            o.type = SSM2D_DOUBLE;
            o.algorithm = algorithm;
            o.inference = 1;
            ssm2d_error error;
            if (plan_create(context, &c, &o, &plan, &error)) fail_msg("%s", error.line);
            assert_true(ssm2d_plan_bytes(plan) <= ssm2d_plan_bytes(training));
            ssm2d_workspace *workspace = workspace_of(plan);
            double *y = doubles(p.cells), *kept = doubles(p.total);
            memcpy(kept, p.params, p.total * sizeof *kept);
            plan_prepare(plan, workspace, kept);
            /* the workspace keeps what it needs */
            for (size_t i = 0; i < p.total; i++) kept[i] = NAN;
            plan_apply(plan, workspace, p.dy, y);
            plan_apply(plan, workspace, p.u, y);
            wrong += differs("apply", y, want.y, p.cells, 1e-12);
            plan_forward(plan, workspace, p.params, p.u, y);
            wrong += differs("inference", y, want.y, p.cells, 1e-12);
            free(y), free(kept);
            ssm2d_workspace_destroy(workspace);
            ssm2d_plan_destroy(plan);
            ssm2d_plan_destroy(training);
            answer_free(&want);
            problem_free(&p);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_plan_options_are_refused),
        cmocka_unit_test(auto_chooses_an_existing_algorithm),
        cmocka_unit_test(auto_without_norm_is_accurate_at_every_cell),
        cmocka_unit_test(inference_plan_needs_less_memory_and_gives_same_bits),
        cmocka_unit_test(auto_respects_max_bytes),
        cmocka_unit_test(plan_may_be_destroyed_before_its_workspace),
        cmocka_unit_test(bad_strides_are_refused),
        cmocka_unit_test(planning_time_does_not_grow_with_cells),
        cmocka_unit_test(strides_of_single_elements_are_ignored)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
