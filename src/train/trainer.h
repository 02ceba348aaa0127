/* trainer - the model, data and optimiser of a run, and its step. Internal to src/train. */
#ifndef SSM2D_TRAIN_TRAINER_H
#define SSM2D_TRAIN_TRAINER_H

#include "data/loader.h"
#include "models/model.h"
#include "train/adamw.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/run_folder.h"
#include "train/schedule.h"

typedef struct trainer {
    ssm2d_context *context;
    train_settings settings;
    int loss_changed;                  /* to bce, because the labels are binary */
    dataset *train_data, *choose_data; /* to train on, and to choose the best epoch by */
    split_choice choice;               /* what the latter are */
    loader *train_loader, *choose_loader;
    weights *weights;
    graph *graph;
    tensor *images, *targets, *logits, *loss; /* of the graph */
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
ssm2d_status trainer_create(ssm2d_context *context, const train_settings *settings, trainer *t,
                            ssm2d_error *error);
void trainer_destroy(trainer *t);
/* Reads the initial weights of a new run, if its settings name a file. */
ssm2d_status trainer_start(trainer *t, weights_report *report, ssm2d_error *error);
/* Sets the loader of training images to the state's step. */
ssm2d_status trainer_seek(trainer *t, ssm2d_error *error);

typedef struct step_result {
    double loss, lr, norm;
    long correct;  /* correct predictions, of batch * trainer_decisions */
    double waited; /* seconds that the step waited for its images */
} step_result;

/* Returns the number of predictions for an image: one, or one per attribute. */
int trainer_decisions(const trainer *t);

/* Makes one step: batch, forward, backward, update. good, good_step: the last checkpoint, for the
 * message when loss or gradient are not finite. */
ssm2d_status trainer_step(trainer *t, const char *good, long good_step, step_result *result,
                          ssm2d_error *error);
/* Returns the weights that are evaluated and exported: with EMA the average. */
float *trainer_weights(trainer *t);

#endif
