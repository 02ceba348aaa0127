/* resize_axis - resizing along one axis: weights, and weighted sums of pixels. Internal to
 * resize.c.
 *
 * `from` pixels are resized to `to`, of which `outputs` pixels from `window` on are computed.
 * Output i is the sum of weights[i * taps + k] * input[first[i] + k] over k < count[i]. For SIMD
 * code that adds two products at once, a weight is split into high * 2^12 + low; those of taps 2p
 * and 2p + 1 are the 16-bit halves of high[i * pairs + p] and low[i * pairs + p], and 0 after the
 * last tap. */
#ifndef SSM2D_DATA_RESIZE_AXIS_H
#define SSM2D_DATA_RESIZE_AXIS_H

#include "data/resize.h"

typedef struct resize_axis {
    resize_filter filter;
    size_t from, to, window, outputs, taps, pairs;
    int *first, *count;
    int32_t *weights, *high, *low;
} resize_axis;

/* The bytes that axis_plan needs, and whether the axis is already planned like this. */
size_t axis_bytes(resize_filter filter, size_t from, size_t to, size_t outputs);
int axis_is(const resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
            size_t outputs);
/* Computes the weights, in memory of axis_bytes, with every operation as in Pillow's
 * precompute_coeffs, so that rounding is the same. */
void axis_plan(resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
               size_t outputs, void *memory);

/* Resizes a row of `from` pixels to `outputs` pixels, with 1 or 3 channels. */
void axis_across(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out);
/* Computes output row i, `line` bytes. Input row y is at ring + y % taps * line. */
void axis_down(const resize_axis *a, size_t i, const uint8_t *ring, size_t line, uint8_t *out);

/* The same in plain C: the reference for tests. */
void axis_across_plain(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out);
void axis_down_plain(const resize_axis *a, size_t i, const uint8_t *ring, size_t line,
                     uint8_t *out);

#endif
