/* attention_build - checks what attention is asked for, lays it out for the operators, and decides
 * which of them runs it. */
#include "core/arith.h"
#include "ops/attention_impl.h"
#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

double attention_products(const node *n, int back)
{
    const attention_attributes *a = attention_of_node(n);
    const double scores = (double)(a->groups * a->heads) * (double)a->tokens * (double)a->tokens;
    const double q = (double)a->width, v = (double)a->v_width;
    return scores * (back ? 3 * q + 2 * v : q + v);
}

real *attention_gradient(const node *n, int i, size_t row, size_t column)
{
    return n->in[i]->needs_grad ? row_grad(n->in[i], row) + column : NULL;
}

double attention_mask_at(const node *n, int mask, size_t query, size_t key)
{
    const attention_attributes *a = attention_of_node(n);
    const size_t row = a->mask_size / a->tokens;
    const real *at = a->mask + (size_t)mask * a->mask_size;
    return (double)(n->op == &op_window_attention ? at[key * row + query] : at[query * row + key]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_shapes(graph *g, const tensor *q, const tensor *k, const tensor *v,
                        const attention_options *o)
{
    char one[64], two[64], three[64];
    const size_t heads = o->heads < 1 ? 1 : (size_t)o->heads;
    if (o->heads < 1 || q->rank != 3 || v->rank != 3 || !same_shape(q, k)
        || q->shape[0] != v->shape[0] || q->shape[1] != v->shape[1] || q->shape[2] % heads
        || v->shape[2] % heads) {
        graph_fail(g,
                   "attention: q %s, k %s and v %s are not (batch, tokens, channels) for %d heads",
                   shape_text(q, one), shape_text(k, two), shape_text(v, three), o->heads);
        return 0;
    }
    /* a head of the one would write what belongs to another head of the other */
    if (columns_overlap(q, k) || columns_overlap(q, v) || columns_overlap(k, v)) {
        graph_fail(g, "attention: columns of q, k and v overlap");
        return 0;
    }
    return 1;
}

/* Each token of an image must be in one place: its gradient is written once. */
static int check_order(graph *g, size_t image_tokens, const attention_options *o)
{
    if (!o->order) return 1;
    if (o->groups < 1 || o->tokens < 1) {
        graph_fail(g, "attention: %d groups of %d tokens", o->groups, o->tokens);
        return 0;
    }
    const size_t places = (size_t)o->groups * (size_t)o->tokens;
    size_t found = 0;
    int good = 1;
    char *seen = mem_alloc(g->context, image_tokens);
    if (!seen) {
        graph_no_memory(g);
        return 0;
    }
    for (size_t i = 0; i < places && good; i++) {
        const int t = o->order[i];
        if (t == -1) continue;
        good = t >= 0 && (size_t)t < image_tokens && !seen[t];
        if (good) seen[t] = 1, found++;
    }
    mem_free(g->context, seen);
    if (good && found == image_tokens) return 1;
    graph_fail(g, "attention: %d groups of %d do not have each of %zu tokens once", o->groups,
               o->tokens, image_tokens);
    return 0;
}

static int check_bias(graph *g, size_t tokens, const attention_options *o)
{
    if (!o->bias) return 1;
    char one[64];
    const size_t heads = (size_t)o->heads, entries = o->bias->count / heads;
    if (o->bias->count % heads || (heads > 1 && last_axis(o->bias) != heads) || !o->position) {
        graph_fail(g, "attention: a bias %s is not (entries, %d heads) with positions",
                   shape_text(o->bias, one), o->heads);
        return 0;
    }
    int low = o->position[0], high = low;
    for (size_t t = 1; t < tokens; t++) {
        low = min_int(low, o->position[t]);
        high = max_int(high, o->position[t]);
    }
    const long long reach = (long long)high - low;
    if (o->center < reach || o->center + reach >= (long long)entries) {
        graph_fail(g, "attention: entries %lld to %lld of a bias that has %zu", o->center - reach,
                   o->center + reach, entries);
        return 0;
    }
    return 1;
}

static size_t masks_of(const attention_options *o)
{
    return !o->mask ? 0 : (size_t)(o->mask_of ? o->masks : o->groups);
}

static int check_mask(graph *g, size_t images, size_t tokens, const attention_options *o)
{
    if (!o->mask) return 1;
    if (o->groups < 1 || (!o->order && images % (size_t)o->groups)) {
        graph_fail(g, "attention: %zu images cannot have the masks of %d groups in turn", images,
                   o->groups);
        return 0;
    }
    for (int i = 0; o->mask_of && i < o->groups; i++)
        if (o->mask_of[i] < -1 || o->mask_of[i] >= o->masks) {
            graph_fail(g, "attention: group %d has mask %d of %d", i, o->mask_of[i], o->masks);
            return 0;
        }
    for (size_t i = 0; i < masks_of(o) * tokens * tokens; i++)
        if (!isfinite(o->mask[i])) {
            graph_fail(g, "attention: a mask holds %g; use a large negative number", o->mask[i]);
            return 0;
        }
    return 1;
}

/* ---- building -------------------------------------------------------------------------------- */

/* Sizes, in elements, of the arrays behind the struct. */
typedef struct array_sizes {
    size_t mask_row, mask, masks, mask_of, position, order;
} array_sizes;

static array_sizes sizes_of(const graph *g, const op *kind, size_t tokens,
                            const attention_options *o)
{
    const int is_window = kind == &op_window_attention;
    const gemm_table *gemm = gemm_for(g->context->cpu);
    array_sizes s = {.mask_row = is_window ? gemm->attend_window->row(tokens) : tokens,
                     .masks = masks_of(o),
                     .mask_of = o->mask ? (size_t)o->groups : 0,
                     .position = o->bias ? tokens : 0,
                     .order = o->order ? (size_t)o->groups * tokens : 0};
    s.mask = tokens * s.mask_row;
    return s;
}

static size_t bytes_of(const array_sizes *s)
{
    return sizeof(attention_attributes) + s->masks * s->mask * sizeof(real)
           + (s->mask_of + s->position + s->order) * sizeof(int);
}

/* is_window: by key and then query, rows padded. */
static void copy_mask(real *to, const float *from, size_t tokens, size_t row, int is_window)
{
    for (size_t i = 0; i < tokens; i++)
        for (size_t t = 0; t < tokens; t++)
            to[i * row + t] = (real)from[is_window ? t * tokens + i : i * tokens + t];
}

static void fill_attributes(const node *n, const array_sizes *s, size_t tokens,
                            const attention_options *o)
{
    attention_attributes *a = n->attributes;
    real *mask = (real *)(void *)(a + 1);
    int *mask_of = (int *)(void *)(mask + s->masks * s->mask), *position = mask_of + s->mask_of,
        *order = position + s->position;
    const size_t heads = (size_t)o->heads, image_groups = o->order ? (size_t)o->groups : 1;
    *a = (attention_attributes){.heads = heads,
                                .width = last_axis(n->in[Q]) / heads,
                                .v_width = last_axis(n->in[V]) / heads,
                                .tokens = tokens,
                                .image_groups = image_groups,
                                .groups = n->out->shape[0] * image_groups,
                                .scale = o->scale,
                                .scores = o->scores,
                                .entries = o->bias ? o->bias->count / heads : 0,
                                .position = position,
                                .center = o->center,
                                .order = o->order ? order : NULL,
                                .mask = s->masks ? mask : NULL,
                                .mask_of = mask_of,
                                .mask_size = s->mask,
                                .mask_groups = s->mask_of};
    if (a->scale == 0) a->scale = (double)(1 / (real)sqrt((double)a->width));
    for (size_t i = 0; i < s->masks; i++)
        copy_mask(mask + i * s->mask, o->mask + i * tokens * tokens, tokens, s->mask_row,
                  n->op == &op_window_attention);
    for (size_t i = 0; i < s->mask_of; i++) mask_of[i] = o->mask_of ? o->mask_of[i] : (int)i;
    if (s->position) memcpy(position, o->position, s->position * sizeof *position);
    if (s->order) memcpy(order, o->order, s->order * sizeof *order);
}

tensor *attention_of(graph *g, tensor *q, tensor *k, tensor *v, const attention_options *o)
{
    if (g->status || !check_shapes(g, q, k, v, o) || !check_order(g, q->shape[1], o)) return NULL;
    const size_t tokens = o->order ? (size_t)o->tokens : q->shape[1];
    if (!check_bias(g, tokens, o) || !check_mask(g, q->shape[0], tokens, o)) return NULL;
    const op *kind = o->scores == ATTENTION_SOFTMAX && tokens <= WINDOW_TOKENS
                         ? &op_window_attention
                         : &op_attention;
    const array_sizes sizes = sizes_of(g, kind, tokens, o);
    node *n = graph_add(g, kind, o->bias ? 4 : 3, (tensor *[]){q, k, v, o->bias}, 3, v->shape, NULL,
                        bytes_of(&sizes));
    if (!n) return NULL;
    fill_attributes(n, &sizes, tokens, o);
    /* windows are for large maps, where memory counts more than what little they cost */
    return kind == &op_window_attention && o->order ? graph_recompute(n->out) : n->out;
}

tensor *attention(graph *g, tensor *qkv, int heads)
{
    char one[64];
    if (g->status) return NULL;
    if (qkv->rank != 3 || heads < 1 || qkv->shape[2] % (3 * (size_t)heads))
        return graph_fail(g, "attention: %s is not (batch, tokens, 3 * channels) for %d heads",
                          shape_text(qkv, one), heads);
    const size_t D = qkv->shape[2] / 3;
    tensor *q = columns(g, qkv, 0, D), *k = columns(g, qkv, D, D), *v = columns(g, qkv, 2 * D, D);
    return attention_of(g, q, k, v, &(attention_options){.heads = heads});
}
