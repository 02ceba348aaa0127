/* elementwise - what elementwise operators share: cutting tensors into tasks, and shapes. */
#ifndef SSM2D_OPS_ELEMENTWISE_H
#define SSM2D_OPS_ELEMENTWISE_H

#include "core/tasks.h"
#include "graph/graph.h"
#include "ops/simd/simd_ops.h"

/* Runs `part` over all elements of the node's output in pieces that depend on shapes alone. A part
 * acts on elements [first, end) of a row, which it finds by row_data and row_grad; when no input is
 * a view, all rows are seen as one. Inputs have the shape of the output, or are not looked at. */
typedef void elementwise_part(const node *n, size_t row, size_t first, size_t end);
void elementwise(const graph *g, const node *n, elementwise_part *part);

/* The same; `part` also gets the SIMD bodies. */
typedef void simd_part(const simd_ops *simd, const node *n, size_t row, size_t first, size_t end);
void elementwise_simd(const graph *g, const node *n, simd_part *part);

/* The same for bodies of simd/simd_ops.h: y = body(x), and dx (+)= body(dy, given), where given is
 * x or y, from which the slope is made. x may be bfloat16 where the operator takes it. */
void map(const graph *g, const node *n, void (*body)(real *y, const real *x, size_t n));
void map_back(const graph *g, const node *n, const tensor *given,
              void (*body)(real *dx, const real *dy, const real *given, size_t n, int adds));

/* For op.rows: body over rows [0, rows) of in[0], which may be a view. */
void map_rows(const graph *g, const node *n, size_t rows, const void *const *in, void *out,
              void (*body)(real *y, const real *x, size_t n));

/* A tensor seen as rows x columns, the last axis being the columns. */
static inline size_t last_axis(const tensor *t) { return t->shape[t->rank - 1]; }
static inline size_t rows_of(const tensor *t) { return t->count / last_axis(t); }
static inline real *row_data(const tensor *t, size_t row) { return t->data + row * t->row_stride; }
static inline real *row_grad(const tensor *t, size_t row) { return t->grad + row * t->row_stride; }

/* Into how many parts operators cut rows of which they sum something: sums are kept for each part
 * and added in order. A function of the shape alone. */
enum { ROW_PART = 32, ROW_PARTS_MAX = 2 * TASKS_THREADS };
static inline size_t row_parts(const node *n)
{
    return min_size(div_up_size(rows_of(n->out), ROW_PART), ROW_PARTS_MAX);
}

/* Element `first` of a row of the gradient of in[i]; NULL when it needs none. */
static inline real *gradient_at(const node *n, int i, size_t row, size_t first)
{
    return n->in[i]->needs_grad ? row_grad(n->in[i], row) + first : NULL;
}

/* Whether a and b, which need gradients, are different columns of one tensor that overlap: an
 * operator that writes both gradients in one pass cannot have that. */
int columns_overlap(const tensor *a, const tensor *b);
/* Whether an operator of this name may have these inputs: they have the same shape, and no two of
 * them overlap. */
int fit_together(graph *g, const char *name, int count, tensor *const *in);
int same_shape(const tensor *a, const tensor *b);
const char *shape_text(const tensor *t, char text[64]); /* "(2, 3)" */

#endif
