/* All lengths are points. */
#include "draw/curves.h"

#include "draw/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 18, TITLE_HEIGHT = 30, Y_AXIS = 52, X_AXIS = 36 };
enum { PANEL_WIDTH = 330, PANEL_HEIGHT = 220, PANEL_GAP = 22 };
enum { LEGEND_LINE = 16, LEGEND_MARK = 18, LEGEND_PAD = 8 };

static const text_style style_title = {15, 1, 0.1}, style_label = {10.5, 0, 0.2},
                        style_tick = {9, 0, 0.3};

/* A panel on the page, and the values at its edges. */
typedef struct field {
    double x, y, width, height;
    double x_low, x_high, y_low, y_high;
    double y_step; /* between ticks, which both edges have */
} field;

static double across(const field *f, double x)
{
    return f->x + f->width * (x - f->x_low) / (f->x_high - f->x_low);
}
static double down(const field *f, double y)
{
    return f->y + f->height * (f->y_high - y) / (f->y_high - f->y_low);
}

/* The distance between ticks, 1, 2 or 5 times a power of ten, for about `wanted` ticks in a
 * range. */
static double nice_step(double range, int wanted)
{
    double raw = range / wanted, unit = pow(10, floor(log10(raw)));
    double parts = raw / unit;
    return unit * (parts <= 1 ? 1 : parts <= 2 ? 2 : parts <= 5 ? 5 : 10);
}

/* Sets y_low, y_high and y_step by the range of the panel's values, widened to whole ticks. */
static void set_limits(field *f, const curve_panel *p)
{
    double low = INFINITY, high = -INFINITY;
    for (int c = 0; c < p->count; c++)
        for (int i = 0; i < p->curves[c].count; i++) {
            double y = p->curves[c].y[i];
            if (!isfinite(y)) continue;
            low = fmin(low, y);
            high = fmax(high, y);
        }
    if (!(low <= high)) low = 0, high = 1; /* nothing to draw */
    if (high - low < 1e-9 * fmax(fabs(high), 1e-3)) {
        double margin = fmax(fabs(high) * 0.1, 1e-3);
        low -= margin;
        high += margin;
    }
    double step = nice_step(high - low, 5);
    f->y_step = step;
    f->y_low = floor(low / step) * step;
    f->y_high = ceil(high / step) * step;
}

static void tick_text(double value, double step, char *text, size_t size)
{
    int digits = (int)fmax(0, ceil(-log10(step) - 1e-9));
    if (fabs(value) < step * 1e-6) value = 0;
    snprintf(text, size, "%.*f", digits > 9 ? 9 : digits, value);
}

static void axes(canvas *c, const field *f, const char *x_label, const char *y_label)
{
    static const double grid_grey = 0.88, frame_grey = 0.35;
    char text[32];
    double step = f->y_step;
    for (double v = f->y_low; v <= f->y_high + step / 2; v += step) {
        canvas_line(c, f->x, down(f, v), f->width, 0, grid_grey);
        tick_text(v, step, text, sizeof text);
        canvas_text(c, f->x - 6, down(f, v) + 3, TEXT_RIGHT, style_tick, text);
    }
    step = nice_step(f->x_high - f->x_low, 6);
    if (step < 1 && f->x_high - f->x_low >= 2) step = 1;
    for (double v = ceil(f->x_low / step) * step; v <= f->x_high + step * 1e-6; v += step) {
        canvas_line(c, across(f, v), f->y, 0, f->height, grid_grey);
        tick_text(v, step, text, sizeof text);
        canvas_text(c, across(f, v), f->y + f->height + 13, TEXT_CENTRE, style_tick, text);
    }
    canvas_frame(c, f->x, f->y, f->width, f->height, frame_grey);
    canvas_text(c, f->x + f->width / 2, f->y + f->height + 29, TEXT_CENTRE, style_label, x_label);
    canvas_text_upward(c, f->x - Y_AXIS + 12, f->y + f->height / 2, style_label, y_label);
}

