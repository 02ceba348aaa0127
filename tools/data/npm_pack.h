/* npm_pack - fetches a package by its name, with npm as a program of its own: this tool does not
 * speak to the network. */
#ifndef SSM2D_TOOLS_NPM_PACK_H
#define SSM2D_TOOLS_NPM_PACK_H

#include "ssm2d.h"

extern const char npm_log_name[]; /* of a file in the folder, which has what npm prints */

/* Runs `npm pack PACKAGE` (NAME@VERSION) in the folder, where it leaves one .tgz, and renames that
 * to `to` in the same folder. A failure names the error code that npm has printed. */
ssm2d_status npm_pack(const ssm2d_context *context, const char *package, const char *folder,
                      const char *to, ssm2d_error *error);

#endif
