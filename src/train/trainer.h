/* trainer - the model, data and optimiser of a run, and its step. Internal to src/train. */
#ifndef SSM2D_TRAIN_TRAINER_H
#define SSM2D_TRAIN_TRAINER_H

#include "cluster/cluster.h"
#include "data/loader.h"
#include "models/model.h"
#include "train/adamw.h"
#include "train/batch_gradient.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/run_folder.h"
#include "train/schedule.h"

/* What a process tells the others of its part of a step. */
typedef struct step_report {
    double loss, waited;
    int64_t correct;
    int failed, stop, save, abandoned;
} step_report;

typedef struct trainer {
    ssm2d_context *context;
    cluster *cluster; /* the processes that train together */
    train_settings settings;
    int slices;                        /* of a batch, of all processes */
    int loss_changed;                  /* to bce, because the labels are binary */
    dataset *train_data, *choose_data; /* to train on, and to choose the best epoch by */
    split_choice choice;               /* what the latter are */
    loader *train_loader, *choose_loader;
    weights *weights;
    graph *graph;
    tensor *images, *targets, *logits, *loss; /* of the graph, for one slice of a batch */
    batch_gradient *batch_gradient;
    step_report *reports; /* [processes] */
    double *losses;       /* [processes] */
    evaluator *evaluator;
    train_state state;
    float *gradients; /* [parameters] */
    double *partial;  /* scratch of gradient_norm */
    param_span *spans;
    size_t span_count;
    schedule schedule;
    adamw adamw;
    long epoch_steps;
    char *settings_text, *model_text, *data_text; /* of cJSON */
    train_identity identity;
} trainer;

/* Opens the data, completes the settings from them, builds the graph and sets the state to step 0
 * with random weights. trainer_destroy must be called after a failure as well. */
ssm2d_status trainer_create(ssm2d_context *context, cluster *c, const train_settings *settings,
                            trainer *t, ssm2d_error *error);
/* Sends the first process's state to the others. */
ssm2d_status trainer_share_state(trainer *t, ssm2d_error *error);
void trainer_destroy(trainer *t);
/* Reads the initial weights of a new run, if its settings name a file. */
ssm2d_status trainer_start(trainer *t, weights_report *report, ssm2d_error *error);
/* Sets the loader of training images to the state's step. */
ssm2d_status trainer_seek(trainer *t, ssm2d_error *error);

/* ---- a step (step.c) ------------------------------------------------------------------------- */

/* Asked in each step; each function may be NULL. Of several processes one that wants it
 * suffices. */
typedef struct step_hooks {
    void *user;
    /* Whether to stop. Several processes abandon the step that they are in, as their launcher does
     * not wait for long; one by itself is not asked here. */
    int (*stop)(void *user);
    int (*save)(void *user); /* whether to save after the step */
    const char *good;        /* the last checkpoint, for a message, and its step */
    long good_step;
} step_hooks;

typedef struct step_result {
    double loss, lr, norm;
    long correct;  /* correct predictions, of batch * trainer_decisions */
    double waited; /* seconds that the step waited for its images */
    int stop, save;
    int abandoned; /* the step was not made: only stop is set beside this */
} step_result;

/* Returns the number of predictions for an image: one, or one per attribute. */
int trainer_decisions(const trainer *t);

/* Makes one step: batch, forward, backward, update. */
ssm2d_status trainer_step(trainer *t, const step_hooks *hooks, step_result *result,
                          ssm2d_error *error);
/* Returns the weights that are evaluated and exported: with EMA the average. */
float *trainer_weights(trainer *t);

#endif
