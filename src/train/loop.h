/* loop - trains a model: batches, steps, evaluation, checkpoints, until the last epoch or until
 * told to stop.
 *
 * Nothing is printed here: whoever runs it is told how it goes. The same settings give the same
 * weights to the bit, however often the run is interrupted and on any number of threads. */
#ifndef SSM2D_TRAIN_LOOP_H
#define SSM2D_TRAIN_LOOP_H

#include "train/run_folder.h"

typedef struct train_start { /* told once, before the first step */
    const train_settings *settings;
    size_t parameters, train_images, test_images;
    long step, steps, epoch_steps; /* where it begins, how many there are, in all and in an epoch */
    size_t bytes;                  /* memory of a step */
    const weights_report *read;    /* of the file with the first weights; NULL when there is none */
    int loss_changed;              /* to bce, as the labels are binary */
    int restored;                  /* train.json was not what the checkpoint says, and is again */
} train_start;

typedef struct train_progress { /* told after each step */
    long epoch, epochs;         /* the one under way, from 1 */
    long step, steps;           /* within the epoch, done and in all */
    double loss, accuracy;      /* means of the epoch so far */
    double lr;
    double images_per_s;
    double seconds_left; /* of the whole run */
} train_progress;

typedef struct train_epoch { /* told after each epoch, when all of it is on the disk */
    long epoch, epochs;
    double loss, accuracy, test_loss, test_accuracy;
    double images_per_s, seconds; /* of the epoch, evaluation included in seconds */
    int best;                     /* of all so far */
} train_epoch;

typedef struct train_hooks {
    void *user;
    /* asked after each step: not 0 saves and ends the run; may be NULL, as all of them */
    int (*stop)(void *user);
    void (*start)(void *user, const train_start *start);
    void (*step)(void *user, const train_progress *progress);
    void (*testing)(void *user, size_t batch, size_t batches);
    void (*epoch)(void *user, const train_epoch *epoch);
} train_hooks;

typedef struct train_result {
    int stopped; /* by the hook; the run can be resumed */
    long step;
    double test_loss, test_accuracy; /* of the last epoch */
    double best_accuracy;
    long best_epoch;
    double seconds, images_per_s; /* of this call: training and evaluation; training alone */
} train_result;

/* Begins a run in folder, which must not hold one. settings may leave open what follows from the
 * data. */
ssm2d_status train_begin(ssm2d_context *context, const char *folder, const train_settings *settings,
                         const train_hooks *hooks, train_result *result, ssm2d_error *error);
/* The same, in place of a run that may be there: it is removed when all that the new one needs has
 * been found good. */
ssm2d_status train_replace(ssm2d_context *context, const char *folder,
                           const train_settings *settings, const train_hooks *hooks,
                           train_result *result, ssm2d_error *error);
/* Goes on with the run in folder, from its last checkpoint. */
ssm2d_status train_resume(ssm2d_context *context, const char *folder, const train_hooks *hooks,
                          train_result *result, ssm2d_error *error);

/* The settings that a run may change on its way. */
typedef struct train_changes {
    const char *data; /* where the same images are now; NULL: where they were */
    /* in all: the learning rate goes on as if that had been said from the beginning; 0: as many
     * as before */
    long epochs;
} train_changes;

ssm2d_status train_resume_changed(ssm2d_context *context, const char *folder,
                                  const train_changes *changes, const train_hooks *hooks,
                                  train_result *result, ssm2d_error *error);

#endif
