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
    int chain;           /* the number, from 1 on, of the chain that begins here; or 0 */
    int local;           /* out is in the memory that a worker has for a chain */
    /* to clear: columns [first, first + count) of this tensor's gradient */
    tensor *cleared;
    size_t first, count;
} visit;

/* Visits [first, end), which are run together, some rows at a time (row_chains.h). */
typedef struct row_chain {
    int first, end;
    size_t rows, blocks;         /* blocks: of rows, the tasks */
    size_t memory, worker_bytes; /* offset in the block, and bytes for each worker */
    size_t times;                /* offset in a worker's: seconds it has spent in each node */
} row_chain;

/* Kept in graph.plan. */
typedef struct memory_plan {
    int visits, backward; /* backward: the first visit of graph_backward */
    visit *visit;         /* [visits] */
    int chains;
    row_chain *chain;     /* [chains] */
    size_t *grad, *saved; /* offsets of each tensor's gradient, and of what each node saves */
    double *times;        /* of the caller, or NULL */
} memory_plan;

#endif
