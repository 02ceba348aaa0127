/* image_rgba - converts decoded rows of RGBA to the caller's format: blended over white and reduced
 * to 8 bits, or exact. */
#include "io/image_format.h"

#include <string.h>

static void blend_8(const uint8_t *rgba, size_t cols, int channels, uint8_t *row)
{
    for (size_t i = 0; i < cols; i++)
        for (int c = 0; c < channels; c++)
            row[i * channels + c] = blend_white(rgba[4 * i + c], rgba[4 * i + 3]);
}

static void blend_16(const uint16_t *rgba, size_t cols, int channels, uint8_t *row)
{
    const uint64_t white = 65535, scale = white * 257; /* 65535 = 255 * 257 */
    for (size_t i = 0; i < cols; i++)
        for (int c = 0; c < channels; c++)
            row[i * channels + c] = (uint8_t)((rgba[4 * i + c] * (uint64_t)rgba[4 * i + 3]
                                               + white * (white - rgba[4 * i + 3]) + scale / 2)
                                              / scale);
}

/* Copies the samples of RGBA that the image has: the first one or three, and alpha. */
static void copy_samples(const uint8_t *rgba, const image_info *info, uint8_t *row)
{
    const size_t bytes = info->depth / 8;
    const int colours = image_colours(info);
    for (size_t i = 0; i < info->cols; i++, rgba += 4 * bytes) {
        memcpy(row, rgba, (size_t)colours * bytes);
        row += (size_t)colours * bytes;
        if (info->channels == colours) continue;
        memcpy(row, rgba + 3 * bytes, bytes);
        row += bytes;
    }
}

void image_row_from_rgba(const image_reader *reader, const void *rgba, int deep, void *row)
{
    const image_info *info = &reader->info;
    if (reader->options.exact)
        copy_samples(rgba, info, row);
    else if (deep)
        blend_16(rgba, info->cols, info->channels, row);
    else
        blend_8(rgba, info->cols, info->channels, row);
}
