/* run_training - the loop, for those who begin and resume runs. Internal to src/train. */
#ifndef SSM2D_TRAIN_RUN_TRAINING_H
#define SSM2D_TRAIN_RUN_TRAINING_H

#include "train/loop.h"
#include "train/trainer.h"

/* How a call starts. */
typedef struct start_info {
    int is_new;                 /* a new run, not one that is resumed */
    int changed;                /* resumed with other settings, to be saved first */
    long old_epochs;            /* of a run that is resumed with others; 0: the same */
    int restored;               /* train.json differs from the checkpoint, to be written again */
    const weights_report *read; /* of the file with initial weights, or NULL */
} start_info;

/* Trains from the trainer's state to the end of the run. A new run writes its files first, and of
 * these train.json first: see run_exists. */
ssm2d_status run_training(trainer *t, const char *folder, int lock, const start_info *how,
                          const train_hooks *hooks, train_result *result, ssm2d_error *error);

#endif
