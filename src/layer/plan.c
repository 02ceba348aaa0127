/* plan - checks a request, lets algorithms reserve their memory, and chooses among them. */
#include "layer/plan.h"

#include "core/arith.h"
#include "core/reserve.h"
#include "core/plan_options.h"
#include "core/clock.h"
#include "core/status.h"

#include <string.h>

/* Candidates whose estimate is so many times that of another are not measured: that would take long
 * and change nothing. */
enum { HOPELESS = 10 };

static const typed_functions *functions_of(ssm2d_type type)
{
    return type == SSM2D_DOUBLE ? &layer_functions_f64 : &layer_functions_f32;
}

size_t plan_reserve(ssm2d_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

const char *ssm2d_algorithm_name(int i) { return i < 0 ? NULL : layer_functions_f32.algorithm(i); }

/* The plan with the i-th algorithm, but for its tables (functions->finish). */
static ssm2d_status draft(ssm2d_context *context, const ssm2d_config *config,
                          const ssm2d_plan_options *o, int i, ssm2d_plan *p, ssm2d_error *error)
{
    memset(p, 0, sizeof *p);
    p->context = context;
    p->config = *config;
    p->options = *o;
    p->params = params_offsets(config);
    p->functions = functions_of(o->type);
    p->simd = p->functions->simd(context->cpu, &p->lanes);
    p->vectors = div_up(config->channels, p->lanes);
    p->systems = config_systems(config);
    p->c_rows = config_c_rows(config);
    p->width = div_up(config->d_state, p->lanes) * p->lanes;
    p->wide = config->values == SSM2D_REAL ? p->width : 2 * p->width;
    p->rows = (int)o->rows;
    p->cols = (int)o->cols;
    p->trunc_rows = config->trunc_rows ? min_int(config->trunc_rows, p->rows) : p->rows;
    p->trunc_cols = config->trunc_cols ? min_int(config->trunc_cols, p->cols) : p->cols;
    p->bytes = RESERVE_ALIGNMENT; /* so that no region is at 0, which is NOWHERE */
    ssm2d_status status = p->functions->plan(p, i, error);
    if (!status && p->bytes == SIZE_MAX)
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "rows=%d, cols=%d: algorithm %s needs more memory than can be counted",
                      p->rows, p->cols, p->algorithm);
    if (!status && o->max_bytes && p->bytes > o->max_bytes)
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "max_bytes=%zu: algorithm %s needs a workspace of %zu bytes", o->max_bytes,
                      p->algorithm, p->bytes);
    if (status) p->functions->release(p);
    return status;
}

/* Seconds of one forward (and backward, if it will be asked for), the best of three. Negative
 * strides would need another origin, so that dense ones stand in for them. */
static ssm2d_status measure(const ssm2d_plan *draft_plan, double *seconds, ssm2d_error *error)
{
    ssm2d_plan plan = *draft_plan;
    ssm2d_workspace *ws = NULL;
    const size_t size = plan.functions->size, total = plan.params.total;
    const ssm2d_plan_options *o = &plan.options;
    if (plan_options_negative(o))
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "measure=1: not with negative strides");
    ssm2d_status status = ssm2d_workspace_create(&plan, &ws, error);
    if (status) return status;
    const size_t n_in = plan_options_extent(o, plan.config.channels, o->in);
    const size_t n_out = plan_options_extent(o, plan.config.channels, o->out);
    char *memory = mem_alloc(plan.context, size * (2 * total + 2 * n_in + 2 * n_out));
    if (!memory) {
        ssm2d_workspace_destroy(ws);
        return fail(error, SSM2D_ERROR_MEMORY,
                    "measure=1: no memory for the arrays to measure with");
    }
    char *params = memory, *dparams = params + total * size, *u = dparams + total * size,
         *du = u + n_in * size;
    char *y = du + n_in * size, *dy = y + n_out * size;
    status =
        ssm2d_params_init(&plan.config, SSM2D_INIT_IDENTITY, 1, plan.options.type, params, error);
    *seconds = 1e300;
    for (int round = 0; round < 3 && !status; round++) {
        double start = clock_seconds();
        ssm2d_forward(&plan, ws, params, u, y);
        if (!plan.options.inference) ssm2d_backward(&plan, ws, params, u, dy, du, dparams);
        double time = clock_seconds() - start;
        if (time < *seconds) *seconds = time;
    }
    mem_free(plan.context, memory);
    ssm2d_workspace_destroy(ws);
    return status;
}

