/* memory - what a run does, in order, and where every value, gradient and scratch is. Internal to
 * src/graph. */
#ifndef SSM2D_GRAPH_MEMORY_H
#define SSM2D_GRAPH_MEMORY_H

#include "graph/graph.h"

/* A run visits each node once in forward and, in training, once in backward. Before a backward
 * visit some nodes are visited once more, to recompute an output that was not kept; and
 * columns of a gradient that nobody has written are cleared. */
typedef enum visit_kind { VISIT_FORWARD, VISIT_RECOMPUTE, VISIT_BACKWARD, VISIT_CLEAR } visit_kind;

typedef struct visit {
    visit_kind kind;
    node *node;
    size_t out, scratch; /* offsets in the block, in bytes, of the node's output and scratch */
    /* to clear: columns [first, first + count) of this tensor's gradient */
    tensor *cleared;
    size_t first, count;
} visit;

/* Kept in graph.plan. */
typedef struct memory_plan {
    int visits, backward; /* backward: the first visit of graph_backward */
    visit *visit;         /* [visits] */
    size_t *grad, *saved; /* offsets of each tensor's gradient, and of what each node saves */
    double *times;        /* of the caller, or NULL */
    graph_watcher *watch; /* or NULL */
    void *watch_arg;
} memory_plan;

#endif
