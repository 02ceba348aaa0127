/* pixel_ops - the table of operations; lookup tables per channel, as Pillow's ImageOps; and blends
 * with a second image, as Pillow's ImageEnhance. */
#include "data/pixel_ops.h"

#include <string.h>

const pixel_sampling autoaugment_sampling = {
    AFFINE_BICUBIC, AFFINE_NEAREST, AFFINE_NEAREST, {128, 128, 128}};

static const pixel_op_info table[PIXEL_OPS] = {
    [OP_AUTOCONTRAST] = {"autocontrast", NULL, 0, 0, 0},
    [OP_EQUALIZE] = {"equalize", NULL, 0, 0, 0},
    [OP_INVERT] = {"invert", NULL, 0, 0, 0},
    [OP_POSTERIZE] = {"posterize", "bits to keep", 0, 8, 1},
    [OP_SOLARIZE] = {"solarize", "threshold", 0, 256, 0},
    [OP_SOLARIZE_ADD] = {"solarize-add", "number to add below 128", 0, 255, 1},
    [OP_COLOR] = {"color", "factor", -100, 100, 0},
    [OP_CONTRAST] = {"contrast", "factor", -100, 100, 0},
    [OP_BRIGHTNESS] = {"brightness", "factor", -100, 100, 0},
    [OP_SHARPNESS] = {"sharpness", "factor", -100, 100, 0},
    [OP_SHEAR_X] = {"shear-x", "slope", -100, 100, 0},
    [OP_SHEAR_Y] = {"shear-y", "slope", -100, 100, 0},
    [OP_TRANSLATE_X] = {"translate-x", "fraction of the width", -1, 1, 0},
    [OP_TRANSLATE_Y] = {"translate-y", "fraction of the height", -1, 1, 0},
    [OP_ROTATE] = {"rotate", "degrees, counter-clockwise", -360, 360, 0},
};

const pixel_op_info *pixel_op_about(pixel_op op) { return &table[op]; }

static uint8_t clip(long value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

/* Applies the same lookup table to all channels. */
static void look_up(pixel_image *image, const uint8_t values[256])
{
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    for (size_t i = 0; i < size; i++) image->pixels[i] = values[image->pixels[i]];
}

/* ---- lookup tables from histograms ----------------------------------------------------------- */

static void identity(uint8_t values[256])
{
    for (int v = 0; v < 256; v++) values[v] = (uint8_t)v;
}

/* Autocontrast. */
static void stretch(const size_t counts[256], uint8_t values[256])
{
    int low = 0, high = 255;
    while (low < 255 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    if (high <= low) {
        identity(values);
        return;
    }
    const double scale = 255.0 / (high - low), offset = -low * scale;
    for (int v = 0; v < 256; v++) values[v] = clip((long)(v * scale + offset));
}

/* Equalize: the number of pixels below a value, divided by 1/255 of all pixels without those of the
 * highest value. */
static void spread(const size_t counts[256], uint8_t values[256])
{
    size_t all = 0, last = 0;
    for (int v = 0; v < 256; v++) {
        all += counts[v];
        if (counts[v]) last = counts[v];
    }
    const size_t step = (all - last) / 255;
    if (!step) {
        identity(values);
        return;
    }
    size_t n = step / 2;
    for (int v = 0; v < 256; v++) {
        values[v] = (uint8_t)(n / step < 255 ? n / step : 255);
        n += counts[v];
    }
}

/* Maps each channel by the table that `make` computes from its histogram. */
static void map_by_histogram(pixel_image *image,
                             void (*make)(const size_t counts[256], uint8_t values[256]))
{
    const size_t channels = (size_t)image->channels, size = image->rows * image->cols * channels;
    for (size_t c = 0; c < channels; c++) {
        size_t counts[256] = {0};
        uint8_t values[256];
        for (size_t i = c; i < size; i += channels) counts[image->pixels[i]]++;
        make(counts, values);
        for (size_t i = c; i < size; i += channels) image->pixels[i] = values[image->pixels[i]];
    }
}

/* ---- lookup tables from a parameter ---------------------------------------------------------- */

static void invert(pixel_image *image)
{
    uint8_t values[256];
    for (int v = 0; v < 256; v++) values[v] = (uint8_t)(255 - v);
    look_up(image, values);
}

static void posterize(pixel_image *image, int bits)
{
    uint8_t values[256];
    for (int v = 0; v < 256; v++) values[v] = (uint8_t)(v & (0xff00 >> bits));
    look_up(image, values);
}

static void solarize(pixel_image *image, double threshold)
{
    uint8_t values[256];
    for (int v = 0; v < 256; v++) values[v] = (uint8_t)(v < threshold ? v : 255 - v);
    look_up(image, values);
}

static void solarize_add(pixel_image *image, int add)
{
    uint8_t values[256];
    for (int v = 0; v < 256; v++) values[v] = v < 128 ? clip(v + add) : (uint8_t)v;
    look_up(image, values);
}

/* ---- blends ---------------------------------------------------------------------------------- */

/* other + factor * (pixel - other), in float, truncated and clipped. Pillow clips only when the
 * factor is outside 0 .. 1; otherwise the result cannot leave 0 .. 255. */
static uint8_t blend(int other, int pixel, float factor)
{
    const float value = (float)other + factor * (float)(pixel - other);
    return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
}

static void blend_constant(pixel_image *image, int other, float factor)
{
    uint8_t values[256];
    for (int v = 0; v < 256; v++) values[v] = blend(other, v, factor);
    look_up(image, values);
}

static void color(pixel_image *image, float factor)
{
    const size_t pixels = image->rows * image->cols;
    if (image->channels == 1) return; /* a grey image equals its luma */
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *p = image->pixels + 3 * i;
        const int luma = pixel_luma(p);
        for (int c = 0; c < 3; c++) p[c] = blend(luma, p[c], factor);
    }
}

static void contrast(pixel_image *image, float factor)
{
    const size_t pixels = image->rows * image->cols;
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++)
        sum += image->channels == 1 ? image->pixels[i] : pixel_luma(image->pixels + 3 * i);
    blend_constant(image, (int)((double)sum / (double)pixels + 0.5), factor);
}

