/* op_builders - shared by op_examples_*.c: the inputs and weights of an operator, and the format of
 * the lists. */
#ifndef TESTS_OP_BUILDERS_H
#define TESTS_OP_BUILDERS_H

#include "op_examples.h"

#include "graph_helpers.h"
#include "ops/ops.h"

#include <string.h>

enum { MOST_GIVEN = 4 };

/* A graph that is being built, and the inputs that the operator was given. */
typedef struct maker {
    graph *g;
    trial_mode mode;
    tensor *given[MOST_GIVEN];
    int count;
} maker;

#define SHAPE(...)                                                                                 \
    (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }

/* An input of the operator that is differentiated. */
static inline tensor *give(maker *m, int rank, const size_t *shape)
{
    tensor *x = graph_param(m->g, spec_of(rank, shape), "x%d", m->count);
    if (m->mode != OF_PARAMS) x = scale(m->g, x, 0.75);
    return m->given[m->count++] = x;
}

/* The same as a view: the columns of a wider tensor, without its first two and its last. */
static inline tensor *give_columns(maker *m, int rank, const size_t *shape)
{
    size_t wide[GRAPH_RANK];
    memcpy(wide, shape, (size_t)rank * sizeof *shape);
    wide[rank - 1] += 3;
    return columns(m->g, give(m, rank, wide), 2, shape[rank - 1]);
}

/* A parameter of the operator. */
static inline tensor *weight(maker *m, const char *name, int rank, const size_t *shape)
{
    return graph_param(m->g, spec_of(rank, shape), "%s", name);
}

/* One operator; its variants are shapes with tails and axes of size one. */
typedef struct op_builder {
    const char *op;
    int variants;
    tensor *(*build)(maker *m, int variant);
    int rounds; /* a step function, whose gradient is that of the identity by definition */
} op_builder;

/* The list of each file; the last entry has no name. */
extern const op_builder value_examples[], linear_examples[], attention_examples[], token_examples[],
    mixer_examples[], loss_examples[];
/* Of operators that a test adds; other tests have none. */
extern const op_builder added_examples[] __attribute__((weak));

#endif
