/* model_prepare - pixels of any size to what a model reads, with the code that evaluation uses. */
#include "core/float_mode.h"
#include "core/status.h"
#include "inference/trained_model.h"
#include "io/blend.h"

#include <stdio.h>

resize *model_plan_resize(ssm2d_model_plan *p)
{
    augment_begin(p->augment, 0, 0);
    return augment_resize(p->augment);
}

uint8_t *model_plan_pixels(ssm2d_model_plan *p) { return augment_pixels(p->augment); }

void model_plan_prepared(ssm2d_model_plan *p, size_t i)
{
    augment_end(p->augment, p->evaluator->part + i * p->evaluator->image);
}

/* A row without its alpha, blended over white, into out. */
static void blend_row(const uint8_t *row, size_t cols, int colours, uint8_t *out)
{
    for (size_t i = 0; i < cols; i++, row += colours + 1)
        for (int c = 0; c < colours; c++) *out++ = blend_white(row[c], row[colours]);
}

static ssm2d_status check_image(const ssm2d_model_image *image, const char *name,
                                ssm2d_error *error)
{
    if (!image->pixels)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s.pixels=NULL: there is no image", name);
    if (image->channels < 1 || image->channels > 4)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s.channels=%d: use 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGBA)", name,
                    image->channels);
    if (image->rows < 1 || image->rows > MAX_IMAGE_SIDE || image->cols < 1
        || image->cols > MAX_IMAGE_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s has %zu x %zu pixels: use 1 to %d rows and columns", name, image->rows,
                    image->cols, MAX_IMAGE_SIDE);
    const ptrdiff_t dense = (ptrdiff_t)image->cols * image->channels;
    if (image->stride && image->stride < dense && image->stride > -dense)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s.stride=%td: a row has %td bytes: use at least as many, or 0", name,
                    image->stride, dense);
    return SSM2D_OK;
}

static ssm2d_status prepare(ssm2d_model_plan *p, const ssm2d_model_image *image, const char *name,
                            ssm2d_error *error)
{
    const int has_alpha = image->channels % 2 == 0, colours = image->channels - has_alpha;
    const ptrdiff_t dense = (ptrdiff_t)image->cols * image->channels;
    const ptrdiff_t stride = image->stride ? image->stride : dense;
    resize *to = model_plan_resize(p);
    ssm2d_status status =
        resize_start(to, name, image->rows, image->cols, colours, model_plan_pixels(p), error);
    for (size_t i = 0; i < image->rows && !status && !resize_is_complete(to); i++) {
        const uint8_t *row = image->pixels + (ptrdiff_t)i * stride;
        if (has_alpha) {
            blend_row(row, image->cols, colours, resize_row_buffer(to));
            row = resize_row_buffer(to);
        }
        resize_row(to, row);
    }
    return status;
}

ssm2d_status ssm2d_model_prepare(ssm2d_model_plan *p, size_t first, size_t count,
                                 const ssm2d_model_image *images, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    if (!p->augment)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the model was opened from files, which do not say how pixels are prepared: "
                    "set preparation in the plan's options, or run on prepared numbers");
    if (first > p->evaluator->batch || count > p->evaluator->batch - first)
        return fail(error, SSM2D_ERROR_ARGUMENT, "first=%zu, count=%zu: the plan is for %zu images",
                    first, count, p->evaluator->batch);
    if (count && !images)
        return fail(error, SSM2D_ERROR_ARGUMENT, "images=NULL: there are no images");
    const float_mode before = float_mode_set();
    for (size_t i = 0; i < count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "images[%zu]", i);
        status = check_image(&images[i], name, error);
        if (!status) status = prepare(p, &images[i], name, error);
        if (!status) model_plan_prepared(p, first + i);
    }
    float_mode_restore(before);
    return status;
}
