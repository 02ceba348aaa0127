#include "draw/canvas.h"

#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    TEXT = 1024,
    PIXELS_PER_POINT = 2,
    MAX_PIXELS = 30000
}; /* cairo's image surfaces end at 32767 */

struct canvas {
    const ssm2d_context *context;
    atomic_file file;
    cairo_surface_t *surface;
    cairo_t *cairo;
    int pixels; /* a PNG, which is written at the end */
    /* of the first failed write: cairo does not pass on the reason */
    ssm2d_error error;
    ssm2d_status status;
};

typedef enum page_format { FORMAT_PNG, FORMAT_SVG, FORMAT_PDF, FORMATS } page_format;

/* The format of a name's extension; FORMATS if unknown. */
static page_format format_of(const char *path)
{
    static const char *const extensions[FORMATS] = {".png", ".svg", ".pdf"};
    int i = 0;
    while (i < FORMATS && !text_has_extension(path, extensions[i])) i++;
    return (page_format)i;
}

ssm2d_status canvas_check(const char *path, ssm2d_error *error)
{
    if (format_of(path) == FORMATS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name must end in .png, .svg or .pdf",
                    text_path(path));
    return SSM2D_OK;
}

static cairo_status_t write_bytes(void *closure, const unsigned char *bytes, unsigned size)
{
    canvas *c = closure;
    if (!c->status) c->status = atomic_write(&c->file, bytes, size, &c->error);
    return c->status ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

ssm2d_status canvas_open(const ssm2d_context *context, const char *path, double width,
                         double height, canvas **out, ssm2d_error *error)
{
    ssm2d_status status = canvas_check(path, error);
    *out = NULL;
    if (status) return status;
    const page_format format = format_of(path);
    double scale = format == FORMAT_PNG ? PIXELS_PER_POINT : 1;
    if (width * scale > MAX_PIXELS || height * scale > MAX_PIXELS)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: a picture of %.0f x %.0f is too large: draw fewer panels, or more of "
                    "them in a row",
                    text_path(path), width * scale, height * scale);
    canvas *c = mem_alloc(context, sizeof *c);
    if (!c) return fail_memory(error, "drawing %s", text_path(path));
    c->context = context;
    c->pixels = format == FORMAT_PNG;
    status = atomic_open(context, path, &c->file, error);
    if (status) {
        mem_free(context, c);
        return status;
    }
    if (format == FORMAT_SVG)
        c->surface = cairo_svg_surface_create_for_stream(write_bytes, c, width, height);
    else if (format == FORMAT_PDF)
        c->surface = cairo_pdf_surface_create_for_stream(write_bytes, c, width, height);
    else
        c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale),
                                                (int)ceil(height * scale));
    c->cairo = cairo_create(c->surface);
    cairo_scale(c->cairo, scale, scale);
    cairo_set_source_rgb(c->cairo, 1, 1, 1);
    cairo_paint(c->cairo);
    *out = c;
    return SSM2D_OK;
}

cairo_t *canvas_cairo(canvas *c) { return c->cairo; }

static void destroy(canvas *c)
{
    cairo_destroy(c->cairo);
    cairo_surface_destroy(c->surface);
    mem_free(c->context, c);
}

ssm2d_status canvas_finish(canvas *c, ssm2d_error *error)
{
    cairo_status_t drawn = cairo_status(c->cairo);
    if (!drawn && c->pixels) drawn = cairo_surface_write_to_png_stream(c->surface, write_bytes, c);
    cairo_surface_finish(c->surface); /* SVG and PDF are written here */
    if (!drawn) drawn = cairo_surface_status(c->surface);
    ssm2d_status status = c->status;
    if (status)
        fail(error, status, "%s", c->error.line);
    else if (drawn)
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot draw: %s", text_path(c->file.path),
                      cairo_status_to_string(drawn));
    status = atomic_end(&c->file, status, error);
    destroy(c);
    return status;
}

static void stroke(cairo_t *cr, double grey)
{
    cairo_set_source_rgb(cr, grey, grey, grey);
    cairo_set_line_width(cr, 0.5);
    cairo_stroke(cr);
}

