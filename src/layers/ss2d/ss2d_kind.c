/* ss2d_kind - the selective scan of VMamba: every cell in four orders, row by row and column by
 * column, from either end. In each order, with the coefficients of the receiving cell,
 *     h = exp(dt*A)*h_before + dt*B*u,   y = C.h + D*u;   the layer is the sum of the four. */
#include "layers/scan/diagonal_plan.h"

static const int directions_allowed[] = {4, 0};

static const ssm2d_field fields[] = {
    DIAGONAL_FIELDS("1"),
    {"directions", "orders in which cells are visited: 4", SSM2D_KIND_INT,
     offsetof(diagonal_config, directions), 4, 4, "4", NULL, directions_allowed},
    {"normalize", "LayerNorm over channels at the end", SSM2D_KIND_FLAG,
     offsetof(diagonal_config, normalize), 0, 1, "false", NULL, NULL},
    {0}};

static int arrays(const void *config, layer_array *table)
{
    return diagonal_arrays(config, 1, table);
}

static void begin(ssm2d_plan *plan, const void *config)
{
    diagonal_plan *p = (diagonal_plan *)plan;
    const ssm2d_layer layer = layer_of(&layer_ss2d, config);
    diagonal_begin(p, &layer, 1);
    p->form = SCAN_LINE;
    for (int k = 0; k < 4; k++)
        p->walk[k].cells = scan_walk_of(plan->rows, plan->cols, k & 1, k >> 1, k >> 1);
}

const layer_kind layer_ss2d = {.name = "ss2d",
                               .help = "selective scan of VMamba: four orders of all cells",
                               .config_size = sizeof(diagonal_config),
                               .fields = fields,
                               .plan_size = sizeof(diagonal_plan),
                               .axes = 1U << 2,
                               .check = diagonal_check,
                               .arrays = arrays,
                               .draw = diagonal_draw,
                               .begin = begin,
                               .functions = {&diagonal_functions_f32, &diagonal_functions_f64}};
