/* run_data - data.json of a run: what is known of the images that a model was trained on. */
#ifndef SSM2D_INFERENCE_RUN_DATA_H
#define SSM2D_INFERENCE_RUN_DATA_H

#include "tasks/task.h"

/* What data.json says: enough to predict for an image without the data. */
typedef struct run_data {
    const task *task; /* NULL when empty */
    int outputs, channels;
    const char **names; /* of outputs, one block; NULL: they have none */
    const char **ids;   /* likewise; NULL: the names tell outputs apart (dataset.h) */
    normalisation norm;
    long images; /* to train on; 0: not known, as of weights that come from elsewhere */
} run_data;

/* Returns the text of data.json, which the caller frees with cJSON_free; NULL without memory. */
char *run_data_text(const task *t, const dataset_info *train, const normalisation *norm);
/* Reads that of the run in a folder. The caller frees *data. */
ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error);
/* The outputs that it describes. */
task_outputs run_data_outputs(const run_data *data);
void run_data_free(const ssm2d_context *context, run_data *data);

#endif
