/* op_checks - the check that every operator gets from its examples: gradients against central
 * differences, in double. */
#ifndef TESTS_OP_CHECKS_H
#define TESTS_OP_CHECKS_H

#include "op_examples.h"

/* What an example is run with; the arrays are the caller's to free by trial_values_free. */
typedef struct trial_values {
    double *params, *dout;
} trial_values;

trial_values trial_values_for(const trial *t);
void trial_values_free(trial_values *n);
/* "gelu, variant 1, of values"; valid until the next call */
const char *trial_title(const char *op, int variant, int mode);

/* How many gradients of an operator's examples are not the slopes that they should be; `type` has
 * the functions of double. */
int op_gradients_wrong(const trial_functions *type, ssm2d_context *context, const char *op);

#endif
