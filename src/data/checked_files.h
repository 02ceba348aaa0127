/* checked_files - image files that were decoded without an error, remembered in a file of the
 * user's cache, so that the next run on the same folder need not read them all once more.
 *
 * A file is known by a hash of its path, size and time of modification. The list is a help and
 * nothing more: one that is missing, damaged or cannot be written costs time, not correctness, as
 * training meets every image again. */
#ifndef SSM2D_DATA_CHECKED_FILES_H
#define SSM2D_DATA_CHECKED_FILES_H

#include "ssm2d.h"

#include <stddef.h>

typedef struct checked_files {
    const ssm2d_context *context;
    uint64_t *keys; /* the first `sorted` in order */
    size_t count, sorted, capacity;
} checked_files;

/* Reads the list at path; it is empty when there is none that can be read, or path is NULL. The
 * caller ends it with checked_files_free. */
checked_files checked_files_read(const ssm2d_context *context, const char *path);
/* The key of a file; 0 when there is no such file. max_pixels: files of more are refused. */
uint64_t checked_files_key(const char *path, size_t max_pixels);
/* Whether the file was checked when the list was read. */
int checked_files_has(const checked_files *c, uint64_t key);
/* Adds a key, unless there is no memory, or no space in the list. */
void checked_files_add(checked_files *c, uint64_t key);
/* Writes the list to path, which appears whole or not at all, when keys were added. Says whether it
 * is there. */
int checked_files_write(checked_files *c, const char *path);
void checked_files_free(checked_files *c);

#endif
