/* onnx_from_attention - attention with heads, windows, bias and masks:
 *     y = f(scale * q k^T + bias + mask) v
 *
 * B images of N tokens, G groups of T tokens in each image, h heads. With windows (an order) tokens
 * are gathered first and scattered back at the end. Scores are [B][G][h][T][T], or [B][h][T][T]
 * where there is one group. */
#include "core/context.h"
#include "export/onnx_ops.h"
#include "ops/attention_impl.h"

typedef struct job {
    onnx_builder *b;
    const node *n;
    const attention_attributes *a;
    size_t groups; /* size of the axis of groups; 1: there is no such axis */
} job;

/* [B][N][h*width] -> [B][T][h][width], or [B][G][T][h][width] */
static const char *groups_of(const job *j, int input, size_t width)
{
    const attention_attributes *a = j->a;
    const size_t N = j->n->out->shape[1];
    const int64_t T = (int64_t)a->tokens, h = (int64_t)a->heads, w = (int64_t)width;
    const char *x = onnx_in(j->b, j->n, input);
    if (a->order) x = onnx_gather_tokens(j->b, x, N, a->image_groups * a->tokens, a->order);
    if (j->groups == 1) return onnx_reshape(j->b, x, ONNX_SHAPE(0, T, h, w));
    /* without an order, groups are consecutive images */
    return onnx_reshape(j->b, x, ONNX_SHAPE(a->order ? 0 : -1, (int64_t)j->groups, T, h, w));
}

/* Tokens behind heads: [..][T][h][width] -> [..][h][T][width], which is its own inverse. */
static const char *swap(const job *j, const char *x)
{
    return j->groups == 1 ? onnx_transpose(j->b, x, ONNX_SHAPE(0, 2, 1, 3))
                          : onnx_transpose(j->b, x, ONNX_SHAPE(0, 1, 3, 2, 4));
}

/* [..][T][h][width] -> [..][h][width][T] */
static const char *transposed(const job *j, const char *x)
{
    return j->groups == 1 ? onnx_transpose(j->b, x, ONNX_SHAPE(0, 2, 3, 1))
                          : onnx_transpose(j->b, x, ONNX_SHAPE(0, 1, 3, 4, 2));
}

/* The entries of the table for all pairs of tokens: [h][T][T], or [T][T] */
static const char *bias_of(const job *j)
{
    const attention_attributes *a = j->a;
    const tensor *table = j->n->in[BIAS];
    const size_t T = a->tokens, shape[] = {T, T};
    if (!onnx_has_space(j->b, T * T, sizeof(int32_t))) return NULL;
    int32_t *entry = onnx_scratch(j->b, T * T, sizeof *entry);
    if (!entry) return NULL;
    for (size_t i = 0; i < T; i++)
        for (size_t t = 0; t < T; t++)
            entry[i * T + t] = a->center + a->position[i] - a->position[t];
    const char *x = onnx_value(j->b, table);
    if (table->rank > 1 || a->heads > 1) {
        if (table->rank != 2) x = onnx_reshape(j->b, x, ONNX_SHAPE(-1, (int64_t)a->heads));
        x = onnx_gather(j->b, x, 0, onnx_indices(j->b, 2, shape, entry));
        x = onnx_transpose(j->b, x, ONNX_SHAPE(2, 0, 1));
    } else {
        x = onnx_gather(j->b, x, 0, onnx_indices(j->b, 2, shape, entry));
    }
    mem_free(onnx_context(j->b), entry);
    return x;
}

/* Gathers the mask of each group from a table that has each mask once and a mask of zeros:
 * [G][1][T][T], or [1][T][T] */
