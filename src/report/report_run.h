/* report_run - one run of a report, from the files in its folder. */
#ifndef SSM2D_REPORT_REPORT_RUN_H
#define SSM2D_REPORT_REPORT_RUN_H

#include "train/evaluate.h"
#include "train/metrics.h"
#include "train/run_folder.h"

#include <cjson/cJSON.h>

typedef enum report_state {
    REPORT_FINISHED, /* all epochs are done */
    REPORT_TRAINING, /* another process is training in the folder */
    REPORT_STOPPED,  /* interrupted or crashed; it can be resumed */
    REPORT_NOT_BEGUN,
    REPORT_FAILED, /* with a message, in RUN.failed */
    REPORT_DAMAGED /* its files cannot be read */
} report_state;
const char *report_state_name(report_state state);

/* A test image with a high loss. */
typedef struct wrong_image {
    double loss;
    size_t index; /* in the data set */
    char *file;   /* file name; NULL: the images are not single files */
    task_mistake what;
    int rows, cols;  /* of pixels, which may be reduced */
    uint8_t *pixels; /* [rows][cols][channels] */
} wrong_image;

enum { REPORT_WRONG = 24 };

typedef struct report_evaluation {
    int done;
    ssm2d_error why; /* why it is not done */
    dataset_split split;
    evaluation result;
    task_detail detail;
    confusion_cell *confusion; /* merged; NULL: the task has no confusion matrix */
    size_t confusion_count;
    size_t skipped;                  /* images that could not be read */
    wrong_image wrong[REPORT_WRONG]; /* the highest loss first */
    int wrong_count;
} report_evaluation;

typedef struct report_run {
    const char *folder; /* owned */
    const char *name;   /* the parts in which the folders differ; the folder until that is known */
    report_state state;
    ssm2d_error why; /* failed or damaged */
    int known;       /* the settings were read, and the members below are valid */
    train_settings settings;
    cJSON *values;             /* the settings as texts by key: {"lr": "0.002", "mixer.kind": ..} */
    const task *task;          /* that of the data, or of the settings */
    run_data data;             /* outputs; empty when data.json cannot be read */
    metrics *metrics;          /* NULL: there are none */
    size_t parameters;         /* that are learned */
    long epochs, done;         /* of the whole run, and those that have ended */
    const metric *last, *best; /* epochs, or NULL */
    double images_per_s;       /* median over epochs; 0: unknown */
    cJSON *machines;           /* of machines.json; NULL: not known */
    int group;
    report_evaluation evaluation;
} report_run;

/* Reads a run. Fails only for a folder that is not a run's, and when out of memory. The caller
 * destroys it, after a failure as well. */
ssm2d_status report_run_read(ssm2d_context *context, const char *folder, report_run *run,
                             ssm2d_error *error);
void report_run_destroy(const ssm2d_context *context, report_run *run);
/* The text of a setting; NULL if the run lacks the key. */
const char *report_run_value(const report_run *run, const char *key);

/* Whether path is a file NAME.failed; NAME is written to folder. */
int report_is_failure(const char *path, char folder[RUN_PATH]);

#endif
