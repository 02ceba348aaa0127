/* augment_crop - pads the image with p black pixels and crops it at random to its own size: row y
 * of the crop is row y + down of the image, with `down` uniform from -p to p; likewise columns. */
#include "data/pixel_ops.h"

#include <string.h>

enum { MAX_PADDING = 1024 };

typedef struct crop_options {
    int crop_padding;
} crop_options;

static const ssm2d_field fields[] = {
    {"crop_padding",
     "pads training images with this many black pixels and crops them at random; 0: no crop",
     SSM2D_KIND_INT, offsetof(crop_options, crop_padding), 0, MAX_PADDING, "0", NULL, NULL},
    {0}};

static void crop(const void *options, rng *r, pixel_image *image)
{
    const ptrdiff_t padding = ((const crop_options *)options)->crop_padding;
    const ptrdiff_t rows = (ptrdiff_t)image->rows, cols = (ptrdiff_t)image->cols;
    const ptrdiff_t down = (ptrdiff_t)rng_below(r, 2 * (uint64_t)padding + 1) - padding;
    const ptrdiff_t across = (ptrdiff_t)rng_below(r, 2 * (uint64_t)padding + 1) - padding;
    /* the columns of the crop that are inside the image */
    const ptrdiff_t first = across < 0 ? -across : 0, end = across > 0 ? cols - across : cols;
    const size_t channels = (size_t)image->channels, line = image->cols * channels;
    for (ptrdiff_t y = 0; y < rows; y++) {
        uint8_t *out = image->spare + (size_t)y * line;
        memset(out, image->outside, line);
        if (y + down < 0 || y + down >= rows || first >= end) continue;
        memcpy(out + (size_t)first * channels,
               image->pixels + (size_t)(y + down) * line + (size_t)(first + across) * channels,
               (size_t)(end - first) * channels);
    }
    pixels_exchange(image);
}

const augmentation augmentation_crop = {
    .name = "crop",
    .help = "shifts images, with black pixels at the border",
    .fields = fields,
    .options_size = sizeof(crop_options),
    .purpose = RNG_CROP,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_PIXELS,
    .geometry = GEOMETRY_MOVES,
    .run.pixels = crop,
};
