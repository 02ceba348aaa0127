/* roesser_kind - settings and parameters of the selective Roesser model. With sg the logistic
 * function and lin(p) = p_bias + p_weight u, per direction and head,
 *     P:  o = sg(o_bias + o_weight u / (2 channels))
 *         s, t, m = sg(lin(s)), f(lin(eig)), sg(lin(m))
 *         s_r = o*s, s_d = 1 - o*s, t_rl = t_ru = o*t, t_dl = t_du = 1 - o*t, m_l = m_u = m
 *     D:  s_r, s_d, m_l, m_u = sg(lin(sr)), sg(lin(sd)), sg(lin(ml)), sg(lin(mu))
 *         t_rl, t_du, x = f(lin(tr)), f(lin(td)), f(lin(tx)); chirality L: t_ru = x, t_dl = 0,
 *         R: t_dl = x, t_ru = 0
 * f is sg by default. The published layer has tanh(5 p); with negative transitions the states of P
 * can grow without bound, because only their signed sum is conserved. */
#include "core/status.h"
#include "layers/roesser/roesser_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 10 };

static const char *const mode_names[] = {"P", "D", NULL};
static const char *const chirality_names[] = {"L", "R", NULL};
static const char *const transition_names[] = {"sigmoid", "tanh", NULL};
static const int directions_allowed[] = {1, 2, 4, 0};

#define PLACE(name) offsetof(roesser_config, name)
/* clang-format off */
#define NUMBER(name, low, high, value, help)                                                       \
    {#name, help, SSM2D_KIND_INT, PLACE(name), low, high, value, NULL, NULL}
#define CHOICE(name, names, value, help)                                                           \
    {#name, help, SSM2D_KIND_CHOICE, PLACE(name), 0, sizeof names / sizeof *names - 2, value,      \
     names, NULL}
/* clang-format on */

static const ssm2d_field fields[] = {
    NUMBER(channels, 1, MAX_CHANNELS, NULL, "channels of the input"),
    NUMBER(heads, 0, MAX_CHANNELS, "0",
           "heads, which divide the channels; 0: 4 if they do, else 1"),
    NUMBER(d_qk, 1, MAX_STATE, "16", "width of queries and keys of a head"),
    NUMBER(d_v, 0, MAX_CHANNELS, "0", "width of values of a head; 0: channels / heads"),
    {"directions", "directions of the recurrence, each from one corner of the image: 1, 2 or 4",
     SSM2D_KIND_INT, PLACE(directions), 1, 4, "4", NULL, directions_allowed},
    CHOICE(mode, mode_names, "D", "gates: P (propagation) or D (diffusive distribution)"),
    CHOICE(chirality, chirality_names, "L", "mode D: which states turn, L (t_ru) or R (t_dl)"),
    CHOICE(transition, transition_names, "sigmoid",
           "transitions: sigmoid (not negative), or tanh (published; may explode in mode P)"),
    {0}};

static int heads_of(const roesser_config *c)
{
    return c->heads ? c->heads : c->channels % 4 ? 1 : 4;
}

static int values_of(const roesser_config *c)
{
    return c->d_v ? c->d_v : c->channels / heads_of(c);
}

static ssm2d_status check(const void *config, ssm2d_error *error)
{
    const roesser_config *c = config;
    if ((long long)heads_of(c) * values_of(c) != c->channels)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "heads=%d, d_v=%d: their product must be channels=%d", heads_of(c),
                    values_of(c), c->channels);
    return SSM2D_OK;
}

enum { DRAW_MATRIX, DRAW_O, DRAW_ONE, DRAW_CLOSED, DRAW_ZERO };

/* Names of each value's bias and weight. */
static const char *const names[2][ROESSER_LINEAR][2] = {{{"o_bias", "o_weight"},
                                                         {"s_bias", "s_weight"},
                                                         {"eig_bias", "eig_weight"},
                                                         {"m_bias", "m_weight"}},
                                                        {{"sr_bias", "sr_weight"},
                                                         {"sd_bias", "sd_weight"},
                                                         {"ml_bias", "ml_weight"},
                                                         {"mu_bias", "mu_weight"},
                                                         {"tr_bias", "tr_weight"},
                                                         {"td_bias", "td_weight"},
                                                         {"tx_bias", "tx_weight"}}};

