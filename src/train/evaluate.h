/* evaluate - the loss and accuracy of a model on a data set. */
#ifndef SSM2D_TRAIN_EVALUATE_H
#define SSM2D_TRAIN_EVALUATE_H

#include "cluster/cluster.h"
#include "data/loader.h"
#include "inference/evaluator.h"
#include "train/options.h"

typedef struct evaluation {
    double loss;     /* mean over images, without smoothing */
    double accuracy; /* from 0 to 1, of images, or with binary labels of all their attributes */
    double top5;     /* the class is among the five likeliest; with binary labels 0 */
    size_t images;
    int stopped; /* the hook asked to stop: the other fields mean nothing */
} evaluation;

/* Counts per class, or with binary labels per attribute. */
typedef struct evaluation_detail {
    label_kind labels;
    int classes;
    size_t *images;    /* [classes]: that are of the class, or have the attribute */
    size_t *predicted; /* [classes]: that are predicted to be of it, or to have it */
    size_t *hits;      /* [classes]: both */
    size_t *confusion; /* [classes][classes]: images of the row's class predicted as the column's */
} evaluation_detail;

/* Takes memory for the counts, of confusion only when that is wanted. The caller destroys it. */
ssm2d_status evaluation_detail_create(const ssm2d_context *context, label_kind labels, int classes,
                                      int confusion, evaluation_detail *detail, ssm2d_error *error);
void evaluation_detail_destroy(const ssm2d_context *context, evaluation_detail *detail);

/* One image as it was evaluated; all arrays are valid during the call. */
typedef struct evaluated_image {
    size_t number; /* of the images so far, from 0: the index in the data when none is skipped */
    const float *pixels;          /* [channels][rows][cols], normalised */
    const float *logits, *target; /* [classes] */
    double loss;
} evaluated_image;

typedef struct evaluation_hooks {
    void *user;
    int (*stop)(void *user); /* asked before each batch; NULL: never */
    void (*progress)(void *user, size_t batch, size_t batches);
    evaluation_detail *detail; /* counts are added to it; NULL: none are kept */
    void (*image)(void *user, const evaluated_image *image); /* NULL: nobody asks */
    /* The processes that share the loader's images, each with the loader of its share; all get the
     * same result, which is that of one process to the bit. NULL: there is one. */
    cluster *cluster;
} evaluation_hooks;

/* Evaluates all images of a loader that was created for evaluation. hooks may be NULL. */
ssm2d_status evaluate(evaluator *e, loader *images, train_loss loss, const evaluation_hooks *hooks,
                      evaluation *result, ssm2d_error *error);

#endif
