/* Contracts of executing functions: a call that breaks one returns an error, in every build, and
 * changes neither its arrays nor the workspace. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

/* A layer of two channels, planned for training and for inference, with workspaces. */
typedef struct scene {
    ssm2d_context *context;
    problem p;
    ssm2d_plan *plan, *inference;
    ssm2d_workspace *workspace, *small; /* small: of the plan for inference */
    double *y, *du, *dparams, *kernel;
} scene;

static ssm2d_status backward_on_inference(scene *s)
{
    assert_int_equal(plan_forward(s->inference, s->small, s->p.params, s->p.u, s->y), SSM2D_OK);
    return plan_backward(s->inference, s->small, s->p.params, s->p.u, s->p.dy, s->du, s->dparams);
}

static ssm2d_status kernel_backward_on_inference(scene *s)
{
    return plan_kernel_backward(s->inference, s->small, s->p.params, s->kernel, s->dparams);
}

static ssm2d_status workspace_of_another_plan(scene *s)
{
    return plan_forward(s->plan, s->small, s->p.params, s->p.u, s->y);
}

static ssm2d_status apply_without_prepare(scene *s)
{
    ssm2d_workspace *fresh = workspace_of(s->plan);
    const ssm2d_status status = plan_apply(s->plan, fresh, s->p.u, s->y);
    ssm2d_workspace_destroy(fresh);
    return status;
}

static ssm2d_status apply_after_kernel(scene *s)
{
    plan_forward(s->plan, s->workspace, s->p.params, s->p.u, s->y);
    plan_kernel(s->plan, s->workspace, s->p.params, s->kernel);
    return plan_apply(s->plan, s->workspace, s->p.u, s->y);
}

static ssm2d_status backward_without_forward(scene *s)
{
    plan_prepare(s->plan, s->workspace, s->p.params);
    return plan_backward(s->plan, s->workspace, s->p.params, s->p.u, s->p.dy, s->du, s->dparams);
}

static ssm2d_status no_params(scene *s) { return plan_prepare(s->plan, s->workspace, NULL); }
static ssm2d_status no_input(scene *s)
{
    return plan_forward(s->plan, s->workspace, s->p.params, NULL, s->y);
}
static ssm2d_status no_output(scene *s)
{
    return plan_forward(s->plan, s->workspace, s->p.params, s->p.u, NULL);
}
static ssm2d_status no_workspace(scene *s) { return plan_prepare(s->plan, NULL, s->p.params); }
static ssm2d_status no_plan(scene *s)
{
    return ssm2d_prepare_double(NULL, s->workspace, s->p.params);
}
static ssm2d_status no_kernel(scene *s)
{
    return plan_kernel(s->plan, s->workspace, s->p.params, NULL);
}
static ssm2d_status no_gradient(scene *s)
{
    return plan_kernel_backward(s->plan, s->workspace, s->p.params, s->kernel, NULL);
}

