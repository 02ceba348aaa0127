/* predict_files - the image files that words of a command line name: files themselves, and those in
 * folders and below. */
#ifndef SSM2D_TOOLS_PREDICT_FILES_H
#define SSM2D_TOOLS_PREDICT_FILES_H

#include "data/listing.h"
#include "tools/command.h"

/* The files into *files, an empty listing, in the order of the words; those of a folder sorted by
 * their names, before those of its folders. A file's label says whether it was found in a folder:
 * such files are to be regular. What is in a folder and no image is counted. */
ssm2d_status predict_files(const word_list *words, listing *files, ssm2d_error *error);

#endif
