#include "data/pixel_ops.h"

const pixel_sampling autoaugment_sampling = {
    AFFINE_BICUBIC, AFFINE_NEAREST, AFFINE_NEAREST, {128, 128, 128}};

static const pixel_op_info table[PIXEL_OPS] = {
    [OP_AUTOCONTRAST] = {"autocontrast", NULL, 0, 0, 0},
    [OP_EQUALIZE] = {"equalize", NULL, 0, 0, 0},
    [OP_INVERT] = {"invert", NULL, 0, 0, 0},
    [OP_POSTERIZE] = {"posterize", "bits to keep", 0, 8, 1},
    [OP_SOLARIZE] = {"solarize", "threshold", 0, 256, 0},
    [OP_SOLARIZE_ADD] = {"solarize-add", "number to add below 128", 0, 255, 1},
    [OP_COLOR] = {"color", "factor", -100, 100, 0},
    [OP_CONTRAST] = {"contrast", "factor", -100, 100, 0},
    [OP_BRIGHTNESS] = {"brightness", "factor", -100, 100, 0},
    [OP_SHARPNESS] = {"sharpness", "factor", -100, 100, 0},
    [OP_SHEAR_X] = {"shear-x", "slope", -100, 100, 0},
    [OP_SHEAR_Y] = {"shear-y", "slope", -100, 100, 0},
    [OP_TRANSLATE_X] = {"translate-x", "part of the width", -1, 1, 0},
    [OP_TRANSLATE_Y] = {"translate-y", "part of the height", -1, 1, 0},
    [OP_ROTATE] = {"rotate", "degrees, counter-clockwise", -360, 360, 0},
};

const pixel_op_info *pixel_op_about(pixel_op op) { return &table[op]; }

void pixel_op_apply(pixel_op op, double v, const pixel_sampling *s, pixel_image *image)
{
    const double rows = (double)image->rows, cols = (double)image->cols;
    const uint8_t *fill = s->fill;
    switch (op) {
    case OP_AUTOCONTRAST: pixels_autocontrast(image); return;
    case OP_EQUALIZE: pixels_equalize(image); return;
    case OP_INVERT: pixels_invert(image); return;
    case OP_POSTERIZE: pixels_posterize(image, (int)v); return;
    case OP_SOLARIZE: pixels_solarize(image, v); return;
    case OP_SOLARIZE_ADD: pixels_solarize_add(image, (int)v); return;
    case OP_COLOR: pixels_color(image, (float)v); return;
    case OP_CONTRAST: pixels_contrast(image, (float)v); return;
    case OP_BRIGHTNESS: pixels_brightness(image, (float)v); return;
    case OP_SHARPNESS: pixels_sharpness(image, (float)v); return;
    case OP_SHEAR_X:
        pixels_affine(image, (const double[6]){1, v, 0, 0, 1, 0}, s->shear, fill);
        return;
    case OP_SHEAR_Y:
        pixels_affine(image, (const double[6]){1, 0, 0, v, 1, 0}, s->shear, fill);
        return;
    case OP_TRANSLATE_X:
        pixels_affine(image, (const double[6]){1, 0, v * cols, 0, 1, 0}, s->translate, fill);
        return;
    case OP_TRANSLATE_Y:
        pixels_affine(image, (const double[6]){1, 0, 0, 0, 1, v * rows}, s->translate, fill);
        return;
    case OP_ROTATE: pixels_rotate(image, v, s->rotate, fill); return;
    case PIXEL_OPS: return;
    }
}
