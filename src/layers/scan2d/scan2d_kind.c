/* scan2d_kind - the selective scan of 2DMamba: along every row, then along every column, so that a
 * single path joins two cells. With a = exp(dt*A) of the receiving cell,
 *     g = a*g_left + dt*B*u,   h = a*h_up + g,   y = C.h + D*u
 * for the image and, with four directions, its transpose and both turned by 180 degrees. */
#include "layers/scan/diagonal_plan.h"

static const int directions_allowed[] = {1, 4, 0};

static const ssm2d_field fields[] = {
    DIAGONAL_FIELDS("16"),
    {"directions", "images that are scanned: 1, or with its transpose and both turned, 4",
     SSM2D_KIND_INT, offsetof(diagonal_config, directions), 1, 4, "4", NULL, directions_allowed},
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
    const ssm2d_layer layer = layer_of(&layer_scan2d, config);
    const int directions = ((const diagonal_config *)config)->directions;
    diagonal_begin(p, &layer, 1);
    p->form = SCAN_TWICE;
    for (int k = 0; k < directions; k++)
        p->walk[k].cells = scan_walk_of(plan->rows, plan->cols, k & 1, k >> 1, k >> 1);
}

const layer_kind layer_scan2d = {.name = "scan2d",
                                 .help = "selective scan of 2DMamba: rows, then columns",
                                 .config_size = sizeof(diagonal_config),
                                 .fields = fields,
                                 .plan_size = sizeof(diagonal_plan),
                                 .axes = 1U << 2,
                                 .check = diagonal_check,
                                 .arrays = arrays,
                                 .draw = diagonal_draw,
                                 .begin = begin,
                                 .functions = {&diagonal_functions_f32, &diagonal_functions_f64}};
