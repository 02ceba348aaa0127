/* evaluate - the loss and the metrics of a model on a data set. */
#ifndef SSM2D_TRAIN_EVALUATE_H
#define SSM2D_TRAIN_EVALUATE_H

#include "cluster/cluster.h"
#include "data/loader.h"
#include "draw/confusion.h"
#include "inference/evaluator.h"
#include "tasks/task.h"

typedef struct evaluation {
    double loss;                  /* mean over images, without smoothing */
    double metrics[TASK_METRICS]; /* the task's; metric_count of them are of interest */
    int metric_count;
    size_t images;
    int stopped; /* the hook asked to stop: the other members mean nothing */
} evaluation;

/* Frees what an evaluation has put into a detail. */
void evaluation_detail_free(const ssm2d_context *context, task_detail *detail);
/* The confusion matrix of a task that has one, merged; the caller frees *cells. */
ssm2d_status evaluation_confusion(const ssm2d_context *context, const task *t,
                                  const task_detail *detail, confusion_cell **cells, size_t *count,
                                  ssm2d_error *error);

/* One image as it was evaluated; all arrays are valid during the call. */
typedef struct evaluated_image {
    size_t number;       /* its index in the data set */
    const float *pixels; /* [channels][rows][cols], normalised */
    const float *out;    /* of the model */
    const float *target;
    double loss;
} evaluated_image;

typedef struct evaluation_hooks {
    void *user;
    int (*stop)(void *user); /* asked before each batch; NULL: never */
    void (*progress)(void *user, size_t batch, size_t batches);
    task_detail *detail; /* filled in, and freed by the caller; NULL: no detail is kept */
    void (*image)(void *user, const evaluated_image *image); /* NULL: nobody asks */
    /* The processes that share the loader's images, each with the loader of its share; all get the
     * same result, which is that of one process to the bit. NULL: there is one. */
    cluster *cluster;
} evaluation_hooks;

/* Evaluates all images of a loader that was created for evaluation, with the targets of the task.
 * hooks may be NULL. */
ssm2d_status evaluate(evaluator *e, loader *images, const task *t, loss_kind loss,
                      const evaluation_hooks *hooks, evaluation *result, ssm2d_error *error);

#endif
