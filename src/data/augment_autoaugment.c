/* augment_autoaugment - AutoAugment's policies for CIFAR and ImageNet: one of 25 pairs of
 * operations is drawn; each operation has its own probability and a magnitude from 0 to 9. */
#include "data/pixel_ops.h"

enum { POLICY_NONE, POLICY_CIFAR, POLICY_IMAGENET, PAIRS = 25, MAX_MAGNITUDE = 9 };

typedef struct autoaugment_options {
    int autoaugment;
} autoaugment_options;

static const char *const policy_names[] = {"none", "cifar", "imagenet", NULL};

static const ssm2d_field fields[] = {{"autoaugment", "AutoAugment policy: cifar, imagenet or none",
                                      SSM2D_KIND_CHOICE, offsetof(autoaugment_options, autoaugment),
                                      0, 0, "none", policy_names, NULL},
                                     {0}};

/* ---- policies -------------------------------------------------------------------------------- */

typedef struct choice {
    double probability;
    pixel_op op;
    int magnitude;
} choice;

static const choice cifar[PAIRS][2] = {
    {{.1, OP_INVERT, 7}, {.2, OP_CONTRAST, 6}},
    {{.7, OP_ROTATE, 2}, {.3, OP_TRANSLATE_X, 9}},
    {{.8, OP_SHARPNESS, 1}, {.9, OP_SHARPNESS, 3}},
    {{.5, OP_SHEAR_Y, 8}, {.7, OP_TRANSLATE_Y, 9}},
    {{.5, OP_AUTOCONTRAST, 8}, {.9, OP_EQUALIZE, 2}},
    {{.2, OP_SHEAR_Y, 7}, {.3, OP_POSTERIZE, 7}},
    {{.4, OP_COLOR, 3}, {.6, OP_BRIGHTNESS, 7}},
    {{.3, OP_SHARPNESS, 9}, {.7, OP_BRIGHTNESS, 9}},
    {{.6, OP_EQUALIZE, 5}, {.5, OP_EQUALIZE, 1}},
    {{.6, OP_CONTRAST, 7}, {.6, OP_SHARPNESS, 5}},
    {{.7, OP_COLOR, 7}, {.5, OP_TRANSLATE_X, 8}},
    {{.3, OP_EQUALIZE, 7}, {.4, OP_AUTOCONTRAST, 8}},
    {{.4, OP_TRANSLATE_Y, 3}, {.2, OP_SHARPNESS, 6}},
    {{.9, OP_BRIGHTNESS, 6}, {.2, OP_COLOR, 8}},
    {{.5, OP_SOLARIZE, 2}, {.0, OP_INVERT, 3}},
    {{.2, OP_EQUALIZE, 0}, {.6, OP_AUTOCONTRAST, 0}},
    {{.2, OP_EQUALIZE, 8}, {.6, OP_EQUALIZE, 4}},
    {{.9, OP_COLOR, 9}, {.6, OP_EQUALIZE, 6}},
    {{.8, OP_AUTOCONTRAST, 4}, {.2, OP_SOLARIZE, 8}},
    {{.1, OP_BRIGHTNESS, 3}, {.7, OP_COLOR, 0}},
    {{.4, OP_SOLARIZE, 5}, {.9, OP_AUTOCONTRAST, 3}},
    {{.9, OP_TRANSLATE_Y, 9}, {.7, OP_TRANSLATE_Y, 9}},
    {{.9, OP_AUTOCONTRAST, 2}, {.8, OP_SOLARIZE, 3}},
    {{.8, OP_EQUALIZE, 8}, {.1, OP_INVERT, 3}},
    {{.7, OP_TRANSLATE_Y, 9}, {.9, OP_AUTOCONTRAST, 1}},
};

