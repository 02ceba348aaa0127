/* graph_impl - what the files of src/graph share: building, names, and the plan of a run. */
#ifndef SSM2D_GRAPH_GRAPH_IMPL_H
#define SSM2D_GRAPH_GRAPH_IMPL_H

#include "graph/graph.h"

/* A tensor in the list of the graph; NULL after an error. */
tensor *graph_new_tensor(graph *g, role kind, int rank, const size_t *shape);
/* Points the data of t's views at its memory. */
void point_views(const tensor *t);
/* Makes the table of names large enough for the capacity of the graph's list of tensors; returns 0
 * if out of memory. */
int names_reserve(graph *g);

/* A run visits each node once in forward and, in training, once in backward. Before a backward
 * visit some nodes are visited once more, to recompute an output that was not kept; and
 * columns of a gradient that no visit has written are cleared. */
typedef enum visit_kind { VISIT_FORWARD, VISIT_RECOMPUTE, VISIT_BACKWARD, VISIT_CLEAR } visit_kind;

typedef struct visit {
    visit_kind kind;
    node *node;
    size_t out, scratch; /* offsets in the block, in bytes, of the node's output and scratch */
    int chain;           /* 1 + the index of the chain that begins here, or 0 */
    int local;           /* out is in the memory that a worker has for a chain */
    /* to clear: columns [first, first + count) of this tensor's gradient */
    tensor *cleared;
    size_t first, count;
} visit;

/* Visits [first, end), which are run together, some rows at a time (row_chains.c). */
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
    graph_watcher *watch; /* or NULL */
    void *watch_arg;
} memory_plan;

/* Runs the visits of a chain; seconds go to `times` (see graph_time) unless it is NULL. */
void run_row_chain(graph *g, const row_chain *c, double *times);

#endif
