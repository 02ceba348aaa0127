/* affine - affine maps of an image, with every operation and rounding as in Pillow's Geometry.c.
 *
 * Output pixel (x, y) is the input at m (x + 1/2, y + 1/2), or the fill colour outside the image.
 * Nearest: the pixel that contains this position, which is accumulated in double without shear,
 * otherwise in fixed point with 16 fractional bits. Bicubic: the cubic with a = -1 through 4 x 4
 * pixels, with border pixels repeated, in double and truncated. */
#include "data/pixel_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_all(const pixel_image *image, const uint8_t fill[3])
{
    const size_t pixels = image->rows * image->cols;
    uint8_t *out = image->spare;
    if (image->channels == 1)
        memset(out, fill[0], pixels);
    else
        for (size_t i = 0; i < pixels; i++) memcpy(out + 3 * i, fill, 3);
}

static void copy_pixel(uint8_t *out, const uint8_t *in, size_t channels)
{
    for (size_t c = 0; c < channels; c++) out[c] = in[c];
}

/* ---- nearest --------------------------------------------------------------------------------- */

/* The index of the pixel that contains position v; -1 if it is outside of 0 .. size - 1. */
static ptrdiff_t pixel_at(double v, size_t size)
{
    return v < 0 || v >= (double)size ? -1 : (ptrdiff_t)v;
}

/* 64 bits, because the position after the last pixel may not fit into 32. */
static int64_t fixed(double v) { return (int64_t)floor(v * 65536 + 0.5); }

static void nearest_fixed(const pixel_image *image, const double m[6])
{
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    const int64_t across_x = fixed(m[0]), down_x = fixed(m[1]), across_y = fixed(m[3]),
                  down_y = fixed(m[4]);
    int64_t row_u = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5),
            row_v = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (size_t y = 0; y < image->rows; y++, row_u += down_x, row_v += down_y) {
        uint8_t *out = image->spare + y * line;
        int64_t u = row_u, v = row_v;
        for (size_t x = 0; x < image->cols; x++, u += across_x, v += across_y, out += channels) {
            const int64_t from_x = u >> 16, from_y = v >> 16;
            if (from_x < 0 || from_x >= (int64_t)image->cols || from_y < 0
                || from_y >= (int64_t)image->rows)
                continue;
            copy_pixel(out, image->pixels + (size_t)from_y * line + (size_t)from_x * channels,
                       channels);
        }
    }
}

/* For maps without shear, and for images too large for fixed point. */
static void nearest_double(const pixel_image *image, const double m[6])
{
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    double row_u = m[2] + m[0] * 0.5 + m[1] * 0.5, row_v = m[5] + m[3] * 0.5 + m[4] * 0.5;
    for (size_t y = 0; y < image->rows; y++, row_u += m[1], row_v += m[4]) {
        uint8_t *out = image->spare + y * line;
        double u = row_u, v = row_v;
        for (size_t x = 0; x < image->cols; x++, u += m[0], v += m[3], out += channels) {
            const ptrdiff_t from_x = pixel_at(u, image->cols), from_y = pixel_at(v, image->rows);
            if (from_x < 0 || from_y < 0) continue;
            copy_pixel(out, image->pixels + (size_t)from_y * line + (size_t)from_x * channels,
                       channels);
        }
    }
}

static int fits_fixed(const double m[6], double x, double y)
{
    return fabs(m[0] * x + m[1] * y + m[2]) < 32768 && fabs(m[3] * x + m[4] * y + m[5]) < 32768;
}

static void nearest(const pixel_image *image, const double m[6])
{
    const double rows = (double)image->rows, cols = (double)image->cols;
    const int sheared = m[1] < 0 || m[1] > 0 || m[3] < 0 || m[3] > 0;
    if (sheared && fits_fixed(m, 0, 0) && fits_fixed(m, cols, rows) && fits_fixed(m, 0, rows)
        && fits_fixed(m, cols, 0))
        nearest_fixed(image, m);
    else
        nearest_double(image, m);
}

/* ---- bicubic --------------------------------------------------------------------------------- */

static double cubic(double v1, double v2, double v3, double v4, double d)
{
    const double p2 = -v1 + v3, p3 = 2 * (v1 - v2) + v3 - v4, p4 = -v1 + v2 - v3 + v4;
    return v2 + d * (p2 + d * (p3 + d * p4));
}

