/* trainer - what a run has in memory, and its step. Internal to src/train. */
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
    int loss_changed; /* to bce, as the labels are binary */
    dataset *train_data, *test_data;
    loader *train_loader, *test_loader;
    weights *weights;
    graph *graph;
    tensor *images, *targets, *logits, *loss; /* of the graph */
    evaluator *evaluator;
    train_state state;
    float *gradients; /* [parameters] */
    double *partial;  /* of the gradient's norm */
    param_span *spans;
    size_t span_count;
    schedule schedule;
    adamw adamw;
    long epoch_steps;
    char *settings_text, *model_text, *data_text; /* of cJSON */
    train_identity identity;
} trainer;

/* Opens the data, settles what the settings leave open, builds everything, and sets the state to
 * the beginning. On failure trainer_destroy must still be called. */
ssm2d_status trainer_create(ssm2d_context *context, const train_settings *settings, trainer *t,
                            ssm2d_error *error);
void trainer_destroy(trainer *t);
/* For a run that begins: the weights that its settings name, if they do. */
ssm2d_status trainer_start(trainer *t, weights_report *report, ssm2d_error *error);
/* Sets the loader to where the state is. */
ssm2d_status trainer_seek(trainer *t, ssm2d_error *error);

typedef struct step_result {
    double loss, lr, norm;
    long correct; /* decisions that were right, of batch * trainer_decisions */
} step_result;

/* How many decisions the model makes about an image: one, or one per attribute. */
int trainer_decisions(const trainer *t);

/* One step: batch, forward, backward, update. The good checkpoint is named when numbers are no
 * longer finite. */
ssm2d_status trainer_step(trainer *t, const char *good, long good_step, step_result *result,
                          ssm2d_error *error);
/* The weights that are evaluated and exported: the average with EMA. */
float *trainer_weights(trainer *t);

#endif
