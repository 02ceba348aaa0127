/* Examples of operators without weights that keep the shape: sums and gates, activations, softmax,
 * dropout. */
#include "op_builders.h"

/* Two inputs of the same shape: separate tensors, the same tensor twice, a view and a tensor, and
 * two views of one tensor that overlap, that have a gap between them, that are equal, and that
 * overlap in a row of several tasks. */
enum { PAIRS = 9 };

static void pair(maker *m, int v, tensor **a, tensor **b)
{
    static const size_t shape[PAIRS][2] = {{3, 7}, {1, 1},  {4, 33}, {130, 257}, {5, 19},
                                           {4, 6}, {4, 17}, {3, 5},  {1, 5000}};
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
        const size_t first[] = {width - 2, width + 2, 1, width / 2};
        *b = v == 7 ? *a : columns(m->g, wide, first[v - 5], width);
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

/* All separate; all but x the same, with tails; u and h columns of one tensor. */
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

/* Forward and back, with a scale per row and with a single one; also views. */
static tensor *convert_example(maker *m, int v)
{
    tensor *x = give_plain(m, v < 4 ? v : v + 1);
    x = convert_to(m->g, x, v % 2 ? ELEMENT_INT8 : ELEMENT_BFLOAT16, v % 4 == 1);
    return convert_to(m->g, x, ELEMENT_REAL, 0);
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

const op_builder value_examples[] = {
    {"add", PAIRS, add_example},
    {"contiguous", 3, contiguous_example},
    {"convert", 6, convert_example, .rounds = 1},
    {"drop_path", 3, drop_path_example},
    {"dropout", 4, dropout_example},
    {"gate", PAIRS, gate_example},
    {"gated_update", 5, gated_update_example},
    {"gelu", 8, gelu_example},
    {"scale", 8, scale_example},
    {"sigmoid", 8, sigmoid_example},
    {"silu", 8, silu_example},
    {"silu_gate", PAIRS - 2, silu_gate_example},
    {"softmax", 5, softmax_example},
    {NULL, 0, NULL},
};
