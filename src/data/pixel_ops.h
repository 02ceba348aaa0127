/* pixel_ops - the operations on 8-bit images that AutoAugment and RandAugment use, bit-exact with
 * Pillow.
 *
 * Lookup tables: autocontrast stretches each channel to 0 .. 255; equalize equalises its histogram;
 * invert; posterize keeps the upper bits; solarize inverts values from a threshold on; solarize-add
 * adds to values below 128. Blends with factor v, where 1 is the image itself: color (0: grey),
 * contrast (0: the mean grey), brightness (0: black), sharpness (0: smoothed). Affine maps: shear,
 * translate, rotate. */
#ifndef SSM2D_DATA_PIXEL_OPS_H
#define SSM2D_DATA_PIXEL_OPS_H

#include "data/augmentation.h"

typedef enum pixel_op {
    OP_AUTOCONTRAST,
    OP_EQUALIZE,
    OP_INVERT,
    OP_POSTERIZE,
    OP_SOLARIZE,
    OP_SOLARIZE_ADD,
    OP_COLOR,
    OP_CONTRAST,
    OP_BRIGHTNESS,
    OP_SHARPNESS,
    OP_SHEAR_X,
    OP_SHEAR_Y,
    OP_TRANSLATE_X,
    OP_TRANSLATE_Y,
    OP_ROTATE,
    PIXEL_OPS
} pixel_op;

typedef struct pixel_op_info {
    const char *name;
    const char *value; /* what the value means, for help; NULL: the operation has none */
    double low, high;  /* bounds of the value, both included */
    int whole;         /* the value is an integer */
} pixel_op_info;

typedef enum affine_filter { AFFINE_NEAREST, AFFINE_BICUBIC } affine_filter;

/* How affine maps interpolate, and the colour of pixels outside the image. */
typedef struct pixel_sampling {
    affine_filter shear, translate, rotate;
    uint8_t fill[3];
} pixel_sampling;

/* As in AutoAugment: shears are bicubic, the others nearest, with grey 128. */
extern const pixel_sampling autoaugment_sampling;

const pixel_op_info *pixel_op_about(pixel_op op);
void pixel_op_apply(pixel_op op, double value, const pixel_sampling *sampling, pixel_image *image);

/* affine.c. The matrix m maps the output's (x, y) to the input's (m[0] x + m[1] y + m[2],
 * m[3] x + m[4] y + m[5]); pixel centres are at half-integers. Rotation is counter-clockwise around
 * the centre. */
void pixels_affine(pixel_image *image, const double m[6], affine_filter filter,
                   const uint8_t fill[3]);
void pixels_rotate(pixel_image *image, double degrees, affine_filter filter, const uint8_t fill[3]);

static inline void pixels_exchange(pixel_image *image)
{
    uint8_t *pixels = image->pixels;
    image->pixels = image->spare;
    image->spare = pixels;
}

#endif
