/* problem - helpers for tests of the layer: a random layer with arrays, one call that executes it
 * through the public interface with any element type and memory layout, and comparison with a
 * message. */
#ifndef TESTS_PROBLEM_H
#define TESTS_PROBLEM_H

#include "core/rng.h"
#include "layer_calls.h"
#include "short_tests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ctest's SKIP_RETURN_CODE: the machine lacks the instruction set that SSM2D_CPU asks for. */
enum { SKIPPED = 77 };

/* A layer, a grid, and arrays of values that float can represent. u and dy are dense
 * [batch][rows][cols][channels]. */
typedef struct problem {
    ssm2d_config config;
    size_t batch, rows, cols;
    size_t total, cells, taps; /* elements: of parameters; of u; of the kernel */
    double *params, *u, *dy;
} problem;

/* The results of an execution, in double, laid out like the problem. du and dparams start from
 * zero. */
typedef struct answer {
    double *kernel, *y, *du, *dparams;
} answer;

/* DENSE; [batch][channels][rows][cols]; a token in front of each image; gaps everywhere; rows and
 * columns exchanged; every other channel of a wider tensor; rows from the last to the first, as in
 * a bottom-up bitmap. */
typedef enum layout {
    DENSE,
    CHANNEL_FIRST,
    TOKENS,
    PADDED,
    TRANSPOSED,
    SPREAD,
    BOTTOM_UP,
    LAYOUTS
} layout;

extern const char *const type_names[2];

double *doubles(size_t count); /* zeroed, never NULL */
/* 0 .. n-1. Assign the result to a variable, and never call it twice in the arguments of one call:
 * the order of evaluation is unspecified, and every compiler must test the same problems. */
int below(rng *r, int n);
ssm2d_config random_config(rng *r);
problem problem_make(ssm2d_config config, size_t batch, size_t rows, size_t cols, rng *r);
void problem_free(problem *p);
const char *problem_text(const problem *p); /* for messages; overwritten by the next call */

ssm2d_context *context_of(int threads); /* fails the test on error */
/* Exits with SKIPPED when the machine lacks what SSM2D_CPU requires: call it first in each main. */
void skip_without_cpu(void);

/* The first algorithm from index *k on that supports the problem, and its index: all of them,
 * except that `scan` cannot truncate a kernel. */
const char *serves(const problem *p, int *k);
ssm2d_plan *plan_of(ssm2d_context *context, const problem *p, ssm2d_type type,
                    const char *algorithm);
ssm2d_workspace *workspace_of(const ssm2d_plan *plan);

/* Copies dense doubles into memory of a layout, and back; elements outside the tensor are NaN and
 * must stay so (checked). */
void *pack(ssm2d_type type, layout l, const problem *p, const double *dense);
void unpack(ssm2d_type type, layout l, const problem *p, const void *memory, double *dense);
ssm2d_strides layout_strides(layout l, const problem *p);
/* The offset of the first element of the tensor in that memory, and a pointer to element i of an
 * array. */
size_t layout_start(layout l, const problem *p);
void *array_at(ssm2d_type type, void *array, size_t i);
void *convert(ssm2d_type type, const double *from, size_t count); /* a new array of the type */
void convert_back(ssm2d_type type, const void *from, double *to, size_t count);

/* Plans and executes kernel, forward and backward. */
answer run(ssm2d_context *context, const problem *p, ssm2d_type type, const char *algorithm,
           layout in, layout out);
void answer_free(answer *a);

/* Prints a message and returns 1 if max|got - want| exceeds tolerance * max|want|. */
int differs(const char *what, const double *got, const double *want, size_t count,
            double tolerance);
/* Compares the gradient of each parameter array separately. */
int gradients_differ(const problem *p, const char *what, const double *got, const double *want,
                     double tolerance);
int bits_differ(const char *what, const double *got, const double *want, size_t count);

/* The message is one sentence that contains both words; fails the test otherwise. */
void says(const ssm2d_error *error, const char *a, const char *b);

#endif
