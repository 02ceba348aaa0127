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
    double metrics[TASK_METRICS]; /* of the task; the first metric_count are to be shown */
    int metric_count;
    size_t images;
    int stopped; /* the hook asked to stop: the other members are not set */
} evaluation;

void evaluation_detail_free(const ssm2d_context *context, task_detail *detail);
/* The confusion matrix of a task that has one, merged; the caller frees *cells. */
ssm2d_status evaluation_confusion(const ssm2d_context *context, const task *t,
                                  const task_detail *detail, confusion_cell **cells, size_t *count,
                                  ssm2d_error *error);

/* One evaluated image; the arrays are valid during the call. */
typedef struct evaluated_image {
    size_t index;        /* in the data set */
    const float *pixels; /* [channels][rows][cols], normalised */
    const float *out;    /* of the model */
    const float *target;
    double loss;
} evaluated_image;

typedef struct evaluation_hooks {
    void *user;
    int (*stop)(void *user); /* asked before each batch; NULL: never */
    void (*progress)(void *user, size_t batch, size_t batches);
    /* filled in; the caller frees it with evaluation_detail_free; NULL: not wanted */
    task_detail *detail;
    void (*image)(void *user, const evaluated_image *image); /* called for each image, or NULL */
    /* The processes that share the images, each with a loader for its share; all get the same
     * result, with the same bits as a single process. NULL: there is one process. */
    cluster *cluster;
} evaluation_hooks;

/* Evaluates all images of a loader that was created for evaluation, with the targets of the task.
 * hooks may be NULL. */
ssm2d_status evaluate(evaluator *e, loader *images, const task *t, loss_kind loss,
                      const evaluation_hooks *hooks, evaluation *result, ssm2d_error *error);

/* As loader_skipped, over the loaders of all processes, each of which calls it: an image that
 * several processes could not read counts once. *first is the message of the lowest rank. */
ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error);

#endif
