/* The examples themselves: one builder for each operator, whose variants are shapes with tails and
 * axes of size one. */
#include "op_examples.h"

#include "core/rng.h"
#include "graph_helpers.h"
#include "ops/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_GIVEN = 4 };

typedef struct maker {
    graph *g;
    trial_mode mode;
    tensor *given[MOST_GIVEN];
    int count;
} maker;

#define SHAPE(...)                                                                                 \
    (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }

/* An input of the operator that is differentiated. */
static tensor *give(maker *m, int rank, const size_t *shape)
{
    tensor *x = graph_param(m->g, spec_of(rank, shape), "x%d", m->count);
    if (m->mode != OF_PARAMS) x = scale(m->g, x, 0.75);
    return m->given[m->count++] = x;
}

/* The same as a view: the columns of a wider one, without its first two and its last. */
static tensor *give_columns(maker *m, int rank, const size_t *shape)
{
    size_t wide[GRAPH_RANK];
    memcpy(wide, shape, (size_t)rank * sizeof *shape);
    wide[rank - 1] += 3;
    return columns(m->g, give(m, rank, wide), 2, shape[rank - 1]);
}

/* A parameter of the operator. */
static tensor *weight(maker *m, const char *name, int rank, const size_t *shape)
{
    return graph_param(m->g, spec_of(rank, shape), "%s", name);
}

/* Two inputs of the same shape: apart, the same twice, a view and none, two views of the same
 * tensor that overlap, that have a gap between them, and that are the same. */
enum { PAIRS = 8 };

static void pair(maker *m, int v, tensor **a, tensor **b)
{
    static const size_t shape[PAIRS][2] = {{3, 7},  {1, 1}, {4, 33}, {130, 257},
                                           {5, 19}, {4, 6}, {4, 17}, {3, 5}};
    const size_t width = shape[v][1];
    if (v < 4) {
        *a = give(m, 2, shape[v]);
        *b = v == 2 ? *a : give(m, 2, shape[v]);
    } else if (v == 4) {
        *a = give_columns(m, 2, shape[v]);
        *b = give(m, 2, shape[v]);
    } else {
        tensor *wide = give(m, SHAPE(shape[v][0], 2 * width + 3));
        *a = columns(m->g, wide, 1, width);
        *b = v == 7 ? *a : columns(m->g, wide, v == 5 ? width - 2 : width + 2, width);
    }
}

static tensor *add_example(maker *m, int v)
{
    tensor *a, *b;
    pair(m, v, &a, &b);
    return add(m->g, a, b);
}

static tensor *gate_example(maker *m, int v)
{
    tensor *a, *b;
    pair(m, v, &a, &b);
    return gate(m->g, a, b);
}

/* Without two views that overlap. */
static tensor *silu_gate_example(maker *m, int v)
{
    tensor *a, *b;
    pair(m, v + (v >= 5), &a, &b);
    return silu_gate(m->g, a, b);
}

/* All apart; all but x the same, with tails; u and h columns of one tensor. */
static tensor *gated_update_example(maker *m, int v)
{
    static const size_t shape[][2] = {{3, 7}, {1, 1}, {4, 33}, {130, 257}, {5, 19}};
    const size_t rows = shape[v][0], width = shape[v][1];
    tensor *x = v == 4 ? give_columns(m, 2, shape[v]) : give(m, 2, shape[v]);
    tensor *p = give(m, 2, shape[v]);
    if (v == 2) return gated_update(m->g, x, p, p, p);
    if (v < 4) return gated_update(m->g, x, give(m, 2, shape[v]), give(m, 2, shape[v]), p);
    tensor *both = give(m, SHAPE(rows, 2 * width + 1));
    return gated_update(m->g, x, columns(m->g, both, 0, width),
                        columns(m->g, both, width + 1, width), p);
}

static const size_t plain[][3] = {{2, 3, 5}, {1, 1, 1}, {3, 1, 16}, {1, 5, 19}, {1, 129, 130}};

