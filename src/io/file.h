/* file - reading whole files with a bound, and writing files that appear complete or not at all. */
#ifndef SSM2D_IO_FILE_H
#define SSM2D_IO_FILE_H

#include "ssm2d.h"

#include <stdio.h>

/* Said here once for all that goes through these functions: .npy, safetensors and so weights and
 * checkpoints. Formats that are big-endian (IDX) are put together byte by byte. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are read and written as they lie in memory, which has to be little-endian"
#endif

/* Opens path for reading, in binary; a folder is refused here rather than by the first read. */
ssm2d_status file_open(const char *path, FILE **stream, ssm2d_error *error);

/* Reads all of path into memory taken from context (give it back with mem_free); a NUL byte follows
 * the contents. Refuses files over `most` bytes, and files that turn out shorter than they said.
 * Pipes and devices will do. */
ssm2d_status file_read(const ssm2d_context *context, const char *path, size_t most, char **bytes,
                       size_t *size, ssm2d_error *error);

/* A file under construction: without a name until it is complete, or (where the system cannot do
 * that) under a temporary name in the same folder. Commit syncs it and renames it into place,
 * cancel removes it; exactly one of the two must be called after a successful open. */
typedef struct atomic_file {
    FILE *stream;
    char *path, *temporary;
    int nameless; /* a killed process leaves nothing behind */
    const ssm2d_context *context;
} atomic_file;

ssm2d_status atomic_open(const ssm2d_context *context, const char *path, atomic_file *file,
                         ssm2d_error *error);
ssm2d_status atomic_write(atomic_file *file, const void *bytes, size_t size, ssm2d_error *error);
/* on failure the temporary file is removed too */
ssm2d_status atomic_commit(atomic_file *file, ssm2d_error *error);
void atomic_cancel(atomic_file *file);

/* A whole text file and a newline after it, or nothing. */
ssm2d_status file_write_text(const ssm2d_context *context, const char *path, const char *text,
                             ssm2d_error *error);

/* Creates the folder, and those above it, unless they are there. */
ssm2d_status folder_make(const char *path, ssm2d_error *error);

#endif
