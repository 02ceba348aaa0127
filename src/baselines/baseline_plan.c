/* baseline_plan - plans and workspaces of every kind, as layer/plan.c and layer/workspace.c make
 * those of the layer. What executing asks of the caller is asserted. */
#include "baselines/baseline.h"
#include "core/arith.h"
#include "core/clock.h"
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

static void release(ssm2d_baseline_plan *p)
{
    if (p->functions && p->functions->release) p->functions->release(p);
}

static ssm2d_status finish(ssm2d_baseline_plan *p, ssm2d_error *error)
{
    return p->functions->finish ? p->functions->finish(p, error) : SSM2D_OK;
}

/* The plan with the i-th algorithm, but for its tables. */
static ssm2d_status draft(const ssm2d_baseline_plan *request, int i, ssm2d_baseline_plan *p,
                          ssm2d_error *error)
{
    *p = *request;
    p->algorithm = p->functions->algorithm(i);
    p->bytes = 0;
    ssm2d_status status = p->functions->plan(p, i, error);
    if (!status && p->bytes == SIZE_MAX)
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "rows=%d, cols=%d: algorithm %s needs more memory than can be counted",
                      p->rows, p->cols, p->algorithm);
    if (!status && p->options.max_bytes && p->bytes > p->options.max_bytes)
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "max_bytes=%zu: algorithm %s needs a workspace of %zu bytes",
                      p->options.max_bytes, p->algorithm, p->bytes);
    if (status) release(p);
    return status;
}

/* Seconds of one forward (and backward, if it will be asked for), the best of three. */
static ssm2d_status measure(const ssm2d_baseline_plan *p, double *seconds, ssm2d_error *error)
{
    ssm2d_baseline_workspace *ws = NULL;
    const ssm2d_plan_options *o = &p->options;
    const size_t size = p->functions->size, total = baseline_params_total(p->kind, &p->config);
    if (plan_options_negative(o))
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "measure=1: not with negative strides");
    ssm2d_status status = ssm2d_baseline_workspace_create(p, &ws, error);
    if (status) return status;
    const size_t n_in = plan_options_extent(o, p->channels, o->in);
    const size_t n_out = plan_options_extent(o, p->channels, o->out);
    char *memory = mem_alloc(p->context, size * (2 * total + 2 * n_in + 2 * n_out));
    if (!memory) {
        ssm2d_baseline_workspace_destroy(ws);
        return fail(error, SSM2D_ERROR_MEMORY,
                    "measure=1: no memory for the arrays to measure with");
    }
    char *params = memory, *dparams = params + total * size, *u = dparams + total * size;
    char *du = u + n_in * size, *y = du + n_in * size, *dy = y + n_out * size;
    status =
        ssm2d_baseline_params_init(&p->config.base, SSM2D_INIT_AUTHORS, 1, o->type, params, error);
    *seconds = 1e300;
    for (int round = 0; round < 3 && !status; round++) {
        const double start = clock_seconds();
        ssm2d_baseline_forward(p, ws, params, u, y);
        if (!o->inference) ssm2d_baseline_backward(p, ws, params, u, dy, du, dparams);
        const double time = clock_seconds() - start;
        if (time < *seconds) *seconds = time;
    }
    mem_free(p->context, memory);
    ssm2d_baseline_workspace_destroy(ws);
    return status;
}

/* The candidate with the least estimated, or measured, cost. Candidates that are refused are passed
 * over; when all are, the last one's reason is given. */
static ssm2d_status choose(const ssm2d_baseline_plan *request, ssm2d_baseline_plan *best,
                           ssm2d_error *error)
{
    const int measured = request->options.measure;
    double best_cost = 1e300;
    ssm2d_error reason;
    ssm2d_status status = SSM2D_ERROR_UNSUPPORTED;
    memset(best, 0, sizeof *best);
    for (int i = 0; request->functions->algorithm(i); i++) {
        ssm2d_baseline_plan one;
        ssm2d_status refused = draft(request, i, &one, &reason);
        if (refused == SSM2D_ERROR_MEMORY) {
            status = refused;
            break;
        }
        if (refused) continue;
        double cost = one.functions->cost(&one);
        if (measured) {
            refused = finish(&one, &reason);
            if (!refused) refused = measure(&one, &cost, &reason);
            if (refused) {
                release(&one);
                status = refused;
                break;
            }
        }
        if (cost >= best_cost) {
            release(&one);
            continue;
        }
        release(best);
        best_cost = cost;
        *best = one;
        status = SSM2D_OK;
    }
    if (!status && !measured) status = finish(best, &reason);
    if (!status) return SSM2D_OK;
    release(best);
    if (error) *error = reason;
    return status;
}

static ssm2d_status choose_named(const ssm2d_baseline_plan *request, ssm2d_baseline_plan *p,
                                 ssm2d_error *error)
{
    const char *name;
    char names[128] = "auto";
    for (int i = 0; (name = request->functions->algorithm(i)); i++) {
        if (!strcmp(name, request->options.algorithm)) {
            ssm2d_status status = draft(request, i, p, error);
            if (status) return status;
            status = finish(p, error);
            if (status) release(p);
            return status;
        }
        strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, name, sizeof names - strlen(names) - 1);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "algorithm=%s: %s has %s", request->options.algorithm,
                request->kind->name, names);
}

ssm2d_status ssm2d_baseline_plan_create(ssm2d_context *context, const ssm2d_baseline_config *config,
                                        const ssm2d_plan_options *options,
                                        ssm2d_baseline_plan **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *out = NULL;
    ssm2d_baseline_plan r, plan;
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
    if (r.options.algorithm && strcmp(r.options.algorithm, "auto"))
        status = choose_named(&r, &plan, error);
    else
        status = choose(&r, &plan, error);
    if (status) return status;
    plan.options.algorithm = plan.algorithm; /* the caller's string need not live on */
    ssm2d_baseline_plan *p = mem_alloc(context, sizeof *p);
    if (!p) {
        release(&plan);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    }
    *p = plan;
    *out = p;
    return SSM2D_OK;
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
    plan->functions->prepare(plan, ws, params);
    ws->state = BASELINE_PREPARED;
}

void ssm2d_baseline_apply(const ssm2d_baseline_plan *plan, ssm2d_baseline_workspace *ws,
                          const void *u, void *y)
{
    REQUIRE_OWN_WORKSPACE(plan, ws);
    assert(u && y && "u and y must not be NULL");
    assert(ws->state >= BASELINE_PREPARED && "prepare must come before apply");
    plan->functions->apply(plan, ws, u, y);
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
    plan->functions->backward(plan, ws, params, u, dy, du, dparams);
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
    plan->functions->kernel(plan, ws, params, kernel);
}
