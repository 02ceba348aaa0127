/* ssm2d_selective_kind - settings and parameters of the selective 2-D SSM. With W2 = 0, Wc = 0 and
 * dt_bias = log(e - 1) every step is 1, and the layer is the 2-D SSM with the same A, B, C and D:
 * initial values are these, so that it can start from a trained ssm2d layer. Weight decay acts on
 * W1, W2, Wc and D; it pulls the layer towards the one without steps. */
#include "core/status.h"
#include "layers/ssm2d_selective/selective_plan.h"

#include <math.h>
#include <string.h>

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 10, MAX_SYSTEMS = 1 << 16 };

static const char *const pair_names[] = {"both", "columns", NULL};
static const char *const norm_names[] = {"none", "half", "relaxed", NULL};
static const char *const assign_names[] = {"authors", "distinct", "paper", NULL};
static const int directions_allowed[] = {1, 2, 4, 0};

#define PLACE(name) offsetof(selective_config, name)
/* clang-format off */
#define NUMBER(name, place, low, high, value, help)                                                \
    {#name, help, SSM2D_KIND_INT, PLACE(place), low, high, value, NULL, NULL}
#define CHOICE(name, names, value, help)                                                           \
    {#name, help, SSM2D_KIND_CHOICE, PLACE(core.name), 0, sizeof names / sizeof *names - 2, value, \
     names, NULL}
#define FLAG(name, place, value, help)                                                             \
    {#name, help, SSM2D_KIND_FLAG, PLACE(place), 0, 1, value, NULL, NULL}
/* clang-format on */

static const ssm2d_field fields[] = {
    NUMBER(channels, core.channels, 1, MAX_CHANNELS, NULL, "channels of the input"),
    {LAYER_INIT, "initial values: identity (close to no mixer), or authors (the paper's code)",
     SSM2D_KIND_CHOICE, PLACE(core.init), 0, 1, "identity", layer_init_names, NULL},
    NUMBER(d_state, core.d_state, 1, MAX_STATE, "16", "dimension of the state of a system"),
    NUMBER(n_ssm, core.n_ssm, 1, MAX_SYSTEMS, "2",
           "systems per direction; channels use them in turn"),
    {"directions", "directions of the recursion, each from one corner of the image: 1, 2 or 4",
     SSM2D_KIND_INT, PLACE(core.directions), 1, 4, "4", NULL, directions_allowed},
    CHOICE(pair, pair_names, "both",
           "axes that the second of two directions mirrors: both, or columns only"),
    NUMBER(dt_rank, dt_rank, 0, MAX_CHANNELS, "0",
           "rank of the projection to the steps; 0: channels / 16, rounded up"),
    CHOICE(assign, assign_names, "distinct",
           "systems of a channel: paper (every direction has its own), distinct, or authors"),
    FLAG(share_directions, core.share_directions, "false", "all directions use the same systems"),
    FLAG(c_per_channel, core.c_per_channel, "false",
         "a C for each direction and channel instead of each system"),
    CHOICE(norm, norm_names, "relaxed", "normalisation of the recursion"),
    FLAG(c_cell, c_cell, "false", "C depends on the cell, too"),
    FLAG(input_dt, input_dt, "true", "steps multiply the input, so that a cell can be ignored"),
    FLAG(skip, core.skip, "true", "adds D times the input"),
    {0}};

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const selective_config *c = config;
    if (c->dt_rank > c->core.channels)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "dt_rank=%d: is larger than channels=%d; use at most that, or 0", c->dt_rank,
                    c->core.channels);
    return SSM2D_OK;
}

enum { DRAW_SMALL, DRAW_C, DRAW_D, DRAW_W1, DRAW_ZERO, DRAW_BIAS };

