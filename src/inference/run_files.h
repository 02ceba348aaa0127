/* run_files - the files in the folder of a run.
 *
 *     train.json          every setting, in the form that --config reads
 *     config.json         the model only, for ssm2d run
 *     data.json           a description of the data: task, names, normalisation, sizes
 *     last.safetensors    the latest checkpoint: all that --resume needs
 *     model.safetensors   the weights after the latest epoch, timm's names (with EMA: the average)
 *     best.safetensors    the weights of the epoch with the best metric, on validation images if
 *                         there are any, else on test images
 *     metrics.jsonl       losses and metrics, one JSON object per line
 *     curves.svg          a picture of them
 *     machines.json       the machines and versions that trained it */
#ifndef SSM2D_INFERENCE_RUN_FILES_H
#define SSM2D_INFERENCE_RUN_FILES_H

#include "ssm2d.h"

typedef enum run_file {
    RUN_TRAIN,
    RUN_CONFIG,
    RUN_DATA,
    RUN_LAST,
    RUN_MODEL,
    RUN_BEST,
    RUN_METRICS,
    RUN_CURVES,
    RUN_MACHINES,
    RUN_FILES
} run_file;

extern const char *const run_file_names[RUN_FILES];

enum { RUN_PATH = 4096 };

/* The path of a file in a run's folder; refuses folders whose names are too long, and a path that
 * is not a regular file. */
ssm2d_status run_path(const char *folder, run_file which, char path[RUN_PATH], ssm2d_error *error);
/* Whether the folder has a run: whether it has a train.json. A run writes this file first and
 * removes it last, so other files without it belong to someone else. */
int run_exists(const char *folder);
/* Fails with the reason why the folder is not that of a run. */
ssm2d_status run_refuse(const char *folder, ssm2d_error *error);

#endif
