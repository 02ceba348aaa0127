/* Examples of the linear map, and of operators that scale and shift each channel, such as norms. */
#include "op_builders.h"

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

/* Running moments are state in training, and positive inputs in inference. */
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

const op_builder linear_examples[] = {
    {"batch_norm", 10, batch_norm_example},
    {"layer_norm", 7, layer_norm_example},
    {"linear", 10, linear_example},
    {"scale_shift", 6, scale_shift_example},
    {NULL, 0, NULL},
};
