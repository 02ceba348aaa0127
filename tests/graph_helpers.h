/* graph_helpers - declaring parameters of graphs that a test builds. */
#ifndef TESTS_GRAPH_HELPERS_H
#define TESTS_GRAPH_HELPERS_H

#include "graph/graph.h"

#include <string.h>

/* A parameter of which only the shape matters; valid for eight more calls. */
static inline const param_spec *spec_of(int rank, const size_t *shape)
{
    static param_spec specs[8];
    static int next;
    param_spec *s = &specs[next = (next + 1) % 8];
    *s = (param_spec){.rank = rank};
    memcpy(s->shape, shape, (size_t)rank * sizeof *shape);
    return s;
}

#endif
