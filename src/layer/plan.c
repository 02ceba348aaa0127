/* plan - checks a request, lets algorithms reserve their memory, and chooses among them. */
#include "layer/plan.h"

#include "core/arith.h"
#include "core/reserve.h"
#include "core/status.h"

#include <limits.h>
#include <string.h>
#include <time.h>

/* Candidates whose estimate is so many times that of another are not measured: that would take long
 * and change nothing. */
enum { HOPELESS = 10 };

enum { MOST_SIDE = 1 << 20, MOST_BATCH = 1 << 24 };

static const typed_functions *functions_of(ssm2d_type type)
{
    return type == SSM2D_DOUBLE ? &layer_functions_f64 : &layer_functions_f32;
}

size_t plan_reserve(ssm2d_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

ssm2d_plan_options ssm2d_plan_options_default(void) { return (ssm2d_plan_options){.batch = 1}; }

const char *ssm2d_algorithm_name(int i) { return i < 0 ? NULL : layer_functions_f32.algorithm(i); }

typedef struct axis {
    const char *name;
    size_t size;
    ptrdiff_t stride;
} axis;

static size_t length_of(ptrdiff_t stride)
{
    return stride < 0 ? 0 - (size_t)stride : (size_t)stride;
}

/* Fills in dense strides. Refuses arrays in which two cells would share a number: from the smallest
 * stride up, each must step over all that the smaller ones reach. Slices and permutations of dense
 * arrays all do. */
static ssm2d_status check_strides(const char *name, const ssm2d_config *c,
                                  const ssm2d_plan_options *o, ssm2d_strides *s, ssm2d_error *error)
{
    if (!s->batch && !s->row && !s->col && !s->channel) {
        /* within their bounds this cannot overflow; the next two could */
        const size_t row = o->cols * (size_t)c->channels;
        const size_t image = row > PTRDIFF_MAX / o->rows ? 0 : o->rows * row;
        if (!image || image > PTRDIFF_MAX / sizeof(double) / o->batch)
            return fail(error, SSM2D_ERROR_UNSUPPORTED,
                        "batch=%zu, rows=%zu, cols=%zu, channels=%d: too large for this machine",
                        o->batch, o->rows, o->cols, c->channels);
        *s = (ssm2d_strides){(ptrdiff_t)image, (ptrdiff_t)row, c->channels, 1};
        return SSM2D_OK;
    }
    axis axes[] = {{"batch", o->batch, s->batch},
                   {"row", o->rows, s->row},
                   {"col", o->cols, s->col},
                   {"channel", (size_t)c->channels, s->channel}};
    size_t reached = 1; /* numbers that the axes so far spread over */
    for (int done = 0; done < 4; done++) {
        axis *least = &axes[done];
        for (axis *a = least; a < axes + 4; a++)
            if (length_of(a->stride) < length_of(least->stride)) least = a;
        const axis a = *least;
        *least = axes[done];
        if (a.size < 2) continue;
        size_t length;
        if (length_of(a.stride) < reached)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s.%s=%td: cells would share numbers; give all strides or none", name,
                        a.name, a.stride);
        if (__builtin_mul_overflow(a.size - 1, length_of(a.stride), &length)
            || __builtin_add_overflow(length, reached, &reached)
            || reached > PTRDIFF_MAX / sizeof(double))
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s.%s=%td: too large for this machine",
                        name, a.name, a.stride);
    }
    return SSM2D_OK;
}

static ssm2d_status check(const ssm2d_context *context, const ssm2d_config *config,
                          ssm2d_plan_options *o, ssm2d_error *error)
{
    if (!context)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: make one with ssm2d_context_create");
    ssm2d_status status = ssm2d_config_check(config, error);
    if (status) return status;
    if (!o->batch || o->batch > MOST_BATCH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "batch=%zu: use 1 to %d", o->batch, MOST_BATCH);
    if (!o->rows || o->rows > MOST_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "rows=%zu: use 1 to %d", o->rows, MOST_SIDE);
    if (!o->cols || o->cols > MOST_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "cols=%zu: use 1 to %d", o->cols, MOST_SIDE);
    if (o->type != SSM2D_FLOAT && o->type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use float (0) or double (1)",
                    (int)o->type);
    status = check_strides("in", config, o, &o->in, error);
    return status ? status : check_strides("out", config, o, &o->out, error);
}

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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Largest index that strides reach, plus one. */
static size_t extent(const ssm2d_plan *p, ssm2d_strides s)
{
    size_t last = 0;
    const ptrdiff_t strides[4] = {s.batch, s.row, s.col, s.channel};
    const size_t sizes[4] = {p->options.batch, p->options.rows, p->options.cols,
                             (size_t)p->config.channels};
    for (int i = 0; i < 4; i++) last += (sizes[i] - 1) * length_of(strides[i]);
    return last + 1;
}

/* Seconds of one forward (and backward, if it will be asked for), the best of three. Negative
 * strides would need another origin, so that dense ones stand in for them. */
static ssm2d_status measure(const ssm2d_plan *draft_plan, double *seconds, ssm2d_error *error)
{
    ssm2d_plan plan = *draft_plan;
    ssm2d_workspace *ws = NULL;
    const size_t size = plan.functions->size, total = plan.params.total;
    const ssm2d_strides in = plan.options.in, out = plan.options.out;
    if (in.batch < 0 || in.row < 0 || in.col < 0 || in.channel < 0 || out.batch < 0 || out.row < 0
        || out.col < 0 || out.channel < 0)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "measure=1: not with negative strides");
    ssm2d_status status = ssm2d_workspace_create(&plan, &ws, error);
    if (status) return status;
    size_t n_in = extent(&plan, in), n_out = extent(&plan, out);
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
        double start = now();
        ssm2d_forward(&plan, ws, params, u, y);
        if (!plan.options.inference) ssm2d_backward(&plan, ws, params, u, dy, du, dparams);
        double time = now() - start;
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
    double least = 1e300, estimate = 1e300;
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
        if (hopeless || cost >= least) {
            functions->release(&one);
            continue;
        }
        functions->release(best);
        least = cost;
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
    ssm2d_plan_options o = *options;
    ssm2d_plan plan;
    ssm2d_status status = check(context, config, &o, error);
    if (status) return status;
    if (o.algorithm && strcmp(o.algorithm, "auto"))
        status = choose_named(context, config, &o, &plan, error);
    else
        status = choose(context, config, &o, &plan, error);
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
    *ws = (ssm2d_workspace){plan, plan->context, memory};
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

void ssm2d_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params)
{
    plan->functions->prepare(plan, ws, params);
}

void ssm2d_apply(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u, void *y)
{
    plan->functions->apply(plan, ws, u, y);
}

void ssm2d_forward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                   void *y)
{
    plan->functions->prepare(plan, ws, params);
    plan->functions->apply(plan, ws, u, y);
}

void ssm2d_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, const void *u,
                    const void *dy, void *du, void *dparams)
{
    plan->functions->backward(plan, ws, params, u, dy, du, dparams);
}

void ssm2d_kernel(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params, void *kernel)
{
    plan->functions->kernel(plan, ws, params, kernel);
}

void ssm2d_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *params,
                           const void *dkernel, void *dparams)
{
    plan->functions->kernel_backward(plan, ws, params, dkernel, dparams);
}
