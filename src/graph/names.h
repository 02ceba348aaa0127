/* names - tensors by name. Internal to src/graph. */
#ifndef SSM2D_GRAPH_NAMES_H
#define SSM2D_GRAPH_NAMES_H

#include "graph/graph.h"

/* Makes the table large enough for all the tensors that the graph's list has memory for; 0 without
 * memory. */
int names_reserve(graph *g);

#endif
