#include "bench_baseline.h"

#include "core/context.h"
#include "core/status.h"

struct bench_baseline {
    ssm2d_context *context;
    ssm2d_baseline_plan *plan;
    ssm2d_baseline_workspace *workspace;
    void *params, *dparams;
    const void *u, *dy;
    void *y, *du;
};

ssm2d_status bench_baseline_create(ssm2d_context *context, ssm2d_baseline_kind kind,
                                   const ssm2d_plan_options *options, int channels, const void *u,
                                   void *y, const void *dy, void *du, bench_baseline **out,
                                   ssm2d_error *error)
{
    const size_t number = options->type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    ssm2d_s4nd_config s4nd = ssm2d_s4nd_config_default();
    ssm2d_ema_config ema = ssm2d_ema_config_default();
    ssm2d_baseline_config *config = kind == SSM2D_S4ND ? &s4nd.base : &ema.base;
    ssm2d_plan_options o = *options;
    o.algorithm = NULL; /* each chooses for itself */
    config->channels = channels;
    const size_t total = ssm2d_baseline_param_total(config);
    bench_baseline *b = *out = mem_alloc(context, sizeof *b);
    if (!b) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a baseline");
    *b = (bench_baseline){.context = context, .u = u, .y = y, .dy = dy, .du = du};
    b->params = mem_alloc(context, total * number);
    b->dparams = mem_alloc(context, total * number);
    ssm2d_status status = SSM2D_OK;
    if (!b->params || !b->dparams)
        status = fail(error, SSM2D_ERROR_MEMORY, "no memory for %zu parameters", total);
    if (!status)
        status =
            ssm2d_baseline_params_init(config, SSM2D_INIT_AUTHORS, 1, o.type, b->params, error);
    if (!status) status = ssm2d_baseline_plan_create(context, config, &o, &b->plan, error);
    if (!status) status = ssm2d_baseline_workspace_create(b->plan, &b->workspace, error);
    if (!status) return SSM2D_OK;
    bench_baseline_destroy(b);
    *out = NULL;
    return status;
}

void bench_baseline_forward(void *baseline)
{
    const bench_baseline *b = baseline;
    ssm2d_baseline_forward(b->plan, b->workspace, b->params, b->u, b->y);
}

void bench_baseline_train(void *baseline)
{
    const bench_baseline *b = baseline;
    ssm2d_baseline_forward(b->plan, b->workspace, b->params, b->u, b->y);
    ssm2d_baseline_backward(b->plan, b->workspace, b->params, b->u, b->dy, b->du, b->dparams);
}

const char *bench_baseline_algorithm(const bench_baseline *b)
{
    return ssm2d_baseline_plan_algorithm(b->plan);
}

void bench_baseline_destroy(bench_baseline *b)
{
    if (!b) return;
    mem_free(b->context, b->params);
    mem_free(b->context, b->dparams);
    ssm2d_baseline_workspace_destroy(b->workspace);
    ssm2d_baseline_plan_destroy(b->plan);
    mem_free(b->context, b);
}