/* A smoothed pixel is (S + 6.5) / 13, truncated, where S is the sum of 3 x 3 pixels with weight 5
 * for the centre. Pillow sums in float with weights 1/13 and 5/13; its rounding error cannot change
 * the result, because (2 S + 13) / 26 is at least 1/26 away from every integer. Border pixels are
 * not smoothed. */
static void sharpness(pixel_image *image, float factor)
{
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    if (image->rows < 3 || image->cols < 3) return;
    memcpy(image->spare, image->pixels, image->rows * line);
    for (size_t y = 1; y + 1 < image->rows; y++) {
        const uint8_t *in = image->pixels + y * line, *up = in - line, *down = in + line;
        uint8_t *out = image->spare + y * line;
        for (size_t i = channels; i < line - channels; i++) {
            const size_t left = i - channels, right = i + channels;
            const int sum = up[left] + up[i] + up[right] + in[left] + 5 * in[i] + in[right]
                            + down[left] + down[i] + down[right];
            out[i] = blend((2 * sum + 13) / 26, in[i], factor);
        }
    }
    pixels_exchange(image);
}

void pixel_op_apply(pixel_op op, double v, const pixel_sampling *s, pixel_image *image)
{
    const double rows = (double)image->rows, cols = (double)image->cols;
    const uint8_t *fill = s->fill;
    switch (op) {
    case OP_AUTOCONTRAST: map_by_histogram(image, stretch); return;
    case OP_EQUALIZE: map_by_histogram(image, spread); return;
    case OP_INVERT: invert(image); return;
    case OP_POSTERIZE: posterize(image, (int)v); return;
    case OP_SOLARIZE: solarize(image, v); return;
    case OP_SOLARIZE_ADD: solarize_add(image, (int)v); return;
    case OP_COLOR: color(image, (float)v); return;
    case OP_CONTRAST: contrast(image, (float)v); return;
    case OP_BRIGHTNESS: blend_constant(image, 0, (float)v); return;
    case OP_SHARPNESS: sharpness(image, (float)v); return;
    case OP_SHEAR_X:
        pixels_affine(image, (const double[6]){1, v, 0, 0, 1, 0}, s->shear, fill);
        return;
    case OP_SHEAR_Y:
        pixels_affine(image, (const double[6]){1, 0, 0, v, 1, 0}, s->shear, fill);
        return;
    case OP_TRANSLATE_X:
        pixels_affine(image, (const double[6]){1, 0, v * cols, 0, 1, 0}, s->translate, fill);
        return;
    case OP_TRANSLATE_Y:
        pixels_affine(image, (const double[6]){1, 0, 0, 0, 1, v * rows}, s->translate, fill);
        return;
    case OP_ROTATE: pixels_rotate(image, v, s->rotate, fill); return;
    case PIXEL_OPS: return;
    }
}
