/* loss - loss functions: as operators for training, and in double for the evaluation of one image.
 * A loss function also defines how outputs become probabilities. */
#ifndef SSM2D_TASKS_LOSS_H
#define SSM2D_TASKS_LOSS_H

#include "graph/graph.h"

/* Shape of a model's output for one image: a vector of outputs or, with a dense head of the task,
 * `outputs` planes of rows x cols. */
typedef struct task_shape {
    int outputs;
    size_t rows, cols;
} task_shape;

/* In the order of the setting `loss`. To add one: a value here and a line in loss.c. */
typedef enum loss_kind { LOSS_CROSS_ENTROPY, LOSS_BCE, LOSS_KINDS } loss_kind;

typedef struct loss_function {
    const char *name;
    const char *activation; /* its name in the metadata of exported models */
    /* The mean over a batch. out: as the task's head emits it; targets: [batch][elements]. */
    tensor *(*build)(graph *g, tensor *out, tensor *targets);
    /* The loss of one image. */
    double (*of_image)(const float *out, const float *target, const task_shape *shape);
    /* Converts the elements of out to probabilities. */
    void (*activate)(const float *out, const task_shape *shape, double *values);
} loss_function;

extern const char *const loss_names[]; /* values of the setting `loss`; ended by NULL */
const loss_function *loss_at(loss_kind kind);

#endif
