/* layer_stream - a layer as a recurrence over rows, with memory for one row. */
#include "core/float_mode.h"
#include "core/status.h"
#include "layers/layer_kind.h"

#include <string.h>

static ssm2d_status check(const ssm2d_context *context, const ssm2d_layer *layer, size_t cols,
                          ssm2d_type type, const void *params, ssm2d_error *error)
{
    if (!context)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: make one with ssm2d_context_create");
    if (!layer)
        return fail(error, SSM2D_ERROR_ARGUMENT, "layer=NULL: make one with ssm2d_layer_create");
    if (!layer->kind->stream_check)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "layers of kind %s cannot be streamed",
                    layer->kind->name);
    const ssm2d_status status = layer->kind->stream_check(layer_config(layer), cols, error);
    return status ? status : layer_params_check(layer, type, params, error);
}

ssm2d_status layer_stream_create(ssm2d_context *context, const ssm2d_layer *layer, size_t batch,
                                 size_t cols, ssm2d_type type, const void *params,
                                 ssm2d_stream **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "stream=NULL: there is nowhere to put the result");
    *out = NULL;
    ssm2d_status status = check(context, layer, cols, type, params, error);
    if (status) return status;

    ssm2d_stream *s = mem_alloc(context, sizeof *s);
    if (!s) return fail_memory(error, "stream");
    s->context = context;
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = batch;
    o.grid = ssm2d_grid_2d(1, cols);
    o.type = type;
    o.algorithm = "scan";
    o.inference = 1;
    status = ssm2d_plan_create(context, layer, &o, &s->plan, error);
    if (!status) status = ssm2d_workspace_create(s->plan, &s->workspace, error);
    if (status) goto failed;
    const size_t elements = s->plan->functions->stream_elements(s->plan);
    /* on overflow the allocation below fails */
    if (__builtin_mul_overflow(elements, s->plan->functions->size, &s->bytes)) s->bytes = SIZE_MAX;
    s->states = mem_alloc(context, s->bytes);
    if (!s->states) {
        status =
            fail_memory(error, "%zu bytes of state of a stream of %zu columns", s->bytes, cols);
        goto failed;
    }
    layer_prepare(s->plan, s->workspace, type, params);
    *out = s;
    return SSM2D_OK;
failed:
    ssm2d_stream_destroy(s);
    return status;
}

ssm2d_status layer_stream_push(ssm2d_stream *s, ssm2d_type type, const void *u, void *y)
{
    if (!s || !u || !y || s->plan->options.type != type) return SSM2D_ERROR_ARGUMENT;
    const float_mode before = float_mode_set();
    s->plan->functions->stream_push(s, u, y);
    float_mode_restore(before);
    return SSM2D_OK;
}

ssm2d_status ssm2d_stream_reset(ssm2d_stream *s)
{
    if (!s) return SSM2D_ERROR_ARGUMENT;
    memset(s->states, 0, s->bytes);
    return SSM2D_OK;
}

void ssm2d_stream_destroy(ssm2d_stream *s)
{
    if (!s) return;
    mem_free(s->context, s->states);
    ssm2d_workspace_destroy(s->workspace);
    ssm2d_plan_destroy(s->plan);
    mem_free(s->context, s);
}

/* ---- public: float and double ---------------------------------------------------------------- */

#define PUBLIC(suffix, element, type)                                                              \
    ssm2d_status ssm2d_stream_create##suffix(ssm2d_context *context, const ssm2d_layer *layer,     \
                                             size_t batch, size_t cols, const element *params,     \
                                             ssm2d_stream **stream, ssm2d_error *error)            \
    {                                                                                              \
        return layer_stream_create(context, layer, batch, cols, type, params, stream, error);      \
    }                                                                                              \
    ssm2d_status ssm2d_stream_push##suffix(ssm2d_stream *stream, const element *u, element *y)     \
    {                                                                                              \
        return layer_stream_push(stream, type, u, y);                                              \
    }

PUBLIC(, float, SSM2D_FLOAT)
PUBLIC(_double, double, SSM2D_DOUBLE)