static const char *mask_of(const job *j)
{
    const attention_attributes *a = j->a;
    const size_t T = a->tokens, groups = a->mask_groups;
    int masks = 0;
    for (size_t g = 0; g < groups; g++)
        if (a->mask_of[g] >= masks) masks = a->mask_of[g] + 1;
    const size_t shape[] = {(size_t)masks + 1, T, T};
    if (!onnx_has_space(j->b, shape[0] * T * T, sizeof(float))) return NULL;
    float *mask = onnx_scratch(j->b, shape[0] * T * T, sizeof *mask);
    int32_t *which = onnx_scratch(j->b, groups, sizeof *which);
    const char *x = NULL;
    if (mask && which) {
        for (size_t i = 0; i < (size_t)masks * T * T; i++)
            mask[i] = (float)attention_mask_at(j->n, (int)(i / (T * T)), i / T % T, i % T);
        for (size_t g = 0; g < groups; g++) which[g] = a->mask_of[g] < 0 ? masks : a->mask_of[g];
        x = onnx_gather(j->b, onnx_array(j->b, NULL, 3, shape, mask), 0,
                        onnx_indices(j->b, 1, &groups, which));
        if (groups > 1) x = onnx_reshape(j->b, x, ONNX_SHAPE(0, 1, (int64_t)T, (int64_t)T));
    }
    mem_free(onnx_context(j->b), mask);
    mem_free(onnx_context(j->b), which);
    return x;
}

static const char *weights_of(const job *j, const char *scores)
{
    onnx_builder *b = j->b;
    if (j->a->scores == ATTENTION_SOFTMAX)
        return onnx_node(
            b, "Softmax", 1, &scores,
            (onnx_attribute[]){{.name = "axis", .kind = ONNX_INT, .integer = -1}, {0}});
    const double mean = 0.707107, deviation = 0.282095;
    const char *x = onnx_join(b, "Sub", scores, onnx_scalar(b, mean));
    x = onnx_join(b, "Div", x, onnx_scalar(b, deviation * 1.4142135623730951));
    x = onnx_join(b, "Add", onnx_map(b, "Erf", x), onnx_scalar(b, 1));
    return onnx_join(b, "Mul", x, onnx_scalar(b, 0.5));
}

/* [..][T][h][v_width] -> [B][N][h*v_width] */
static const char *images_of(const job *j, const char *x)
{
    const attention_attributes *a = j->a;
    const int64_t T = (int64_t)a->tokens, width = (int64_t)(a->heads * a->v_width);
    const size_t N = j->n->out->shape[1], places = a->image_groups * a->tokens;
    if (!a->order) return onnx_reshape(j->b, x, ONNX_SHAPE(j->groups == 1 ? 0 : -1, T, width));
    x = onnx_reshape(j->b, x, ONNX_SHAPE(0, (int64_t)places, width));
    int *place = onnx_scratch(j->b, N, sizeof *place);
    if (!place) return NULL;
    for (size_t i = 0; i < places; i++)
        if (a->order[i] >= 0) place[a->order[i]] = (int)i;
    x = onnx_gather_tokens(j->b, x, places, N, place);
    mem_free(onnx_context(j->b), place);
    return x;
}

const char *onnx_from_attention(onnx_builder *b, const node *n)
{
    job j = {.b = b, .n = n, .a = attention_of_node(n)};
    j.groups = j.a->order ? j.a->image_groups : j.a->mask ? j.a->mask_groups : 1;
    const char *q = swap(&j, groups_of(&j, Q, j.a->width));
    const char *k = transposed(&j, groups_of(&j, K, j.a->width));
    const char *v = swap(&j, groups_of(&j, V, j.a->v_width));
    const char *scores =
        onnx_join(b, "MatMul", onnx_join(b, "Mul", q, onnx_scalar(b, j.a->scale)), k);
    if (j.a->entries) scores = onnx_join(b, "Add", scores, bias_of(&j));
    if (j.a->mask) scores = onnx_join(b, "Add", scores, mask_of(&j));
    return images_of(&j, swap(&j, onnx_join(b, "MatMul", weights_of(&j, scores), v)));
}

const char *onnx_from_window_attention(onnx_builder *b, const node *n)
{
    return onnx_from_attention(b, n);
}