/* The last variants are views. */
static tensor *give_plain(maker *m, int v)
{
    static const size_t shape[][3] = {{2, 3, 5}, {3, 1, 16}, {2, 130, 131}};
    return v < 5 ? give(m, 3, plain[v]) : give_columns(m, 3, shape[v - 5]);
}

static tensor *contiguous_example(maker *m, int v)
{
    return contiguous(m->g, give_plain(m, v + 5));
}
static tensor *scale_example(maker *m, int v) { return scale(m->g, give_plain(m, v), -1.25); }
static tensor *gelu_example(maker *m, int v) { return gelu(m->g, give_plain(m, v)); }
static tensor *silu_example(maker *m, int v) { return silu(m->g, give_plain(m, v)); }
static tensor *sigmoid_example(maker *m, int v) { return sigmoid(m->g, give_plain(m, v)); }
static tensor *softmax_example(maker *m, int v) { return softmax(m->g, give(m, 3, plain[v])); }
static tensor *dropout_example(maker *m, int v) { return dropout(m->g, give(m, 3, plain[v]), 0.3); }

static tensor *drop_path_example(maker *m, int v)
{
    static const size_t shape[][3] = {{6, 2, 3}, {1, 1, 1}, {9, 1, 17}};
    return drop_path(m->g, give(m, 3, shape[v]), 0.4);
}

static tensor *linear_example(maker *m, int v)
{
    static const struct {
        size_t rows, in, out;
        int bias, view;
    } s[] = {{5, 7, 9, 1, 0},     {1, 1, 1, 1, 0},    {17, 16, 3, 0, 0},   {300, 3, 5, 1, 0},
             {4, 5, 140, 1, 0},   {2100, 2, 3, 1, 0}, {13, 400, 20, 1, 0}, {40, 9, 48, 0, 0},
             {301, 17, 35, 1, 1}, {7, 32, 5, 0, 1}};
    tensor *x = s[v].view       ? give_columns(m, SHAPE(s[v].rows, s[v].in))
                : s[v].rows % 5 ? give(m, SHAPE(s[v].rows, s[v].in))
                                : give(m, SHAPE(5, s[v].rows / 5, s[v].in));
    return linear(m->g, x, weight(m, "w", SHAPE(s[v].out, s[v].in)),
                  s[v].bias ? weight(m, "b", SHAPE(s[v].out)) : NULL);
}

static tensor *scale_shift_example(maker *m, int v)
{
    static const struct {
        size_t rows, width, weights, row;
        int gamma, beta, view;
    } s[] = {{5, 7, 1, 0, 1, 1, 0},    {1, 1, 1, 0, 1, 1, 0},  {70, 19, 2, 1, 1, 1, 1},
             {4500, 3, 2, 0, 1, 1, 0}, {9, 16, 1, 0, 0, 1, 0}, {9, 5, 3, 2, 1, 0, 1}};
    tensor *x = s[v].view ? give_columns(m, SHAPE(s[v].rows, s[v].width))
                          : give(m, SHAPE(s[v].rows, s[v].width));
    tensor *gamma = s[v].gamma ? weight(m, "gamma", SHAPE(s[v].weights, s[v].width)) : NULL;
    tensor *beta = s[v].beta ? weight(m, "beta", SHAPE(s[v].weights, s[v].width)) : NULL;
    return scale_shift(m->g, x, gamma, beta, s[v].row);
}

static tensor *layer_norm_example(maker *m, int v)
{
    static const size_t shape[][3] = {{2, 3, 5},  {1, 1, 2},    {3, 1, 16}, {1, 4, 37},
                                      {4, 33, 8}, {2, 2100, 3}, {2, 40, 19}};
    tensor *x = v == 6 ? give_columns(m, 3, shape[v]) : give(m, 3, shape[v]);
    return layer_norm(m->g, x, weight(m, "gamma", SHAPE(shape[v][2])),
                      weight(m, "beta", SHAPE(shape[v][2])), 1e-2);
}

