/* All lengths are points. */
#include "draw/contact_sheet.h"

#include "core/status.h"
#include "draw/canvas.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

enum { MARGIN = 16, TITLE = 28, GAP = 10, LINE = 11, MIN_SIDE = 64, MAX_SIDE = 160 };

static const text_style style_title = {13, 1, 0.1}, style_text = {8.5, 0, 0.2};

static void paint(canvas *c, const contact_sheet *s, const uint8_t *pixels, double x, double y,
                  double scale)
{
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)s->cols, (int)s->rows);
    unsigned char *data = cairo_image_surface_get_data(image);
    const size_t stride = (size_t)cairo_image_surface_get_stride(image);
    cairo_t *cr = canvas_cairo(c);
    for (size_t r = 0; data && r < s->rows; r++) {
        uint32_t *row = (uint32_t *)(void *)(data + r * stride);
        for (size_t k = 0; k < s->cols; k++, pixels += s->channels)
            row[k] = (uint32_t)pixels[0] << 16 | (uint32_t)pixels[s->channels / 2] << 8
                     | pixels[s->channels - 1];
    }
    cairo_surface_mark_dirty(image);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_scale(cr, scale, scale);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr),
                             scale >= .5 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_rectangle(cr, 0, 0, (double)s->cols, (double)s->rows);
    cairo_fill(cr);
    cairo_restore(cr);
    cairo_surface_destroy(image);
}

ssm2d_status contact_sheet_draw(const ssm2d_context *context, const char *path,
                                const contact_sheet *s, ssm2d_error *error)
{
    /* where possible, a pixel of the image is a multiple of half a point, a pixel of a PNG */
    const double longer = (double)(s->rows > s->cols ? s->rows : s->cols);
    double scale = .5;
    while (longer * (scale + .5) <= MAX_SIDE && longer * scale < MIN_SIDE) scale += .5;
    if (longer * scale > MAX_SIDE) scale = MAX_SIDE / longer;
    const double width = fmax(MIN_SIDE, (double)s->cols * scale), height = (double)s->rows * scale;
    const double top = s->title ? MARGIN + TITLE : MARGIN;
    const int lines = (s->count + s->columns - 1) / s->columns;
    const double step = height + s->lines * LINE + GAP;
    char text[256];
    canvas *c;
    ssm2d_status status = canvas_open(context, path, 2 * MARGIN + s->columns * (width + GAP) - GAP,
                                      top + MARGIN + lines * step - GAP, &c, error);
    if (status) return status;
    const double across = s->columns * (width + GAP) - GAP;
    if (s->title)
        canvas_text(c, MARGIN, MARGIN + 12, TEXT_LEFT, style_title,
                    canvas_fit(style_title, across, s->title, text, sizeof text));
    for (int i = 0; i < s->count; i++) {
        const double x = MARGIN + i % s->columns * (width + GAP);
        const double y = top + (double)(i / s->columns) * step;
        paint(c, s, s->image(s->user, i), x + (width - (double)s->cols * scale) / 2, y, scale);
        for (int k = 0; k < s->lines; k++)
            canvas_text(c, x + width / 2, y + height + 10 + k * LINE, TEXT_CENTRE, style_text,
                        canvas_fit(style_text, width, s->text(s->user, i, k), text, sizeof text));
    }
    return canvas_finish(c, error);
}
