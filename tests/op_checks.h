/* op_checks - checks the gradients of every operator's examples against central differences, in
 * double. */
#ifndef TESTS_OP_CHECKS_H
#define TESTS_OP_CHECKS_H

#include "op_examples.h"

/* The values with which an example is run; the caller frees the arrays with trial_values_free. */
typedef struct trial_values {
    double *params, *dout;
} trial_values;

trial_values trial_values_for(const trial *t);
void trial_values_free(trial_values *n);
/* "gelu, variant 1, of values"; valid until the next call */
const char *trial_title(const char *op, int variant, int mode);

/* Counts the gradients of an operator's examples that differ from finite differences; `type` has
 * the functions for double. */
int op_gradients_wrong(const trial_functions *type, ssm2d_context *context, const char *op);

#endif
