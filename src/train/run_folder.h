/* run_folder - the folder of a run (inference/run_files.h): creating, locking and removing it, and
 * its model with the settings it was trained with. */
#ifndef SSM2D_TRAIN_RUN_FOLDER_H
#define SSM2D_TRAIN_RUN_FOLDER_H

#include "inference/trained_model.h"
#include "train/checkpoint.h"
#include "train/settings.h"

/* Writes the path of a run's data to out: that of its settings; if that is relative and does not
 * exist here, as in runs of earlier versions, the path beside the run's folder. Returns whether the
 * data were found there. */
int run_find_data(const char *folder, const char *data, char out[SSM2D_TEXT]);

/* Refuses settings without data: runs written by save_run of ssm2d.torch may have "none". */
ssm2d_status run_names_data(const char *folder, const char *data, ssm2d_error *error);

/* Returns the text of train.json, which the caller frees with cJSON_free; NULL if out of memory. */
char *run_settings_text(const train_settings *s);
/* Refuses data that the run's task does not accept, or with another number of outputs or other
 * names. Names that are numbers are not compared. */
ssm2d_status run_data_matches(const run_data *data, const dataset_info *other, ssm2d_error *error);

/* Locks the folder, so that one process at a time trains in it. The system releases the lock when
 * the process ends. */
ssm2d_status run_lock(const char *folder, int *lock, ssm2d_error *error);
void run_unlock(int lock); /* -1: there is none */
/* Fails if the folder with this name is no longer the one that was locked. */
ssm2d_status run_still_there(const char *folder, int lock, ssm2d_error *error);
/* Refuses a folder in which a new run would replace a file. The caller holds the lock. */
ssm2d_status run_check_new(const char *folder, ssm2d_error *error);
/* Whether the run in a folder ended before its first checkpoint, so that it has only settings. */
int run_not_begun(const char *folder);
/* Removes the files of the run in a folder, if there is one; refuses files that are not a run's.
 * The caller holds the lock. */
ssm2d_status run_remove(const ssm2d_context *context, const char *folder, ssm2d_error *error);
/* Removes the files of a new run that failed before its first checkpoint. */
void run_abandon(const char *folder);

/* The title of pictures of a run: "vit with mixer ssm2d on CIFAR-10". Returns title. */
enum { RUN_TITLE = 256 };
const char *run_title(const train_settings *s, char title[RUN_TITLE]);

/* Returns a hash of the parameters' names, shapes, order and decay. */
uint64_t run_layout(const weights *w);

/* A run's model for inference, with the settings of its training. */
typedef struct run_model {
    train_settings settings;
    ssm2d_model *model;
    /* of `model` */
    run_data data;
    const weights *weights;
    const float *params;
    int resized;
} run_model;

/* Opens it as model_open_run does, and reads and checks train.json. The caller closes *m. */
ssm2d_status run_model_open(ssm2d_context *context, const char *folder, run_file which,
                            const int image[2], run_model *m, ssm2d_error *error);
void run_model_close(run_model *m);
/* Creates a session for batches of images of the model's size; the caller destroys it. */
ssm2d_status run_model_session(ssm2d_context *context, const run_model *m, size_t batch,
                               ssm2d_session **out, ssm2d_error *error);

#endif
