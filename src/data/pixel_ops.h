/* pixel_ops - the operations on 8-bit images that AutoAugment and RandAugment choose from, to the
 * bit as Pillow computes them.
 *
 * Histograms: autocontrast stretches each channel to 0 .. 255; equalize spreads its values evenly;
 * invert; posterize keeps the upper bits; solarize inverts values from a threshold on; solarize-add
 * adds to values below 128. Blends with factor v, 1 being the image itself: color (0: grey),
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
    const char *value; /* what the value is, for help; NULL: there is none */
    double low, high;  /* bounds of the value, both included */
    int whole;         /* the value is a whole number */
} pixel_op_info;

typedef enum affine_filter { AFFINE_NEAREST, AFFINE_BICUBIC } affine_filter;

/* How affine maps take values between pixels, and the colour of what comes in from outside. */
typedef struct pixel_sampling {
    affine_filter shear, translate, rotate;
    uint8_t fill[3];
} pixel_sampling;

/* That of AutoAugment: shears bicubic, the others nearest, grey 128. */
extern const pixel_sampling autoaugment_sampling;

const pixel_op_info *pixel_op_about(pixel_op op);
void pixel_op_apply(pixel_op op, double value, const pixel_sampling *sampling, pixel_image *image);

/* ---- the groups, one file each --------------------------------------------------------------- */

/* histogram.c */
void pixels_autocontrast(pixel_image *image);
void pixels_equalize(pixel_image *image);
void pixels_invert(pixel_image *image);
void pixels_posterize(pixel_image *image, int bits);
void pixels_solarize(pixel_image *image, double threshold);
void pixels_solarize_add(pixel_image *image, int add);

/* enhance.c */
void pixels_color(pixel_image *image, float factor);
void pixels_contrast(pixel_image *image, float factor);
void pixels_brightness(pixel_image *image, float factor);
void pixels_sharpness(pixel_image *image, float factor);

/* affine.c. The matrix m maps the output's (x, y) to the input's (m[0] x + m[1] y + m[2],
 * m[3] x + m[4] y + m[5]), centres of pixels being at halves. Rotation is counter-clockwise about
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

/* The luma of an RGB pixel, with Pillow's rounding. */
static inline uint8_t pixel_luma(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

#endif
