/* model_case - one folder of tests/golden-models: a model, its weights, images, and the expected
 * results. */
#ifndef TESTS_MODEL_CASE_H
#define TESTS_MODEL_CASE_H

#include "models/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MODEL_CASES = 20 };
extern const char *const model_cases[MODEL_CASES];

typedef struct model_case {
    char folder[512];
    model_config config;
    weights *weights;
    size_t batch, classes, pixels; /* of one image */
    float *params;
    double *images, *targets, *logits, *grads;
    double loss;
} model_case;

/* Fails the test if anything is missing. */
model_case model_case_read(ssm2d_context *context, const char *name);
void model_case_free(model_case *c);

/* Reads the arrays of w from a file of weights as doubles, in the order of w; fails unless it has
 * exactly these arrays with these shapes. */
double *read_arrays(const weights *w, const char *path);
/* Fails unless each array of `got` differs from the expected one by at most tolerance times the
 * largest expected value; zeros must be zero. */
void assert_arrays(const model_case *c, const double *got, double tolerance);
void assert_close(const char *what, const double *got, const double *expected, size_t count,
                  double tolerance);

#endif
