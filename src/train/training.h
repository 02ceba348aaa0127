/* training - trains a model: steps, evaluation and checkpoints, until the last epoch or until the
 * caller asks to stop.
 *
 * Nothing is printed; run_control reports the progress to the caller. The same settings give the
 * same weights to the bit, however often the run is interrupted, on any number of threads, and on
 * any power of two of processes (batch_gradient.h). */
#ifndef SSM2D_TRAIN_TRAINING_H
#define SSM2D_TRAIN_TRAINING_H

#include "data/file_check.h"
#include "data/split.h"
#include "train/data_defaults.h"
#include "train/run_control.h"
#include "train/run_folder.h"

typedef struct train_start { /* reported once, before the first step */
    const train_settings *settings;
    const task *task;
    size_t parameters, train_images, choose_images;
    split_choice choice;           /* which images choose the best epoch: the choose_images */
    int has_test;                  /* the data have test images for ssm2d eval */
    long step, steps, epoch_steps; /* steps done already, of the whole run, of one epoch */
    size_t bytes;                  /* memory of a step */
    const weights_report *read;    /* of the file with initial weights, or NULL */
    int loss_changed;              /* the task does not allow the loss that was given */
    long old_epochs;               /* epochs before the run was resumed with others; 0: the same */
    int restored;              /* train.json differed from the checkpoint and is written again */
    const char *no_machine;    /* why this start is not recorded in machines.json, or NULL */
    size_t ignored;            /* non-image files in the data folder; see dataset_info */
    const char *first_ignored; /* one of them, or NULL */
    data_defaults chosen;      /* settings that the data have chosen */
    const file_check *checked; /* result of checking all image files, or NULL */
} train_start;

typedef struct train_progress { /* reported after each step */
    long epoch, epochs;         /* the current epoch, from 1; epochs of the run */
    long step, steps;           /* steps of this epoch that are done; of a whole epoch */
    const task *task;
    double loss, score; /* means over the epoch so far; score: the task's first metric */
    double lr;
    double images_per_s;
    double wait;         /* fraction of the time that steps waited for images */
    double seconds_left; /* of the whole run */
} train_progress;

typedef struct train_epoch { /* reported after each epoch, when its checkpoint is on the disk */
    long epoch, epochs;
    const task *task;
    double loss, score;
    double test_loss, test_score; /* on the images that choose the best epoch */
    double images_per_s, seconds; /* of the epoch; seconds include the evaluation */
    double wait;                  /* fraction of the time that steps waited for images */
    int best;                     /* the best test_score so far */
    split_choice choice;
} train_epoch;

typedef struct train_result {
    int stopped; /* the caller asked to stop */
    int begun;   /* there is a run that can be resumed */
    long step;
    const task *task;
    double test_loss, test_score; /* of the last epoch, on the images that choose the best */
    split_choice choice;
    double best_score;
    long best_epoch;
    double seconds;            /* of training and evaluation, since the run began */
    double images_per_s;       /* of the training steps of this call; 0 when there were none */
    size_t skipped;            /* images that could not be read, unless bad_images=stop */
    ssm2d_error first_skipped; /* why the first could not be read */
} train_result;

/* Starts a run in folder and trains until the end; refuses a folder that has a run already. The
 * data choose settings that are open. */
ssm2d_status train_begin(ssm2d_context *context, const char *folder, const train_settings *settings,
                         const run_control *control, train_result *result, ssm2d_error *error);
/* The same, but replaces a run in the folder. It is removed only after the settings, data and
 * initial weights of the new run have been checked. */
ssm2d_status train_replace(ssm2d_context *context, const char *folder,
                           const train_settings *settings, const run_control *control,
                           train_result *result, ssm2d_error *error);
/* Continues the run in folder from its last checkpoint. */
ssm2d_status train_resume(ssm2d_context *context, const char *folder, const run_control *control,
                          train_result *result, ssm2d_error *error);

/* The settings that may change when a run is resumed, as text; NULL: unchanged. data is the new
 * path of the same images. With other epochs the learning rate continues as if they had been given
 * from the beginning. */
typedef struct train_changes {
    const char *data, *epochs, *workers, *memory, *bad_images;
} train_changes;

/* Refuses values that the settings do not accept. */
ssm2d_status train_changes_check(const train_changes *changes, ssm2d_error *error);

/* Continues the run in folder from its last checkpoint, with these changes. */
ssm2d_status train_resume_changed(ssm2d_context *context, const char *folder,
                                  const train_changes *changes, const run_control *control,
                                  train_result *result, ssm2d_error *error);

#endif
