/* unpack - extracts files from an archive with libarchive. Archives are hostile: only what is asked
 * for is written, under names that are checked, and no more than the given number of bytes. */
#ifndef SSM2D_IO_UNPACK_H
#define SSM2D_IO_UNPACK_H

#include "ssm2d.h"

/* Whether this build has libarchive; without it unpacking is refused. */
int unpack_possible(void);
/* Extracts the files names[0 .. count - 1] of a .tar or .tgz, and nothing else, into the folder,
 * each under the last part of its name and complete or not at all. Refuses an archive that is not a
 * regular file, or a link unless follow is 1; files of more than max_bytes, and missing files. */
ssm2d_status unpack_files(const ssm2d_context *context, const char *archive, int follow,
                          const char *const *names, size_t count, size_t max_bytes,
                          const char *folder, ssm2d_error *error);
/* Writes the contents of a .gz, or of a file that is not compressed, to the file `to`, which
 * appears complete or not at all; with the same refusals. */
ssm2d_status unpack_single(const ssm2d_context *context, const char *archive, int follow,
                           size_t max_bytes, const char *to, ssm2d_error *error);

/* Which part of an archive unpack_tree extracts, and its bounds. */
typedef struct unpack_bounds {
    const char *prefix;       /* of the names of its files, "tiny-imagenet-200/" */
    const char *const *under; /* first parts of names after the prefix; NULL-terminated */
    size_t files, file_bytes, bytes;
    int (*stop)(void *user); /* may be NULL */
    void *user;
} unpack_bounds;

/* Extracts the files of a .zip whose names are PREFIX, one of `under`, and the rest, into a new
 * folder `name` inside the one that is open as `folder`, under their names without the prefix.
 * Refuses, in those files, links and other special files, names that are absolute or have a part
 * that begins with a dot, and more than the bounds allow. What was written before a failure
 * remains for unpack_remove. *stopped: the stop hook ended it. */
ssm2d_status unpack_tree(const char *archive, int follow, const unpack_bounds *bounds, int folder,
                         const char *name, int *stopped, ssm2d_error *error);
/* Removes a folder with all below, which this program has made; follows no links. */
void unpack_remove(int folder, const char *name);
/* The number of regular files in a folder and below, to a depth of 8; 0 if it cannot be read. */
size_t unpack_count(int folder, const char *name);

#endif
