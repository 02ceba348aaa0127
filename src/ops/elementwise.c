#include "ops/elementwise.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 16384 };

typedef struct job {
    const node *node;
    size_t count;
    elementwise_part *part;
} job;

static void run_piece(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    size_t first = task * PIECE, end = first + PIECE < j->count ? first + PIECE : j->count;
    j->part(j->node, first, end);
}

void elementwise(const graph *g, const node *n, size_t count, elementwise_part *part)
{
    job j = {n, count, part};
    pool_run(g->context->pool, (count + PIECE - 1) / PIECE, run_piece, &j);
}

typedef struct map_job {
    const node *node;
    const real *given;
    void (*body)(real *y, const real *x, size_t n);
    void (*body_back)(real *dx, const real *dy, const real *given, size_t n, int adds);
} map_job;

static void map_piece(void *arg, size_t task, int worker)
{
    (void)worker;
    const map_job *j = arg;
    const node *n = j->node;
    const size_t first = task * PIECE, left = n->out->count - first,
                 count = left < PIECE ? left : PIECE;
    if (j->body)
        j->body(n->out->data + first, n->in[0]->data + first, count);
    else
        j->body_back(n->in[0]->grad + first, n->out->grad + first, j->given + first, count,
                     n->adds[0]);
}

void map(const graph *g, const node *n, void (*body)(real *y, const real *x, size_t n))
{
    map_job j = {.node = n, .body = body};
    pool_run(g->context->pool, (n->out->count + PIECE - 1) / PIECE, map_piece, &j);
}

void map_back(const graph *g, const node *n, const real *given,
              void (*body)(real *dx, const real *dy, const real *given, size_t n, int adds))
{
    map_job j = {.node = n, .given = given, .body_back = body};
    pool_run(g->context->pool, (n->out->count + PIECE - 1) / PIECE, map_piece, &j);
}

int same_shape(const tensor *a, const tensor *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

const char *shape_text(const tensor *t, char text[64])
{
    size_t used = 0;
    for (int i = 0; i < t->rank && used < 48; i++)
        used += (size_t)snprintf(text + used, 64 - used, "%s%zu", i ? ", " : "(", t->shape[i]);
    snprintf(text + used, 64 - used, ")");
    return text;
}
