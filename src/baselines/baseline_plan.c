/* baseline_plan - plans and workspaces of every kind, as layer/plan.c and layer/workspace.c make
 * those of the layer. What executing asks of the caller is asserted. */
#include "baselines/baseline.h"
#include "core/arith.h"
#include "core/float_mode.h"
#include "core/plan_chooser.h"
#include "core/plan_options.h"
#include "core/reserve.h"
#include "core/status.h"

#include <assert.h>
#include <string.h>

size_t baseline_reserve(ssm2d_baseline_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

const char *ssm2d_baseline_algorithm_name(ssm2d_baseline_kind kind, int i)
{
    const baseline_functions *f = kind == SSM2D_S4ND  ? &s4nd_functions_f32
                                  : kind == SSM2D_EMA ? &ema_functions_table_f32
                                                      : NULL;
    return f && i >= 0 ? f->algorithm(i) : NULL;
}

/* ---- what the chooser calls; a request is a plan that has no algorithm yet ------------------- */

static const char *algorithm(const void *request, int i)
{
    return ((const ssm2d_baseline_plan *)request)->functions->algorithm(i);
}

static void release(void *plan)
{
    ssm2d_baseline_plan *p = plan;
    if (p->functions->release) p->functions->release(p);
}

static ssm2d_status draft(const void *request, int i, void *out, ssm2d_error *error)
{
    ssm2d_baseline_plan *p = out;
    *p = *(const ssm2d_baseline_plan *)request;
    p->algorithm = p->functions->algorithm(i);
    ssm2d_status status = p->functions->plan(p, i, error);
    if (!status) status = plan_bytes_check(&p->options, p->algorithm, p->bytes, error);
    if (status) release(p);
    return status;
}

static double cost(const void *plan)
{
    return ((const ssm2d_baseline_plan *)plan)->functions->cost(plan);
}

static ssm2d_status finish(void *plan, ssm2d_error *error)
{
    ssm2d_baseline_plan *p = plan;
    return p->functions->finish ? p->functions->finish(p, error) : SSM2D_OK;
}

static ssm2d_status params_init(const void *request, void *params, ssm2d_error *error)
{
    const ssm2d_baseline_plan *r = request;
    return ssm2d_baseline_params_init(&r->config.base, SSM2D_INIT_AUTHORS, 1, r->options.type,
                                      params, error);
}

static ssm2d_status workspace_create(const void *plan, void **out, ssm2d_error *error)
{
    ssm2d_baseline_workspace *workspace;
    const ssm2d_status status = ssm2d_baseline_workspace_create(plan, &workspace, error);
    *out = workspace;
    return status;
}

static void workspace_destroy(void *workspace) { ssm2d_baseline_workspace_destroy(workspace); }

static void execute(const void *plan, void *workspace, const plan_arrays *a)
{
    const ssm2d_baseline_plan *p = plan;
    ssm2d_baseline_forward(p, workspace, a->params, a->u, a->y);
    if (!p->options.inference)
        ssm2d_baseline_backward(p, workspace, a->params, a->u, a->dy, a->du, a->dparams);
}

static const plan_functions chooser_functions = {.plan_size = sizeof(ssm2d_baseline_plan),
                                                 .algorithm = algorithm,
                                                 .draft = draft,
                                                 .cost = cost,
                                                 .finish = finish,
                                                 .release = release,
                                                 .params_init = params_init,
                                                 .workspace_create = workspace_create,
                                                 .workspace_destroy = workspace_destroy,
                                                 .execute = execute};

/* ---- public ---------------------------------------------------------------------------------- */

static ssm2d_status create(ssm2d_context *context, const ssm2d_baseline_config *config,
                           const ssm2d_plan_options *options, ssm2d_baseline_plan **out,
                           ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *out = NULL;
    ssm2d_baseline_plan r;
    memset(&r, 0, sizeof r);
    ssm2d_status status = baseline_config_read(&r.config, config, &r.kind, error);
    if (!status) status = plan_options_read(&r.options, options, error);
    if (!status) status = plan_options_check(context, r.config.base.channels, &r.options, error);
    if (status) return status;
    r.context = context;
    r.functions = r.kind->functions[r.options.type];
    r.channels = r.config.base.channels;
    r.rows = (int)r.options.rows;
    r.cols = (int)r.options.cols;
    r.simd = r.functions->simd(context->cpu, &r.lanes);
    r.vectors = div_up(r.channels, r.lanes);
    const plan_request choice = {.functions = &chooser_functions,
                                 .name = r.kind->name,
                                 .request = &r,
                                 .context = context,
                                 .options = &r.options,
                                 .channels = r.channels,
                                 .number_size = r.functions->size,
                                 .params = baseline_params_total(r.kind, &r.config)};
    ssm2d_baseline_plan drafts[PLAN_CANDIDATES];
    void *chosen;
    status = plan_choose(&choice, drafts, &chosen, error);
    if (status) return status;
    ssm2d_baseline_plan *p = mem_alloc(context, sizeof *p);
    if (!p) {
        release(chosen);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    }
    *p = *(const ssm2d_baseline_plan *)chosen;
    p->options.algorithm = p->algorithm; /* the caller's string need not live on */
    *out = p;
    return SSM2D_OK;
}

ssm2d_status ssm2d_baseline_plan_create(ssm2d_context *context, const ssm2d_baseline_config *config,
                                        const ssm2d_plan_options *options,
                                        ssm2d_baseline_plan **out, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = create(context, config, options, out, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_baseline_plan_destroy(ssm2d_baseline_plan *plan)
{
    if (!plan) return;
    release(plan);
    mem_free(plan->context, plan);
}

const char *ssm2d_baseline_plan_algorithm(const ssm2d_baseline_plan *plan)
{
    return plan->algorithm;
}

size_t ssm2d_baseline_plan_bytes(const ssm2d_baseline_plan *plan) { return plan->bytes; }

/* ---- workspace ------------------------------------------------------------------------------- */

ssm2d_status ssm2d_baseline_workspace_create(const ssm2d_baseline_plan *plan,
                                             ssm2d_baseline_workspace **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "workspace=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!plan)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "plan=NULL: make one with ssm2d_baseline_plan_create");
    ssm2d_baseline_workspace *ws = mem_alloc(plan->context, sizeof *ws);
    char *memory = ws ? mem_alloc(plan->context, plan->bytes) : NULL;
    if (!memory) {
        mem_free(plan->context, ws);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a workspace of %zu bytes",
                    plan->bytes);
    }
    *ws = (ssm2d_baseline_workspace){plan, plan->context, memory, BASELINE_EMPTY};
    *out = ws;
    return SSM2D_OK;
}

void ssm2d_baseline_workspace_destroy(ssm2d_baseline_workspace *ws)
{
    if (!ws) return;
    const ssm2d_context *context = ws->context;
    mem_free(context, ws->memory);
    mem_free(context, ws);
}

#define REQUIRE_OWN_WORKSPACE(plan, ws)                                                            \
    assert((plan) && (ws) && (ws)->plan == (plan)                                                  \
           && "the workspace must have been made for this plan")

void ssm2d_baseline_prepare(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                            const void *params)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(params && "params must not be NULL");
    const float_mode before = float_mode_set();
    plan->functions->prepare(plan, ws, params);
    float_mode_restore(before);
    ws->state = BASELINE_PREPARED;
}

void ssm2d_baseline_apply(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                          const void *u, void *y)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(u && y && "u and y must not be NULL");
    assert(ws->state >= BASELINE_PREPARED && "prepare must come before apply");
    const float_mode before = float_mode_set();
    plan->functions->apply(plan, ws, u, y);
    float_mode_restore(before);
    ws->state = BASELINE_APPLIED;
}

void ssm2d_baseline_forward(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                            const void *params, const void *u, void *y)
{
    ssm2d_baseline_prepare(plan, ws, params);
    ssm2d_baseline_apply(plan, ws, u, y);
}

void ssm2d_baseline_backward(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                             const void *params, const void *u, const void *dy, void *du,
                             void *dparams)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(!plan->options.inference && "the plan must not have been made for inference");
    assert(params && u && dy && "params, u and dy must not be NULL");
    assert(ws->state == BASELINE_APPLIED && "forward must come before backward");
    const float_mode before = float_mode_set();
    plan->functions->backward(plan, ws, params, u, dy, du, dparams);
    float_mode_restore(before);
}

int ssm2d_baseline_kernel_shape(const ssm2d_baseline_plan *plan, size_t shape[3])
{
    return plan->functions->kernel_shape(plan, shape);
}

void ssm2d_baseline_kernel(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                           const void *params, void *kernel)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(params && kernel && "params and kernel must not be NULL");
    ws->state = BASELINE_EMPTY;
    const float_mode before = float_mode_set();
    plan->functions->kernel(plan, ws, params, kernel);
    float_mode_restore(before);
}
