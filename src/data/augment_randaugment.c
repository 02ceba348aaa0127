/* augment_randaugment - RandAugment as timm's rand-m9-mstd0.5-inc1: operations are drawn from 15
 * with replacement, and each is applied with a probability (default 1/2) at a normally distributed
 * magnitude, clamped to 0..10; larger magnitudes change an image more. Affine maps are bicubic, and
 * pixels outside the image have the data's mean colour. */
#include "data/pixel_ops.h"

#include <math.h>

enum { MAX_MAGNITUDE = 10 };

typedef struct randaugment_options {
    int randaugment;
    double randaugment_magnitude, randaugment_std, randaugment_probability;
} randaugment_options;

static const ssm2d_field fields[] = {
    {"randaugment", "RandAugment: number of operations per image; 0 turns it off", SSM2D_KIND_INT,
     offsetof(randaugment_options, randaugment), 0, 15, "0", NULL, NULL},
    {"randaugment_magnitude", "mean magnitude of the operations", SSM2D_KIND_REAL,
     offsetof(randaugment_options, randaugment_magnitude), 0, MAX_MAGNITUDE, "9", NULL, NULL},
    {"randaugment_std", "standard deviation of the magnitude", SSM2D_KIND_REAL,
     offsetof(randaugment_options, randaugment_std), 0, 100, "0.5", NULL, NULL},
    {"randaugment_probability", "probability that a drawn operation is applied", SSM2D_KIND_REAL,
     offsetof(randaugment_options, randaugment_probability), 0, 1, "0.5", NULL, NULL},
    {0}};

static double value_of(pixel_op op, double magnitude, rng *r)
{
    const double part = magnitude / MAX_MAGNITUDE;
    switch (op) {
    case OP_ROTATE: return rng_sign(r, 30 * part);
    case OP_POSTERIZE: return 4 - (int)(4 * part);
    case OP_SOLARIZE: return 256 - (int)(256 * part);
    case OP_SOLARIZE_ADD: return (int)(110 * part);
    case OP_COLOR:
    case OP_CONTRAST:
    case OP_BRIGHTNESS:
    case OP_SHARPNESS: return fmax(0.1, 1 + rng_sign(r, 0.9 * part));
    case OP_SHEAR_X:
    case OP_SHEAR_Y: return rng_sign(r, 0.3 * part);
    case OP_TRANSLATE_X:
    case OP_TRANSLATE_Y: return rng_sign(r, 0.45 * part);
    default: return 0; /* operations without a value */
    }
}

static void randaugment(const void *options, rng *r, pixel_image *image)
{
    const randaugment_options *o = options;
    const pixel_sampling sampling = {AFFINE_BICUBIC,
                                     AFFINE_BICUBIC,
                                     AFFINE_BICUBIC,
                                     {image->fill[0], image->fill[1], image->fill[2]}};
    for (int i = 0; i < o->randaugment; i++) {
        const pixel_op op = (pixel_op)rng_below(r, PIXEL_OPS);
        if (rng_uniform(r, 0, 1) >= o->randaugment_probability) continue;
        const double drawn = o->randaugment_magnitude + o->randaugment_std * rng_normal(r);
        const double magnitude = fmin(fmax(drawn, 0), MAX_MAGNITUDE);
        pixel_op_apply(op, value_of(op, magnitude, r), &sampling, image);
    }
}

const augmentation augmentation_randaugment = {
    .name = "randaugment",
    .help = "RandAugment: random colour and geometric operations",
    .fields = fields,
    .options_size = sizeof(randaugment_options),
    .purpose = RNG_RANDAUGMENT,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_PIXELS,
    .geometry = GEOMETRY_BOTH,
    .run.pixels = randaugment,
};
