/* file_check - whether image files can be read, looked at before a long run. */
#ifndef SSM2D_DATA_FILE_CHECK_H
#define SSM2D_DATA_FILE_CHECK_H

#include "data/checked_files.h"
#include "data/dataset.h"

/* Opens `max_looks` of the image files, evenly spread over the data set, and decodes no more of
 * each than its size needs. *bad becomes the number of those that cannot be opened; *error says why
 * the first of them cannot. Data sets without a file for each image have been read whole already.
 */
void file_check_some(const dataset *d, size_t max_looks, size_t max_pixels, size_t *looked,
                     size_t *bad, ssm2d_error *error);

enum { FILE_CHECK_SHOWN = 3 };

typedef struct file_check {
    size_t files, bad;
    ssm2d_error
        first[FILE_CHECK_SHOWN]; /* why the first bad files of the data set cannot be read */
    int stopped;                 /* the hook asked to stop */
} file_check;

typedef struct file_check_hooks {
    void *user;
    int (*stop)(void *user);                   /* may be NULL, as the next */
    void (*progress)(void *user, size_t done); /* files of this call */
    checked_files *checked; /* files in it are not read again, good ones are added; or NULL */
    size_t share, shares;   /* look at this share of the files, from 0; 0 shares: at all */
} file_check_hooks;

/* Decodes every image file, on all threads of the context, and adds to *result. JPEGs are decoded
 * at an eighth of their size, which reads all of the file. Fails only when out of memory. */
ssm2d_status file_check_all(ssm2d_context *context, const dataset *d, size_t max_pixels,
                            const file_check_hooks *hooks, file_check *result, ssm2d_error *error);

#endif
