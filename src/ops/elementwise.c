#include "ops/elementwise.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 16384 };

typedef struct job {
    const node *node;
    size_t count;
    NAME(part) *part;
} job;

static void run_piece(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    size_t first = task * PIECE, end = first + PIECE < j->count ? first + PIECE : j->count;
    j->part(j->node, first, end);
}

void NAME(elementwise)(const graph *g, const node *n, size_t count, NAME(part) *part)
{
    job j = {n, count, part};
    pool_run(g->context->pool, (count + PIECE - 1) / PIECE, run_piece, &j);
}

int NAME(same_shape)(const tensor *a, const tensor *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

const char *NAME(shape_text)(const tensor *t, char text[64])
{
    size_t used = 0;
    for (int i = 0; i < t->rank && used < 48; i++)
        used += (size_t)snprintf(text + used, 64 - used, "%s%zu", i ? ", " : "(", t->shape[i]);
    snprintf(text + used, 64 - used, ")");
    return text;
}