/* Running moments are state in training, and positive inputs where they are used. */
static tensor *running(maker *m, const char *name, size_t width)
{
    const param_spec spec = {.rank = 1, .shape = {width}, .group = PARAM_STATE};
    return m->g->random ? graph_param(m->g, &spec, "%s", name) : graph_input(m->g, name, 1, &width);
}

/* The last ones with the running moments. */
static tensor *batch_norm_example(maker *m, int v)
{
    static const size_t shape[][3] = {{2, 3, 5},  {2, 1, 1},   {3, 5, 16},   {1, 4, 37},
                                      {4, 33, 8}, {2, 700, 3}, {2, 2100, 3}, {2, 40, 19},
                                      {2, 3, 5},  {2, 40, 19}};
    if (v >= 8) m->g->random = 0;
    tensor *x = v == 7 || v == 9 ? give_columns(m, 3, shape[v]) : give(m, 3, shape[v]);
    const size_t width = shape[v][2];
    const batch_norm_arrays a = {.gamma = weight(m, "gamma", SHAPE(width)),
                                 .beta = weight(m, "beta", SHAPE(width)),
                                 .mean = running(m, "mean", width),
                                 .variance = running(m, "variance", width)};
    return batch_norm(m->g, x, &a, 0.1, 1e-2);
}

/* What attention_of can be given, and with `packed` attention. */
typedef struct attention_case {
    size_t batch;
    int rows, cols; /* tokens; rows 0: a sequence of `cols`, whose bias goes by key - query */
    size_t width, v_width;
    int heads;
    double scale;
    /* windows: an image has so many groups of tokens, each with one that is padding */
    int bias, groups, views, same, laplace, windows, packed;
} attention_case;

enum { LONGEST = 260, GROUPS = 3, LONGEST_MASKED = 108 };

static const attention_case long_cases[] = {
    {1, 0, 97, 16, 16, 2, .packed = 1},
    {1, 0, 197, 64, 64, 1, .packed = 1},
    {1, 0, 450, 2, 2, 1, .packed = 1},
    {2, 0, 17, 5, 9, 1, 0.05, .bias = 1, .views = 1, .laplace = 1},
    {2, 0, 7, 2, 3, 2, 0.2, .laplace = 1},
    {2, 20, 13, 1, 2, 1, .bias = 1},
    {3, 3, 4, 2, 5, 1, 0.1, .bias = 1, .groups = 3, .laplace = 1},
    {2, 20, 13, 2, 1, 2, 0.1, .bias = 1, .laplace = 1},
    {2, 0, 101, 3, 4, 2},
    {2, 0, 113, 4, 17, 1, 0.3, .views = 1},
    {2, 0, 98, 3, 3, 2, .same = 1},
    {4, 12, 9, 3, 2, 1, .bias = 1, .groups = 2},
    {2, 12, 9, 2, 3, 2, .bias = 1, .groups = 2, .windows = 2},
    {2, 3, 4, 2, 5, 1, 0.1, .bias = 1, .groups = 3, .laplace = 1, .windows = 3},
    {2, 0, 5, 2, 2, 2, 0.1, .laplace = 1, .windows = 2, .same = 1},
};

static const attention_case window_cases[] = {
    {2, 0, 5, 3, 3, 2, .packed = 1},
    {1, 0, 1, 1, 1, 1, .packed = 1},
    {2, 0, 17, 8, 8, 1, .packed = 1},
    {1, 0, 33, 20, 20, 1, .packed = 1},
    {3, 0, 8, 1, 1, 4, .packed = 1},
    {2, 0, 64, 3, 3, 1, .packed = 1},
    {1, 0, 65, 16, 16, 2, .packed = 1},
    {2, 0, 96, 3, 18, 1},
    {4, 8, 9, 3, 2, 1, .bias = 1, .groups = 2},
    {2, 0, 5, 3, 4, 2},
    {2, 0, 33, 4, 17, 1, 0.3, .views = 1},
    {5, 3, 4, 3, 2, 2, .bias = 1},
    {6, 3, 4, 4, 3, 2, .bias = 1, .groups = 3, .views = 1},
    {2, 0, 9, 3, 3, 2, .same = 1},
    {40, 0, 6, 2, 2, 3, .bias = 1},
    {4, 2, 5, 3, 3, 1, .groups = 2},
    {2, 4, 4, 3, 2, 2, .bias = 1, .groups = 3, .views = 1, .windows = 3},
    {70, 2, 2, 2, 1, 2, .bias = 1, .windows = 2},
    {3, 0, 5, 4, 4, 2, .windows = 1, .same = 1},
    {2, 7, 7, 2, 3, 1, .bias = 1, .groups = 2, .windows = 2},
};

