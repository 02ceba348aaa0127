/* case - one folder of tests/golden: a problem and its expected results. */
#ifndef TESTS_CASE_H
#define TESTS_CASE_H

#include "problem.h"

typedef struct golden_case {
    problem problem;
    double *kernel, *y, *dkernel, *du, *dparams;
} golden_case;

/* Calls visit with every folder of tests/golden whose case.json has this kind, in order of name;
 * returns how many. */
int each_case(const char *kind, void (*visit)(const char *folder, void *arg), void *arg);
/* Fails the test if an array is missing, has the wrong shape, or is not used. */
golden_case case_read(ssm2d_context *context, const char *folder);
void case_free(golden_case *c);
/* One array of a folder, with its shape; the caller frees it. */
double *case_array(ssm2d_context *context, const char *folder, const char *name, int rank,
                   const size_t *shape);

#endif
