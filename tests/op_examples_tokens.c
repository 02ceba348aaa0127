/* Examples of operators that make tokens, reorder them or reduce them to one. */
#include "op_builders.h"

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
    static const int cut[][3] = {{4, 6, 2}, {7, 5, 2}, {9, 8, 3}, {2, 3, 1}, {64, 32, 2}};
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
    case 5: /* two rows of three tokens, which alternate */
        return rearrange(m->g, give_columns(m, SHAPE(2, 4, 5)), (int[]){1, -1, 3, 0, 1, 1}, 6,
                         &(rearrange_shape){2, 1, 2, 3, {0}, 1});
    case 6:
    case 7:
    case 8:
    case 9:
        return merge(m->g, give(m, SHAPE(2, grids[v - 6][0] * grids[v - 6][1], 9)),
                     (int)grids[v - 6][0], (int)grids[v - 6][1]);
    default: {
        const int *c = cut[v - 10];
        return token_patches(m->g, give(m, SHAPE(2, (size_t)(c[0] * c[1]), 7)), c[0], c[1], c[2]);
    }
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

const op_builder token_examples[] = {
    {"embed", 4, embed_example},           {"mean_tokens", 3, mean_tokens_example},
    {"patches", 3, patches_example},       {"rearrange", 15, rearrange_example},
    {"take_token", 3, take_token_example}, {NULL, 0, NULL},
};
