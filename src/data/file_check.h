/* file_check - finds unreadable image files before a long run. */
#ifndef SSM2D_DATA_FILE_CHECK_H
#define SSM2D_DATA_FILE_CHECK_H

#include "data/dataset.h"

/* Opens at most max_files image files, evenly spaced over the data set, and decodes no more of each
 * than its size needs. Sets *checked, and *bad to the number of files that cannot be opened; *error
 * is the error of the first of them. Data sets that are not single files were read when opened. */
void file_check_some(const dataset *d, size_t max_files, size_t max_pixels, size_t *checked,
                     size_t *bad, ssm2d_error *error);

/* The image files that were decoded without an error, kept in a file in the user's cache, so that
 * the next run on the same data need not decode them again. A file is identified by a hash of its
 * path, size and modification time. The list is optional: a missing or damaged one costs time, not
 * correctness, because training reports bad images too. */
typedef struct checked_files {
    const ssm2d_context *context;
    uint64_t *keys; /* the first `sorted` are sorted */
    size_t count, sorted, capacity;
} checked_files;

/* Reads the list at path, which is empty if it cannot be read or path is NULL. The caller frees it
 * with checked_files_free. */
checked_files checked_files_read(const ssm2d_context *context, const char *path);
/* Writes the list to path, which appears complete or not at all, if keys were added. Returns
 * whether it was written. */
int checked_files_write(checked_files *c, const char *path);
void checked_files_free(checked_files *c);

enum { FILE_CHECK_SHOWN = 3 };

typedef struct file_check {
    size_t files, bad;
    ssm2d_error first[FILE_CHECK_SHOWN]; /* errors of the first bad files of the data set */
    int stopped;                         /* the hook asked to stop */
} file_check;

typedef struct file_check_hooks {
    void *user;
    int (*stop)(void *user);                   /* may be NULL, as the next */
    void (*progress)(void *user, size_t done); /* files of this call */
    checked_files *checked; /* files in it are not decoded again, good ones are added; or NULL */
    size_t share, shares;   /* check this share of the files, from 0; 0 shares: all */
} file_check_hooks;

/* Decodes every image file, on all threads of the context, and adds to *result. JPEGs are decoded
 * at an eighth of their size, which still reads the whole file. Fails only when out of memory. */
ssm2d_status file_check_all(ssm2d_context *context, const dataset *d, size_t max_pixels,
                            const file_check_hooks *hooks, file_check *result, ssm2d_error *error);

#endif
