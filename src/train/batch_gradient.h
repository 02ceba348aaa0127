/* batch_gradient - the gradient of a batch as the sum over its slices, which one process computes
 * or several share.
 *
 * A batch is cut into a fixed number of slices of equal size; process r of R computes those from
 * r*slices/R on, one after the other. Their gradients are added as a tree says that is a function
 * of the number of slices alone: halves are added, and so on within each half while its slices
 * divide by two; what is left is added one by one. A process's slices are a subtree when R is a
 * power of two, and reduction.h adds those of the processes: the sum is the same to the bit for
 * every such R. With `unordered`, every process has one slice, and MPI adds as it likes.
 *
 * The gradients of a bucket are sent as soon as backward has made them, while it goes on.
 *
 * State, such as BatchNorm's running moments, is moved by each slice from where it was before the
 * step; after it, it is the mean over slices. */
#ifndef SSM2D_TRAIN_BATCH_GRADIENT_H
#define SSM2D_TRAIN_BATCH_GRADIENT_H

#include "cluster/reduction.h"
#include "models/weights.h"
#include "train/run_control.h"

typedef struct batch_gradient batch_gradient;

typedef struct gradient_setup {
    ssm2d_context *context;
    cluster *cluster;
    graph *graph; /* for the images of one slice, bound by batch_gradient_forward */
    tensor *loss; /* the mean over them */
    const weights *weights;
    float *params, *gradients; /* flat arrays, of the caller */
    int slices;                /* of the whole batch, a multiple of the processes */
    int unordered;
} gradient_setup;

/* What is added over slices in the order of the tree. */
typedef struct slice_sums {
    double loss, score;
} slice_sums;

ssm2d_status batch_gradient_create(const gradient_setup *setup, batch_gradient **out,
                                   ssm2d_error *error);
void batch_gradient_destroy(batch_gradient *b);

int batch_gradient_own(const batch_gradient *b); /* slices of this process */

/* The gradient of the mean loss over the batch:
 *
 *     batch_gradient_begin(b, control);
 *     for (int i = 0; i < batch_gradient_own(b); i++) {
 *         .. set the inputs of the graph to those of slice i of this process ..
 *         if (!batch_gradient_forward(b, i, &own.loss)) break;
 *         .. the outputs of the graph may be read ..
 *         batch_gradient_backward(b, i, own);
 *     }
 *     batch_gradient_finish(b, &sums, &abandoned, error);
 *
 * After it all processes have the gradient; in the places of state, which has no gradient, stands
 * what it becomes. The sums are the part of this process, which slice_tree_sum goes on with.
 * *abandoned: not all slices were run, because the control asked to stop between two operators or
 * because the caller has no images: the gradient means nothing, here and in the other processes,
 * which do not know it yet. All processes call begin and finish, so that no other waits forever.
 * Fails when another process is lost. */
void batch_gradient_begin(batch_gradient *b, const run_control *control);
/* Returns 0 when the step is abandoned. */
int batch_gradient_forward(batch_gradient *b, int slice, double *loss);
void batch_gradient_backward(batch_gradient *b, int slice, slice_sums own);
ssm2d_status batch_gradient_finish(batch_gradient *b, slice_sums *sums, int *abandoned,
                                   ssm2d_error *error);
/* Moves state to where the step has brought it, and leaves zeros in its place among the gradients:
 * to be called when it is known that no process has abandoned the step. */
void batch_gradient_move_state(batch_gradient *b);
/* Returns the sum of values[count], of as many slices or subtrees, in the order of the tree. */
double slice_tree_sum(const double *values, int count);

/* The buckets, in the order in which they are sent: how many gradients each has, and the visit of
 * the graph after which they are complete. Returns 0 past the last. */
int batch_gradient_bucket(const batch_gradient *b, int i, size_t *count, int *ready);
/* Seconds of communication since creation; 0 in one process. */
reduction_times batch_gradient_spent(const batch_gradient *b);

#endif
