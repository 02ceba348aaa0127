/* layer_workspace - the memory of an execution, and the functions that execute a plan. They check
 * their preconditions and do nothing if one is violated. */
#include "core/float_mode.h"
#include "core/status.h"
#include "layers/layer_kind.h"

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
        return fail_memory(error, "workspace of %zu bytes", plan->bytes);
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

static int is_ready(const ssm2d_plan *plan, const ssm2d_workspace *ws, ssm2d_type type)
{
    return plan && ws && ws->plan == plan && plan->options.type == type;
}

ssm2d_status layer_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                           const void *params)
{
    if (!is_ready(plan, ws, type) || !params) return SSM2D_ERROR_ARGUMENT;
    const float_mode before = float_mode_set();
    plan->functions->prepare(plan, ws, params);
    float_mode_restore(before);
    ws->state = HOLDS_KERNELS;
    return SSM2D_OK;
}

ssm2d_status layer_apply(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                         const void *u, void *y)
{
    if (!is_ready(plan, ws, type) || !u || !y || ws->state < HOLDS_KERNELS)
        return SSM2D_ERROR_ARGUMENT;
    const float_mode before = float_mode_set();
    plan->functions->apply(plan, ws, u, y);
    float_mode_restore(before);
    ws->state = HOLDS_FORWARD;
    return SSM2D_OK;
}

ssm2d_status layer_forward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                           const void *params, const void *u, void *y)
{
    if (!u || !y) return SSM2D_ERROR_ARGUMENT; /* before the workspace changes */
    const ssm2d_status status = layer_prepare(plan, ws, type, params);
    return status ? status : layer_apply(plan, ws, type, u, y);
}

ssm2d_status layer_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                            const void *params, const void *u, const void *dy, void *du,
                            void *dparams)
{
    if (!is_ready(plan, ws, type) || !params || !u || !dy || plan->options.inference
        || ws->state != HOLDS_FORWARD)
        return SSM2D_ERROR_ARGUMENT;
    const float_mode before = float_mode_set();
    plan->functions->backward(plan, ws, params, u, dy, du, dparams);
    float_mode_restore(before);
    return SSM2D_OK;
}

int ssm2d_kernel_shape(const ssm2d_plan *plan, size_t shape[SSM2D_KERNEL_RANK])
{
    if (!plan || !shape || !plan->functions->kernel_shape) return 0;
    return plan->functions->kernel_shape(plan, shape);
}

ssm2d_status layer_kernel(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                          const void *params, void *kernel)
{
    if (!is_ready(plan, ws, type) || !params || !kernel) return SSM2D_ERROR_ARGUMENT;
    if (!plan->functions->kernel) return SSM2D_ERROR_UNSUPPORTED;
    ws->state = HOLDS_NOTHING;
    const float_mode before = float_mode_set();
    plan->functions->kernel(plan, ws, params, kernel);
    float_mode_restore(before);
    return SSM2D_OK;
}

ssm2d_status layer_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, ssm2d_type type,
                                   const void *params, const void *dkernel, void *dparams)
{
    if (!is_ready(plan, ws, type) || !params || !dkernel || !dparams || plan->options.inference)
        return SSM2D_ERROR_ARGUMENT;
    if (!plan->functions->kernel_backward) return SSM2D_ERROR_UNSUPPORTED;
    ws->state = HOLDS_NOTHING;
    const float_mode before = float_mode_set();
    plan->functions->kernel_backward(plan, ws, params, dkernel, dparams);
    float_mode_restore(before);
    return SSM2D_OK;
}

/* ---- public: float and double ---------------------------------------------------------------- */

#define PUBLIC(suffix, element, type)                                                              \
    ssm2d_status ssm2d_prepare##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,                \
                                       const element *params)                                      \
    {                                                                                              \
        return layer_prepare(plan, ws, type, params);                                              \
    }                                                                                              \
    ssm2d_status ssm2d_apply##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,                  \
                                     const element *u, element *y)                                 \
    {                                                                                              \
        return layer_apply(plan, ws, type, u, y);                                                  \
    }                                                                                              \
    ssm2d_status ssm2d_forward##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,                \
                                       const element *params, const element *u, element *y)        \
    {                                                                                              \
        return layer_forward(plan, ws, type, params, u, y);                                        \
    }                                                                                              \
    ssm2d_status ssm2d_backward##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,               \
                                        const element *params, const element *u,                   \
                                        const element *dy, element *du, element *dparams)          \
    {                                                                                              \
        return layer_backward(plan, ws, type, params, u, dy, du, dparams);                         \
    }                                                                                              \
    ssm2d_status ssm2d_kernel##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,                 \
                                      const element *params, element *kernel)                      \
    {                                                                                              \
        return layer_kernel(plan, ws, type, params, kernel);                                       \
    }                                                                                              \
    ssm2d_status ssm2d_kernel_backward##suffix(const ssm2d_plan *plan, ssm2d_workspace *ws,        \
                                               const element *params, const element *dkernel,      \
                                               element *dparams)                                   \
    {                                                                                              \
        return layer_kernel_backward(plan, ws, type, params, dkernel, dparams);                    \
    }

PUBLIC(, float, SSM2D_FLOAT)
PUBLIC(_double, double, SSM2D_DOUBLE)
