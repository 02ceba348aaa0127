/* file_open - the one place of this tree that opens files by name (tests/checks.sh: open).
 *
 * Somebody else may be able to write to the folder. So nothing here waits for the other end of a
 * pipe, unless a pipe is what the caller asks for; only regular files are accepted, which is
 * checked after opening; and files that are written or belong to this program are not followed
 * through links. */
#ifndef SSM2D_IO_FILE_OPEN_H
#define SSM2D_IO_FILE_OPEN_H

#include "ssm2d.h"

#include <stdio.h>
#include <sys/stat.h>

typedef enum file_use {
    FILE_READ,      /* a regular file, or a link to one: users keep data and weights elsewhere */
    FILE_READ_ANY,  /* a file that the user has named: pipes and devices too, which may wait */
    FILE_READ_OWN,  /* a file that only this program makes: links are refused */
    FILE_LOCK,      /* for flock alone; created when it is missing; links are refused */
    FILE_APPEND,    /* created when it is missing; refuses links, and files with several names */
    FILE_REPLACE,   /* a new file in the place of a regular one, which keeps its other names */
    FILE_OVERWRITE, /* one to read and write, in the place of anything but a folder */
    FILE_TEMPORARY, /* a new file; fails with EEXIST when there is something of its name */
} file_use;

/* Results of file_fd besides descriptors. */
enum { FILE_SYSTEM = -1, FILE_NOT_REGULAR = -2, FILE_IS_FOLDER = -3, FILE_HAS_NAMES = -4 };

/* Opens a file in the folder that is open as `folder` (AT_FDCWD: the current one). Returns a
 * descriptor, which the caller closes, or one of the above; FILE_SYSTEM says why in errno. info,
 * unless it is NULL, gets what fstat says. */
int file_fd(int folder, const char *name, file_use use, struct stat *info);
/* Returns the error for such a failure; `what` ("cannot be opened") precedes the text of errno. */
ssm2d_status file_refused(int result, const char *path, const char *what, ssm2d_error *error);
/* file_fd and file_refused together. *fd is -1 after a failure. */
ssm2d_status file_open_fd(int folder, const char *name, const char *path, file_use use, int *fd,
                          ssm2d_error *error);

/* A folder in another, for listing, locking and syncing; -1 with errno. follow: it may be reached
 * through a link. */
int folder_fd(int folder, const char *name, int follow);
/* A file without a name in a folder, for writing; -1 where the system has no such thing. */
int nameless_fd(const char *folder);
/* /dev/null; flags are those of open. */
int null_fd(int flags);

#endif
