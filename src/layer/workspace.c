/* workspace - the memory of an execution, and the public functions that execute. What those ask of
 * the caller is asserted: with NDEBUG nothing is checked. */
#include "core/float_mode.h"
#include "core/status.h"
#include "layer/plan.h"

#include <assert.h>

ssm2d_status ssm2d_workspace_create(const ssm2d_plan *plan, ssm2d_workspace **out,
                                    ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "workspace=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!plan)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: make one with ssm2d_plan_create");
    ssm2d_workspace *ws = mem_alloc(plan->context, sizeof *ws);
    char *memory = ws ? mem_alloc(plan->context, plan->bytes) : NULL;
    if (!memory) {
        mem_free(plan->context, ws);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a workspace of %zu bytes",
                    plan->bytes);
    }
    *ws = (ssm2d_workspace){plan, plan->context, memory, HOLDS_NOTHING};
    *out = ws;
    return SSM2D_OK;
}

void ssm2d_workspace_destroy(ssm2d_workspace *ws)
{
    if (!ws) return;
    const ssm2d_context *context = ws->context;
    mem_free(context, ws->memory);
    mem_free(context, ws);
}

/* The messages are part of the text that a failing assert prints. */
#define REQUIRE_OWN_WORKSPACE(plan, ws)                                                            \
    do {                                                                                           \
        assert((plan) && "plan must not be NULL");                                                 \
        assert((ws) && "workspace must not be NULL");                                              \
        assert((ws)->plan == (plan) && "the workspace must have been made for this plan");         \
    } while (0)
#define REQUIRE_TRAINING(plan)                                                                     \
    assert(!(plan)->options.inference && "the plan must not have been made for inference")

void ssm2d_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(params && "params must not be NULL");
    const float_mode before = float_mode_set();
    plan->functions->prepare(plan, ws, params);
    float_mode_restore(before);
    ws->state = HOLDS_KERNELS;
}

void ssm2d_apply(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, void *y)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(u && "u must not be NULL");
    assert(y && "y must not be NULL");
    assert(ws->state >= HOLDS_KERNELS && "ssm2d_prepare must come before ssm2d_apply");
    const float_mode before = float_mode_set();
    plan->functions->apply(plan, ws, u, y);
    float_mode_restore(before);
    ws->state = HOLDS_FORWARD;
}

void ssm2d_forward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                   void *y)
{
    ssm2d_prepare(plan, ws, params);
    ssm2d_apply(plan, ws, u, y);
}

void ssm2d_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                    const void *dy, void *du, void *dparams)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    REQUIRE_TRAINING(plan);
    assert(params && "params must not be NULL");
    assert(u && "u must not be NULL");
    assert(dy && "dy must not be NULL");
    assert(ws->state == HOLDS_FORWARD && "ssm2d_forward must come before ssm2d_backward");
    const float_mode before = float_mode_set();
    plan->functions->backward(plan, ws, params, u, dy, du, dparams);
    float_mode_restore(before);
}

void ssm2d_kernel(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, void *kernel)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(params && "params must not be NULL");
    assert(kernel && "kernel must not be NULL");
    ws->state = HOLDS_NOTHING;
    const float_mode before = float_mode_set();
    plan->functions->kernel(plan, ws, params, kernel);
    float_mode_restore(before);
}

void ssm2d_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params,
                           const void *dkernel, void *dparams)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    REQUIRE_TRAINING(plan);
    assert(params && "params must not be NULL");
    assert(dkernel && "dkernel must not be NULL");
    assert(dparams && "dparams must not be NULL");
    ws->state = HOLDS_NOTHING;
    const float_mode before = float_mode_set();
    plan->functions->kernel_backward(plan, ws, params, dkernel, dparams);
    float_mode_restore(before);
}
