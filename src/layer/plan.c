/* plan - checks a request and lets algorithms reserve their memory; core/plan_chooser.c chooses
 * among them. */
#include "layer/plan.h"

#include "core/arith.h"
#include "core/float_mode.h"
#include "core/plan_chooser.h"
#include "core/plan_options.h"
#include "core/reserve.h"
#include "core/status.h"

#include <string.h>

static const typed_functions *functions_of(ssm2d_type type)
{
    return type == SSM2D_DOUBLE ? &layer_functions_f64 : &layer_functions_f32;
}

size_t plan_reserve(ssm2d_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

const char *ssm2d_algorithm_name(int i) { return i < 0 ? NULL : layer_functions_f32.algorithm(i); }

/* ---- what the chooser calls; a request is a plan that has no algorithm yet ------------------- */

static const char *algorithm(const void *request, int i)
{
    return ((const ssm2d_plan *)request)->functions->algorithm(i);
}

static ssm2d_status draft(const void *request, int i, void *out, ssm2d_error *error)
{
    ssm2d_plan *p = out;
    *p = *(const ssm2d_plan *)request;
    ssm2d_status status = p->functions->plan(p, i, error);
    if (!status) status = plan_bytes_check(&p->options, p->algorithm, p->bytes, error);
    if (status) p->functions->release(p);
    return status;
}

/* Without a norm kernels grow by orders of magnitude, and cells near the border of the image, where
 * values are small, would be lost in the rounding error of large ones. */
static ssm2d_status auto_check(const void *plan, ssm2d_error *error)
{
    const ssm2d_plan *p = plan;
    if (p->config.norm != SSM2D_NORM_NONE || !p->functions->error_of_largest(p)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "algorithm=auto: %s would lose small values with norm none; ask for it by name",
                p->algorithm);
}

static double cost(const void *plan) { return ((const ssm2d_plan *)plan)->functions->cost(plan); }

static ssm2d_status finish(void *plan, ssm2d_error *error)
{
    return ((ssm2d_plan *)plan)->functions->finish(plan, error);
}

static void release(void *plan) { ((ssm2d_plan *)plan)->functions->release(plan); }

static ssm2d_status params_init(const void *request, void *params, ssm2d_error *error)
{
    const ssm2d_plan *r = request;
    return ssm2d_params_init(&r->config, SSM2D_INIT_IDENTITY, 1, r->options.type, params, error);
}

static ssm2d_status workspace_create(const void *plan, void **out, ssm2d_error *error)
{
    ssm2d_workspace *workspace;
    const ssm2d_status status = ssm2d_workspace_create(plan, &workspace, error);
    *out = workspace;
    return status;
}

static void workspace_destroy(void *workspace) { ssm2d_workspace_destroy(workspace); }

static void execute(const void *plan, void *workspace, const plan_arrays *a)
{
    const ssm2d_plan *p = plan;
    ssm2d_forward(p, workspace, a->params, a->u, a->y);
    if (!p->options.inference)
        ssm2d_backward(p, workspace, a->params, a->u, a->dy, a->du, a->dparams);
}

static const plan_functions chooser_functions = {.plan_size = sizeof(ssm2d_plan),
                                                 .algorithm = algorithm,
                                                 .draft = draft,
                                                 .auto_check = auto_check,
                                                 .cost = cost,
                                                 .finish = finish,
                                                 .release = release,
                                                 .params_init = params_init,
                                                 .workspace_create = workspace_create,
                                                 .workspace_destroy = workspace_destroy,
                                                 .execute = execute};

/* ---- public ---------------------------------------------------------------------------------- */

/* Everything but what an algorithm decides. */
static ssm2d_plan request_of(ssm2d_context *context, const ssm2d_config *config,
                             const ssm2d_plan_options *o)
{
    ssm2d_plan p;
    memset(&p, 0, sizeof p);
    p.context = context;
    p.config = *config;
    p.options = *o;
    p.params = params_offsets(config);
    p.functions = functions_of(o->type);
    p.simd = p.functions->simd(context->cpu, &p.lanes);
    p.vectors = div_up(config->channels, p.lanes);
    p.systems = config_systems(config);
    p.c_rows = config_c_rows(config);
    p.width = div_up(config->d_state, p.lanes) * p.lanes;
    p.wide = config->values == SSM2D_REAL ? p.width : 2 * p.width;
    p.rows = (int)o->rows;
    p.cols = (int)o->cols;
    p.trunc_rows = config->trunc_rows ? min_int(config->trunc_rows, p.rows) : p.rows;
    p.trunc_cols = config->trunc_cols ? min_int(config->trunc_cols, p.cols) : p.cols;
    p.bytes = RESERVE_ALIGNMENT; /* so that no region is at 0, which is NOWHERE */
    return p;
}

static ssm2d_status create(ssm2d_context *context, const ssm2d_config *config,
                           const ssm2d_plan_options *options, ssm2d_plan **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!options)
        return fail(error, SSM2D_ERROR_ARGUMENT, "options=NULL: rows and cols are needed");
    ssm2d_plan_options o;
    ssm2d_config full;
    ssm2d_status status = config_read(&full, config, error);
    if (!status) status = plan_options_read(&o, options, error);
    if (!status) status = plan_options_check(context, full.channels, &o, error);
    if (status) return status;
    const ssm2d_plan request = request_of(context, &full, &o);
    const plan_request choice = {.functions = &chooser_functions,
                                 .name = "the layer",
                                 .request = &request,
                                 .context = context,
                                 .options = &o,
                                 .channels = full.channels,
                                 .number_size = request.functions->size,
                                 .params = request.params.total};
    ssm2d_plan drafts[PLAN_CANDIDATES];
    void *chosen;
    status = plan_choose(&choice, drafts, &chosen, error);
    if (status) return status;
    ssm2d_plan *p = mem_alloc(context, sizeof *p);
    if (!p) {
        release(chosen);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    }
    *p = *(const ssm2d_plan *)chosen;
    p->options.algorithm = p->algorithm; /* the caller's string need not live on */
    *out = p;
    return SSM2D_OK;
}

ssm2d_status ssm2d_plan_create(ssm2d_context *context, const ssm2d_config *config,
                               const ssm2d_plan_options *options, ssm2d_plan **out,
                               ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = create(context, config, options, out, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_plan_destroy(ssm2d_plan *plan)
{
    if (!plan) return;
    plan->functions->release(plan);
    mem_free(plan->context, plan);
}

const char *ssm2d_plan_algorithm(const ssm2d_plan *plan) { return plan->algorithm; }
size_t ssm2d_plan_bytes(const ssm2d_plan *plan) { return plan->bytes; }
