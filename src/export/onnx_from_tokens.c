/* onnx_from_tokens - operators that create, permute and select tokens. */
#include "core/context.h"
#include "export/onnx_ops.h"

#include <string.h>

/* [B][C][R][S] -> [B][C][R/p][p][S/p][p] -> [B][R/p][S/p][C][p][p] -> [B][tokens][C*p*p] */
const char *onnx_from_patches(onnx_builder *b, const node *n)
{
    const size_t *s = n->in[0]->shape, *out = n->out->shape;
    const int64_t p = (int64_t)node_size(n, "side"), down = (int64_t)s[2] / p,
                  across = (int64_t)s[3] / p;
    const char *x =
        onnx_reshape(b, onnx_in(b, n, 0), ONNX_SHAPE(0, (int64_t)s[1], down, p, across, p));
    x = onnx_transpose(b, x, ONNX_SHAPE(0, 2, 4, 1, 3, 5));
    return onnx_reshape(b, x, ONNX_SHAPE(0, (int64_t)out[1], (int64_t)out[2]));
}

/* The same elements as [1][tokens][width]. */
static const char *of_one_image(onnx_builder *b, const tensor *t, size_t tokens, size_t width)
{
    const char *x = onnx_value(b, t);
    if (t->rank == 3 && t->shape[1] == tokens) return x;
    return onnx_reshape(b, x, ONNX_SHAPE(1, (int64_t)tokens, (int64_t)width));
}

/* Prepending the class token would require repeating it for a variable number of images; instead a
 * token of zeros is prepended, and the class token is added to it together with the positions. */
const char *onnx_from_embed(onnx_builder *b, const node *n)
{
    enum { X, CLS, POS };
    static const int64_t none[3] = {0}, one[3] = {0, 1, 0};
    const size_t tokens = n->out->shape[1], width = n->out->shape[2];
    const int64_t others[3] = {0, (int64_t)tokens - 1, 0};
    const char *x = onnx_in(b, n, X), *added = NULL;
    if (n->in[CLS]) {
        x = onnx_pad(b, x, 3, one, none);
        added = onnx_pad(b, of_one_image(b, n->in[CLS], 1, width), 3, none, others);
    }
    if (n->in[POS]) {
        const char *pos = of_one_image(b, n->in[POS], tokens, width);
        added = added ? onnx_join(b, "Add", added, pos) : pos;
    }
    return added ? onnx_join(b, "Add", x, added) : x;
}

const char *onnx_gather_tokens(onnx_builder *b, const char *x, size_t tokens, size_t count,
                               const int *index)
{
    static const int64_t none[3] = {0}, one[3] = {0, 1, 0};
    int is_padded = 0;
    int32_t *at = onnx_scratch(b, count, sizeof *at);
    if (!at) return NULL;
    for (size_t t = 0; t < count; t++) {
        at[t] = index[t] < 0 ? (int32_t)tokens : (int32_t)index[t];
        is_padded |= index[t] < 0;
    }
    if (is_padded) x = onnx_pad(b, x, 3, none, one);
    x = onnx_gather(b, x, 1, onnx_indices(b, 1, &count, at));
    mem_free(onnx_context(b), at);
    return x;
}

const char *onnx_from_rearrange(onnx_builder *b, const node *n)
{
    const size_t images = node_size(n, "images"), in_tokens = node_size(n, "in_tokens"),
                 out_tokens = node_size(n, "out_tokens");
    const size_t *in = n->in[0]->shape, *out = n->out->shape;
    const int64_t tokens = (int64_t)out[1], width = (int64_t)out[2];
    const char *x = onnx_in(b, n, 0);
    if (in[0] != images) x = onnx_reshape(b, x, ONNX_SHAPE(-1, (int64_t)in_tokens, (int64_t)in[2]));
    x = onnx_gather_tokens(b, x, in_tokens, out_tokens, node_ints(n, "index"));
    if (node_size(n, "interleaved") > 1) { /* [..][k][D] -> [..][D][k] */
        const int64_t k = (int64_t)node_size(n, "interleaved"), rows = (int64_t)out_tokens / k;
        x = onnx_reshape(b, x, ONNX_SHAPE(-1, rows, k, (int64_t)in[2]));
        x = onnx_transpose(b, x, ONNX_SHAPE(0, 1, 3, 2));
        return onnx_reshape(b, x, ONNX_SHAPE(-1, tokens, width));
    }
    if (out[0] != images) return onnx_reshape(b, x, ONNX_SHAPE(-1, tokens, width));
    return out[1] == out_tokens ? x : onnx_reshape(b, x, ONNX_SHAPE(0, tokens, width));
}

const char *onnx_from_take_token(onnx_builder *b, const node *n)
{
    return onnx_gather(b, onnx_in(b, n, 0), 1, onnx_index(b, node_size(n, "token")));
}

const char *onnx_from_mean_tokens(onnx_builder *b, const node *n)
{
    const char *x = onnx_in(b, n, 0);
    const onnx_attribute a[] = {{.name = "axes", .kind = ONNX_INTS, .count = 1, .list = {1}},
                                {.name = "keepdims", .kind = ONNX_INT, .integer = 0},
                                {0}};
    return onnx_node(b, "ReduceMean", 1, &x, a);
}
