/* memory - the steps of a run and the place of every value, gradient and scratch in one block.
 * Internal to src/graph. */
#ifndef SSM2D_GRAPH_MEMORY_H
#define SSM2D_GRAPH_MEMORY_H

#include "graph/graph.h"

/* again: forward once more, for backward */
typedef enum step_kind { STEP_FORWARD, STEP_AGAIN, STEP_BACKWARD } step_kind;

typedef struct step {
    step_kind kind;
    node *node;
    /* offsets in the block, in bytes: where the node's output and scratch are in this step */
    size_t out, scratch;
} step;

/* Kept in graph.plan: steps, and for each tensor the offset of its gradient, for each node that of
 * what it saves. */
typedef struct memory_plan {
    int steps, backward; /* the first of the backward ones */
    step *step;
    size_t *grad, *saved;
    double *times; /* of the caller, or NULL */
} memory_plan;

#endif
