/* graph_impl - what the files of src/graph share. */
#ifndef SSM2D_GRAPH_GRAPH_IMPL_H
#define SSM2D_GRAPH_GRAPH_IMPL_H

#include "graph/graph.h"

/* A tensor in the list of the graph; NULL after an error. */
tensor *graph_new_tensor(graph *g, role kind, int rank, const size_t *shape);

#endif
