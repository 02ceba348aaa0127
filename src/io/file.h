/* file - reading whole files with a bound, and writing files that appear complete or not at all. */
#ifndef SSM2D_IO_FILE_H
#define SSM2D_IO_FILE_H

#include "ssm2d.h"

#include <stdio.h>

/* Holds for everything that these functions read and write: .npy, safetensors, weights and
 * checkpoints. Big-endian formats (IDX) are assembled byte by byte. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are read and written as they lie in memory, which has to be little-endian"
#endif

/* Opens path for reading, in binary; the caller closes *stream. A folder is refused here rather
 * than by the first read. */
ssm2d_status file_open(const char *path, FILE **stream, ssm2d_error *error);
/* The same for a regular file, or a link to one. Pipes, sockets and devices are refused without
 * waiting for them. */
ssm2d_status file_open_regular(const char *path, FILE **stream, ssm2d_error *error);
/* Opens a regular file for appending, and creates it if it is missing; the caller closes *stream.
 * empty: a new file replaces it. Links, hard links included, are refused, so that nothing is
 * written elsewhere; pipes, sockets and devices are refused without waiting for them. */
ssm2d_status file_append(const char *path, int empty, FILE **stream, ssm2d_error *error);

/* Reads all of path into *bytes, which the caller frees with mem_free; a NUL byte follows the
 * contents and is not counted in *size. Refuses a file of more than max_bytes, and one that turns
 * out shorter than its size said. Reads from pipes and devices as well. */
ssm2d_status file_read(const ssm2d_context *context, const char *path, size_t max_bytes,
                       char **bytes, size_t *size, ssm2d_error *error);
/* The same for a regular file, or a link to one, as file_open_regular. */
ssm2d_status file_read_regular(const ssm2d_context *context, const char *path, size_t max_bytes,
                               char **bytes, size_t *size, ssm2d_error *error);

/* A file that is being written: without a name until it is complete, or (where the system cannot
 * do that) under a temporary name in the same folder. After a successful atomic_open the caller
 * ends it with atomic_commit or atomic_cancel. */
typedef struct atomic_file {
    FILE *stream;
    char *path, *temporary;
    int nameless; /* a killed process leaves nothing behind */
    const ssm2d_context *context;
} atomic_file;

/* Starts the file that atomic_commit renames to path. On failure there is nothing to cancel. */
ssm2d_status atomic_open(const ssm2d_context *context, const char *path, atomic_file *file,
                         ssm2d_error *error);
ssm2d_status atomic_write(atomic_file *file, const void *bytes, size_t size, ssm2d_error *error);
/* Syncs the file to the disk and renames it into place, replacing what was there. On failure the
 * temporary file is removed. */
ssm2d_status atomic_commit(atomic_file *file, ssm2d_error *error);
/* Removes the temporary file. Does nothing after atomic_commit, or for a file of zeros. */
void atomic_cancel(atomic_file *file);
/* Commits the file if status is SSM2D_OK, otherwise cancels it and returns status. */
ssm2d_status atomic_end(atomic_file *file, ssm2d_status status, ssm2d_error *error);

/* Writes text and a newline to path, which appears complete or not at all. */
ssm2d_status file_write_text(const ssm2d_context *context, const char *path, const char *text,
                             ssm2d_error *error);

/* Removes the temporary files of killed processes from a folder that is open as fd. Those of live
 * processes are locked and stay, as do files with other names. */
void temporaries_remove(int fd);

/* Whether both names refer to the same existing file or folder, directly or through links. */
int file_is_same(const char *one, const char *two);

/* Creates the folder, and those above it, unless they exist. */
ssm2d_status folder_make(const char *path, ssm2d_error *error);

#endif