static void positions_of(const attention_case *c, int position[LONGEST], attention_options *o)
{
    const int T = c->rows ? c->rows * c->cols : c->cols;
    o->position = position;
    for (int t = 0; t < T; t++)
        position[t] = c->rows ? t / c->cols * (2 * c->cols - 1) + t % c->cols : -t;
    /* of sequences some entries at both ends are not used */
    o->center = c->rows ? (c->rows - 1) * (2 * c->cols - 1) + c->cols - 1 : T + 1;
}

/* Tokens of different regions of a group do not see each other. */
static void mask_of(int groups, int tokens, float *mask)
{
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < tokens; i++)
            for (int t = 0; t < tokens; t++)
                *mask++ = (i % (g + 1) == 0) == (t % (g + 1) == 0) ? 0 : g == 2 ? -100 : -1;
}

/* Tokens of an image of `count`, mixed, in groups with one place of padding each. */
static void order_of(int groups, int tokens, int count, int *order)
{
    const int step = count % 5 ? 5 : 7; /* none of the counts is a multiple of both */
    for (int place = 0, t = 0; place < groups * tokens; place++)
        order[place] = place % tokens == tokens / 2 ? -1 : (t++ * step + 2) % count;
}

static tensor *attention_of_example(maker *m, const attention_case *c)
{
    static const int which_mask[GROUPS] = {1, -1, 0};
    int position[LONGEST], order[LONGEST];
    float mask[GROUPS * LONGEST_MASKED * LONGEST_MASKED];
    attention_options o = {.heads = c->heads,
                           .scale = c->scale,
                           .scores = c->laplace ? ATTENTION_LAPLACE : ATTENTION_SOFTMAX};
    const int tokens = c->rows ? c->rows * c->cols : c->cols;
    const size_t T = (size_t)(c->windows ? c->windows * (tokens - 1) : tokens),
                 heads = (size_t)c->heads, qk = c->width * heads, width = c->v_width * heads;
    tensor *q, *k, *v;
    if (c->packed) return attention(m->g, give(m, SHAPE(c->batch, T, 3 * qk)), c->heads);
    if (c->views) { /* of one tensor, in another order and with a gap */
        tensor *all = give(m, SHAPE(c->batch, T, 2 * qk + width + 3));
        v = columns(m->g, all, 1, width);
        q = columns(m->g, all, width + 1, qk);
        k = columns(m->g, all, width + qk + 3, qk);
    } else {
        q = give(m, SHAPE(c->batch, T, qk));
        k = c->same ? q : give(m, SHAPE(c->batch, T, qk));
        v = c->same ? q : give(m, SHAPE(c->batch, T, width));
    }
    if (c->bias) {
        positions_of(c, position, &o);
        const size_t entries = (size_t)(2 * o.center + 1);
        o.bias = heads > 1 ? give(m, SHAPE(entries, heads)) : give(m, SHAPE(entries));
    }
    if (c->groups) {
        mask_of(c->groups, tokens, mask);
        o.mask = mask;
        o.groups = c->groups;
    }
    if (c->windows) {
        order_of(c->windows, tokens, (int)T, order);
        o.order = order;
        o.tokens = tokens;
        o.groups = c->windows;
        o.mask_of = which_mask;
        o.masks = 2;
    }
    return attention_of(m->g, q, k, v, &o);
}

static tensor *attention_example(maker *m, int v)
{
    return attention_of_example(m, &long_cases[v]);
}

