#include "layer/stream.h"

#include "core/float_mode.h"
#include "core/status.h"

#include <assert.h>
#include <string.h>

static ssm2d_status check(const ssm2d_config *config, size_t cols, ssm2d_error *error)
{
    for (int r = 0; r < config->directions; r++)
        if (config_flip(config, r).rows)
            return fail(error, SSM2D_ERROR_UNSUPPORTED,
                        "directions=%d: a stream cannot look at rows still to come; use directions "
                        "1, or 2 with pair columns",
                        config->directions);
    if (config->trunc_rows || (config->trunc_cols && (size_t)config->trunc_cols < cols))
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "trunc_rows=%d, trunc_cols=%d: a stream cannot cut the kernel; use 0",
                    config->trunc_rows, config->trunc_cols);
    return SSM2D_OK;
}

ssm2d_status ssm2d_stream_create(ssm2d_context *context, const ssm2d_config *config, size_t batch,
                                 size_t cols, ssm2d_type type, const void *params,
                                 ssm2d_stream **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "stream=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!context)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: make one with ssm2d_context_create");
    ssm2d_config full;
    ssm2d_status status = config_read(&full, config, error);
    if (!status) status = check(&full, cols, error);
    if (!status && !params)
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "params=NULL: an array of ssm2d_param_total() numbers is needed");
    if (!status) status = ssm2d_params_check(&full, type, params, error);
    if (status) return status;

    ssm2d_stream *s = mem_alloc(context, sizeof *s);
    if (!s) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a stream");
    s->context = context;
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = batch;
    o.rows = 1;
    o.cols = cols;
    o.type = type;
    o.algorithm = "scan";
    o.inference = 1;
    status = ssm2d_plan_create(context, &full, &o, &s->plan, error);
    if (!status) status = ssm2d_workspace_create(s->plan, &s->workspace, error);
    if (status) goto failed;
    size_t numbers = s->plan->functions->stream_numbers(s->plan);
    /* which no one has */
    if (__builtin_mul_overflow(numbers, s->plan->functions->size, &s->bytes)) s->bytes = SIZE_MAX;
    s->states = mem_alloc(context, s->bytes);
    if (!s->states) {
        status =
            fail(error, SSM2D_ERROR_MEMORY,
                 "no memory for the %zu bytes of state of a stream of %zu columns", s->bytes, cols);
        goto failed;
    }
    ssm2d_prepare(s->plan, s->workspace, params);
    *out = s;
    return SSM2D_OK;
failed:
    ssm2d_stream_destroy(s);
    return status;
}

void ssm2d_stream_push(ssm2d_stream *s, const void *u, void *y)
{
    assert(s && u && y && "stream, u and y must not be NULL");
    const float_mode before = float_mode_set();
    s->plan->functions->stream_push(s, u, y);
    float_mode_restore(before);
}

void ssm2d_stream_reset(ssm2d_stream *s) { memset(s->states, 0, s->bytes); }

void ssm2d_stream_destroy(ssm2d_stream *s)
{
    if (!s) return;
    mem_free(s->context, s->states);
    ssm2d_workspace_destroy(s->workspace);
    ssm2d_plan_destroy(s->plan);
    mem_free(s->context, s);
}
