/* loop - steps, epochs and checkpoints of a new or resumed run. Internal to src/train. */
#ifndef SSM2D_TRAIN_LOOP_H
#define SSM2D_TRAIN_LOOP_H

#include "train/training.h"
#include "train/trainer.h"

/* How the loop starts. */
typedef struct start_info {
    int is_new;                 /* a new run, not one that is resumed */
    int changed;                /* resumed with other settings, which are saved first */
    long old_epochs;            /* epochs before the run was resumed with others; 0: the same */
    int restored;               /* train.json differs from the checkpoint, and is written again */
    const weights_report *read; /* of the file with initial weights, or NULL */
    const file_check *checked;  /* of the image files of a new run, or NULL */
} start_info;

/* Trains from the trainer's state to the end of the run. A new run first writes its files, starting
 * with train.json: see run_exists. */
ssm2d_status train_loop(trainer *t, const char *folder, int lock, const start_info *how,
                        train_result *result, ssm2d_error *error);

#endif
