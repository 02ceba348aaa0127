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

typedef struct batch_gradient batch_gradient;

typedef struct gradient_setup {
    ssm2d_context *context;
    cluster *cluster;
    graph *graph; /* for the images of one slice, bound by batch_gradient_run */
    tensor *loss; /* the mean over them */
    const weights *weights;
    float *params, *gradients; /* flat arrays, of the caller */
    int slices;                /* of the whole batch, a multiple of the processes */
    int unordered;
} gradient_setup;

/* Functions of the caller. */
typedef struct slice_hooks {
    void *user;
    /* Sets the inputs of the graph to those of a slice of this process, counted from 0. */
    void (*begin)(void *user, int slice);
    /* After forward of that slice; may be NULL. */
    void (*forwarded)(void *user, int slice);
    /* Whether to abandon the step; asked between operators, may be NULL. */
    int (*stop)(void *user);
} slice_hooks;

ssm2d_status batch_gradient_create(const gradient_setup *setup, batch_gradient **out,
                                   ssm2d_error *error);
void batch_gradient_destroy(batch_gradient *b);

int batch_gradient_own(const batch_gradient *b); /* slices of this process */

/* Computes the gradient of the mean loss over the batch, in all processes; in the places of state,
 * which has no gradient, stands what it becomes. *loss is the part of this process: the sum of its
 * slices' losses in the order of the tree, which slice_tree_sum goes on with. *abandoned: a hook
 * asked to stop, and the gradient means nothing, here and in the other processes, which do not know
 * it yet. hooks NULL: this process has nothing to compute and takes part for the others' sake.
 * Fails when another process is lost. */
ssm2d_status batch_gradient_run(batch_gradient *b, const slice_hooks *hooks, double *loss,
                                int *abandoned, ssm2d_error *error);
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
