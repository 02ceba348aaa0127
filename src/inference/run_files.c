#include "inference/run_files.h"

#include "core/status.h"
#include "io/text.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const run_file_names[RUN_FILES] = {
    [RUN_TRAIN] = "train.json",        [RUN_CONFIG] = "config.json",
    [RUN_DATA] = "data.json",          [RUN_LAST] = "last.safetensors",
    [RUN_MODEL] = "model.safetensors", [RUN_BEST] = "best.safetensors",
    [RUN_METRICS] = "metrics.jsonl",   [RUN_CURVES] = "curves.svg",
    [RUN_MACHINES] = "machines.json",
};

ssm2d_status run_path(const char *folder, run_file which, char path[RUN_PATH], ssm2d_error *error)
{
    struct stat info;
    int length = snprintf(path, RUN_PATH, "%s/%s", folder, run_file_names[which]);
    if (length <= 0 || length >= RUN_PATH)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name of the folder is too long",
                    text_path(folder));
    if (!stat(path, &info) && !S_ISREG(info.st_mode)) /* reading a pipe could block */
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a regular file", text_path(path));
    return SSM2D_OK;
}

int run_exists(const char *folder)
{
    char path[RUN_PATH];
    return !run_path(folder, RUN_TRAIN, path, NULL) && !access(path, F_OK);
}

ssm2d_status run_refuse(const char *folder, ssm2d_error *error)
{
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not the folder of a run: %s",
                text_path(folder),
                access(folder, F_OK) ? "it does not exist" : "it has no train.json");
}
