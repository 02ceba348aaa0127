/* file_open - the only code that opens files by name (tests/checks.sh: opening).
 *
 * Others may be able to write to a user's folder. So opening never waits for the other end of a
 * pipe, unless the caller accepts pipes; only regular files are accepted, which is checked after
 * opening; and links are not followed for files that are written or that belong to this program. */
#ifndef SSM2D_IO_FILE_OPEN_H
#define SSM2D_IO_FILE_OPEN_H

#include "ssm2d.h"

#include <stdio.h>
#include <sys/stat.h>

typedef enum file_use {
    FILE_READ,      /* a regular file, or a link to one: users keep data and weights elsewhere */
    FILE_READ_ANY,  /* a file named by the user: also pipes and devices, which may block */
    FILE_READ_OWN,  /* a file that only this program writes: links are refused */
    FILE_LOCK,      /* only for flock; created if it is missing; links are refused */
    FILE_APPEND,    /* created if it is missing; refuses links, also hard links */
    FILE_CONTINUE,  /* the same, for reading as well */
    FILE_REPLACE,   /* a new file that replaces a regular one, whose hard links remain */
    FILE_OVERWRITE, /* a new file to read and write, which replaces anything but a folder */
    FILE_TEMPORARY, /* a new file; fails with EEXIST if the name exists */
} file_use;

/* Errors of file_fd. */
enum { FILE_SYSTEM = -1, FILE_NOT_REGULAR = -2, FILE_IS_FOLDER = -3, FILE_HAS_LINKS = -4 };

/* Opens a file in the folder that is open as `folder` (AT_FDCWD: the current one). Returns a
 * descriptor, which the caller closes, or one of the above; FILE_SYSTEM sets errno. info, unless it
 * is NULL, gets the result of fstat. */
int file_fd(int folder, const char *name, file_use use, struct stat *info);
/* Reports such an error; `what` ("cannot be opened") precedes the text of errno. */
ssm2d_status file_refused(int result, const char *path, const char *what, ssm2d_error *error);
/* file_fd that reports errors. *fd is -1 after a failure. */
ssm2d_status file_open_fd(int folder, const char *name, const char *path, file_use use, int *fd,
                          ssm2d_error *error);

/* Opens a folder for listing, locking and syncing; returns -1 with errno. follow: accept a link. */
int folder_fd(int folder, const char *name, int follow);
/* Opens a file without a name in a folder, for writing; -1 if the system does not support it. */
int nameless_fd(const char *folder);
/* Opens /dev/null with the flags of open. */
int null_fd(int flags);

#endif
