/* resize - images of any size to one size, row by row, with antialiasing, to the bit as Pillow and
 * torchvision do.
 *
 * Along each axis an output pixel is the mean of the input pixels around its place, weighted by a
 * triangle that is as wide as two output pixels (two input pixels when enlarging), or by a cubic
 * that is twice as wide. Columns first, rounded to 8 bits, then rows. The aspect ratio is not kept.
 * Grey becomes RGB by repetition; RGB becomes grey as (19595 R + 38470 G + 7471 B + 32768) / 65536,
 * before resizing. */
#ifndef SSM2D_DATA_RESIZE_H
#define SSM2D_DATA_RESIZE_H

#include "ssm2d.h"

enum { MAX_IMAGE_SIDE = 1 << 16 }; /* rows or columns, of the source and of the output */

typedef struct resize resize;

/* To images of rows x cols x channels (1 or 3). */
ssm2d_status resize_create(const ssm2d_context *context, size_t rows, size_t cols, int channels,
                           resize **out, ssm2d_error *error);
void resize_destroy(resize *r);

/* RESIZE_NEAREST takes the pixel at an output pixel's centre, as labels of pixels need it. */
typedef enum resize_filter { RESIZE_BILINEAR, RESIZE_BICUBIC, RESIZE_NEAREST } resize_filter;

/* Which pixels of a source image become the output: a rectangle of the source is resized as a
 * whole, and the output is a window, in its own size, of the result. A random resized crop chooses
 * the rectangle; an evaluation that resizes the short side and takes the centre chooses the window.
 * Pixels outside the rectangle have no influence. */
typedef struct resize_region {
    size_t top, left, rows, cols;      /* the rectangle, in pixels of the source */
    size_t resized_rows, resized_cols; /* the size it is resized to */
    size_t window_top, window_left;    /* where the output begins in the resized rectangle */
    resize_filter filter;
    /* The source may be decoded at a fraction of its size while the rectangle stays at least as
     * large as what it is resized to. It then begins and ends at whole pixels of that. */
    int may_reduce;
} resize_region;

/* Changes the region for a source of rows x cols pixels. Before, it is the whole source resized to
 * the size of the output, bilinear. */
typedef void resize_chooser(void *user, size_t rows, size_t cols, resize_region *region);
/* `choose` is asked by every resize_start from now on; NULL: the region stays as it is before. */
void resize_choose_with(resize *r, resize_chooser *choose, void *user);

/* Begins an image; out[rows][cols][channels] is complete after the last of its rows. Takes memory
 * only when this image needs more than those before. `name` is for messages. Refuses a region that
 * reaches out of the source, and a window that reaches out of the resized rectangle. */
ssm2d_status resize_start(resize *r, const char *name, size_t rows, size_t cols, int channels,
                          uint8_t *out, ssm2d_error *error);
/* The next row of the source, cols x channels; all rows are given, whatever the region, until the
 * output is complete. */
void resize_row(resize *r, const uint8_t *row);
int resize_is_complete(const resize *r);
/* For sources that can be decoded at a fraction of their size: returns by how much the sides of one
 * of rows x cols may be divided, 1, 2, 4 or 8; and begins an image of which rows / reduction rows
 * of cols / reduction pixels will be given, both rounded up. */
int resize_reduction(const resize *r, size_t rows, size_t cols);
ssm2d_status resize_start_reduced(resize *r, const char *name, size_t rows, size_t cols,
                                  int channels, int reduction, uint8_t *out, ssm2d_error *error);
/* A buffer for one row of the source, for callers that have none of their own. */
uint8_t *resize_row_buffer(resize *r);

#endif
