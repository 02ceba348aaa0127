/* resize_axis - resizing along one axis: the weights, and the sums of pixels. Internal to
 * resize.c.
 *
 * `from` pixels are resized to `to`, of which the `outputs` from `window` on are computed. Output i
 * is the sum of weights[i * taps + k] * input[first[i] + k], k < count[i]. For sums of two products
 * at once a weight is high * 2^12 + low, and those of taps 2p and 2p + 1 stand in the halves of
 * high[i * pairs + p] and low[i * pairs + p]; behind the last tap they are 0. */
#ifndef SSM2D_DATA_RESIZE_AXIS_H
#define SSM2D_DATA_RESIZE_AXIS_H

#include "data/resize.h"

typedef struct resize_axis {
    resize_filter filter;
    size_t from, to, window, outputs, taps, pairs;
    int *first, *count;
    int32_t *weights, *high, *low;
} resize_axis;

/* What the memory of an axis must have, and whether the axis is already planned so. */
size_t axis_bytes(resize_filter filter, size_t from, size_t to, size_t outputs);
int axis_is(const resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
            size_t outputs);
/* The weights into memory of axis_bytes, every operation as in Pillow's precompute_coeffs, so that
 * the roundings are the same. */
void axis_plan(resize_axis *a, resize_filter filter, size_t from, size_t to, size_t window,
               size_t outputs, void *memory);

/* A row of `from` pixels to one of `outputs`; 1 or 3 channels. */
void axis_across(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out);
/* Output row i of `line` bytes. Input row y is at ring + y % taps * line. */
void axis_down(const resize_axis *a, size_t i, const uint8_t *ring, size_t line, uint8_t *out);

/* The same in plain C, which the others are tested against. */
void axis_across_plain(const resize_axis *a, const uint8_t *row, int channels, uint8_t *out);
void axis_down_plain(const resize_axis *a, size_t i, const uint8_t *ring, size_t line,
                     uint8_t *out);

#endif