/* A double plan with the functions and arrays for float. */
static ssm2d_status other_type(scene *s)
{
    float params[512] = {0}, u[8] = {0}, y[8] = {0}, kernel[64] = {0};
    assert_true(s->p.total <= 512 && s->p.cells <= 8 && s->p.taps <= 64);
    assert_int_equal(ssm2d_prepare(s->plan, s->workspace, params), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(plan_prepare(s->plan, s->workspace, s->p.params), SSM2D_OK);
    assert_int_equal(ssm2d_apply(s->plan, s->workspace, u, y), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(ssm2d_kernel(s->plan, s->workspace, params, kernel), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(ssm2d_kernel_backward(s->plan, s->workspace, params, kernel, params),
                     SSM2D_ERROR_ARGUMENT);
    /* the workspace is unchanged */
    assert_int_equal(plan_apply(s->plan, s->workspace, s->p.u, s->y), SSM2D_OK);
    assert_int_equal(ssm2d_backward(s->plan, s->workspace, params, u, y, u, params),
                     SSM2D_ERROR_ARGUMENT);
    return ssm2d_forward(s->plan, s->workspace, params, u, y);
}

static ssm2d_stream *stream_of(scene *s)
{
    ssm2d_stream *stream;
    ssm2d_config c = s->p.config;
    c.pair = SSM2D_PAIR_COLUMNS;
    assert_int_equal(stream_create(s->context, &c, 1, 2, SSM2D_DOUBLE, s->p.params, &stream, NULL),
                     SSM2D_OK);
    return stream;
}

static ssm2d_status no_row(scene *s)
{
    ssm2d_stream *stream = stream_of(s);
    const ssm2d_status status = stream_push(stream, NULL, s->y);
    ssm2d_stream_destroy(stream);
    return status;
}

static ssm2d_status row_of_other_type(scene *s)
{
    float u[4] = {0}, y[4];
    ssm2d_stream *stream = stream_of(s);
    const ssm2d_status status = ssm2d_stream_push(stream, u, y);
    ssm2d_stream_destroy(stream);
    return status;
}

static ssm2d_status no_stream(scene *s)
{
    assert_int_equal(ssm2d_stream_reset(NULL), SSM2D_ERROR_ARGUMENT);
    return ssm2d_stream_push_double(NULL, s->p.u, s->y);
}

static void broken_contracts_return_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        ssm2d_status (*act)(scene *);
    } cases[] = {
        {"backward on inference", backward_on_inference},
        {"kernel_backward on inference", kernel_backward_on_inference},
        {"another plan's workspace", workspace_of_another_plan},
        {"apply without prepare", apply_without_prepare},
        {"apply after kernel", apply_after_kernel},
        {"backward without forward", backward_without_forward},
        {"no params", no_params},
        {"no u", no_input},
        {"no y", no_output},
        {"no workspace", no_workspace},
        {"no plan", no_plan},
        {"no kernel", no_kernel},
        {"no gradient", no_gradient},
        {"the other number type", other_type},
        {"no row", no_row},
        {"a row of the other type", row_of_other_type},
        {"no stream", no_stream},
    };
    scene s = {.context = context_of(1)};
    rng r = rng_seed(5);
    ssm2d_config c = ssm2d_config_default();
    c.channels = 2;
    c.directions = 2;
    c.d_state = 4;
    s.p = problem_make(c, 1, 2, 2, &r);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(2, 2);
    o.type = SSM2D_DOUBLE;
    o.inference = 1;
    s.plan = plan_of(s.context, &s.p, SSM2D_DOUBLE, "direct");
    assert_int_equal(plan_create(s.context, &c, &o, &s.inference, NULL), SSM2D_OK);
    s.workspace = workspace_of(s.plan);
    s.small = workspace_of(s.inference);
    s.y = doubles(s.p.cells), s.du = doubles(s.p.cells), s.dparams = doubles(s.p.total);
    s.kernel = doubles(s.p.taps);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].act(&s) != SSM2D_ERROR_ARGUMENT) fail_msg("%s is accepted", cases[i].name);
    for (size_t i = 0; i < s.p.cells; i++) assert_true(s.du[i] == 0);
    for (size_t i = 0; i < s.p.total; i++) assert_true(s.dparams[i] == 0);
    free(s.y), free(s.du), free(s.dparams), free(s.kernel);
    ssm2d_workspace_destroy(s.workspace);
    ssm2d_workspace_destroy(s.small);
    ssm2d_plan_destroy(s.plan);
    ssm2d_plan_destroy(s.inference);
    problem_free(&s.p);
    ssm2d_context_destroy(s.context);
}

/* Functions that a kind does not have return SSM2D_ERROR_UNSUPPORTED. */
static void missing_abilities_are_unsupported(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_layer *layer;
    ssm2d_stream *stream;
    ssm2d_error error;
    ssm2d_plan *plan;
    float params[256], kernel[4096] = {0};
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.grid = ssm2d_grid_2d(3, 3);
    assert_int_equal(
        ssm2d_layer_create(context, "s4nd", "channels=2 n_ssm=2 d_state=4", &layer, &error),
        SSM2D_OK);
    assert_true(ssm2d_layer_param_count(layer) <= 256);
    assert_int_equal(ssm2d_params_init(layer, 1, params, &error), SSM2D_OK);
    assert_int_equal(ssm2d_plan_create(context, layer, &o, &plan, &error), SSM2D_OK);
    ssm2d_workspace *ws = workspace_of(plan);
    assert_int_equal(ssm2d_kernel(plan, ws, params, kernel), SSM2D_OK);
    assert_int_equal(ssm2d_kernel_backward(plan, ws, params, kernel, params),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_int_equal(ssm2d_stream_create(context, layer, 1, 3, params, &stream, &error),
                     SSM2D_ERROR_UNSUPPORTED);
    says(&error, "s4nd", "cannot be streamed");
    assert_null(stream);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
    ssm2d_layer_destroy(layer);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_contracts_return_errors),
                                       cmocka_unit_test(missing_abilities_are_unsupported)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
