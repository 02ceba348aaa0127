/* vit - the vision transformer, and DeiT, which is one with other numbers. Names are timm's. D =
 * dim, T = 1 + patches.
 *
 *     x = [cls; patches W^T + b] + pos                                      [B][T][D]
 *     each block:  x += proj(attention(qkv(norm1(x))));  x += fc2(GELU(fc1(norm2(x))))
 *     logits = head(norm(x[cls]))                                           [B][classes]
 *
 * After the attention of the last block only CLS is read, so what follows is computed for CLS
 * alone. */
#include "mixers/mixer.h"
#include "models/model.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

enum { CLS = 0, FIRST_PATCH = 1 };

model_builder vit_build;

typedef struct builder {
    graph *g;
    const model_config *c;
    char block[24]; /* "blocks.3", or nothing outside of blocks */
} builder;

/* A parameter of the block: "blocks.3" "." "attn.qkv" ".weight" */
static tensor *param(builder *b, int rank, const size_t *shape, const char *part, const char *end)
{
    const int decay = strcmp(end, ".bias") != 0;
    return graph_param(b->g, decay, rank, shape, "%s%s%s%s", b->block, *b->block ? "." : "", part,
                       end);
}

static tensor *dense(builder *b, tensor *x, int in, int out, int bias, const char *part)
{
    const size_t shape[] = {(size_t)out, (size_t)in};
    tensor *w = param(b, 2, shape, part, ".weight");
    return linear(b->g, x, w, bias ? param(b, 1, shape, part, ".bias") : NULL);
}

static tensor *norm(builder *b, tensor *x, const char *part)
{
    const size_t dim = (size_t)b->c->dim;
    tensor *gamma = param(b, 1, &dim, part, ".weight");
    return layer_norm(b->g, x, gamma, param(b, 1, &dim, part, ".bias"), b->c->norm_eps);
}

static tensor *mix_at(builder *b, tensor *x, mixer_place place)
{
    const model_config *c = b->c;
    if (c->mixer.place != place) return x;
    return mix(b->g, x, &c->mixer, b->block, FIRST_PATCH, c->image[0] / c->patch,
               c->image[1] / c->patch);
}

/* The same rate on every branch. */
static tensor *add_branch(builder *b, tensor *x, tensor *branch)
{
    return add(b->g, x, drop_path(b->g, branch, b->c->drop_path));
}

static tensor *block(builder *b, tensor *x, int last)
{
    const int dim = b->c->dim, hidden = model_hidden(b->c);
    x = mix_at(b, x, PLACE_BLOCK);
    tensor *y = mix_at(b, norm(b, x, "norm1"), PLACE_ATTN);
    y = attention(b->g, dense(b, y, dim, 3 * dim, b->c->qkv_bias, "attn.qkv"), b->c->heads);
    if (last) {
        x = take_token(b->g, x, CLS);
        y = take_token(b->g, y, CLS);
    }
    x = add_branch(b, x, dense(b, y, dim, dim, 1, "attn.proj"));
    y = dense(b, norm(b, x, "norm2"), dim, hidden, 1, "mlp.fc1");
    if (!last)
        y = mix_at(b, y, PLACE_FFN);
    else if (b->c->mixer.place == PLACE_FFN)
        /* CLS passes it by, but the weights have it */
        mix_params(b->g, &b->c->mixer, hidden, b->block);
    return add_branch(b, x, dense(b, gelu(b->g, y), hidden, dim, 1, "mlp.fc2"));
}

tensor *vit_build(graph *g, const model_config *c, tensor *images)
{
    builder b = {.g = g, .c = c};
    const int tokens = FIRST_PATCH + c->image[0] / c->patch * (c->image[1] / c->patch);
    const size_t dim = (size_t)c->dim, pos_shape[] = {1, (size_t)tokens, dim};
    tensor *cls = graph_param(g, 1, 3, (size_t[]){1, 1, dim}, "cls_token");
    tensor *pos = c->pos_embed ? graph_param(g, 1, 3, pos_shape, "pos_embed") : NULL;
    tensor *x = patches(g, images, c->patch);
    x = dense(&b, x, c->channels * c->patch * c->patch, c->dim, 1, "patch_embed.proj");
    x = embed(g, x, cls, pos);
    for (int i = 0; i < c->depth; i++) {
        snprintf(b.block, sizeof b.block, "blocks.%d", i);
        x = block(&b, x, i + 1 == c->depth);
    }
    b.block[0] = 0;
    return dense(&b, norm(&b, x, "norm"), c->dim, c->classes, 1, "head");
}