static int arrays(const void *config, layer_array *table)
{
    const selective_config *s = config;
    const ssm2d_config *c = &s->core;
    const size_t K = (size_t)config_systems(c), N = (size_t)c->d_state, H = (size_t)c->channels,
                 J = (size_t)selective_rank(s);
    int n = 0;
    table[n++] = LAYER_ARRAY("A", DRAW_SMALL, 4, K, N);
    table[n++] = LAYER_ARRAY("B", DRAW_SMALL, 2, K, N);
    table[n++] = LAYER_ARRAY("C", DRAW_C, 2, (size_t)config_c_rows(c), N);
    for (int i = 0; i < n; i++) table[i].param.system = 1;
    if (c->skip) {
        table[n] = LAYER_ARRAY("D", DRAW_D, H);
        table[n].param.decay = table[n].param.decay_paper = 1;
        n++;
    }
    const int first = n;
    table[n++] = LAYER_ARRAY("W1", DRAW_W1, J, H);
    table[n++] = LAYER_ARRAY("W2", DRAW_ZERO, K, J);
    if (s->c_cell) table[n++] = LAYER_ARRAY("Wc", DRAW_ZERO, 2, K, N, J);
    for (int i = first; i < n; i++) table[i].param.decay = table[i].param.decay_paper = 1;
    table[n] = LAYER_ARRAY("dt_bias", DRAW_BIAS, K);
    table[n++].param.system = 1;
    return n;
}

static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const ssm2d_config *c = &((const selective_config *)config)->core;
    const int identity = c->init == LAYER_INIT_IDENTITY;
    const double bound = 1 / sqrt(c->channels);
    (void)k;
    switch (array->draw) {
    case DRAW_SMALL: return 0.2 * rng_normal(r);
    case DRAW_C: return (identity ? 0.1 : 1) * rng_normal(r);
    case DRAW_D: return identity ? 1 : rng_normal(r);
    case DRAW_W1: return rng_uniform(r, -bound, bound);
    case DRAW_BIAS: return log(expm1(1));
    default: return 0;
    }
}

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

static size_t offset_of(const ssm2d_layer *layer, const char *name)
{
    ssm2d_param p;
    for (int i = 0; ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, name)) return p.offset;
    return SIZE_MAX;
}

static void begin(ssm2d_plan *plan, const void *config)
{
    selective_plan *p = (selective_plan *)plan;
    const ssm2d_layer layer = layer_of(&layer_ssm2d_selective, config);
    p->config = *(const selective_config *)config;
    const ssm2d_config *c = &p->config.core;
    const int N = c->d_state, J = selective_rank(&p->config);
    const int period = assign_systems(c, 0).period;
    p->ranks = J;
    p->patterns = min_int(plan->vectors, period / common_divisor(period, plan->lanes));
    p->a = offset_of(&layer, "A");
    p->b = offset_of(&layer, "B");
    p->c = offset_of(&layer, "C");
    p->d = offset_of(&layer, "D");
    p->w2 = offset_of(&layer, "W2");
    p->wc = offset_of(&layer, "Wc");
    p->bias = offset_of(&layer, "dt_bias");
    for (int r = 0; r < c->directions; r++) {
        const flip f = config_flip(c, r);
        p->walk[r] = scan_walk_of(plan->rows, plan->cols, 0, f.rows, f.cols);
    }
    p->scan.projection.maps = p->scan.projection.segments = 1;
    p->scan.projection.columns = J;
    p->scan.projection.segment[0] = (scan_segment){offset_of(&layer, "W1"), J};
    p->at = (selective_layout){.b = 4 * N, .w2 = 6 * N, .bias = 6 * N + J, .wc = 6 * N + J + 1};
    p->at.shared = p->at.wc + (p->config.c_cell ? 2 * N * J : 0);
    p->at.d = 2 * N;
    p->at.own = 2 * N + 1;
}

const layer_kind layer_ssm2d_selective = {
    .name = "ssm2d_selective",
    .help = "2-D state-space layer with a step per cell",
    .config_size = sizeof(selective_config),
    .fields = fields,
    .plan_size = sizeof(selective_plan),
    .axes = 1U << 2,
    .check = check,
    .arrays = arrays,
    .draw = draw,
    .begin = begin,
    .functions = {&selective_functions_f32, &selective_functions_f64}};