/* The candidate with the least estimated, or measured, cost. Candidates that are refused are passed
 * over; when all are, the last one's reason is given. */
static ssm2d_status choose(ssm2d_context *context, const ssm2d_config *config,
                           const ssm2d_plan_options *o, ssm2d_plan *best, ssm2d_error *error)
{
    const typed_functions *functions = functions_of(o->type);
    double best_cost = 1e300, estimate = 1e300;
    ssm2d_error reason;
    ssm2d_status status = SSM2D_ERROR_UNSUPPORTED;
    memset(best, 0, sizeof *best);
    for (int i = 0; functions->algorithm(i); i++) {
        ssm2d_plan one;
        ssm2d_status refused = draft(context, config, o, i, &one, &reason);
        if (refused == SSM2D_ERROR_MEMORY) {
            status = refused;
            break;
        }
        if (refused) continue;
        double cost = functions->cost(&one);
        const int hopeless = o->measure && estimate < 1e300 && cost > HOPELESS * estimate;
        if (cost < estimate) estimate = cost;
        if (o->measure && !hopeless) {
            refused = functions->finish(&one, &reason);
            if (!refused) refused = measure(&one, &cost, &reason);
            if (refused) {
                functions->release(&one);
                status = refused;
                break;
            }
        }
        if (hopeless || cost >= best_cost) {
            functions->release(&one);
            continue;
        }
        functions->release(best);
        best_cost = cost;
        *best = one;
        status = SSM2D_OK;
    }
    if (!status && !o->measure) status = functions->finish(best, &reason);
    if (!status) return SSM2D_OK;
    functions->release(best);
    /* not before: a refusal that does not matter leaves the line as it was */
    if (error) *error = reason;
    return status;
}

/* The plan with the algorithm that the caller names. */
static ssm2d_status choose_named(ssm2d_context *context, const ssm2d_config *config,
                                 const ssm2d_plan_options *o, ssm2d_plan *p, ssm2d_error *error)
{
    const typed_functions *functions = functions_of(o->type);
    const char *name;
    char names[128] = "auto";
    for (int i = 0; (name = functions->algorithm(i)); i++) {
        if (!strcmp(name, o->algorithm)) {
            ssm2d_status status = draft(context, config, o, i, p, error);
            if (status) return status;
            status = functions->finish(p, error);
            if (status) functions->release(p);
            return status;
        }
        strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, name, sizeof names - strlen(names) - 1);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "algorithm=%s: use one of %s", o->algorithm, names);
}

ssm2d_status ssm2d_plan_create(ssm2d_context *context, const ssm2d_config *config,
                               const ssm2d_plan_options *options, ssm2d_plan **out,
                               ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!options)
        return fail(error, SSM2D_ERROR_ARGUMENT, "options=NULL: rows and cols are needed");
    ssm2d_plan_options o;
    ssm2d_config full;
    ssm2d_plan plan;
    ssm2d_status status = config_read(&full, config, error);
    if (!status) status = plan_options_read(&o, options, error);
    if (!status) status = plan_options_check(context, full.channels, &o, error);
    if (status) return status;
    if (o.algorithm && strcmp(o.algorithm, "auto"))
        status = choose_named(context, &full, &o, &plan, error);
    else
        status = choose(context, &full, &o, &plan, error);
    if (status) return status;
    plan.options.algorithm = plan.algorithm; /* the caller's string need not live on */
    ssm2d_plan *p = mem_alloc(context, sizeof *p);
    if (!p) {
        plan.functions->release(&plan);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for a plan");
    }
    *p = plan;
    *out = p;
    return SSM2D_OK;
}

void ssm2d_plan_destroy(ssm2d_plan *plan)
{
    if (!plan) return;
    plan->functions->release(plan);
    mem_free(plan->context, plan);
}

const char *ssm2d_plan_algorithm(const ssm2d_plan *plan) { return plan->algorithm; }
size_t ssm2d_plan_bytes(const ssm2d_plan *plan) { return plan->bytes; }
