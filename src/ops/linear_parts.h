/* linear_parts - how dW = dy^T x of a Linear layer is cut into tasks. */
#ifndef SSM2D_OPS_LINEAR_PARTS_H
#define SSM2D_OPS_LINEAR_PARTS_H

#include "graph/graph.h"

/* Columns of x that a task packs at once, so that they stay in the second cache. */
enum { LINEAR_PART_COLS = 256 };

/* The rows of x and dy are cut into ranges, each of which has sums of its own (the first one dW
 * itself), and a range into slabs of `depth` rows: both by the shape, since the last bits depend on
 * them. dW is cut into parts of rows x cols, `across` of them side by side. */
typedef struct weights_grid {
    size_t ranges, depth;
    size_t rows, cols, across, parts;
} weights_grid;

weights_grid linear_cut_weights(const graph *g, const node *nd);

#endif