/* The offsets of four neighbours along an axis, and the distance from the second of them. */
typedef struct taps {
    size_t at[4];
    double d;
} taps;

static taps taps_at(double position, size_t size, size_t stride)
{
    const double centre = position - 0.5; /* -0.5 or more; the cast truncates towards 0 */
    const ptrdiff_t first = (ptrdiff_t)centre - (centre < 0), last = (ptrdiff_t)size - 1;
    taps t = {.d = centre - (double)first};
    for (int k = 0; k < 4; k++) {
        const ptrdiff_t i = first - 1 + k;
        t.at[k] = (size_t)(i < 0 ? 0 : i > last ? last : i) * stride;
    }
    return t;
}

static double along_row(const uint8_t *in, const taps *x)
{
    return cubic(in[x->at[0]], in[x->at[1]], in[x->at[2]], in[x->at[3]], x->d);
}

/* With d = 0 the cubic is exactly its second value: a shear, with d = 0 along one axis, needs four
 * pixels instead of sixteen. */
static double sample(const uint8_t *in, const taps *x, const taps *y)
{
    if (!(y->d > 0)) return x->d > 0 ? along_row(in + y->at[1], x) : in[y->at[1] + x->at[1]];
    if (!(x->d > 0)) {
        in += x->at[1];
        return cubic(in[y->at[0]], in[y->at[1]], in[y->at[2]], in[y->at[3]], y->d);
    }
    double v[4];
    for (int k = 0; k < 4; k++) v[k] = along_row(in + y->at[k], x);
    return cubic(v[0], v[1], v[2], v[3], y->d);
}

static void bicubic(const pixel_image *image, const double m[6])
{
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    const double rows = (double)image->rows, cols = (double)image->cols;
    uint8_t *out = image->spare;
    for (size_t j = 0; j < image->rows; j++)
        for (size_t i = 0; i < image->cols; i++, out += channels) {
            const double x = (double)i + 0.5, y = (double)j + 0.5;
            const double u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
            if (!(u >= 0 && u < cols && v >= 0 && v < rows)) continue;
            const taps tx = taps_at(u, image->cols, channels), ty = taps_at(v, image->rows, line);
            for (size_t c = 0; c < channels; c++) {
                const double value = sample(image->pixels + c, &tx, &ty);
                out[c] = (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
            }
        }
}

void pixels_affine(pixel_image *image, const double m[6], affine_filter filter,
                   const uint8_t fill[3])
{
    fill_all(image, fill);
    (filter == AFFINE_BICUBIC ? bicubic : nearest)(image, m);
    pixels_exchange(image);
}

/* ---- rotation -------------------------------------------------------------------------------- */

/* As Python's round(v, 15). */
static double round15(double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.15f", v);
    return strtod(text, NULL);
}

/* Rotations by multiples of 90 degrees, which Pillow does by copying pixels. */
static void rotate_quarters(pixel_image *image, int quarters)
{
    const size_t channels = (size_t)image->channels, rows = image->rows, cols = image->cols;
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < cols; x++) {
            const size_t from_y = quarters == 1 ? x : quarters == 2 ? rows - 1 - y : cols - 1 - x;
            const size_t from_x = quarters == 1 ? cols - 1 - y : quarters == 2 ? cols - 1 - x : y;
            copy_pixel(image->spare + (y * cols + x) * channels,
                       image->pixels + (from_y * cols + from_x) * channels, channels);
        }
    pixels_exchange(image);
}

void pixels_rotate(pixel_image *image, double degrees, affine_filter filter, const uint8_t fill[3])
{
    double angle = fmod(degrees, 360);
    if (angle < 0) angle += 360;
    const double quarters = angle / 90;
    if (!(angle > 0)) return;
    if (quarters == 2 || ((quarters == 1 || quarters == 3) && image->rows == image->cols)) {
        rotate_quarters(image, (int)quarters);
        return;
    }
    const double radians = -(angle * (3.141592653589793 / 180));
    const double centre_x = (double)image->cols / 2, centre_y = (double)image->rows / 2;
    const double a = round15(cos(radians)), b = round15(sin(radians)), c = round15(-sin(radians));
    const double m[6] = {a, b, a * -centre_x + b * -centre_y + 0.0 + centre_x,
                         c, a, c * -centre_x + a * -centre_y + 0.0 + centre_y};
    pixels_affine(image, m, filter, fill);
}