void canvas_line(canvas *c, double x, double y, double dx, double dy, double grey)
{
    cairo_move_to(c->cairo, x, y);
    cairo_rel_line_to(c->cairo, dx, dy);
    stroke(c->cairo, grey);
}

void canvas_frame(canvas *c, double x, double y, double width, double height, double grey)
{
    cairo_rectangle(c->cairo, x, y, width, height);
    stroke(c->cairo, grey);
}

static void set_style(cairo_t *cr, text_style style)
{
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, style.size);
    cairo_set_source_rgb(cr, style.grey, style.grey, style.grey);
}

void canvas_text(canvas *c, double x, double y, text_align align, text_style style,
                 const char *given)
{
    char text[TEXT];
    text_valid(given, text, sizeof text); /* cairo needs valid UTF-8 */
    static const double part_before[] = {[TEXT_LEFT] = 0, [TEXT_CENTRE] = 0.5, [TEXT_RIGHT] = 1};
    cairo_text_extents_t box;
    set_style(c->cairo, style);
    cairo_text_extents(c->cairo, text, &box);
    cairo_move_to(c->cairo, x - part_before[align] * box.x_advance, y);
    cairo_show_text(c->cairo, text);
}

void canvas_text_upward(canvas *c, double x, double y, text_style style, const char *text)
{
    cairo_save(c->cairo);
    cairo_translate(c->cairo, x, y);
    cairo_rotate(c->cairo, -1.5707963267948966);
    canvas_text(c, 0, 0, TEXT_CENTRE, style, text);
    cairo_restore(c->cairo);
}

double canvas_text_width(text_style style, const char *given)
{
    char text[TEXT];
    text_valid(given, text, sizeof text);
    cairo_text_extents_t box;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    cairo_t *cr = cairo_create(surface);
    set_style(cr, style);
    cairo_text_extents(cr, text, &box);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return box.x_advance;
}

const char *canvas_fit(text_style style, double width, const char *text, char *out, size_t size)
{
    text_valid(text, out, size);
    size_t length = strlen(out);
    while (length && canvas_text_width(style, out) > width) {
        do length--;
        while (length && ((unsigned char)out[length] & 0xc0) == 0x80); /* whole UTF-8 characters */
        if (length + 3 <= size) strcpy(out + length, "..");
    }
    return out;
}

void canvas_wrap(text_style style, double width, char *text)
{
    char *line = text, *before = NULL; /* the last space of the line */
    for (char *at = text;; at++) {
        const char here = *at;
        if (here != ' ' && here != '\n' && here) continue;
        *at = 0;
        if (before && canvas_text_width(style, line) > width) {
            *before = '\n';
            line = before + 1;
        }
        *at = here;
        before = here == ' ' ? at : NULL;
        if (here == '\n') line = at + 1;
        if (!here) return;
    }
}

/* ---- notes ----------------------------------------------------------------------------------- */

enum { NOTE_LINE = 15 }; /* points from one baseline to the next */

static const text_style note_style = {10, 0, 0.35};

/* Copies the n-th line, from 0, to copy and returns copy. */
static const char *line_at(const char *text, int n, char *copy, size_t size)
{
    while (n--) text += strcspn(text, "\n") + 1;
    snprintf(copy, size, "%.*s", (int)strcspn(text, "\n"), text);
    return copy;
}

canvas_note note_lay_out(const char *text, double width)
{
    canvas_note n = {.lines = 0};
    char line[sizeof n.text];
    if (!text) return n;
    snprintf(n.text, sizeof n.text, "%s", text);
    canvas_wrap(note_style, width, n.text);
    n.lines = 1;
    for (const char *at = n.text; *at; at++) n.lines += *at == '\n';
    for (int i = 0; i < n.lines; i++)
        n.width =
            fmax(n.width, canvas_text_width(note_style, line_at(n.text, i, line, sizeof line)));
    n.height = NOTE_LINE * n.lines;
    return n;
}

void note_draw(canvas *c, const canvas_note *n, double x, double bottom)
{
    char line[sizeof n->text];
    for (int i = 0; i < n->lines; i++)
        canvas_text(c, x, bottom - NOTE_LINE * (n->lines - 1 - i), TEXT_LEFT, note_style,
                    line_at(n->text, i, line, sizeof line));
}
