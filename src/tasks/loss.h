/* loss - the loss functions: as operators for training, and in double for the evaluation of one
 * image. A loss function also decides what the outputs of a model mean. */
#ifndef SSM2D_TASKS_LOSS_H
#define SSM2D_TASKS_LOSS_H

#include "graph/graph.h"

/* What a model emits for one image, and the size of its images: a vector of outputs, or where the
 * task's head says so, `outputs` planes of rows x cols. */
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
    /* values <- what each of the elements of out means: probabilities. */
    void (*activate)(const float *out, const task_shape *shape, double *values);
} loss_function;

extern const char *const loss_names[]; /* as settings have them; ended by NULL */
const loss_function *loss_at(loss_kind kind);

#endif
