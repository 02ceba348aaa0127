/* session_prepare - converts pixels of any size to a model's input, with the code of evaluation. */
#include "core/float_mode.h"
#include "core/status.h"
#include "inference/trained_model.h"
#include "io/image.h"

resize *session_resize(ssm2d_session *s)
{
    augment_begin(s->augment, 0, 0);
    return augment_resize(s->augment);
}

uint8_t *session_pixels(ssm2d_session *s) { return augment_pixels(s->augment); }

void session_image_prepared(ssm2d_session *s, size_t i)
{
    augment_end(s->augment, s->evaluator->part + i * s->evaluator->image);
    s->prepared[i] = 1;
}

/* Blends a row over white and writes it without alpha to out. */
static void blend_row(const uint8_t *row, size_t cols, int colours, uint8_t *out)
{
    for (size_t i = 0; i < cols; i++, row += colours + 1)
        for (int c = 0; c < colours; c++) *out++ = blend_white(row[c], row[colours]);
}

/* The caller's image. */
typedef struct source {
    const uint8_t *pixels;
    size_t rows, cols;
    int channels;
    ptrdiff_t stride;
} source;

static ssm2d_status check_source(const source *image, ssm2d_error *error)
{
    if (!image->pixels) return fail(error, SSM2D_ERROR_ARGUMENT, "pixels=NULL: there is no image");
    if (image->channels < 1 || image->channels > 4)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "channels=%d: use 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGBA)",
                    image->channels);
    if (image->rows < 1 || image->rows > MAX_IMAGE_SIDE || image->cols < 1
        || image->cols > MAX_IMAGE_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the image has %zu x %zu pixels: use 1 to %d rows and columns", image->rows,
                    image->cols, MAX_IMAGE_SIDE);
    const ptrdiff_t dense = (ptrdiff_t)image->cols * image->channels;
    if (image->stride && image->stride < dense && image->stride > -dense)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "stride=%td: a row has %td bytes: use at least as many, or 0", image->stride,
                    dense);
    return SSM2D_OK;
}

static ssm2d_status prepare(ssm2d_session *s, const source *image, ssm2d_error *error)
{
    const int has_alpha = image->channels % 2 == 0, colours = image->channels - has_alpha;
    const ptrdiff_t dense = (ptrdiff_t)image->cols * image->channels;
    const ptrdiff_t stride = image->stride ? image->stride : dense;
    resize *to = session_resize(s);
    ssm2d_status status =
        resize_start(to, "the image", image->rows, image->cols, colours, session_pixels(s), error);
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

ssm2d_status ssm2d_session_prepare(ssm2d_session *s, size_t index, const uint8_t *pixels,
                                   size_t rows, size_t cols, int channels, ptrdiff_t stride,
                                   ssm2d_error *error)
{
    const source image = {pixels, rows, cols, channels, stride};
    if (!s) return fail(error, SSM2D_ERROR_ARGUMENT, "session=NULL: create one first");
    if (!s->augment)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "the model was opened from files, which do not define how to prepare pixels: "
                    "set preparation in the session's options, or run on prepared images");
    if (index >= s->evaluator->batch)
        return fail(error, SSM2D_ERROR_ARGUMENT, "index=%zu: the session is for %zu images", index,
                    s->evaluator->batch);
    ssm2d_status status = check_source(&image, error);
    if (status) return status;
    const float_mode before = float_mode_set();
    status = prepare(s, &image, error);
    if (!status) session_image_prepared(s, index);
    float_mode_restore(before);
    return status;
}
