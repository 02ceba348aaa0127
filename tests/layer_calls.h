/* layer_calls - the public functions of ssm2d.h for tests: on the struct of a kind's settings
 * instead of a layer, and with the element type as an argument. */
#ifndef TESTS_LAYER_CALLS_H
#define TESTS_LAYER_CALLS_H

#include "layers/ema/ema_config.h"
#include "layers/s4nd/s4nd_config.h"
#include "layers/ssm2d/ssm2d_config.h"

/* ---- on the settings of the 2-D SSM ---------------------------------------------------------- */

static inline ssm2d_layer layer_2d(const ssm2d_config *config)
{
    return layer_of(&layer_ssm2d, config);
}

static inline ssm2d_status config_check(const ssm2d_config *config, ssm2d_error *error)
{
    const ssm2d_layer layer = layer_2d(config);
    return layer_check(&layer, error);
}

static inline ssm2d_status plan_create(ssm2d_context *context, const ssm2d_config *config,
                                       const ssm2d_plan_options *options, ssm2d_plan **plan,
                                       ssm2d_error *error)
{
    const ssm2d_layer layer = layer_2d(config);
    const ssm2d_status status = layer_check(&layer, error); /* ssm2d_layer_create would refuse it */
    if (plan) *plan = NULL;
    return status ? status : ssm2d_plan_create(context, &layer, options, plan, error);
}

static inline int param_get(const ssm2d_config *config, int i, ssm2d_param *param)
{
    const ssm2d_layer layer = layer_2d(config);
    return ssm2d_layer_param(&layer, i, param);
}

static inline size_t param_total(const ssm2d_config *config)
{
    const ssm2d_layer layer = layer_2d(config);
    return ssm2d_layer_param_count(&layer);
}

static inline const ema_config *ema_config_of(const ssm2d_layer *layer)
{
    return layer_config(layer);
}

static inline const s4nd_config *s4nd_config_of(const ssm2d_layer *layer)
{
    return layer_config(layer);
}

/* ---- with the element type as an argument ---------------------------------------------------- */

static inline ssm2d_status layer_init_params(const ssm2d_layer *layer, uint64_t seed,
                                             ssm2d_type type, void *params, ssm2d_error *error)
{
    return type == SSM2D_DOUBLE ? ssm2d_params_init_double(layer, seed, params, error)
                                : ssm2d_params_init(layer, seed, params, error);
}

static inline ssm2d_status params_init(const ssm2d_config *config, layer_init init, uint64_t seed,
                                       ssm2d_type type, void *params, ssm2d_error *error)
{
    ssm2d_config with = *config;
    with.init = init;
    const ssm2d_layer layer = layer_2d(&with);
    return layer_init_params(&layer, seed, type, params, error);
}

static inline ssm2d_status params_check(const ssm2d_config *config, ssm2d_type type,
                                        const void *params, ssm2d_error *error)
{
    const ssm2d_layer layer = layer_2d(config);
    return type == SSM2D_DOUBLE ? ssm2d_params_check_double(&layer, params, error)
                                : ssm2d_params_check(&layer, params, error);
}

static inline ssm2d_status stream_create(ssm2d_context *context, const ssm2d_config *config,
                                         size_t batch, size_t cols, ssm2d_type type,
                                         const void *params, ssm2d_stream **stream,
                                         ssm2d_error *error)
{
    const ssm2d_layer layer = layer_2d(config);
    return type == SSM2D_DOUBLE
               ? ssm2d_stream_create_double(context, &layer, batch, cols, params, stream, error)
               : ssm2d_stream_create(context, &layer, batch, cols, params, stream, error);
}

static inline ssm2d_status stream_push(ssm2d_stream *stream, const void *u, void *y)
{
    return stream->plan->options.type == SSM2D_DOUBLE ? ssm2d_stream_push_double(stream, u, y)
                                                      : ssm2d_stream_push(stream, u, y);
}

static inline int is_double(const ssm2d_plan *plan) { return plan->options.type == SSM2D_DOUBLE; }

static inline ssm2d_status plan_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws,
                                        const void *params)
{
    return is_double(plan) ? ssm2d_prepare_double(plan, ws, params)
                           : ssm2d_prepare(plan, ws, params);
}

static inline ssm2d_status plan_apply(const ssm2d_plan *plan, ssm2d_workspace *ws, const void *u,
                                      void *y)
{
    return is_double(plan) ? ssm2d_apply_double(plan, ws, u, y) : ssm2d_apply(plan, ws, u, y);
}

static inline ssm2d_status plan_forward(const ssm2d_plan *plan, ssm2d_workspace *ws,
                                        const void *params, const void *u, void *y)
{
    return is_double(plan) ? ssm2d_forward_double(plan, ws, params, u, y)
                           : ssm2d_forward(plan, ws, params, u, y);
}

static inline ssm2d_status plan_backward(const ssm2d_plan *plan, ssm2d_workspace *ws,
                                         const void *params, const void *u, const void *dy,
                                         void *du, void *dparams)
{
    return is_double(plan) ? ssm2d_backward_double(plan, ws, params, u, dy, du, dparams)
                           : ssm2d_backward(plan, ws, params, u, dy, du, dparams);
}

static inline ssm2d_status plan_kernel(const ssm2d_plan *plan, ssm2d_workspace *ws,
                                       const void *params, void *kernel)
{
    return is_double(plan) ? ssm2d_kernel_double(plan, ws, params, kernel)
                           : ssm2d_kernel(plan, ws, params, kernel);
}

static inline ssm2d_status plan_kernel_backward(const ssm2d_plan *plan, ssm2d_workspace *ws,
                                                const void *params, const void *dkernel,
                                                void *dparams)
{
    return is_double(plan) ? ssm2d_kernel_backward_double(plan, ws, params, dkernel, dparams)
                           : ssm2d_kernel_backward(plan, ws, params, dkernel, dparams);
}

#endif
