/* resize - resizes images of any size to one size, row by row, with antialiasing, bit-exact with
 * Pillow and torchvision.
 *
 * Along each axis an output pixel is a weighted mean of the input pixels around its position. The
 * weights are a triangle as wide as two output pixels (two input pixels when enlarging), or a cubic
 * twice as wide. Columns are resized first and rounded to 8 bits, then rows. The aspect ratio is
 * not kept. Grey becomes RGB by repetition, and RGB becomes its luma, before resizing. */
#ifndef SSM2D_DATA_RESIZE_H
#define SSM2D_DATA_RESIZE_H

#include "ssm2d.h"

enum { MAX_IMAGE_SIDE = 1 << 16 }; /* rows or columns, of the source and of the output */

/* The luma of an RGB pixel, with Pillow's rounding. */
static inline uint8_t pixel_luma(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

typedef struct resize resize;

/* Creates a resizer to images of rows x cols x channels (1 or 3). */
ssm2d_status resize_create(const ssm2d_context *context, size_t rows, size_t cols, int channels,
                           resize **out, ssm2d_error *error);
void resize_destroy(resize *r);

/* RESIZE_NEAREST takes the pixel at an output pixel's centre, as maps of labels need. */
typedef enum resize_filter { RESIZE_BILINEAR, RESIZE_BICUBIC, RESIZE_NEAREST } resize_filter;

/* Which part of a source image becomes the output: a rectangle of the source is resized, and the
 * output is a window of the result. A random resized crop chooses the rectangle; an evaluation that
 * resizes the shorter side and crops the centre chooses the window. Pixels outside the rectangle
 * have no influence. */
typedef struct resize_region {
    size_t top, left, rows, cols;      /* the rectangle, in pixels of the source */
    size_t resized_rows, resized_cols; /* the size it is resized to */
    size_t window_top, window_left;    /* where the output begins in the resized rectangle */
    resize_filter filter;
    /* The source may be decoded at a fraction of its size, as long as the rectangle remains at
     * least as large as its resized size. It is then rounded to whole pixels of that fraction. */
    int may_reduce;
} resize_region;

/* Changes the region for a source of rows x cols pixels, which initially is the whole source,
 * resized to the output's size, bilinear. */
typedef void resize_chooser(void *user, size_t rows, size_t cols, resize_region *region);
/* Sets the function that resize_start calls; NULL: the initial region is used. */
void resize_choose_with(resize *r, resize_chooser *choose, void *user);

/* Begins an image; out[rows][cols][channels] is complete after its last row. Allocates only when
 * this image needs more memory than those before. `name` is for messages. Refuses a region outside
 * the source, and a window outside the resized rectangle. */
ssm2d_status resize_start(resize *r, const char *name, size_t rows, size_t cols, int channels,
                          uint8_t *out, ssm2d_error *error);
/* Adds the next row of the source, cols x channels. The caller gives all rows, whatever the region,
 * until the output is complete. */
void resize_row(resize *r, const uint8_t *row);
int resize_is_complete(const resize *r);
/* For sources that can be decoded at a fraction of their size. resize_reduction returns the factor,
 * 1, 2, 4 or 8, by which the sides of a source of rows x cols may be divided.
 * resize_start_reduced begins an image of rows / reduction rows of cols / reduction pixels, both
 * rounded up. */
int resize_reduction(const resize *r, size_t rows, size_t cols);
ssm2d_status resize_start_reduced(resize *r, const char *name, size_t rows, size_t cols,
                                  int channels, int reduction, uint8_t *out, ssm2d_error *error);
/* A buffer for one row of the source, for callers that have none of their own. */
uint8_t *resize_row_buffer(resize *r);

#endif
