/* npm_pack - fetches a package by its name, with npm as a program of its own: this tool does not
 * speak to the network. */
#ifndef SSM2D_TOOLS_NPM_PACK_H
#define SSM2D_TOOLS_NPM_PACK_H

#include "ssm2d.h"

/* Runs `npm pack PACKAGE` (NAME@VERSION) in the folder, where it leaves one .tgz, and renames that
 * to `to` in the same folder. What npm prints goes to a file in the folder, whose error code a
 * failure names. */
ssm2d_status npm_pack(const ssm2d_context *context, const char *package, const char *folder,
                      const char *to, ssm2d_error *error);

#endif
