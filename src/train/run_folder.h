/* run_folder - the folder of a run.
 *
 *     train.json          every setting, as --config takes them
 *     config.json         the model alone, for ssm2d run
 *     data.json           what is to be known of the data: classes, normalisation, sizes
 *     last.safetensors    the latest checkpoint: all that --resume needs
 *     model.safetensors   the weights after the latest epoch, timm's names (with EMA: the average)
 *     best.safetensors    those of the epoch with the highest test accuracy
 *     metrics.jsonl       curves.svg
 */
#ifndef SSM2D_TRAIN_RUN_FOLDER_H
#define SSM2D_TRAIN_RUN_FOLDER_H

#include "data/dataset.h"
#include "models/weights.h"
#include "train/checkpoint.h"
#include "train/settings.h"

typedef enum run_file {
    RUN_TRAIN,
    RUN_CONFIG,
    RUN_DATA,
    RUN_LAST,
    RUN_MODEL,
    RUN_BEST,
    RUN_METRICS,
    RUN_CURVES,
    RUN_FILES
} run_file;

enum { RUN_PATH = 4096 };

/* The path of a file in a run's folder; refuses folders whose names are too long. */
ssm2d_status run_path(const char *folder, run_file which, char path[RUN_PATH], ssm2d_error *error);
/* Whether a run was begun there. */
int run_exists(const char *folder);

/* What a run keeps of its data, so that a picture can be classified without them. */
typedef struct run_data {
    label_kind labels;
    int classes, channels;
    const char **names; /* [classes], one block; NULL when empty */
    normalisation norm;
    long images; /* to train on */
} run_data;

/* A settings object as text; give it back with cJSON_free. NULL without memory. */
char *run_settings_text(const train_settings *s);
char *run_data_text(const dataset_info *train, const normalisation *norm);
ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error);
/* Refuses data of another kind of labels, or of other classes: another number of them, or other
 * names in the same place (numbers are no names). */
ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error);
void run_data_free(const ssm2d_context *context, run_data *data);

/* One process at a time trains in a folder. The lock goes with the process, however it ends. */
ssm2d_status run_lock(const char *folder, int *lock, ssm2d_error *error);
void run_unlock(int lock); /* -1: there is none */
/* Removes the files of an earlier run, unless a process is at work on it. */
ssm2d_status run_clear(const char *folder, ssm2d_error *error);

/* A number that differs when names, shapes, order or decay of the parameters do. */
uint64_t run_layout(const weights *w);

/* The settings of a finished or unfinished run, the image size replaced when given and not 0, and
 * its weights for that size. */
typedef struct run_model {
    train_settings settings;
    run_data data;
    weights *weights;
    float *params;
    int resized; /* the position embedding was interpolated */
} run_model;

ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error);
void run_model_close(ssm2d_context *context, run_model *m);

#endif
