/* resize - images of any size to one size, row by row: bilinear with antialiasing, to the bit as
 * Pillow and torchvision do.
 *
 * Along each axis an output pixel is the mean of the input pixels around its place, weighted by a
 * triangle that is as wide as two output pixels (two input pixels when enlarging). Columns first,
 * rounded to 8 bits, then rows. The aspect ratio is not kept. Grey becomes RGB by repetition; RGB
 * becomes grey as (19595 R + 38470 G + 7471 B + 32768) / 65536, before resizing. */
#ifndef SSM2D_DATA_RESIZE_H
#define SSM2D_DATA_RESIZE_H

#include "ssm2d.h"

enum { RESIZE_MOST = 1 << 16 }; /* rows or columns, of input and output */

typedef struct resize resize;

/* To images of rows x cols x channels (1 or 3). */
ssm2d_status resize_create(const ssm2d_context *context, size_t rows, size_t cols, int channels,
                           resize **out, ssm2d_error *error);
void resize_destroy(resize *r);

/* Begins an image; out[rows][cols][channels] is complete after the last of its rows. Takes memory
 * only when this image is larger than those before. `name` is for messages. */
ssm2d_status resize_start(resize *r, const char *name, size_t rows, size_t cols, int channels,
                          uint8_t *out, ssm2d_error *error);
/* The next row, cols x channels. */
void resize_row(resize *r, const uint8_t *row);
/* Space for one row of the image begun, for those who have none of their own. */
uint8_t *resize_space(resize *r);

#endif
