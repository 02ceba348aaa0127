/* augment_randaugment - RandAugment as timm's rand-m9-mstd0.5-inc1: a few of 15 operations, drawn
 * with replacement, each applied with a probability of 1/2 and at a magnitude that is normally
 * distributed about the one given, from 0 to 10; larger magnitudes change an image more. Affine
 * maps are bicubic, and what comes in from outside has the data's mean colour. */
#include "data/pixel_ops.h"

#include <math.h>

enum { MAX_MAGNITUDE = 10 };

typedef struct randaugment_options {
    int randaugment;
    double randaugment_magnitude, randaugment_std, randaugment_probability;
} randaugment_options;

static const ssm2d_field fields[] = {
    {"randaugment", "RandAugment: number of operations for an image; 0 turns it off",
     SSM2D_KIND_INT, offsetof(randaugment_options, randaugment), 0, 15, "0", NULL, NULL},
    {"randaugment_magnitude", "their mean magnitude", SSM2D_KIND_REAL,
     offsetof(randaugment_options, randaugment_magnitude), 0, MAX_MAGNITUDE, "9", NULL, NULL},
    {"randaugment_std", "the standard deviation of the magnitude", SSM2D_KIND_REAL,
     offsetof(randaugment_options, randaugment_std), 0, 100, "0.5", NULL, NULL},
    {"randaugment_probability", "the probability that a drawn operation is applied",
     SSM2D_KIND_REAL, offsetof(randaugment_options, randaugment_probability), 0, 1, "0.5", NULL,
     NULL},
    {0}};

static int is_on(const void *options)
{
    return ((const randaugment_options *)options)->randaugment > 0;
}

static double signed_at_random(double value, rng *r) { return rng_below(r, 2) ? -value : value; }

static double value_of(pixel_op op, double magnitude, rng *r)
{
    const double part = magnitude / MAX_MAGNITUDE;
    switch (op) {
    case OP_ROTATE: return signed_at_random(30 * part, r);
    case OP_POSTERIZE: return 4 - (int)(4 * part);
    case OP_SOLARIZE: return 256 - (int)(256 * part);
    case OP_SOLARIZE_ADD: return (int)(110 * part);
    case OP_COLOR:
    case OP_CONTRAST:
    case OP_BRIGHTNESS:
    case OP_SHARPNESS: return fmax(0.1, 1 + signed_at_random(0.9 * part, r));
    case OP_SHEAR_X:
    case OP_SHEAR_Y: return signed_at_random(0.3 * part, r);
    case OP_TRANSLATE_X:
    case OP_TRANSLATE_Y: return signed_at_random(0.45 * part, r);
    default: return 0; /* the others have no value */
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
    .help = "RandAugment: random operations on colours and shapes",
    .fields = fields,
    .options_size = sizeof(randaugment_options),
    .purpose = RNG_RANDAUGMENT,
    .when = AUGMENT_TRAINING,
    .is_on = is_on,
    .stage = AUGMENT_PIXELS,
    .geometry = GEOMETRY_BOTH,
    .run.pixels = randaugment,
};
