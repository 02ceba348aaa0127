/* optimizer - performs one step of an optimiser on flat arrays of parameters.
 *
 * To add one, write a file that defines an `optimizer` and a line in optimizers.def. Its state
 * consists of named arrays with one element per parameter, which checkpoints save under those
 * names. Work is divided into pieces of a fixed size (flat.h), so that results do not depend on the
 * number of threads. */
#ifndef SSM2D_OPTIM_OPTIMIZER_H
#define SSM2D_OPTIM_OPTIMIZER_H

#include "core/context.h"

enum { OPTIMIZER_ARRAYS = 2 }; /* largest number of state arrays */

typedef struct optimizer_settings {
    double decay; /* weight decay */
    double beta1, beta2, eps;
    double momentum; /* of sgd */
    int nesterov;    /* of sgd */
} optimizer_settings;

/* A range of parameters with the same decay and learning rate. A list of spans is in ascending
 * order; parameters outside all spans are not trained. */
typedef struct param_span {
    size_t offset, count;
    int decay; /* whether weight decay applies */
    double lr; /* multiple of the common learning rate */
} param_span;

typedef struct optimizer_step {
    optimizer_settings settings;
    double lr;
    long t;        /* the step, counted from 1 */
    double factor; /* gradients are multiplied by it first (clipping) */
    size_t count, span_count;
    const param_span *spans;
    float *weights; /* [count], as all arrays here */
    const float *gradients;
    float *arrays[OPTIMIZER_ARRAYS]; /* the optimiser's state */
} optimizer_step;

typedef struct optimizer {
    const char *name;
    const char *arrays[OPTIMIZER_ARRAYS + 1]; /* names of its state, ended by NULL; initially 0 */
    /* Updates `count` parameters from index `first` on, all of them in the span. */
    void (*update)(const optimizer_step *s, const param_span *span, size_t first, size_t count);
} optimizer;

extern const char *const optimizer_names[]; /* ended by NULL */
const optimizer *optimizer_at(int i);       /* in the same order */

/* Number of state arrays. */
int optimizer_arrays(const optimizer *o);

void optimizer_update(const ssm2d_context *context, const optimizer *o, const optimizer_step *step);

#endif
