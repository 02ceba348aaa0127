/* unpack - single files out of an archive, such as a .tgz, with libarchive. */
#ifndef SSM2D_IO_UNPACK_H
#define SSM2D_IO_UNPACK_H

#include "ssm2d.h"

/* Whether this build has libarchive; without it unpacking is refused. */
int unpack_possible(void);
/* Writes the files of an archive whose names are names[0 .. count - 1] to the folder, each under
 * the last part of its name, which appears complete or not at all. Nothing else of the archive is
 * written. Refuses files of more than max_bytes, and an archive in which one is missing. */
ssm2d_status unpack_files(const ssm2d_context *context, const char *archive,
                          const char *const *names, size_t count, size_t max_bytes,
                          const char *folder, ssm2d_error *error);

#endif
