/* image_pdf - writes a PDF of one page that is the image, compressed without loss. cairo needs the
 * image in memory. */
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <cairo-pdf.h>
#include <errno.h>
#include <math.h>

static const double max_side = 14400;       /* of a page, in points */
static const double points_per_pixel = 0.5; /* as figures have it (draw/canvas.h) */

typedef struct encoder {
    cairo_surface_t *image;
} encoder;

static cairo_status_t write_bytes(void *closure, const unsigned char *bytes, unsigned size)
{
    errno = 0;
    return fwrite(bytes, 1, size, image_stream(closure)) == size ? CAIRO_STATUS_SUCCESS
                                                                 : CAIRO_STATUS_WRITE_ERROR;
}

static ssm2d_status fail_cairo(const image_writer *writer, cairo_status_t why, ssm2d_error *error)
{
    if (why == CAIRO_STATUS_WRITE_ERROR) return image_write_failed(writer, error);
    if (why == CAIRO_STATUS_NO_MEMORY)
        return fail_memory(error, "writing %s", text_path(writer->path));
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written as PDF: %s",
                text_path(writer->path), cairo_status_to_string(why));
}

static ssm2d_status create_pdf(image_writer *writer, ssm2d_error *error)
{
    encoder *e = writer->encoder;
    const image_info *info = &writer->info;
    if (info->rows > IMAGE_MAX_WHOLE / 4 / info->cols)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: %zu x %zu pixels are too many for a PDF: write a PNG",
                    text_path(writer->path), info->rows, info->cols);
    e->image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)info->cols, (int)info->rows);
    const cairo_status_t bad = cairo_surface_status(e->image);
    return bad ? fail_cairo(writer, bad, error) : SSM2D_OK;
}

/* Draws the image on a page, which is written when the surface is finished. */
static cairo_status_t write_page(image_writer *writer, cairo_surface_t *image)
{
    const double width = points_per_pixel * (double)writer->info.cols,
                 height = points_per_pixel * (double)writer->info.rows,
                 scale = fmin(1, max_side / fmax(width, height));
    cairo_surface_t *page =
        cairo_pdf_surface_create_for_stream(write_bytes, writer, width * scale, height * scale);
    cairo_t *cr = cairo_create(page);
    /* without a date, so that the same image gives the same bytes */
    cairo_pdf_surface_set_metadata(page, CAIRO_PDF_METADATA_CREATE_DATE, "");
    cairo_scale(cr, points_per_pixel * scale, points_per_pixel * scale);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST); /* keep the pixels */
    cairo_paint(cr);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_finish(page);
    if (!status) status = cairo_surface_status(page);
    cairo_surface_destroy(page);
    return status;
}

static ssm2d_status write_pdf_row(image_writer *writer, const void *row, int last,
                                  ssm2d_error *error)
{
    encoder *e = writer->encoder;
    const size_t stride = (size_t)cairo_image_surface_get_stride(e->image);
    uint32_t *to = (void *)(cairo_image_surface_get_data(e->image) + (writer->next - 1) * stride);
    const uint8_t *from = row;
    const int grey = writer->info.channels == 1;
    for (size_t i = 0; i < writer->info.cols; i++, from += writer->info.channels)
        to[i] = (uint32_t)from[0] << 16 | (uint32_t)from[grey ? 0 : 1] << 8 | from[grey ? 0 : 2];
    if (!last) return SSM2D_OK;
    cairo_surface_mark_dirty(e->image);
    const cairo_status_t bad = write_page(writer, e->image);
    return bad ? fail_cairo(writer, bad, error) : SSM2D_OK;
}

static void destroy_pdf(image_writer *writer)
{
    cairo_surface_destroy(((encoder *)writer->encoder)->image);
}

const image_format image_pdf = {
    .name = "PDF",
    .endings = "*.pdf",
    .encoder_size = sizeof(encoder),
    .max_side = 32767, /* cairo's limit */
    .is_plain = 1,
    .create = create_pdf,
    .write_row = write_pdf_row,
    .destroy = destroy_pdf,
};
