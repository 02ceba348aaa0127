/* trainer - the model, data and optimiser of a run, its steps and the training loop. Internal to
 * src/train. */
#ifndef SSM2D_TRAIN_TRAINER_H
#define SSM2D_TRAIN_TRAINER_H

#include "cluster/cluster.h"
#include "data/loader.h"
#include "models/model.h"
#include "optim/flat.h"
#include "optim/optimizer.h"
#include "train/batch_gradient.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/schedule.h"
#include "train/training.h"

/* The report of a process to the others about its part of a step. */
typedef struct step_report {
    slice_sums sums;
    double waited;
    int failed, stop, save, abandoned;
} step_report;

typedef struct trainer {
    ssm2d_context *context;
    cluster *cluster; /* the processes that train together */
    train_settings settings;
    int slices; /* of a batch, over all processes */
    const task *task;
    int loss_changed;                  /* the task does not allow the loss in the settings */
    data_defaults chosen;              /* settings that the data have chosen */
    dataset *train_data, *choose_data; /* training images; those that choose the best epoch */
    split_choice choice;               /* which images choose_data are */
    loader *train_loader, *choose_loader;
    weights *weights;
    graph *graph;
    tensor *images, *targets, *out, *loss; /* of the graph, for one slice of a batch */
    batch_gradient *batch_gradient;
    step_report *reports;    /* [processes] */
    double *losses, *scores; /* [processes] */
    evaluator *evaluator;
    train_state state;
    float *gradients; /* [parameters] */
    double *partial;  /* scratch of gradient_norm */
    param_span *spans;
    size_t span_count;
    schedule schedule;
    optimizer_settings optimizer;
    long epoch_steps;
    char *settings_text, *model_text, *data_text; /* of cJSON */
    train_identity identity;
    const run_control *control; /* NULL: none */
    const char *saved_path;     /* the last checkpoint, for messages */
    long saved_step;
    double save_at; /* the time of the next checkpoint within an epoch, as clock_seconds */
} trainer;

/* Opens the data, completes the settings from them, builds the graph and sets the state to step 0
 * with random weights. trainer_destroy must be called after a failure as well. */
ssm2d_status trainer_create(ssm2d_context *context, cluster *c, const train_settings *settings,
                            const run_control *control, trainer *t, ssm2d_error *error);
/* Sends the first process's state to the others. */
ssm2d_status trainer_share_state(trainer *t, ssm2d_error *error);
void trainer_destroy(trainer *t);
/* Reads the initial weights of a new run, if its settings name a file. */
ssm2d_status trainer_start(trainer *t, weights_report *report, ssm2d_error *error);
/* Whether weight decay applies to an array. */
int train_decays(const param_array *a, train_decay of);
/* Sets the loader of training images to the state's step. */
ssm2d_status trainer_seek(trainer *t, ssm2d_error *error);

/* Fails in all processes if one of them has failed. */
static inline ssm2d_status trainer_agree(const trainer *t, ssm2d_status status, ssm2d_error *error)
{
    return t->cluster->size > 1 ? cluster_agree(t->cluster, status, error) : status;
}

/* ---- a step (step.c) ------------------------------------------------------------------------- */

typedef struct step_result {
    double loss, lr, norm;
    double score;   /* sum over the batch, for task_score */
    double waited;  /* seconds that the step waited for its images */
    int stop, save; /* one of several processes wants to stop; it is time to save */
    int abandoned;  /* the step was not completed; of the other members only stop is set */
} step_result;

/* Makes one step: batch, forward, backward, update. */
ssm2d_status trainer_step(trainer *t, step_result *result, ssm2d_error *error);
/* Returns the weights that are evaluated and exported: with EMA the average. */
float *trainer_weights(trainer *t);

/* ---- image files that cannot be read (check_images.c) ---------------------------------------- */

/* Decodes all files of an image folder, unless bad_images=skip; processes share the work, and all
 * get the result. Fails if a file is bad and bad_images=stop; with bad_images=few if more than 3
 * files and more than 1 % are bad. */
ssm2d_status check_images(trainer *t, file_check *result, ssm2d_error *error);
/* Called after an epoch: with bad_images=few, fails if the loaders of this process have skipped
 * more images than that, for example because a disk was removed. */
ssm2d_status check_images_met(const trainer *t, ssm2d_error *error);

/* ---- the training loop (loop.c) -------------------------------------------------------------- */

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
