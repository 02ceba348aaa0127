/* run_name - the default folder of a run, runs/DATA-MODEL-DATE, and the cache file that lists the
 * images found readable. */
#ifndef SSM2D_TOOLS_RUN_NAME_H
#define SSM2D_TOOLS_RUN_NAME_H

#include "inference/run_files.h"
#include "train/settings.h"

/* Creates a new folder in the folder runs, and writes its name to folder. */
ssm2d_status run_name_make(const train_settings *s, char folder[RUN_PATH], ssm2d_error *error);
/* Removes the folder, and the folder runs, if they are empty because the run did not begin. */
void run_name_undo(const char *folder);

/* Writes the path of the list of good image files of these data (data/file_check.h) to path and
 * returns path: in $XDG_CACHE_HOME/ssm2d, or ~/.cache/ssm2d. NULL: there is no such folder. */
const char *checked_images_path(const char *data, char path[RUN_PATH]);

#endif
