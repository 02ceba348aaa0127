/* chimera_kind - the selective scan of Chimera on a grid, in linear time: a state S of d_qk x P
 * values per head of P channels, from each of the four corners. Edge 0 leads to the neighbour in
 * the row, edge 1 to the one in the column; m is the number of predecessors, at least 1:
 *     t = log(1 + exp(dt_raw + dt_bias)) of each edge that has a predecessor, else 0
 *     S = (exp(-t0)*S_0 + exp(-t1)*S_1 + (t0 + t1) * B x^T) / sqrt(m),  y += C^T S / 2
 * and y += D*x once. Corners 0 and 1 (above) use B, C and dt_raw of set 0, the others of set 1. */
#include "core/status.h"
#include "layers/scan/diagonal_plan.h"

#include <math.h>

typedef struct chimera_config {
    int channels, heads, d_qk, project;
} chimera_config;

#define NUMBER(name, high, value, help)                                                            \
    {                                                                                              \
#name, help, SSM2D_KIND_INT, offsetof(chimera_config, name), 1, high, value, NULL, NULL    \
    }

static const ssm2d_field fields[] = {
    NUMBER(channels, DIAGONAL_MAX_CHANNELS, NULL, "channels of the input"),
    {"heads", "heads, which divide the channels; 0: 4 if they do, else 1", SSM2D_KIND_INT,
     offsetof(chimera_config, heads), 0, DIAGONAL_MAX_CHANNELS, "0", NULL, NULL},
    NUMBER(d_qk, DIAGONAL_MAX_STATE, "16", "states of each channel"),
    {"project", "B, C and steps are projections of the input; they cannot be given",
     SSM2D_KIND_FLAG, offsetof(chimera_config, project), 0, 1, "true", NULL, NULL},
    {0}};

static int heads_of(const chimera_config *c)
{
    return c->heads ? c->heads : c->channels % 4 ? 1 : 4;
}

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const chimera_config *c = config;
    if (c->channels % heads_of(c))
        return fail(error, SSM2D_ERROR_ARGUMENT, "heads=%d: do not divide channels=%d", c->heads,
                    c->channels);
    if (!c->project)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "project=false: given B, C and dt_raw are not supported; use true");
    return SSM2D_OK;
}

static int columns_of(const chimera_config *c) { return 4 * c->d_qk + 4 * heads_of(c); }

static int arrays(const void *config, layer_array *table)
{
    const chimera_config *c = config;
    table[0] = LAYER_ARRAY("x_proj", DIAGONAL_X_PROJ, (size_t)columns_of(c), (size_t)c->channels);
    table[0].param.decay = table[0].param.decay_paper = 1;
    table[1] = diagonal_system(LAYER_ARRAY("dt_bias", DIAGONAL_DT_BIAS, (size_t)heads_of(c)));
    table[2] = LAYER_ARRAY("D", DIAGONAL_ONE, (size_t)heads_of(c));
    return 3;
}

static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const double in = 1 / sqrt(((const chimera_config *)config)->channels);
    (void)k;
    switch (array->draw) {
    case DIAGONAL_X_PROJ: return rng_uniform(r, -in, in);
    case DIAGONAL_DT_BIAS: return diagonal_draw_bias(r);
    default: return 1;
    }
}

/* Gate 0 of a plan is that of the predecessor above, edge 1. */
static void begin(ssm2d_plan *plan, const void *config)
{
    diagonal_plan *p = (diagonal_plan *)plan;
    const ssm2d_layer layer = layer_of(&layer_chimera, config);
    const chimera_config *c = config;
    p->form = SCAN_SHARED;
    p->walks = 4;
    p->states = c->d_qk;
    p->ranks = p->heads = heads_of(c);
    p->gates = 2;
    p->sources = 1;
    p->gain = 0.5;
    p->corner = 0;
    p->inside = sqrt(0.5);
    p->bias[0] = p->bias[1] = diagonal_offset(&layer, "dt_bias");
    p->d = diagonal_offset(&layer, "D");
    p->scan.projection.maps = p->scan.projection.segments = 1;
    p->scan.projection.columns = columns_of(c);
    p->scan.projection.segment[0] =
        (scan_segment){diagonal_offset(&layer, "x_proj"), columns_of(c)};
    for (int corner = 0; corner < 4; corner++) {
        diagonal_walk *w = &p->walk[corner];
        const int set = corner >> 1;
        w->cells = scan_walk_of(plan->rows, plan->cols, 0, set, corner & 1);
        w->b[0] = set * c->d_qk;
        w->c = 2 * c->d_qk + set * c->d_qk;
        w->rank_step = 4;
        w->rank[0] = 4 * c->d_qk + 2 * set + 1;
        w->rank[1] = 4 * c->d_qk + 2 * set;
    }
}

const layer_kind layer_chimera = {.name = "chimera",
                                  .help = "selective scan of Chimera: heads, from four corners",
                                  .config_size = sizeof(chimera_config),
                                  .fields = fields,
                                  .plan_size = sizeof(diagonal_plan),
                                  .axes = 1U << 2,
                                  .check = check,
                                  .arrays = arrays,
                                  .draw = draw,
                                  .begin = begin,
                                  .functions = {&diagonal_functions_f32, &diagonal_functions_f64}};
