/* conv - plans and executes depthwise convolutions with a two-sided kernel.
 *
 * For every image b and channel h of a grid, with cells outside the grid taken as zero:
 *     y[i][j]   = bias + sum over offsets (d, o) of k2[d][o] * u[i-d][j-o]
 *     du[p][q] += sum over offsets (d, o) of k2[d][o] * dy[p+d][q+o]
 *     dk2[d][o] = sum over images and cells (i, j) of dy[i][j] * u[i-d][j-o]
 * Kernels have the layout of two_sided.h. A plan holds the chosen algorithm, the tables that all
 * executions share, and the number of bytes that one execution needs; executing cannot fail and
 * allocates nothing. Several threads may execute one plan, each with its own memory.
 *
 * A new algorithm is a file that defines a conv_algorithm (conv_impl.h) and a line in the table of
 * conv.c. */
#ifndef SSM2D_CONV_CONV_H
#define SSM2D_CONV_CONV_H

#include "core/plan_options.h"
#include "conv/conv_names.h"
#include "conv/two_sided.h"

/* Column offsets low .. high; none when low > high. */
typedef struct conv_reach {
    int low, high;
} conv_reach;

/* The index in conv_problem.reach of a row offset: below, at, or above 0. */
enum { REACH_BEFORE, REACH_CENTRE, REACH_AFTER, REACH_SIGNS };

typedef struct conv_problem {
    ssm2d_context *context; /* borrowed: threads, memory, instruction set */
    size_t batch;
    int rows, cols, channels;
    int trunc_rows, trunc_cols; /* offsets stay below these; at most rows and cols */
    /* The column offsets that occur at row offsets of each sign. Elsewhere the kernel is zero and
     * its gradient is unspecified. */
    conv_reach reach[REACH_SIGNS];
    plane_strides in, out; /* of u and du, of y and dy; cells must not overlap */
    int inference;         /* conv_backward will not be called: less memory */
} conv_problem;

typedef struct conv_plan conv_plan;

/* Name of algorithm i, NULL past the last. */
const char *conv_algorithm_name(int i);

/* Plans with the named algorithm, in two steps, because callers compare several plans: a draft
 * knows its cost and bytes but has no tables, which finish computes. Callers must refuse a draft
 * whose bytes are SIZE_MAX. */
ssm2d_status conv_plan_draft(const conv_problem *problem, const char *algorithm, conv_plan **plan,
                             ssm2d_error *error);
ssm2d_status conv_plan_finish(conv_plan *plan, ssm2d_error *error);
void conv_plan_destroy(conv_plan *plan); /* NULL is allowed */

/* Estimated multiply-adds of a forward pass, weighted by how far the algorithm is from peak
 * speed. */
double conv_plan_cost(const conv_plan *plan);
/* Whether rounding errors are relative to the largest value of an array, so that values smaller by
 * orders of magnitude lose their accuracy. */
int conv_plan_error_of_largest(const conv_plan *plan);
/* Bytes of memory for one execution; SIZE_MAX on overflow. */
size_t conv_plan_bytes(const conv_plan *plan);
const two_sided *conv_plan_layout(const conv_plan *plan);

/* memory: conv_plan_bytes, 64-byte aligned, zeroed once before its first use (as mem_alloc does),
 * and not modified by the caller from prepare to backward. prepare reads k2; apply may then run any
 * number of times without it. bias: one element per channel, padded to whole vectors; or NULL. */
void conv_prepare(const conv_plan *plan, void *memory, const real *k2);
void conv_apply(const conv_plan *plan, void *memory, const real *u, const real *bias, real *y);
/* After prepare with the same k2. Adds to du unless NULL; writes dk2 unless NULL. */
void conv_backward(const conv_plan *plan, void *memory, const real *k2, const real *u,
                   const real *dy, real *du, real *dk2);

#endif
