/* ssm2d data augment - applies one operation of augmentation to an image file. */
#include "core/context.h"
#include "core/status.h"
#include "data.h"
#include "data/pixel_ops.h"
#include "data/resize.h"
#include "io/image.h"
#include "io/text.h"
#include "tools/help.h"
#include "tools/written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
    const char *image, *output, *op, *value;
} values;

static const char resize_name[] = "resize";

static const char *op_name(int i)
{
    return i < PIXEL_OPS ? pixel_op_about((pixel_op)i)->name : i == PIXEL_OPS ? resize_name : NULL;
}

static const option options[] = {
    {"IMAGE", OPTION_STRING, offsetof(values, image), "image file", .positional = 1},
    {"output", OPTION_STRING, offsetof(values, output), "PNG file to write", .value = "FILE",
     .letter = 'o', .required = 1},
    {"op", OPTION_CHOICE, offsetof(values, op), "operation", .choice = op_name, .required = 1},
    {"value", OPTION_STRING, offsetof(values, value), "its value, as listed below", .value = "V"},
    {0}};

typedef struct request {
    int resizes;
    pixel_op op;
    double value;
    size_t rows, cols;
} request;

static ssm2d_status read_size(const char *text, request *r, ssm2d_error *error)
{
    char *end, shown[48];
    unsigned long rows = 0, cols = 0;
    if (*text >= '0' && *text <= '9') {
        rows = strtoul(text, &end, 10);
        if (*end == 'x' && end[1] >= '0' && end[1] <= '9') cols = strtoul(end + 1, &end, 10);
        if (*end) cols = 0;
    }
    if (rows < 1 || rows > MAX_IMAGE_SIDE || cols < 1 || cols > MAX_IMAGE_SIDE)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--value=%s: use ROWSxCOLS for resize, each from 1 to %d",
                    text_show(text, strlen(text), shown, sizeof shown), MAX_IMAGE_SIDE);
    r->rows = rows;
    r->cols = cols;
    return SSM2D_OK;
}

static ssm2d_status read_number(const char *text, const pixel_op_info *about, double *number,
                                ssm2d_error *error)
{
    char *end, shown[48];
    *number = strtod(text, &end);
    if (end != text && !*end && *number >= about->low && *number <= about->high
        && (!about->whole || !(*number < floor(*number) || *number > floor(*number))))
        return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "--value=%s: use a %snumber from %g to %g for %s",
                text_show(text, strlen(text), shown, sizeof shown), about->whole ? "whole " : "",
                about->low, about->high, about->name);
}

static ssm2d_status read_request(const values *o, request *r, ssm2d_error *error)
{
    int i = 0;
    while (strcmp(op_name(i), o->op)) i++;
    *r = (request){.resizes = i == PIXEL_OPS, .op = (pixel_op)i};
    if (r->resizes && o->value) return read_size(o->value, r, error);
    const pixel_op_info *about = r->resizes ? NULL : pixel_op_about(r->op);
    if (about && !about->value) return SSM2D_OK;
    if (!o->value)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--value is missing: %s needs the %s", o->op,
                    r->resizes ? "size, ROWSxCOLS" : about->value);
    return read_number(o->value, about, &r->value, error);
}

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    request r;
    if (!text_has_extension(o->output, ".png"))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .png",
                    text_path(o->output));
    return read_request(v, &r, error);
}

static void choose_bicubic(void *user, size_t rows, size_t cols, resize_region *region)
{
    (void)user;
    (void)rows;
    (void)cols;
    region->filter = RESIZE_BICUBIC;
}

/* Reads the whole image, resized to rows x cols unless they are 0. The caller frees image->pixels;
 * spare is in the same block. */
static ssm2d_status read_image(ssm2d_context *context, const char *path, const request *r,
                               pixel_image *image, uint8_t **memory, ssm2d_error *error)
{
    const image_read_options how = {.max_pixels = IMAGE_MAX_PIXELS};
    image_reader *reader;
    image_info info;
    resize *to = NULL;
    ssm2d_status status = image_open(context, path, &how, &reader, &info, error);
    if (status) return status;
    *image = (pixel_image){.rows = r->resizes ? r->rows : info.rows,
                           .cols = r->resizes ? r->cols : info.cols,
                           .channels = info.channels};
    const size_t size = image->rows * image->cols * (size_t)image->channels;
    if (!(*memory = mem_alloc(context, 2 * size)))
        status = fail_memory(error, "%s: pixels", text_path(path));
    image->pixels = *memory;
    image->spare = *memory + size;
    if (!status)
        status = resize_create(context, image->rows, image->cols, image->channels, &to, error);
    if (!status) {
        resize_choose_with(to, choose_bicubic, NULL);
        status = resize_start(to, path, info.rows, info.cols, info.channels, image->pixels, error);
    }
    for (size_t y = 0; y < info.rows && !status; y++) {
        status = image_read_row(reader, resize_row_buffer(to), error);
        if (!status) resize_row(to, resize_row_buffer(to));
    }
    resize_destroy(to);
    image_close(reader);
    return status;
}

static ssm2d_status write_image(ssm2d_context *context, const char *path, const pixel_image *image,
                                ssm2d_error *error)
{
    const image_info info = {image->rows, image->cols, image->channels, 8};
    image_writer *writer;
    ssm2d_status status = image_create(context, path, &info, NULL, &writer, error);
    if (status) return status;
    for (size_t y = 0; y < image->rows && !status; y++)
        status = image_write_row(writer, image->pixels + y * image->cols * (size_t)image->channels,
                                 error);
    if (!status) return image_finish(writer, error);
    image_abandon(writer);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    request r;
    pixel_image image;
    uint8_t *memory = NULL;
    ssm2d_status status = read_request(o, &r, error);
    if (!status) status = read_image(context, o->image, &r, &image, &memory, error);
    if (!status && !r.resizes) {
        if (o->value && !pixel_op_about(r.op)->value)
            fprintf(stderr, "ssm2d data augment: %s has no value: --value is ignored\n", o->op);
        pixel_op_apply(r.op, r.value, &autoaugment_sampling, &image);
    }
    if (!status) status = write_image(context, o->output, &image, error);
    if (!status) written_print(o->output, "%zu x %zu pixels", image.rows, image.cols);
    mem_free(context, memory);
    return status;
}

static void list_operations(const help_page *page)
{
    help_heading(page, "operations and their values");
    for (int i = 0; i < PIXEL_OPS; i++) {
        const pixel_op_info *about = pixel_op_about((pixel_op)i);
        char text[96] = "no value";
        if (about->value)
            snprintf(text, sizeof text, "%s, from %g to %g", about->value, about->low, about->high);
        help_entry(page, about->name, text);
    }
    help_entry(page, resize_name, "ROWSxCOLS, bicubic");
}

static const char about_text[] =
    "Applies one operation to an image and writes the result: the operations of AutoAugment, and "
    "resizing, bit-exact with Pillow. Shears are bicubic, translations and rotations nearest; "
    "pixels outside the image are grey.";

const command command_data_augment = {.name = "data augment",
                                      .summary = "apply one operation to an image",
                                      .about = about_text,
                                      .options = options,
                                      .check = check,
                                      .run = run,
                                      .more_help = list_operations};