static int arrays(const void *config, layer_array *table)
{
    const roesser_config *c = config;
    const size_t n = (size_t)heads_of(c), C = (size_t)c->channels, R = (size_t)c->directions;
    int count = 0;
    table[count++] = LAYER_ARRAY("Wq", DRAW_MATRIX, n, (size_t)c->d_qk, C);
    table[count++] = LAYER_ARRAY("Wk", DRAW_MATRIX, n, (size_t)c->d_qk, C);
    table[count++] = LAYER_ARRAY("Wv", DRAW_MATRIX, n, (size_t)values_of(c), C);
    for (int i = 0; i < roesser_linear(c); i++) {
        const int draw = c->mode == ROESSER_P && i == 0 ? DRAW_O
                         : roesser_is_transition(c, i)  ? DRAW_ONE
                                                        : DRAW_CLOSED;
        table[count++] = LAYER_ARRAY(names[c->mode][i][0], draw, R, n);
        table[count++] = LAYER_ARRAY(names[c->mode][i][1], DRAW_ZERO, R, n, C);
    }
    table[count++] = LAYER_ARRAY("direct_bias", DRAW_CLOSED, n);
    table[count++] = LAYER_ARRAY("direct_weight", DRAW_ZERO, n, C);
    for (int i = 0; i < count; i++) {
        const int bias = i >= 3 && i % 2;
        table[i].param.system = bias;
        table[i].param.decay = table[i].param.decay_paper = !bias;
    }
    return count;
}

static double draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    const roesser_config *c = config;
    const double bound = 1 / sqrt(c->channels);
    switch (array->draw) {
    case DRAW_MATRIX: return rng_uniform(r, -bound, bound);
    case DRAW_O:
        return heads_of(c) > 1 ? -2 + 4.0 * (double)(k % (size_t)heads_of(c)) / (heads_of(c) - 1)
                               : -2;
    case DRAW_ONE: return 1;
    case DRAW_CLOSED: return -5;
    default: return 0;
    }
}

static size_t offset_of(const ssm2d_layer *layer, const char *name)
{
    ssm2d_param p;
    for (int i = 0; ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, name)) return p.offset;
    return SIZE_MAX;
}

static void begin(ssm2d_plan *plan, const void *config)
{
    roesser_plan *p = (roesser_plan *)plan;
    const ssm2d_layer layer = layer_of(&layer_roesser, config);
    scan_projection *s = &p->scan.projection;
    p->config = *(const roesser_config *)config;
    p->config.heads = heads_of(&p->config);
    p->config.d_v = values_of(&p->config);
    const roesser_config *c = &p->config;
    const int wide = c->heads * c->d_qk, gates = c->directions * c->heads, L = roesser_linear(c);
    p->k_at = wide;
    p->linear_at = 2 * wide;
    p->direct_at = p->linear_at + L * gates;
    p->v_at = p->direct_at + c->heads;
    p->padded_heads = div_up(c->heads, plan->lanes) * plan->lanes;
    s->segment[s->segments++] = (scan_segment){offset_of(&layer, "Wq"), wide};
    s->segment[s->segments++] = (scan_segment){offset_of(&layer, "Wk"), wide};
    for (int i = 0; i < L; i++) {
        p->bias[i] = offset_of(&layer, names[c->mode][i][0]);
        s->segment[s->segments++] = (scan_segment){offset_of(&layer, names[c->mode][i][1]), gates};
    }
    p->direct_bias = offset_of(&layer, "direct_bias");
    s->segment[s->segments++] = (scan_segment){offset_of(&layer, "direct_weight"), c->heads};
    s->segment[s->segments++] = (scan_segment){offset_of(&layer, "Wv"), c->channels};
    s->maps = 1;
    s->columns = p->v_at + c->channels;
    s->width = p->v_at + plan->vectors * plan->lanes; /* at least: v is read in whole vectors */
    for (int r = 0; r < c->directions; r++) {
        const int both = c->directions == 2 && r;
        p->walk[r] =
            scan_walk_of(plan->rows, plan->cols, 0, both || r == 1 || r == 3, both || r >= 2);
    }
}

const layer_kind layer_roesser = {.name = "roesser",
                                  .help = "selective Roesser model, the core of pLSTM in 2-D",
                                  .config_size = sizeof(roesser_config),
                                  .fields = fields,
                                  .plan_size = sizeof(roesser_plan),
                                  .axes = 1U << 2,
                                  .check = check,
                                  .arrays = arrays,
                                  .draw = draw,
                                  .begin = begin,
                                  .functions = {&roesser_functions_f32, &roesser_functions_f64}};
