/* checkpoint - everything a run needs to go on as if it had never stopped, in one safetensors file.
 *
 * Arrays `weights`, `moment1`, `moment2`, and `average` with EMA, are the flat arrays; counters,
 * sums and the settings are metadata. Random numbers and the order of images depend on the seed and
 * the step alone, so that these two are their whole state. A file appears complete or not at
 * all. */
#ifndef SSM2D_TRAIN_CHECKPOINT_H
#define SSM2D_TRAIN_CHECKPOINT_H

#include "ssm2d.h"

typedef struct train_state {
    size_t count; /* of parameters */
    float *weights, *moment1, *moment2;
    float *average;  /* NULL without EMA */
    long step;       /* updates done */
    long epochs;     /* done and evaluated */
    double loss_sum; /* of the epoch under way, over its steps so far */
    long images;     /* of the epoch under way */
    long correct;    /* right decisions about them: their classes, or their attributes */
    double log_sum;  /* of the losses since the last line of metrics */
    long log_steps;
    double best;     /* accuracy of the best epoch, a part of 1 */
    long best_epoch; /* from 1; 0: none yet */
    double seconds;  /* spent on training steps and evaluation */
} train_state;

/* What belongs to the model and the settings rather than to the moment. */
typedef struct train_identity {
    const char *options, *model, *data; /* JSON texts */
    /* a number that differs when names, shapes or order of parameters do */
    uint64_t layout;
} train_identity;

ssm2d_status checkpoint_write(const ssm2d_context *context, const char *path,
                              const train_state *state, const train_identity *identity,
                              ssm2d_error *error);

typedef struct checkpoint checkpoint;

/* Opens and checks the file. The identity's texts live as long as the checkpoint is open. */
ssm2d_status checkpoint_open(const ssm2d_context *context, const char *path, checkpoint **out,
                             train_identity *identity, ssm2d_error *error);
/* Reads the rest into state, whose arrays are there and whose count is set; refuses other sizes,
 * and what is not finite. */
ssm2d_status checkpoint_read(const checkpoint *c, train_state *state, ssm2d_error *error);
void checkpoint_close(checkpoint *c);

#endif
