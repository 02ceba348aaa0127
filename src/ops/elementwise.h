/* elementwise - what operators on single numbers share: cutting an array into tasks. */
#ifndef SSM2D_OPS_ELEMENTWISE_H
#define SSM2D_OPS_ELEMENTWISE_H

#include "graph/graph.h"

/* Runs `part` over [0, count) in pieces of a fixed size, so that results do not depend on the
 * number of threads. */
typedef void elementwise_part(const node *n, size_t first, size_t end);
void elementwise(const graph *g, const node *n, size_t count, elementwise_part *part);

/* The same for bodies of simd/simd_ops.h: y = body(x); dx (+)= body(dy, given), where given is what
 * the slope is made from. */
void map(const graph *g, const node *n, void (*body)(real *y, const real *x, size_t n));
void map_back(const graph *g, const node *n, const real *given,
              void (*body)(real *dx, const real *dy, const real *given, size_t n, int adds));

/* Where a shared axis is [rows][cols] with rows = everything before the last axis. */
static inline size_t last_axis(const tensor *t) { return t->shape[t->rank - 1]; }
static inline size_t rows_of(const tensor *t) { return t->count / last_axis(t); }
int same_shape(const tensor *a, const tensor *b);
const char *shape_text(const tensor *t, char text[64]); /* "(2, 3)" */

#endif
