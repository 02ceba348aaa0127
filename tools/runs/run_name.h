/* run_name - the folder of a run that was given none: runs/DATA-MODEL-DATE; and the file that
 * remembers which of its images can be read. */
#ifndef SSM2D_TOOLS_RUN_NAME_H
#define SSM2D_TOOLS_RUN_NAME_H

#include "inference/run_files.h"
#include "train/settings.h"

/* Makes a folder that was not there before, in the folder runs, and writes its name to folder. */
ssm2d_status run_name_make(const train_settings *s, char folder[RUN_PATH], ssm2d_error *error);
/* Removes the folder, and the folder runs, as far as they are empty: the run did not begin. */
void run_name_undo(const char *folder);

/* Writes the name of the list of good image files of these data (data/file_check.h) to path and
 * returns path; NULL: there is no folder for it. It is in $XDG_CACHE_HOME/ssm2d, or
 * ~/.cache/ssm2d. */
const char *checked_images_path(const char *data, char path[RUN_PATH]);

#endif
