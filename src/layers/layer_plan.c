/* layer_plan - checks a request and creates the plan, for all kinds of layers; plan_chooser.c
 * chooses the algorithm. */
#include "core/arith.h"
#include "core/float_mode.h"
#include "core/reserve.h"
#include "core/status.h"
#include "layers/layer_kind.h"

#include <stdio.h>
#include <string.h>

size_t plan_reserve(ssm2d_plan *p, size_t count, size_t size)
{
    return reserve_bytes(&p->bytes, count, size);
}

/* Sets all members that do not depend on the algorithm. */
static void begin(ssm2d_plan *p, ssm2d_context *context, const ssm2d_layer *layer,
                  const ssm2d_plan_options *o, const grid_plane *cells)
{
    p->context = context;
    p->kind = layer->kind;
    p->functions = layer->kind->functions[o->type];
    p->options = *o;
    p->channels = ssm2d_layer_channels(layer);
    p->rows = cells->rows;
    p->cols = cells->cols;
    p->in = cells->in;
    p->out = cells->out;
    p->simd = (o->type == SSM2D_DOUBLE ? layer_simd_f64 : layer_simd_f32)(context->cpu, &p->lanes);
    p->vectors = div_up(p->channels, p->lanes);
    p->bytes = RESERVE_ALIGNMENT; /* so that no region is at 0 */
    p->kind->begin(p, layer_config(layer));
}

static ssm2d_status check_axes(const layer_kind *kind, int axes, ssm2d_error *error)
{
    char list[16] = "";
    if (kind->axes & 1U << axes) return SSM2D_OK;
    for (int i = 1; i <= SSM2D_GRID_AXES; i++)
        if (kind->axes & 1U << i)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", *list ? ", " : "", i);
    return fail(error, SSM2D_ERROR_UNSUPPORTED, "grid.axes=%d: layers of kind %s take %s", axes,
                kind->name, list);
}

static ssm2d_status create(ssm2d_context *context, const ssm2d_layer *layer,
                           const ssm2d_plan_options *options, ssm2d_plan **out, ssm2d_error *error)
{
    ssm2d_plan_options o;
    grid_plane cells;
    ssm2d_status status = plan_options_read(&o, options, error);
    if (!status) status = plan_options_check(context, ssm2d_layer_channels(layer), &o, error);
    if (!status) status = check_axes(layer->kind, o.grid.axes, error);
    if (!status) status = plan_options_plane(&o, &cells, error);
    if (status) return status;
    ssm2d_plan *request = mem_alloc(context, layer->kind->plan_size);
    if (!request) return fail_memory(error, "plan");
    begin(request, context, layer, &o, &cells);
    status = plan_choose(request, layer, out, error);
    mem_free(context, request);
    if (!status) (*out)->options.algorithm = (*out)->algorithm; /* the caller's may be gone soon */
    return status;
}

ssm2d_status ssm2d_plan_create(ssm2d_context *context, const ssm2d_layer *layer,
                               const ssm2d_plan_options *options, ssm2d_plan **out,
                               ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "plan=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!layer)
        return fail(error, SSM2D_ERROR_ARGUMENT, "layer=NULL: make one with ssm2d_layer_create");
    const float_mode before = float_mode_set();
    const ssm2d_status status = create(context, layer, options, out, error);
    float_mode_restore(before);
    return status;
}

void ssm2d_plan_destroy(ssm2d_plan *plan)
{
    if (!plan) return;
    if (plan->functions->release) plan->functions->release(plan);
    mem_free(plan->context, plan);
}

const char *ssm2d_plan_algorithm(const ssm2d_plan *plan) { return plan ? plan->algorithm : NULL; }

size_t ssm2d_plan_bytes(const ssm2d_plan *plan) { return plan ? plan->bytes : 0; }
