/* graph_fixture - shared by the tests of the graph: a context that counts allocations and can
 * refuse one, and graphs that must not fail. */
#ifndef TESTS_GRAPH_FIXTURE_H
#define TESTS_GRAPH_FIXTURE_H

#include "problem.h"

#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

/* fail_at: the index of the allocation that is refused, or -1. */
typedef struct counter {
    long calls, live, fail_at;
} counter;

static inline void *counted_take(size_t bytes, void *user)
{
    counter *c = user;
    if (c->calls++ == c->fail_at) return NULL;
    void *memory = malloc(bytes);
    if (memory) memset(memory, 0xff, bytes); /* NaN */
    c->live += memory != NULL;
    return memory;
}

static inline void counted_give(void *memory, void *user)
{
    counter *c = user;
    c->live--;
    free(memory);
}

static inline ssm2d_context *counting_context(counter *c)
{
    ssm2d_context_options o = ssm2d_context_options_default();
    o.threads = 2;
    o.allocate = counted_take;
    o.release = counted_give;
    o.user = c;
    ssm2d_context *context;
    ssm2d_error error;
    if (ssm2d_context_create(&o, &context, &error)) fail_msg("%s", error.line);
    return context;
}

static inline graph *graph_of(ssm2d_context *context, int training)
{
    graph *g;
    ssm2d_error error;
    if (graph_create(context, training, &g, &error)) fail_msg("%s", error.line);
    return g;
}

static inline void finish(graph *g, tensor *out)
{
    ssm2d_error error;
    if (graph_finish(g, out, &error)) fail_msg("%s", error.line);
}

#endif