static tensor *window_attention_example(maker *m, int v)
{
    return attention_of_example(m, &window_cases[v]);
}

static tensor *patches_example(maker *m, int v)
{
    static const size_t shape[][4] = {{2, 3, 4, 6}, {1, 1, 1, 1}, {2, 1, 3, 9}};
    static const int patch[] = {2, 1, 3};
    return patches(m->g, give(m, 4, shape[v]), patch[v]);
}

static tensor *embed_example(maker *m, int v)
{
    static const struct {
        size_t batch, tokens, width;
        int cls, pos;
    } s[] = {{2, 3, 5, 1, 1}, {1, 1, 1, 0, 1}, {3, 2, 9, 1, 0}, {2, 2, 2, 0, 0}};
    tensor *x = give(m, SHAPE(s[v].batch, s[v].tokens, s[v].width));
    tensor *cls = s[v].cls ? weight(m, "cls", SHAPE(1, 1, s[v].width)) : NULL;
    tensor *pos =
        s[v].pos ? weight(m, "pos", SHAPE(1, s[v].tokens + (size_t)s[v].cls, s[v].width)) : NULL;
    return embed(m->g, x, cls, pos);
}

static tensor *rearrange_example(maker *m, int v)
{
    static const int turned[] = {2, 0, 1, 5, 3, 4}, padded[] = {-1, 3, 1, -1, 0, 2, -1, -1, 4},
                     repeated[] = {1, 1, -1, 1, 3, 0, 3, 1}, one[] = {0};
    static const size_t grids[][2] = {{4, 6}, {3, 5}, {1, 1}, {64, 33}};
    switch (v) {
    case 0: /* whole to windows */
        return rearrange(m->g, give(m, SHAPE(3, 6, 5)), turned, 6,
                         &(rearrange_shape){3, 2, 3, 1, {0}});
    case 1: /* and back */
        return rearrange(m->g, give(m, SHAPE(6, 3, 19)), turned, 6,
                         &(rearrange_shape){3, 1, 6, 1, {0}});
    case 2:
        return rearrange(m->g, give_columns(m, SHAPE(2, 5, 7)), padded, 9,
                         &(rearrange_shape){2, 3, 3, 1, {0}});
    case 3: /* copies of some tokens, none of others */
        return rearrange(m->g, give(m, SHAPE(3, 4, 6)), repeated, 8,
                         &(rearrange_shape){3, 2, 2, 2, {0}});
    case 4:
        return rearrange(m->g, give(m, SHAPE(1, 1, 1)), one, 1,
                         &(rearrange_shape){1, 1, 1, 1, {0}});
    default:
        return merge(m->g, give(m, SHAPE(2, grids[v - 5][0] * grids[v - 5][1], 9)),
                     (int)grids[v - 5][0], (int)grids[v - 5][1]);
    }
}

static tensor *take_token_example(maker *m, int v)
{
    static const size_t shape[][3] = {{2, 3, 5}, {1, 1, 1}, {3, 4, 9}};
    static const int token[] = {0, 0, 3};
    return take_token(m->g, give(m, 3, shape[v]), token[v]);
}

static tensor *mean_tokens_example(maker *m, int v)
{
    static const size_t shape[][3] = {{2, 3, 5}, {1, 1, 1}, {3, 4, 9}};
    return mean_tokens(m->g, give(m, 3, shape[v]));
}

static tensor *mix_ssm2d_example(maker *m, int v)
{
    static const struct {
        size_t batch;
        int channels, first, rows, cols, norm;
    } s[] = {{2, 5, 1, 3, 4, 0}, {1, 1, 0, 1, 1, 0}, {3, 9, 2, 4, 2, 1}};
    ssm2d_config c = ssm2d_config_default();
    c.channels = s[v].channels;
    c.d_state = 3;
    c.n_ssm = 2;
    c.layer_norm = s[v].norm;
    tensor *x = give(
        m, SHAPE(s[v].batch, (size_t)(s[v].first + s[v].rows * s[v].cols), (size_t)c.channels));
    return mix_ssm2d(m->g, x, weight(m, "mixer", SHAPE(ssm2d_param_total(&c))), &c, s[v].first,
                     s[v].rows, s[v].cols);
}

