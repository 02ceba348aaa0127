/* ssm2d_kind - the kind `ssm2d`: its settings, its parameters, and its kernel in pictures. */
#include "core/arith.h"
#include "core/status.h"
#include "layers/ssm2d/ssm2d_plan.h"

#include <string.h>

/* ---- settings -------------------------------------------------------------------------------- */

/* Large enough for anything sensible, small enough that products of three fit size_t with room. */
enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_SYSTEMS = 1 << 16, MAX_TRUNC = 1 << 20 };

static const char *const pair_names[] = {"both", "columns", NULL};
static const char *const norm_names[] = {"none", "half", "relaxed", "paper", NULL};
static const char *const values_names[] = {"real", "polar", "cartesian", NULL};
static const char *const assign_names[] = {"authors", "distinct", "paper", NULL};
static const char *const activation_names[] = {"none", "silu", NULL};
static const int directions_allowed[] = {1, 2, 4, 0};

#define PLACE(name) offsetof(ssm2d_config, name)
/* clang-format off */
#define NUMBER(name, low, high, value, help)                                                       \
    {#name, help, SSM2D_KIND_INT, PLACE(name), low, high, value, NULL, NULL}
#define CHOICE(name, names, value, help)                                                           \
    {#name, help, SSM2D_KIND_CHOICE, PLACE(name), 0, sizeof names / sizeof *names - 2, value,      \
     names, NULL}
#define FLAG(name, value, help)                                                                    \
    {#name, help, SSM2D_KIND_FLAG, PLACE(name), 0, 1, value, NULL, NULL}
/* clang-format on */

static const ssm2d_field fields[] = {
    NUMBER(channels, 1, MAX_CHANNELS, NULL, "channels of the input, each filtered by itself"),
    LAYER_INIT_FIELD(ssm2d_config, "identity"),
    NUMBER(d_state, 1, MAX_STATE, "16", "dimension of the state of a system"),
    NUMBER(n_ssm, 1, MAX_SYSTEMS, "2", "systems per direction; channels use them in turn"),
    {"directions", "corners of the image the layer looks towards: 1, 2 or 4", SSM2D_KIND_INT,
     PLACE(directions), 1, 4, "4", NULL, directions_allowed},
    CHOICE(pair, pair_names, "both",
           "what the second of two directions mirrors: both axes, or columns only"),
    FLAG(average, "false", "directions are averaged, not summed"),
    CHOICE(norm, norm_names, "relaxed", "normalisation of the recursion"),
    CHOICE(values, values_names, "real",
           "numbers of the systems: real, or complex in one of two forms"),
    FLAG(share_directions, "false", "every direction uses the same systems"),
    FLAG(c_per_channel, "false", "C for each direction and channel, not for each system"),
    FLAG(skip, "true", "adds D times the input"),
    FLAG(layer_norm, "false", "LayerNorm over channels at the end"),
    NUMBER(trunc_rows, 0, MAX_TRUNC, "0", "cuts the kernel to this many rows; 0: all"),
    NUMBER(trunc_cols, 0, MAX_TRUNC, "0", "cuts the kernel to this many columns; 0: all"),
    CHOICE(
        assign, assign_names, "distinct",
        "systems of a channel: paper (every direction has its own), distinct, or authors (2024)"),
    CHOICE(activation, activation_names, "none", "what the output goes through at the end"),
    {0}};

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const ssm2d_config *c = config;
    if (c->layer_norm && c->activation)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "activation=%s: there is none behind a LayerNorm; use layer_norm=false",
                    activation_names[c->activation]);
    return SSM2D_OK;
}

static int ends_with_silu(const void *config)
{
    return ((const ssm2d_config *)config)->activation == SSM2D_ACTIVATION_SILU;
}

ssm2d_config ssm2d_config_default(void)
{
    ssm2d_layer layer = layer_default(&layer_ssm2d);
    return *ssm2d_config_of(&layer.values);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* How the elements of one array are drawn. */
enum { DRAW_SMALL, DRAW_UNIFORM, DRAW_NORMAL, DRAW_C, DRAW_D, DRAW_ONE, DRAW_ZERO };

/* The one place that says which arrays there are, in which order. */
static int arrays(const void *configuration, layer_array *table)
{
    const ssm2d_config *config = configuration;
    const size_t K = (size_t)config_systems(config), C = (size_t)config_c_rows(config),
                 N = (size_t)config->d_state, H = (size_t)config->channels;
    int n = 0;
    switch (config->values) {
    case SSM2D_REAL:
        table[n++] = LAYER_ARRAY("A", DRAW_SMALL, 4, K, N);
        table[n++] = LAYER_ARRAY("B", DRAW_SMALL, 2, K, N);
        table[n++] = LAYER_ARRAY("C", DRAW_C, 2, C, N);
        break;
    case SSM2D_POLAR:
        table[n++] = LAYER_ARRAY("A_angle", DRAW_UNIFORM, 4, K, N);
        table[n++] = LAYER_ARRAY("A_radius", DRAW_UNIFORM, 4, K, N);
        table[n++] = LAYER_ARRAY("B_angle", DRAW_SMALL, 2, K, N);
        table[n++] = LAYER_ARRAY("B_radius", DRAW_SMALL, 2, K, N);
        table[n++] = LAYER_ARRAY("C_angle", DRAW_NORMAL, 2, C, N);
        table[n++] = LAYER_ARRAY("C_radius", DRAW_C, 2, C, N);
        break;
    case SSM2D_CARTESIAN:
        table[n++] = LAYER_ARRAY("A_angle", DRAW_UNIFORM, 4, K, N);
        table[n++] = LAYER_ARRAY("A_radius", DRAW_UNIFORM, 4, K, N);
        table[n++] = LAYER_ARRAY("B", DRAW_SMALL, 2, K, N, 2);
        table[n++] = LAYER_ARRAY("C", DRAW_C, 2, C, N, 2);
        break;
    }
    for (int i = 0; i < n; i++) table[i].param.system = 1;
    if (config->skip) {
        table[n] = LAYER_ARRAY("D", DRAW_D, H);
        table[n].param.decay_paper = 1;
        table[n++].param.decay = 1;
    }
    if (config->layer_norm) {
        table[n] = LAYER_ARRAY("gamma", DRAW_ONE, H);
        table[n++].param.decay = 1;
        table[n++] = LAYER_ARRAY("beta", DRAW_ZERO, H);
    }
    return n;
}

/* `identity`: D is 1, and C a tenth of what the authors have. */
static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const int identity = ((const ssm2d_config *)config)->init == LAYER_INIT_IDENTITY;
    (void)k;
    switch (array->draw) {
    case DRAW_SMALL: return 0.2 * rng_normal(r);
    case DRAW_UNIFORM: return rng_uniform(r, 0.5, 3);
    case DRAW_NORMAL: return rng_normal(r);
    case DRAW_C: return (identity ? 0.1 : 1) * rng_normal(r);
    case DRAW_D: return identity ? 1 : rng_normal(r);
    case DRAW_ONE: return 1;
    default: return 0;
    }
}

