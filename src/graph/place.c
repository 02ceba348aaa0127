/* place - first fit, largest first.
 *
 * To find what is free from one visit to another without looking at every span, time is cut in
 * halves, and halves of halves, down to single visits: a binary tree whose part 1 is all of the
 * time and whose part k has the halves 2k and 2k + 1. A span covers few parts that are as large as
 * possible. Each part knows the bytes of spans that cover it (`covered`), and of those that are
 * alive at any time in it (`taken`, without the spans that cover a larger part around it). A span
 * collides with what is taken in the parts that it covers and with what covers parts around them,
 * so that placing one looks at about 4 log2(visits) sets. */
#include "graph/planner.h"

#include "core/arith.h"

#include <stdlib.h>

typedef struct ranked {
    size_t bytes;
    int span;
} ranked;

typedef struct timeline {
    interval_pool pool;
    int *covered, *taken; /* sets, [2 * width] */
    int width;            /* visits in part 1, a power of two */
} timeline;

/* Tells the parts in [first, end) and inside part `at`, which is [from, from + width), about s. */
static void occupy(timeline *t, int at, int from, int width, const span *s)
{
    if (s->last < from || from + width <= s->first) return;
    interval_add(&t->pool, &t->taken[at], s->offset, s->offset + s->bytes);
    if (s->first <= from && from + width - 1 <= s->last) {
        interval_add(&t->pool, &t->covered[at], s->offset, s->offset + s->bytes);
        return;
    }
    occupy(t, 2 * at, from, width / 2, s);
    occupy(t, 2 * at + 1, from + width / 2, width / 2, s);
}

/* Moves s up past what it collides with, as far as part `at` knows; may have to be repeated. */
static size_t move_up(const timeline *t, int at, int from, int width, const span *s, size_t offset)
{
    if (s->last < from || from + width <= s->first) return offset;
    if (s->first <= from && from + width - 1 <= s->last)
        return interval_lowest_fit(&t->pool, t->taken[at], offset, s->bytes);
    offset = interval_lowest_fit(&t->pool, t->covered[at], offset, s->bytes);
    offset = move_up(t, 2 * at, from, width / 2, s, offset);
    return move_up(t, 2 * at + 1, from + width / 2, width / 2, s, offset);
}

static size_t lowest_offset(const timeline *t, const span *s)
{
    size_t offset = 0, moved = 0;
    do {
        offset = moved;
        moved = move_up(t, 1, 0, t->width, s, offset);
    } while (moved != offset);
    return offset;
}

static int larger_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->span - y->span;
}

/* A span that others share lives as long as any of them. */
static void stretch_shared(span *spans, int count)
{
    for (int i = 0; i < count; i++) {
        if (spans[i].same == SPAN_NONE || spans[i].first == SPAN_NONE) continue;
        span *s = &spans[spans[i].same];
        s->first = min_int(s->first, spans[i].first);
        s->last = max_int(s->last, spans[i].last);
    }
}

static int rank_spans(ranked *order, const span *spans, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (spans[i].first != SPAN_NONE && spans[i].same == SPAN_NONE && spans[i].bytes)
            order[n++] = (ranked){spans[i].bytes, i};
    qsort(order, (size_t)n, sizeof *order, larger_first);
    return n;
}

int place_spans(const ssm2d_context *context, span *spans, int count, int visits, size_t *bytes)
{
    timeline t = {.pool = {.context = context}, .width = 1};
    while (t.width <= visits) t.width *= 2;
    const size_t parts = 2 * (size_t)t.width;
    ranked *order = mem_alloc(context, (size_t)count * sizeof *order);
    t.covered = mem_alloc(context, 2 * parts * sizeof *t.covered);
    *bytes = 0;
    if (order && t.covered) {
        t.taken = t.covered + parts;
        stretch_shared(spans, count);
        const int placed = rank_spans(order, spans, count);
        for (int i = 0; i < placed && !t.pool.failed; i++) {
            span *s = &spans[order[i].span];
            s->offset = lowest_offset(&t, s);
            occupy(&t, 1, 0, t.width, s);
            *bytes = max_size(*bytes, s->offset + s->bytes);
        }
        for (int i = 0; i < count; i++)
            if (spans[i].same != SPAN_NONE) spans[i].offset = spans[spans[i].same].offset;
    }
    const int done = order && t.covered && !t.pool.failed;
    interval_pool_free(&t.pool);
    mem_free(context, t.covered);
    mem_free(context, order);
    return done;
}
