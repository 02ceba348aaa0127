/* run_data - reads and writes data.json of a run, the description of its training data. */
#ifndef SSM2D_INFERENCE_RUN_DATA_H
#define SSM2D_INFERENCE_RUN_DATA_H

#include "tasks/task.h"

#include <cjson/cJSON.h>

/* The contents of data.json: enough to predict without the data. */
typedef struct run_data {
    const task *task; /* NULL when empty */
    int outputs, channels;
    const char **names; /* of outputs, in one block; NULL: none */
    const char **ids;   /* identifiers; NULL: names are unique (dataset.h) */
    normalisation norm;
    long images; /* training images; 0: unknown, as for imported weights */
} run_data;

/* Returns the text of data.json, which the caller frees with cJSON_free; NULL if out of memory. */
char *run_data_text(const task *t, const dataset_info *train, const normalisation *norm);
/* The same for what was read; images' names are not kept. */
char *run_data_print(const run_data *data);
/* Reads such an object, whose name is `path` in messages. The caller frees *data. */
ssm2d_status run_data_from_json(const ssm2d_context *context, const char *path, const cJSON *root,
                                run_data *data, ssm2d_error *error);
/* Reads data.json of the run in a folder. The caller frees *data. */
ssm2d_status run_data_read(const ssm2d_context *context, const char *folder, run_data *data,
                           ssm2d_error *error);
/* The outputs that it describes. */
task_outputs run_data_outputs(const run_data *data);
void run_data_free(const ssm2d_context *context, run_data *data);

#endif
