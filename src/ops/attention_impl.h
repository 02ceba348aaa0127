/* attention_impl - what attention_build.c has checked and laid out for the two operators that run
 * attention: attention.c, and window_attention.c for few tokens; and for their exporter. */
#ifndef SSM2D_OPS_ATTENTION_IMPL_H
#define SSM2D_OPS_ATTENTION_IMPL_H

#include "ops/ops.h"
#include "ops/simd/gemm_table.h"

enum { Q, K, V, BIAS }; /* inputs of both operators */

/* Softmax among up to so many tokens is for window_attention.c: the scores of a head fit the first
 * cache. */
enum { WINDOW_TOKENS = 96 };

/* Arrays stand behind the struct, in the node's memory. A group of tokens attends among itself; an
 * image has one or more of them. */
typedef struct attention_attributes {
    size_t heads, width, v_width;
    size_t tokens;       /* of a group */
    size_t image_groups; /* of an image */
    size_t groups;       /* of all images */
    double scale;
    attention_scores scores;
    size_t entries;      /* of a head's table of biases; 0: there is no bias */
    const int *position; /* [tokens] */
    int center;
    const int *order; /* [image_groups][tokens], -1: padding; NULL: as they come */
    /* [masks][tokens][tokens] for attention.c; [masks][tokens][attend_window_table.row(tokens)], by
     * key and then query, for window_attention.c; NULL: there is none */
    const real *mask;
    const int *mask_of; /* [mask_groups], which of them group g modulo mask_groups has; -1: none */
    size_t mask_size, mask_groups; /* mask_size: elements of one mask */
} attention_attributes;

static inline const attention_attributes *attention_of_node(const node *n) { return n->attributes; }

/* The entry of the table for a pair of tokens. */
static inline size_t bias_entry(const attention_attributes *a, size_t query, size_t key)
{
    return (size_t)(a->center + a->position[query] - a->position[key]);
}

/* The first token of a group's image among those of all images, and the group's order. */
static inline size_t group_row(const node *n, size_t group)
{
    return group / attention_of_node(n)->image_groups * n->out->shape[1];
}

static inline const int *group_order(const attention_attributes *a, size_t group)
{
    return a->order ? a->order + group % a->image_groups * a->tokens : NULL;
}

static inline const real *group_mask(const attention_attributes *a, size_t group)
{
    if (!a->mask) return NULL;
    const int which = a->mask_of[group % a->mask_groups];
    return which < 0 ? NULL : a->mask + (size_t)which * a->mask_size;
}

/* Where the gradient of input i at a row and column is to go; NULL: it is not wanted. */
real *attention_gradient(const node *n, int i, size_t row, size_t column);
/* What is added to the score of a query and a key by a mask. */
double attention_mask_at(const node *n, int mask, size_t query, size_t key);
/* op.products of both. */
double attention_products(const node *n, int back);

#endif
