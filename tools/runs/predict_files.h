/* predict_files - the image files named on a command line: files, and all images below folders. */
#ifndef SSM2D_TOOLS_PREDICT_FILES_H
#define SSM2D_TOOLS_PREDICT_FILES_H

#include "data/listing.h"
#include "tools/command.h"

/* Adds the files to *files, an empty listing, in the order of the words; files in a folder are
 * sorted by name, before those of its subfolders. The label of an entry is 1 if found in a folder;
 * such files must be regular. Non-image files in folders are counted as ignored. */
ssm2d_status predict_files(const word_list *words, listing *files, ssm2d_error *error);

#endif
