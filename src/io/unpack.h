/* unpack - extracts single files from an archive, such as a .tgz, with libarchive. */
#ifndef SSM2D_IO_UNPACK_H
#define SSM2D_IO_UNPACK_H

#include "ssm2d.h"

/* Whether this build has libarchive; without it unpacking is refused. */
int unpack_possible(void);
/* Extracts the files names[0 .. count - 1] of an archive, and nothing else, into the folder, each
 * under the last part of its name and complete or not at all. Refuses an archive that is a link or
 * not a regular file, files of more than max_bytes, and missing files. */
ssm2d_status unpack_files(const ssm2d_context *context, const char *archive,
                          const char *const *names, size_t count, size_t max_bytes,
                          const char *folder, ssm2d_error *error);

#endif
