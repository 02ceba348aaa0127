/* enhance - blends of an image with a plain one, as Pillow's ImageEnhance: out = plain + factor *
 * (image - plain), in float, truncated, and clipped when the factor is outside 0 .. 1 (inside, it
 * cannot leave 0 .. 255). */
#include "data/pixel_ops.h"

static uint8_t blend(int plain, int pixel, float factor)
{
    const float value = (float)plain + factor * (float)(pixel - plain);
    return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
}

/* Blends with the same value everywhere, by a table. */
static void blend_constant(pixel_image *image, int plain, float factor)
{
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = blend(plain, v, factor);
    for (size_t i = 0; i < size; i++) image->pixels[i] = table[image->pixels[i]];
}

void pixels_color(pixel_image *image, float factor)
{
    const size_t pixels = image->rows * image->cols;
    if (image->channels == 1) return; /* a grey image is its own luma */
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *p = image->pixels + 3 * i;
        const int luma = pixel_luma(p);
        for (int c = 0; c < 3; c++) p[c] = blend(luma, p[c], factor);
    }
}

void pixels_contrast(pixel_image *image, float factor)
{
    const size_t pixels = image->rows * image->cols;
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++)
        sum += image->channels == 1 ? image->pixels[i] : pixel_luma(image->pixels + 3 * i);
    blend_constant(image, (int)((double)sum / (double)pixels + 0.5), factor);
}

void pixels_brightness(pixel_image *image, float factor) { blend_constant(image, 0, factor); }

/* The smoothed pixel is (S + 6.5) / 13 truncated, where S is the sum of the 3x3 pixels with weight
 * 5 in the middle. Pillow sums in float with weights 1/13 and 5/13; its error cannot change the
 * result, as (2 S + 13) / 26 is never nearer than 1/26 to a whole number. At the border, and in
 * images that have no other pixels, the plain image is the image itself. */
void pixels_sharpness(pixel_image *image, float factor)
{
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    const size_t rows = image->rows;
    if (rows < 3 || image->cols < 3) return;
    for (size_t i = 0; i < line; i++) {
        image->spare[i] = image->pixels[i];
        image->spare[(rows - 1) * line + i] = image->pixels[(rows - 1) * line + i];
    }
    for (size_t y = 1; y + 1 < rows; y++) {
        const uint8_t *in = image->pixels + y * line, *up = in - line, *down = in + line;
        uint8_t *out = image->spare + y * line;
        for (size_t c = 0; c < channels; c++) {
            out[c] = in[c];
            out[line - channels + c] = in[line - channels + c];
        }
        for (size_t i = channels; i < line - channels; i++) {
            const size_t left = i - channels, right = i + channels;
            const int sum = up[left] + up[i] + up[right] + in[left] + 5 * in[i] + in[right]
                            + down[left] + down[i] + down[right];
            out[i] = blend((2 * sum + 13) / 26, in[i], factor);
        }
    }
    pixels_exchange(image);
}
