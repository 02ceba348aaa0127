/* augment_interpolation - the filter that resizes images, in training and in evaluation. */
#include "data/augmentation.h"

typedef struct interpolation_options {
    int interpolation; /* a resize_filter */
} interpolation_options;

static const char *const filter_names[] = {"bilinear", "bicubic", NULL};

static const ssm2d_field fields[] = {
    {"interpolation", "filter for resizing images: bilinear or bicubic", SSM2D_KIND_CHOICE,
     offsetof(interpolation_options, interpolation), 0, 0, "bilinear", filter_names, NULL},
    {0}};

static void interpolation(const void *options, rng *r, const decode_sizes *sizes,
                          resize_region *region)
{
    (void)r;
    (void)sizes;
    region->filter = (resize_filter)((const interpolation_options *)options)->interpolation;
}

const augmentation augmentation_interpolation = {
    .name = "interpolation",
    .help = "resizes images with a bicubic filter",
    .fields = fields,
    .options_size = sizeof(interpolation_options),
    .purpose = RNG_INTERPOLATION,
    .when = AUGMENT_TRAINING | AUGMENT_EVALUATION,
    .stage = AUGMENT_DECODE,
    .run.decode = interpolation,
};
