/* checkpoint - everything a run needs to continue as if it had never stopped, in one safetensors
 * file.
 *
 * The array `weights`, the optimiser's arrays under its names for them, and with EMA `average` have
 * one element per parameter; counters, sums and the settings are metadata. Random numbers and the
 * order of images depend only on the seed and the step, so nothing else is saved for them. A file
 * appears complete or not at all. */
#ifndef SSM2D_TRAIN_CHECKPOINT_H
#define SSM2D_TRAIN_CHECKPOINT_H

#include "optim/optimizer.h"

/* The arrays of parameters, [count] each. */
typedef struct train_arrays {
    const optimizer *optimizer;
    float *weights;
    float *optimizer_arrays[OPTIMIZER_ARRAYS]; /* those that the optimiser has */
    float *average;                            /* NULL without EMA */
} train_arrays;

typedef struct train_state {
    size_t count; /* of parameters */
    train_arrays arrays;
    long step;        /* updates done */
    long epochs;      /* done and evaluated */
    double loss_sum;  /* sum of the losses of the current epoch's steps */
    long images;      /* of the current epoch */
    double score_sum; /* over them: the sum behind the task's first metric (task_score) */
    double log_sum;   /* sum of the losses since the last line of metrics */
    long log_steps;   /* steps since then */
    double best;      /* first metric of the best epoch, on the images that choose it */
    long best_epoch;  /* from 1; 0: none yet */
    double seconds;   /* spent on training steps and evaluation */
} train_state;

/* The arrays of a state with their names in the file, in its order; the last has no name. */
typedef struct named_array {
    const char *name;
    float *values;
} named_array;

enum { TRAIN_ARRAYS = OPTIMIZER_ARRAYS + 2 };

typedef struct named_arrays {
    named_array at[TRAIN_ARRAYS + 1];
} named_arrays;

named_arrays train_arrays_list(const train_arrays *arrays);

/* Identifies a run: the parts that are the same in all of its checkpoints. */
typedef struct train_identity {
    const char *options, *model, *data; /* JSON texts */
    uint64_t layout;                    /* run_layout of the parameters */
} train_identity;

ssm2d_status checkpoint_write(const ssm2d_context *context, const char *path,
                              const train_state *state, const train_identity *identity,
                              ssm2d_error *error);

typedef struct checkpoint checkpoint;

/* Opens the file, which the caller closes, and checks its metadata. The identity's texts live as
 * long as the checkpoint is open. */
ssm2d_status checkpoint_open(const ssm2d_context *context, const char *path, checkpoint **out,
                             train_identity *identity, ssm2d_error *error);
/* Reads everything else into state, whose arrays are allocated and whose count is set. Refuses
 * arrays of another size, values that are not finite, and wrong checksums. */
ssm2d_status checkpoint_read(const checkpoint *c, train_state *state, ssm2d_error *error);
void checkpoint_close(checkpoint *c);

#endif
