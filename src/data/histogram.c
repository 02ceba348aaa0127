/* histogram - operations that are a table of 256 values per channel, made from the image's
 * histogram or from a number alone: those of Pillow's ImageOps. */
#include "data/pixel_ops.h"

#include <string.h>

typedef struct tables {
    uint8_t of[3][256];
} tables;

typedef struct histogram {
    size_t of[3][256];
} histogram;

static uint8_t clip(long value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

/* Pillow counts in long and sums in Python's integers; no image here overflows either. */
static void count(const pixel_image *image, histogram *h)
{
    const size_t pixels = image->rows * image->cols;
    const uint8_t *p = image->pixels;
    memset(h, 0, sizeof *h);
    if (image->channels == 1)
        for (size_t i = 0; i < pixels; i++) h->of[0][p[i]]++;
    else
        for (size_t i = 0; i < pixels; i++, p += 3) {
            h->of[0][p[0]]++;
            h->of[1][p[1]]++;
            h->of[2][p[2]]++;
        }
}

static void look_up(pixel_image *image, const tables *t)
{
    const size_t pixels = image->rows * image->cols;
    uint8_t *p = image->pixels;
    if (image->channels == 1)
        for (size_t i = 0; i < pixels; i++) p[i] = t->of[0][p[i]];
    else
        for (size_t i = 0; i < pixels; i++, p += 3) {
            p[0] = t->of[0][p[0]];
            p[1] = t->of[1][p[1]];
            p[2] = t->of[2][p[2]];
        }
}

/* For operations that treat all channels alike. */
static void look_up_same(pixel_image *image, const uint8_t table[256])
{
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    for (size_t i = 0; i < size; i++) image->pixels[i] = table[image->pixels[i]];
}

static void identity(uint8_t table[256])
{
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)v;
}

/* ---- from the histogram ---------------------------------------------------------------------- */

static void stretch(const size_t counts[256], uint8_t table[256])
{
    int low = 0, high = 255;
    while (low < 255 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    if (high <= low) {
        identity(table);
        return;
    }
    const double scale = 255.0 / (high - low), offset = -low * scale;
    for (int v = 0; v < 256; v++) table[v] = clip((long)(v * scale + offset));
}

void pixels_autocontrast(pixel_image *image)
{
    histogram h;
    tables t;
    count(image, &h);
    for (int c = 0; c < image->channels; c++) stretch(h.of[c], t.of[c]);
    look_up(image, &t);
}

/* The pixels below a value, over 1/255 of all but those of the highest value. */
static void spread(const size_t counts[256], uint8_t table[256])
{
    size_t all = 0, last = 0;
    for (int v = 0; v < 256; v++) {
        all += counts[v];
        if (counts[v]) last = counts[v];
    }
    const size_t step = (all - last) / 255;
    if (!step) {
        identity(table);
        return;
    }
    size_t n = step / 2;
    for (int v = 0; v < 256; v++) {
        const size_t place = n / step;
        table[v] = (uint8_t)(place < 255 ? place : 255);
        n += counts[v];
    }
}

void pixels_equalize(pixel_image *image)
{
    histogram h;
    tables t;
    count(image, &h);
    for (int c = 0; c < image->channels; c++) spread(h.of[c], t.of[c]);
    look_up(image, &t);
}

/* ---- from a number --------------------------------------------------------------------------- */

void pixels_invert(pixel_image *image)
{
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    for (size_t i = 0; i < size; i++) image->pixels[i] = (uint8_t)~image->pixels[i];
}

void pixels_posterize(pixel_image *image, int bits)
{
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    const uint8_t mask = (uint8_t)(0xff00 >> bits);
    for (size_t i = 0; i < size; i++) image->pixels[i] &= mask;
}

void pixels_solarize(pixel_image *image, double threshold)
{
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)(v < threshold ? v : 255 - v);
    look_up_same(image, table);
}

void pixels_solarize_add(pixel_image *image, int add)
{
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = v < 128 ? clip(v + add) : (uint8_t)v;
    look_up_same(image, table);
}