static param_offsets params_offsets(const ssm2d_config *config)
{
    static const struct {
        const char *name;
        size_t place;
    } places[] = {{"A", offsetof(param_offsets, a)},
                  {"A_radius", offsetof(param_offsets, a)},
                  {"A_angle", offsetof(param_offsets, a_angle)},
                  {"B", offsetof(param_offsets, b)},
                  {"B_radius", offsetof(param_offsets, b)},
                  {"B_angle", offsetof(param_offsets, b_angle)},
                  {"C", offsetof(param_offsets, c)},
                  {"C_radius", offsetof(param_offsets, c)},
                  {"C_angle", offsetof(param_offsets, c_angle)},
                  {"D", offsetof(param_offsets, d)},
                  {"gamma", offsetof(param_offsets, gamma)},
                  {"beta", offsetof(param_offsets, beta)}};
    layer_array table[LAYER_ARRAYS];
    param_offsets at = {0};
    const ssm2d_layer layer = layer_of(&layer_ssm2d, config);
    const int count = layer_arrays(&layer, table);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            if (!strcmp(places[k].name, table[i].param.name))
                memcpy((char *)&at + places[k].place, &table[i].param.offset, sizeof(size_t));
    return at;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void begin(ssm2d_plan *plan, const void *configuration)
{
    ssm2d_kind_plan *p = (ssm2d_kind_plan *)plan;
    const ssm2d_config *c = configuration;
    p->config = *c;
    p->params = params_offsets(c);
    p->systems = config_systems(c);
    p->c_rows = config_c_rows(c);
    p->width = div_up(c->d_state, plan->lanes) * plan->lanes;
    p->wide = c->values == SSM2D_REAL ? p->width : 2 * p->width;
    p->trunc_rows = c->trunc_rows ? min_int(c->trunc_rows, plan->rows) : plan->rows;
    p->trunc_cols = c->trunc_cols ? min_int(c->trunc_cols, plan->cols) : plan->cols;
}

static ssm2d_status stream_check(const void *configuration, size_t cols, ssm2d_error *error)
{
    const ssm2d_config *config = configuration;
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

/* ---- pictures -------------------------------------------------------------------------------- */

static int pictures(const void *config)
{
    const ssm2d_config *c = config;
    return min_int(config_c_rows(c), c->channels);
}

/* Adds the kernels of all directions of channel h where they meet. */
static void picture(const void *config, const float *kernels, const size_t *shape, int h, int rows,
                    int cols, double *out)
{
    const ssm2d_config *c = config;
    const size_t cells = shape[2] * shape[3], width = 2 * (size_t)cols - 1;
    const double scale = c->average ? 1.0 / c->directions : 1;
    memset(out, 0, (2 * (size_t)rows - 1) * width * sizeof *out);
    for (int r = 0; r < c->directions; r++) {
        const flip f = config_flip(c, r);
        const float *one = kernels + row_major(r, c->channels, h) * cells;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++) {
                const int di = f.rows ? i : -i, dj = f.cols ? j : -j;
                out[(size_t)(di + rows - 1) * width + (size_t)(dj + cols - 1)] +=
                    scale * (double)one[row_major(i, cols, j)];
            }
    }
}

/* All directions and D are one kernel. */
static const layer_convolution convolution = {
    .skip = "D", .gamma = "gamma", .beta = "beta", .silu = ends_with_silu};

const layer_kind layer_ssm2d = {.name = "ssm2d",
                                .help = "the 2-D state-space layer",
                                .config_size = sizeof(ssm2d_config),
                                .fields = fields,
                                .headline = "values",
                                .plan_size = sizeof(ssm2d_kind_plan),
                                .axes = 1U << 2,
                                .check = check,
                                .arrays = arrays,
                                .draw = draw,
                                .begin = begin,
                                .functions = {&ssm2d_functions_f32, &ssm2d_functions_f64},
                                .stream_check = stream_check,
                                .pictures = pictures,
                                .picture = picture,
                                .convolution = &convolution};
