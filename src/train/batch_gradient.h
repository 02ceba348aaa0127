/* batch_gradient - the gradient of a batch as the sum over its slices, computed by one process or
 * shared by several.
 *
 * A batch is cut into a fixed number of slices of equal size; process r of R computes those from
 * r*slices/R on, one after the other. Their gradients are added in the order of a binary tree that
 * depends only on the number of slices: the count is halved as long as it is even, and the slices
 * of each leaf are added one by one. If R is a power of two, the slices of a process are a subtree,
 * and reduction.h adds those of the processes, so the sum has the same bits for every such R. With
 * `unordered`, every process has one slice, and MPI chooses the order.
 *
 * The gradients of a bucket are sent as soon as they are complete, while backward continues.
 *
 * State, such as BatchNorm's running moments, is updated by each slice from its value before the
 * step; after the step it is the mean over slices. */
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
    tensor *loss; /* the mean over those images */
    const weights *weights;
    float *params, *gradients; /* flat arrays owned by the caller */
    int slices;                /* of the whole batch: a multiple of the number of processes */
    int unordered;
} gradient_setup;

/* Sums over slices, added in the order of the tree. */
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
 * Afterwards all processes have the gradient; the ranges of state, which has no gradient, hold its
 * new values. `sums` are those of this process; slice_tree_sum adds them over processes.
 * *abandoned: not all slices were run, because the control asked to stop between two operators or
 * the caller had no images. The gradient is then invalid in all processes, which do not know it
 * yet. All processes call begin and finish, so that none waits forever. Fails when another process
 * is lost. */
void batch_gradient_begin(batch_gradient *b, const run_control *control);
/* Returns 0 when the step is abandoned. */
int batch_gradient_forward(batch_gradient *b, int slice, double *loss);
void batch_gradient_backward(batch_gradient *b, int slice, slice_sums own);
ssm2d_status batch_gradient_finish(batch_gradient *b, slice_sums *sums, int *abandoned,
                                   ssm2d_error *error);
/* Copies the new values of state to the parameters, and clears them in the gradients. To be called
 * once it is known that no process has abandoned the step. */
void batch_gradient_move_state(batch_gradient *b);
/* Returns the sum of values[count], one for each slice or subtree, in the order of the tree. */
double slice_tree_sum(const double *values, int count);

/* Bucket i in the order of sending: its number of gradients, and the visit of the graph after which
 * they are complete. Returns 0 past the last. */
int batch_gradient_bucket(const batch_gradient *b, int i, size_t *count, int *ready);
/* Seconds of communication since creation; 0 in one process. */
reduction_times batch_gradient_spent(const batch_gradient *b);

#endif
