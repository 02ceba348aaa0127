/* Examples of attention, of long sequences and of windows. */
#include "op_builders.h"

/* Options of attention_of, and with `packed` of attention. */
typedef struct attention_case {
    size_t batch;
    /* tokens; rows 0: a sequence of `cols` tokens, whose bias depends on key - query */
    int rows, cols;
    size_t width, v_width;
    int heads;
    double scale;
    /* windows: number of groups of tokens in an image, each with one padding token */
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
    /* in sequences some entries at both ends are not used */
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

/* `count` tokens of an image, shuffled, in groups with one padding token each. */
static void order_of(int groups, int tokens, int count, int *order)
{
    const int step = count % 5 ? 5 : 7; /* no count is a multiple of both */
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

const op_builder attention_examples[] = {
    {"attention", (int)(sizeof long_cases / sizeof *long_cases), attention_example},
    {"window_attention", (int)(sizeof window_cases / sizeof *window_cases),
     window_attention_example},
    {NULL, 0, NULL},
};
