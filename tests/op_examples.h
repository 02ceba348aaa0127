/* op_examples - a graph around every operator, compiled for float and for double; values go in and
 * out as double. */
#ifndef TESTS_OP_EXAMPLES_H
#define TESTS_OP_EXAMPLES_H

#include "ssm2d.h"

#include <stddef.h>

/* What the inputs of the operator are: parameters; values computed from them by another node;
 * values that a later node uses as well, so that the operator has to add to their gradients; and
 * parameters in a graph without backward. */
typedef enum trial_mode {
    OF_PARAMS,
    OF_VALUES,
    OF_SHARED_VALUES,
    TRIAL_MODES,
    INFERENCE = TRIAL_MODES
} trial_mode;

typedef struct trial trial; /* a finished graph with memory for its parameters */

/* The functions for one element type; `type_of` returns those of float or double. */
typedef struct trial_functions {
    int (*variants)(const char *op); /* 0: there is no such example */
    int (*rounds)(const char *op);   /* see op_builder */
    /* fails the test on error */
    trial *(*open)(ssm2d_context *context, const char *op, int variant, trial_mode mode);
    void (*close)(trial *t);
    /* One step. dparams may be NULL: forward only; else it is added to. */
    void (*run)(trial *t, const double *params, const double *dout, double *out, double *dparams);
} trial_functions;

/* Those of double are in a library of their own. */
extern const trial_functions trial_f32;
extern SSM2D_API const trial_functions trial_f64;
#ifdef REAL_IS_DOUBLE
#define TRIAL trial_f64
#else
#define TRIAL trial_f32
#endif

struct trial {
    void *graph;
    ssm2d_context *context;
    void *params, *grads, *inputs;
    size_t param_count, out_count;
    int tensors; /* that are parameters */
    size_t offset[12], count[12];
    void *out;
};

#endif
