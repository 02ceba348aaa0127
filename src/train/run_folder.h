/* run_folder - the folder of a run (inference/run_files.h): making, locking and removing it, and
 * its model with the settings it was trained with. */
#ifndef SSM2D_TRAIN_RUN_FOLDER_H
#define SSM2D_TRAIN_RUN_FOLDER_H

#include "inference/trained_model.h"
#include "train/checkpoint.h"
#include "train/settings.h"

/* Where the data of a run are, written to out: as its settings say; but a folder that is relative
 * and not here, as in runs of earlier versions, is looked for beside the run's folder. Returns
 * whether it was found there. */
int run_find_data(const char *folder, const char *data, char out[SSM2D_TEXT]);

/* Refuses settings that name no data: weights that come from elsewhere (save_run of ssm2d.torch)
 * may have none, which is written as "none". */
ssm2d_status run_names_data(const char *folder, const char *data, ssm2d_error *error);

/* Returns the text of train.json, which the caller frees with cJSON_free; NULL without memory. */
char *run_settings_text(const train_settings *s);
/* Refuses data that the run's task does not accept, another number of outputs, or other names.
 * Numbers do not count as names. */
ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error);

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

/* A run's model in inference, with all settings of its training. */
typedef struct run_model {
    train_settings settings;
    ssm2d_model *model;
    /* the model's */
    run_data data;
    const weights *weights;
    const float *params;
    int resized;
} run_model;

/* Opens it as model_open_run does, and refuses settings that are not those of a run. The caller
 * closes *m. */
ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error);
void run_model_close(run_model *m);
/* A session for batches of images of its size, which the caller destroys. */
ssm2d_status run_model_session(ssm2d_context *context, const run_model *m, size_t batch,
                               ssm2d_session **out, ssm2d_error *error);

#endif
