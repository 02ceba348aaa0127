/* run_folder - the folder of a run.
 *
 *     train.json          every setting, in the form that --config reads
 *     config.json         the model alone, for ssm2d run
 *     data.json           a description of the data: classes, normalisation, sizes
 *     last.safetensors    the latest checkpoint: all that --resume needs
 *     model.safetensors   the weights after the latest epoch, timm's names (with EMA: the average)
 *     best.safetensors    the weights of the epoch with the highest test accuracy
 *     metrics.jsonl       losses and accuracies, one JSON object per line
 *     curves.svg          a picture of them */
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

/* The path of a file in a run's folder; refuses folders whose names are too long, and what is there
 * under that name but is no regular file. */
ssm2d_status run_path(const char *folder, run_file which, char path[RUN_PATH], ssm2d_error *error);
/* Whether the folder has a run: whether there is a train.json. It is the first file that a run
 * writes, and the last that is removed with it: other files without it are somebody else's. */
int run_exists(const char *folder);

/* Where the data of a run are, written to out: as its settings say; but a folder that is relative
 * and not here, as in runs of earlier versions, is looked for beside the run's folder. Returns
 * whether it was found there. */
int run_find_data(const char *folder, const char *data, char out[SSM2D_TEXT]);

/* Refuses settings that name no data: weights that come from elsewhere (save_run of ssm2d.torch)
 * may have none, which is written as "none". */
ssm2d_status run_names_data(const char *folder, const char *data, ssm2d_error *error);

/* What data.json says: enough to classify an image without the data. */
typedef struct run_data {
    label_kind labels;
    int classes, channels;
    const char **names; /* [classes], one block; NULL when empty */
    normalisation norm;
    long images; /* to train on; 0: not known, as of weights that come from elsewhere */
} run_data;

/* Return the text of train.json and of data.json, which the caller frees with cJSON_free; NULL
 * without memory. */
char *run_settings_text(const train_settings *s);
char *run_data_text(const dataset_info *train, const normalisation *norm);
ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error);
/* Refuses data with another kind of labels, another number of classes, or other names of classes.
 * Numbers do not count as names. */
ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error);
void run_data_free(const ssm2d_context *context, run_data *data);

/* Locks the folder, so that one process at a time trains in it. The lock ends with the process,
 * however that ends. */
ssm2d_status run_lock(const char *folder, int *lock, ssm2d_error *error);
void run_unlock(int lock); /* -1: there is none */
/* Refuses when the folder of that name is no longer the one that was locked. */
ssm2d_status run_still_there(const char *folder, int lock, ssm2d_error *error);
/* Refuses a folder in which a new run would replace a file. Call it under the lock. */
ssm2d_status run_check_new(const char *folder, ssm2d_error *error);
/* Whether the run in a folder was ended before its first checkpoint was written, so that there is
 * nothing but its settings to continue from. */
int run_not_begun(const char *folder);
/* Removes the files of the run in a folder, if there is one; refuses files that are not a run's.
 * Call it under the lock. */
ssm2d_status run_remove(const ssm2d_context *context, const char *folder, ssm2d_error *error);
/* Removes the files that a new run writes up to its first checkpoint, when that failed. */
void run_abandon(const char *folder);

/* Returns a hash of the parameters' names, shapes, order and decay. */
uint64_t run_layout(const weights *w);

/* A run's settings and weights, for inference. */
typedef struct run_model {
    train_settings settings;
    run_data data;
    weights *weights;
    float *params;
    int resized; /* the position embedding, or tables of relative positions, were interpolated */
} run_model;

/* Reads the model of a run, finished or not; `which` says which weights. image, unless it is NULL
 * or 0, replaces the image size, and the weights are adapted to it. The caller closes *m. */
ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error);
void run_model_close(ssm2d_context *context, run_model *m);

#endif
