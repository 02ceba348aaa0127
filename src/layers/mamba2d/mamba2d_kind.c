/* mamba2d_kind - the selective scan of Mamba2D: one state with two predecessors, each with steps
 * and B of its own. T is the predecessor above, L the one on the left; aT = exp(dtT*AT) and
 * sT = dtT*BT*u:
 *     h[i,j] = (aL*h[i,j-1] + sL + aT*h[i-1,j] + sT) / 2       inside
 *     h[0,j] = aL*h[0,j-1] + sL,  h[i,0] = aT*h[i-1,0] + sT    along the border of the image
 *     y = C.h + D*u, from one corner, or the mean of two */
#include "core/status.h"
#include "layers/scan/diagonal_plan.h"

#include <string.h>

enum { TOP_LEFT, BOTTOM_RIGHT, BOTH };
static const char *const corner_names[] = {"top_left", "bottom_right", "both", NULL};

static const ssm2d_field fields[] = {
    DIAGONAL_FIELDS("4"),
    DIAGONAL_NUMBER(directions, 1, 2, "1", "scans: 1, or 2 for both corners"),
    {"corner", "corner where scans begin: top_left, bottom_right, or both (the mean of two scans)",
     SSM2D_KIND_CHOICE, offsetof(diagonal_config, corner), 0, BOTH, "top_left", corner_names, NULL},
    {0}};

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const diagonal_config *c = config;
    if ((c->corner == BOTH) != (c->directions == 2))
        return fail(error, SSM2D_ERROR_ARGUMENT, "directions=%d: corner=%s needs directions=%d",
                    c->directions, corner_names[c->corner], c->corner == BOTH ? 2 : 1);
    return diagonal_check(config, error);
}

static int arrays(const void *config, layer_array *table)
{
    return diagonal_arrays(config, 2, table);
}

/* Both predecessors begin with the same steps. */
static void settle(const void *config, layer_element *params)
{
    const ssm2d_layer layer = layer_of(&layer_mamba2d, config);
    const diagonal_config *c = config;
    const size_t from = diagonal_offset(&layer, "dt_biasT"),
                 to = diagonal_offset(&layer, "dt_biasL");
    for (size_t i = 0; i < (size_t)c->directions * (size_t)c->channels; i++)
        layer_element_put(params, to + i, layer_element_get(params, from + i));
}

static void begin(ssm2d_plan *plan, const void *config)
{
    diagonal_plan *p = (diagonal_plan *)plan;
    const ssm2d_layer layer = layer_of(&layer_mamba2d, config);
    const diagonal_config *c = config;
    diagonal_begin(p, &layer, 2);
    p->form = SCAN_PAIR;
    p->gain = 1.0 / c->directions;
    p->corner = 1;
    p->inside = 0.5;
    for (int k = 0; k < c->directions; k++) {
        const int turned = c->corner == BOTTOM_RIGHT || k;
        p->walk[k].cells = scan_walk_of(plan->rows, plan->cols, 0, turned, turned);
    }
}

const layer_kind layer_mamba2d = {.name = "mamba2d",
                                  .help = "selective scan of Mamba2D: two predecessors",
                                  .config_size = sizeof(diagonal_config),
                                  .fields = fields,
                                  .plan_size = sizeof(diagonal_plan),
                                  .axes = 1U << 2,
                                  .check = check,
                                  .arrays = arrays,
                                  .draw = diagonal_draw,
                                  .settle = settle,
                                  .begin = begin,
                                  .functions = {&diagonal_functions_f32, &diagonal_functions_f64}};
