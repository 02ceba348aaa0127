/* row_chains - operators that work row by row, run one after the other on a few rows at a time.
 * Internal to src/graph.
 *
 * In inference, nodes in a row whose operators say so (op.rows) are one visit: a task takes some
 * rows through all of them. Threads meet once per chain instead of once or twice per node, and the
 * rows stay in the cache of the processor that works on them. Values that nobody reads outside the
 * chain have memory for the rows of one task per worker, not for all rows. A row's numbers do not
 * depend on which rows are in its task, so that tasks may be cut by the number of threads. */
#ifndef SSM2D_GRAPH_ROW_CHAINS_H
#define SSM2D_GRAPH_ROW_CHAINS_H

#include "graph/planner.h"

/* Finds the chains, and puts spans of memory right for them. Called when the visits are planned;
 * returns 0 without memory. */
int plan_row_chains(planner *p);

/* Runs the visits of a chain; seconds go to `times` (see graph_time) unless it is NULL. */
void run_row_chain(graph *g, const row_chain *c, double *times);

#endif
