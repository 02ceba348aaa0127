/* augment_flip - flips an image horizontally with probability 1/2. */
#include "data/augmentation.h"

typedef struct flip_options {
    int flip;
} flip_options;

static const ssm2d_field fields[] = {
    {"flip", "flips training images horizontally with probability 1/2", SSM2D_KIND_FLAG,
     offsetof(flip_options, flip), 0, 1, "false", NULL, NULL},
    {0}};

static void flip(const void *options, rng *r, pixel_image *image)
{
    (void)options;
    const size_t channels = (size_t)image->channels;
    if (rng_below(r, 2)) return;
    for (size_t y = 0; y < image->rows; y++) {
        uint8_t *left = image->pixels + y * image->cols * channels;
        uint8_t *right = left + (image->cols - 1) * channels;
        for (; left < right; left += channels, right -= channels)
            for (size_t c = 0; c < channels; c++) {
                const uint8_t pixel = left[c];
                left[c] = right[c];
                right[c] = pixel;
            }
    }
}

const augmentation augmentation_flip = {
    .name = "flip",
    .help = "flips images horizontally",
    .fields = fields,
    .options_size = sizeof(flip_options),
    .purpose = RNG_FLIP,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_PIXELS,
    .geometry = GEOMETRY_MOVES,
    .run.pixels = flip,
};