typedef struct tokens {
    size_t batch;
    int channels, first, rows, cols;
} tokens;

static const tokens baseline_tokens[] = {{2, 5, 1, 3, 4}, {1, 1, 0, 1, 1}, {3, 9, 2, 4, 2}};

static tensor *give_tokens(maker *m, const tokens *t)
{
    return give(m, SHAPE(t->batch, (size_t)(t->first + t->rows * t->cols), (size_t)t->channels));
}

static tensor *mix_s4nd_example(maker *m, int v)
{
    const tokens *t = &baseline_tokens[v];
    ssm2d_s4nd_config c = ssm2d_s4nd_config_default();
    c.base.channels = t->channels;
    c.d_state = 4;
    c.n_ssm = 2;
    tensor *x = give_tokens(m, t);
    tensor *params = weight(m, "mixer", SHAPE(ssm2d_baseline_param_total(&c.base)));
    return mix_s4nd(m->g, x, params, &c, t->first, t->rows, t->cols);
}

static tensor *mix_ema_example(maker *m, int v)
{
    const tokens *t = &baseline_tokens[v];
    ssm2d_ema_config c = ssm2d_ema_config_default();
    c.base.channels = t->channels;
    c.d_state = 3;
    c.bidirectional = v != 2;
    c.trunc = v == 2 ? 5 : 0;
    tensor *x = give_tokens(m, t);
    tensor *params = weight(m, "mixer", SHAPE(ssm2d_baseline_param_total(&c.base)));
    return mix_ema(m->g, x, params, &c, t->first, t->rows, t->cols);
}

static const size_t logits[][2] = {{3, 4}, {1, 1}, {2, 19}};

static tensor *cross_entropy_example(maker *m, int v)
{
    tensor *x = give(m, 2, logits[v]);
    return cross_entropy(m->g, x, graph_input(m->g, "targets", 2, logits[v]));
}

static tensor *bce_example(maker *m, int v)
{
    tensor *x = give(m, 2, logits[v]);
    return bce(m->g, x, graph_input(m->g, "targets", 2, logits[v]));
}

static const struct {
    const char *op;
    int variants;
    tensor *(*build)(maker *m, int variant);
} examples[] = {
    {"add", PAIRS, add_example},
    {"attention", (int)(sizeof long_cases / sizeof *long_cases), attention_example},
    {"batch_norm", 10, batch_norm_example},
    {"bce", 3, bce_example},
    {"contiguous", 3, contiguous_example},
    {"cross_entropy", 3, cross_entropy_example},
    {"drop_path", 3, drop_path_example},
    {"dropout", 4, dropout_example},
    {"embed", 4, embed_example},
    {"gate", PAIRS, gate_example},
    {"gated_update", 5, gated_update_example},
    {"gelu", 8, gelu_example},
    {"layer_norm", 7, layer_norm_example},
    {"linear", 10, linear_example},
    {"mean_tokens", 3, mean_tokens_example},
    {"mix_ema", 3, mix_ema_example},
    {"mix_s4nd", 3, mix_s4nd_example},
    {"mix_ssm2d", 3, mix_ssm2d_example},
    {"patches", 3, patches_example},
    {"rearrange", 9, rearrange_example},
    {"scale", 8, scale_example},
    {"scale_shift", 6, scale_shift_example},
    {"sigmoid", 8, sigmoid_example},
    {"silu", 8, silu_example},
    {"silu_gate", PAIRS - 1, silu_gate_example},
    {"softmax", 5, softmax_example},
    {"take_token", 3, take_token_example},
    {"window_attention", (int)(sizeof window_cases / sizeof *window_cases),
     window_attention_example},
};

static int example_of(const char *name)
{
    for (int i = 0; i < (int)(sizeof examples / sizeof *examples); i++)
        if (!strcmp(examples[i].op, name)) return i;
    return -1;
}

