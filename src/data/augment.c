#include "data/augment.h"

#include "core/context.h"
#include "core/field.h"
#include "core/status.h"
#include "data/keyed_rng.h"

#include <math.h>
#include <string.h>

enum { PADDING_MOST = 1024 };

static const ssm2d_field fields[] = {
    {"flip", "mirrors every second training image, on average", SSM2D_KIND_FLAG,
     offsetof(augment_options, flip), 0, 1, "true", NULL, NULL},
    {"crop_padding",
     "crops training images at random out of themselves with this many black pixels around; "
     "0: no crop",
     SSM2D_KIND_INT, offsetof(augment_options, crop_padding), 0, PADDING_MOST, "4", NULL, NULL},
    {0}};
enum { FIELDS = sizeof fields / sizeof *fields - 1 };

const ssm2d_field *augment_options_fields(size_t *count)
{
    if (count) *count = FIELDS;
    return fields;
}

augment_options augment_options_default(void)
{
    augment_options options = {0};
    for (int i = 0; i < FIELDS; i++) field_set_default(&fields[i], &options);
    return options;
}

ssm2d_status augment_options_check(const augment_options *options, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < FIELDS && !status; i++)
        status = field_check((field_source){0}, &fields[i], options, error);
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void flip(const augment_options *options, rng *r, work_image *image)
{
    size_t channels = (size_t)image->channels;
    if (!options->flip || rng_below(r, 2)) return;
    for (size_t y = 0; y < image->rows; y++) {
        uint8_t *left = image->pixels + y * image->cols * channels,
                *right = left + (image->cols - 1) * channels;
        for (; left < right; left += channels, right -= channels)
            for (size_t c = 0; c < channels; c++) {
                uint8_t pixel = left[c];
                left[c] = right[c];
                right[c] = pixel;
            }
    }
}

/* Row y of the crop is row y + down of the image, down from -p to p; columns alike. */
static void crop(const augment_options *options, rng *r, work_image *image)
{
    ptrdiff_t padding = options->crop_padding, rows = (ptrdiff_t)image->rows,
              cols = (ptrdiff_t)image->cols;
    if (!padding) return;
    ptrdiff_t down = (ptrdiff_t)rng_below(r, 2 * (uint64_t)padding + 1) - padding;
    ptrdiff_t across = (ptrdiff_t)rng_below(r, 2 * (uint64_t)padding + 1) - padding;
    /* columns that are not black */
    ptrdiff_t first = across < 0 ? -across : 0, end = across > 0 ? cols - across : cols;
    size_t channels = (size_t)image->channels, line = image->cols * channels;
    for (ptrdiff_t y = 0; y < rows; y++) {
        uint8_t *out = image->spare + (size_t)y * line;
        memset(out, 0, line);
        if (y + down < 0 || y + down >= rows || first >= end) continue;
        memcpy(out + (size_t)first * channels,
               image->pixels + (size_t)(y + down) * line + (size_t)(first + across) * channels,
               (size_t)(end - first) * channels);
    }
    uint8_t *pixels = image->pixels;
    image->pixels = image->spare;
    image->spare = pixels;
}

static const augment_step steps[] = {{RNG_FLIP, flip}, {RNG_CROP, crop}};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- all of it ------------------------------------------------------------------------------- */

struct augment {
    const ssm2d_context *context;
    augment_options options;
    work_image image;
    uint8_t *memory;
    float table[3][256]; /* a pixel's value, per channel */
};

ssm2d_status augment_create(const ssm2d_context *context, const augment_options *options,
                            const normalisation *norm, size_t rows, size_t cols, int channels,
                            augment **out, ssm2d_error *error)
{
    *out = NULL;
    if (rows < 1 || rows > RESIZE_MOST || cols < 1 || cols > RESIZE_MOST
        || (channels != 1 && channels != 3))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "images of %zu x %zu x %d: use 1 to %d rows and columns, and 1 or 3 channels",
                    rows, cols, channels, RESIZE_MOST);
    ssm2d_status status = augment_options_check(options, error);
    for (int c = 0; c < channels && !status; c++)
        if (!(norm->std[c] > 0) || !isfinite(norm->std[c]) || !isfinite(norm->mean[c]))
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "normalisation of channel %d: mean=%g, std=%g: use a std above 0", c,
                          (double)norm->mean[c], (double)norm->std[c]);
    if (status) return status;
    size_t bytes = rows * cols * (size_t)channels;
    augment *a = mem_alloc(context, sizeof *a);
    uint8_t *memory = mem_alloc(context, 2 * bytes);
    if (!a || !memory) {
        mem_free(context, a);
        mem_free(context, memory);
        return fail(error, SSM2D_ERROR_MEMORY, "no memory for images of %zu x %zu x %d", rows, cols,
                    channels);
    }
    *a = (augment){.context = context, .options = *options, .memory = memory};
    a->image = (work_image){rows, cols, channels, memory, memory + bytes};
    for (int c = 0; c < channels; c++)
        for (int v = 0; v < 256; v++)
            a->table[c][v] = ((float)v / 255 - norm->mean[c]) / norm->std[c];
    *out = a;
    return SSM2D_OK;
}

void augment_destroy(augment *a)
{
    if (!a) return;
    mem_free(a->context, a->memory);
    mem_free(a->context, a);
}

uint8_t *augment_pixels(augment *a) { return a->image.pixels; }

void augment_plain(const augment *a, float *out)
{
    size_t pixels = a->image.rows * a->image.cols, channels = (size_t)a->image.channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < pixels; i++)
            out[c * pixels + i] = a->table[c][a->image.pixels[i * channels + c]];
}

void augment_train(augment *a, uint64_t seed, uint64_t epoch, uint64_t image, float *out)
{
    for (int i = 0; i < STEPS; i++) {
        rng r = keyed_rng(seed, (rng_purpose)steps[i].purpose, epoch, image);
        steps[i].run(&a->options, &r, &a->image);
    }
    augment_plain(a, out);
}