static const choice imagenet[PAIRS][2] = {
    {{.4, OP_POSTERIZE, 8}, {.6, OP_ROTATE, 9}},  {{.6, OP_SOLARIZE, 5}, {.6, OP_AUTOCONTRAST, 5}},
    {{.8, OP_EQUALIZE, 8}, {.6, OP_EQUALIZE, 3}}, {{.6, OP_POSTERIZE, 7}, {.6, OP_POSTERIZE, 6}},
    {{.4, OP_EQUALIZE, 7}, {.2, OP_SOLARIZE, 4}}, {{.4, OP_EQUALIZE, 4}, {.8, OP_ROTATE, 8}},
    {{.6, OP_SOLARIZE, 3}, {.6, OP_EQUALIZE, 7}}, {{.8, OP_POSTERIZE, 5}, {1., OP_EQUALIZE, 2}},
    {{.2, OP_ROTATE, 3}, {.6, OP_SOLARIZE, 8}},   {{.6, OP_EQUALIZE, 8}, {.4, OP_POSTERIZE, 6}},
    {{.8, OP_ROTATE, 8}, {.4, OP_COLOR, 0}},      {{.4, OP_ROTATE, 9}, {.6, OP_EQUALIZE, 2}},
    {{.0, OP_EQUALIZE, 7}, {.8, OP_EQUALIZE, 8}}, {{.6, OP_INVERT, 4}, {1., OP_EQUALIZE, 8}},
    {{.6, OP_COLOR, 4}, {1., OP_CONTRAST, 8}},    {{.8, OP_ROTATE, 8}, {1., OP_COLOR, 2}},
    {{.8, OP_COLOR, 8}, {.8, OP_SOLARIZE, 7}},    {{.4, OP_SHARPNESS, 7}, {.6, OP_INVERT, 8}},
    {{.6, OP_SHEAR_X, 5}, {1., OP_EQUALIZE, 9}},  {{.4, OP_COLOR, 0}, {.6, OP_EQUALIZE, 3}},
    {{.4, OP_EQUALIZE, 7}, {.2, OP_SOLARIZE, 4}}, {{.6, OP_SOLARIZE, 5}, {.6, OP_AUTOCONTRAST, 5}},
    {{.6, OP_INVERT, 4}, {1., OP_EQUALIZE, 8}},   {{.6, OP_COLOR, 4}, {1., OP_CONTRAST, 8}},
    {{.8, OP_EQUALIZE, 8}, {.6, OP_EQUALIZE, 3}},
};

/* ---- magnitudes ------------------------------------------------------------------------------ */

static double value_of(pixel_op op, int magnitude, rng *r)
{
    static const int bits[MAX_MAGNITUDE + 1] = {8, 8, 7, 7, 6, 6, 5, 5, 4, 4};
    const double part = magnitude / (double)MAX_MAGNITUDE;
    switch (op) {
    case OP_SHEAR_X:
    case OP_SHEAR_Y: return rng_sign(r, 0.3 * part);
    case OP_TRANSLATE_X:
    case OP_TRANSLATE_Y: return rng_sign(r, 150.0 / 331 * part);
    case OP_ROTATE: return 30 * part; /* always counter-clockwise, as published */
    case OP_COLOR:
    case OP_CONTRAST:
    case OP_BRIGHTNESS:
    case OP_SHARPNESS: return 1 + rng_sign(r, 0.1 * magnitude);
    case OP_POSTERIZE: return bits[magnitude];
    case OP_SOLARIZE: return 256 * (1 - part);
    default: return 0; /* operations without a value */
    }
}

static void autoaugment(const void *options, rng *r, pixel_image *image)
{
    const int policy = ((const autoaugment_options *)options)->autoaugment;
    const choice *pair = (policy == POLICY_CIFAR ? cifar : imagenet)[rng_below(r, PAIRS)];
    for (int i = 0; i < 2; i++)
        if (rng_uniform(r, 0, 1) < pair[i].probability)
            pixel_op_apply(pair[i].op, value_of(pair[i].op, pair[i].magnitude, r),
                           &autoaugment_sampling, image);
}

const augmentation augmentation_autoaugment = {
    .name = "autoaugment",
    .help = "AutoAugment: pairs of colour and geometric operations",
    .fields = fields,
    .options_size = sizeof(autoaugment_options),
    .purpose = RNG_AUTOAUGMENT,
    .when = AUGMENT_TRAINING,
    .stage = AUGMENT_PIXELS,
    .geometry = GEOMETRY_BOTH,
    .run.pixels = autoaugment,
};