static int variants(const char *name)
{
    int i = example_of(name);
    return i < 0 ? 0 : examples[i].variants;
}

static tensor *loss_of(graph *g, tensor *x, const char *name)
{
    return bce(g, x, x ? graph_input(g, name, x->rank, x->shape) : NULL);
}

static tensor *build(maker *m, int example, int variant)
{
    tensor *y = examples[example].build(m, variant);
    if (m->mode != OF_SHARED_VALUES) return y;
    y = loss_of(m->g, y, "t");
    for (int i = 0; i < m->count; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        y = add(m->g, y, loss_of(m->g, m->given[i], name));
    }
    return y;
}

static void *numbers(size_t count)
{
    void *p = calloc(count ? count : 1, sizeof(real));
    assert_non_null(p);
    return p;
}

static void fill_inputs(trial *t)
{
    graph *g = t->graph;
    rng r = rng_seed(5);
    size_t total = 0;
    for (int i = 0; i < g->tensor_count; i++)
        total += g->tensors[i]->role == ROLE_INPUT ? g->tensors[i]->count : 0;
    real *at = t->inputs = numbers(total);
    for (int i = 0; i < g->tensor_count; i++) {
        if (g->tensors[i]->role != ROLE_INPUT) continue;
        g->tensors[i]->data = at;
        for (size_t k = 0; k < g->tensors[i]->count; k++)
            *at++ = (real)(float)rng_uniform(&r, 0, 1);
    }
}

static trial *open_trial(ssm2d_context *context, const char *name, int variant, trial_mode mode)
{
    ssm2d_error error;
    const int training = mode != INFERENCE;
    maker m = {.mode = training ? mode : OF_PARAMS};
    trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    if (graph_create(context, training, &m.g, &error)) fail_msg("%s", error.line);
    tensor *out = build(&m, example_of(name), variant);
    if (graph_finish(m.g, out, &error)) fail_msg("%s, variant %d: %s", name, variant, error.line);
    int found = !training; /* some act in training only */
    for (int i = 0; i < m.g->node_count; i++) found |= !strcmp(m.g->nodes[i]->op->name, name);
    if (!found) fail_msg("the example of %s does not use it", name);
    t->graph = m.g;
    t->context = context;
    t->param_count = m.g->param_count;
    t->out = out;
    t->out_count = out->count;
    t->params = numbers(t->param_count);
    t->grads = numbers(t->param_count);
    for (int i = 0; i < m.g->tensor_count; i++) {
        if (m.g->tensors[i]->role != ROLE_PARAM) continue;
        assert_true(t->tensors < (int)(sizeof t->count / sizeof *t->count));
        t->offset[t->tensors] = m.g->tensors[i]->offset;
        t->count[t->tensors++] = m.g->tensors[i]->count;
    }
    fill_inputs(t);
    m.g->seed = 77;
    m.g->step = 3;
    graph_bind(m.g, t->params, training ? t->grads : NULL);
    return t;
}

static void close_trial(trial *t)
{
    graph_destroy(t->graph);
    free(t->params);
    free(t->grads);
    free(t->inputs);
    free(t);
}

static void run_trial(trial *t, const double *params, const double *dout, double *out,
                      double *dparams)
{
    tensor *last = t->out;
    graph *g = t->graph;
    real *p = t->params, *d = t->grads;
    for (size_t i = 0; i < t->param_count; i++) p[i] = (real)params[i];
    if (!g->training) g->step++; /* the parameters are new */
    graph_forward(g);
    for (size_t i = 0; i < t->out_count; i++) out[i] = (double)last->data[i];
    if (!dparams) return;
    for (size_t i = 0; i < t->param_count; i++) d[i] = (real)dparams[i];
    for (size_t i = 0; i < t->out_count; i++) last->grad[i] = (real)dout[i];
    graph_backward(g);
    for (size_t i = 0; i < t->param_count; i++) dparams[i] = (double)d[i];
}

const trial_functions TRIAL = {variants, open_trial, close_trial, run_trial};