static void dot(cairo_t *cr, double x, double y)
{
    cairo_new_sub_path(cr);
    cairo_arc(cr, x, y, 2.6, 0, 6.283185307179586);
    cairo_fill(cr);
}

static void draw_curve(cairo_t *cr, const field *f, const curve *one)
{
    int open = 0;
    cairo_set_source_rgb(cr, one->colour.red, one->colour.green, one->colour.blue);
    cairo_set_line_width(cr, 1.4);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    for (int i = 0; i < one->count; i++) {
        if (!isfinite(one->y[i])) {
            open = 0;
            continue;
        }
        if (open)
            cairo_line_to(cr, across(f, one->x[i]), down(f, one->y[i]));
        else
            cairo_move_to(cr, across(f, one->x[i]), down(f, one->y[i]));
        open = 1;
    }
    cairo_stroke(cr);
    for (int i = 0; one->dots && i < one->count; i++)
        if (isfinite(one->y[i])) dot(cr, across(f, one->x[i]), down(f, one->y[i]));
}

static void legend(canvas *c, const field *f, const curve_panel *p)
{
    cairo_t *cr = canvas_cairo(c);
    double width = 0, height = LEGEND_LINE * p->count + 6;
    for (int i = 0; i < p->count; i++)
        width = fmax(width, canvas_text_width(style_label, p->curves[i].name));
    width += LEGEND_MARK + 3 * 6;
    double x = f->x + f->width - width - LEGEND_PAD;
    double y = p->legend_below ? f->y + f->height - height - LEGEND_PAD : f->y + LEGEND_PAD;
    cairo_rectangle(cr, x, y, width, height);
    cairo_set_source_rgba(cr, 1, 1, 1, 0.85);
    cairo_fill_preserve(cr);
    cairo_set_source_rgb(cr, 0.8, 0.8, 0.8);
    cairo_set_line_width(cr, 0.5);
    cairo_stroke(cr);
    for (int i = 0; i < p->count; i++) {
        const curve *one = &p->curves[i];
        double middle = y + 3 + LEGEND_LINE * (i + 0.5);
        cairo_set_source_rgb(cr, one->colour.red, one->colour.green, one->colour.blue);
        cairo_set_line_width(cr, 1.4);
        cairo_move_to(cr, x + 6, middle);
        cairo_rel_line_to(cr, LEGEND_MARK, 0);
        cairo_stroke(cr);
        if (one->dots) dot(cr, x + 6 + LEGEND_MARK / 2.0, middle);
        canvas_text(c, x + 12 + LEGEND_MARK, middle + 3.5, TEXT_LEFT, style_label, one->name);
    }
}

ssm2d_status curves_draw(const ssm2d_context *context, const char *path, const curve_figure *figure,
                         ssm2d_error *error)
{
    canvas *c;
    double width =
        2 * MARGIN + figure->count * (Y_AXIS + PANEL_WIDTH) + (figure->count - 1) * PANEL_GAP;
    const double top = MARGIN + (figure->title ? TITLE_HEIGHT : 0);
    double height = top + MARGIN + PANEL_HEIGHT + X_AXIS;
    ssm2d_status status = canvas_open(context, path, width, height, &c, error);
    if (status) return status;
    if (figure->title) canvas_text(c, MARGIN, MARGIN + 14, TEXT_LEFT, style_title, figure->title);
    for (int i = 0; i < figure->count; i++) {
        const curve_panel *p = &figure->panels[i];
        field f = {.x = MARGIN + Y_AXIS + i * (Y_AXIS + PANEL_WIDTH + PANEL_GAP),
                   .y = top,
                   .width = PANEL_WIDTH,
                   .height = PANEL_HEIGHT,
                   .x_low = figure->x_low,
                   .x_high = figure->x_high};
        set_limits(&f, p);
        axes(c, &f, figure->x_label, p->y_label);
        for (int k = 0; k < p->count; k++) draw_curve(canvas_cairo(c), &f, &p->curves[k]);
        legend(c, &f, p);
    }
    return canvas_finish(c, error);
}
