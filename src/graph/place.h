/* place - gives every span of memory its offset in one block. Internal to src/graph. */
#ifndef SSM2D_GRAPH_PLACE_H
#define SSM2D_GRAPH_PLACE_H

#include "core/context.h"

enum { SPAN_NONE = -1 };

/* A piece of memory that is in use from one visit to another, both included. */
typedef struct span {
    size_t bytes, offset;
    int first, last; /* visits; first is SPAN_NONE when nobody uses it */
    int same;        /* the span whose memory this one shares (which shares none), or SPAN_NONE */
} span;

/* Places the spans one after the other, the largest first, each at the lowest offset that is free
 * as long as it is alive. `last` is at most the number of visits. The result depends on the spans
 * alone. Returns 0 when there is no memory to do it; *bytes is the size of the block. */
int place_spans(const ssm2d_context *context, span *spans, int count, int visits, size_t *bytes);

#endif
