/* optimizer - one step of an optimiser on flat arrays of parameters.
 *
 * Adding one: a file that defines an `optimizer`, and a line in optimizers.def. What it remembers
 * from step to step are named arrays of one element per parameter, which checkpoints save under
 * those names. Work is divided into pieces of a fixed size (flat.h), whatever the number of
 * threads, so that results do not depend on it. */
#ifndef SSM2D_OPTIM_OPTIMIZER_H
#define SSM2D_OPTIM_OPTIMIZER_H

#include "core/context.h"

enum { OPTIMIZER_ARRAYS = 2 }; /* arrays of one optimiser, at most */

typedef struct optimizer_settings {
    double decay; /* weight decay */
    double beta1, beta2, eps;
    double momentum; /* of sgd */
    int nesterov;    /* of sgd */
} optimizer_settings;

/* A range of parameters with the same decay and learning rate. A list of spans is in order;
 * what is in none of them is not learned and stays as it is. */
typedef struct param_span {
    size_t offset, count;
    int decay; /* whether weight decay applies */
    double lr; /* its learning rate, as a multiple of the common one */
} param_span;

typedef struct optimizer_step {
    optimizer_settings settings;
    double lr;
    long t;        /* the step, counted from 1 */
    double factor; /* gradients are multiplied by it first, as clipping needs */
    size_t count, span_count;
    const param_span *spans;
    float *weights; /* [count], and so are the others */
    const float *gradients;
    float *arrays[OPTIMIZER_ARRAYS]; /* those that the optimiser has */
} optimizer_step;

typedef struct optimizer {
    const char *name;
    const char *arrays[OPTIMIZER_ARRAYS + 1]; /* their names, ended by NULL; zero at the start */
    /* Updates `count` parameters from index `first` on, all of them in the span. */
    void (*update)(const optimizer_step *s, const param_span *span, size_t first, size_t count);
} optimizer;

extern const char *const optimizer_names[]; /* ended by NULL */
const optimizer *optimizer_at(int i);       /* in the same order */

/* Returns how many arrays it has. */
int optimizer_arrays(const optimizer *o);

void optimizer_update(const ssm2d_context *context, const optimizer *o, const optimizer_step *step);

#endif
