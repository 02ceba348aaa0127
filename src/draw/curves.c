/* All lengths are points. */
#include "draw/curves.h"

#include "draw/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 18, TITLE_HEIGHT = 30, Y_AXIS = 52, X_AXIS = 36 };
enum { PANEL_WIDTH = 330, PANEL_HEIGHT = 220, PANEL_GAP = 22, ROW_GAP = 10 };
enum { LEGEND_LINE = 16, LEGEND_MARK = 18, LEGEND_PAD = 8, LEGEND_GAP = 16 };

static const text_style style_title = {15, 1, 0.1}, style_label = {10.5, 0, 0.2},
                        style_tick = {9, 0, 0.3};

/* The area of a panel on the page, and the values at its edges. */
typedef struct plot_area {
    double x, y, width, height;
    double x_low, x_high, y_low, y_high;
    double y_step; /* between ticks, which both edges have; with is_log of the logarithms, or 0:
                    * at 1, 2 and 5 times powers of ten */
    int is_log;    /* y_low and y_high are logarithms to base 10 */
} plot_area;

static double across(const plot_area *f, double x)
{
    return f->x + f->width * (x - f->x_low) / (f->x_high - f->x_low);
}
/* The position of y on its axis: y or its logarithm; not finite if it cannot be drawn. */
static double height_of(int is_log, double y) { return is_log ? log10(y) : y; }
static double down(const plot_area *f, double y)
{
    y = height_of(f->is_log, y);
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

/* The end of a point's bar, `side` (-1 or 1) deviations from it; the point when it has none, or
 * when that end is not on the axis. */
static double bar_end(const curve *one, int i, int side, int is_log)
{
    const double end = one->spread ? one->y[i] + side * one->spread[i] : NAN;
    return isfinite(height_of(is_log, end)) ? end : one->y[i];
}

/* The tick at 1, 2 or 5 times a power of ten, as a logarithm, that is next to y or y itself: below
 * it, or above it. */
static double log_tick(double y, int above)
{
    static const double parts[] = {0, 0.30102999566398120, 0.69897000433601880, 1};
    const double power = floor(y + 1e-9);
    int i = 0;
    while (i < 3 && power + parts[i] < y - 1e-9) i++;
    if (!above && power + parts[i] > y + 1e-9) i--;
    return power + parts[i];
}

/* Sets y_low, y_high and y_step by the range of the panel's values, widened to whole ticks. */
static void set_limits(plot_area *f, const curve_panel *p)
{
    double low = INFINITY, high = -INFINITY;
    for (int c = 0; c < p->count; c++)
        for (int i = 0; i < p->curves[c].count; i++) {
            const curve *one = &p->curves[c];
            if (!isfinite(height_of(p->is_log, one->y[i]))) continue;
            /* the lower end of a logarithmic axis is limited */
            low = fmin(low, height_of(p->is_log, p->is_log ? one->y[i] : bar_end(one, i, -1, 0)));
            high = fmax(high, height_of(p->is_log, bar_end(one, i, 1, p->is_log)));
        }
    if (!(low <= high)) low = 0, high = 1; /* nothing to draw */
    if (high - low < 1e-9 * fmax(fabs(high), 1e-3)) {
        double margin = fmax(fabs(high) * 0.1, 1e-3);
        low -= margin;
        high += margin;
    }
    f->is_log = p->is_log;
    f->y_step = nice_step(high - low, 5);
    if (p->is_log) f->y_step = high - low < 1.5 ? 0 : fmax(f->y_step, 1); /* powers of ten */
    f->y_low = f->y_step ? floor(low / f->y_step) * f->y_step : log_tick(low, 0);
    f->y_high = f->y_step ? ceil(high / f->y_step) * f->y_step : log_tick(high, 1);
    if (p->is_percent) { /* both are ticks of every step */
        f->y_low = fmax(f->y_low, 0);
        f->y_high = fmin(f->y_high, 100);
    }
}

static void tick_text(double value, double step, char *text, size_t size)
{
    const double largest = fmax(fabs(value), step);
    if (largest < 1e-4 || largest >= 1e6) { /* as 1e-9: too many zeros */
        snprintf(text, size, "%.3g", fabs(value) < step * 1e-6 ? 0 : value);
        return;
    }
    int digits = (int)fmax(0, ceil(-log10(step) - 1e-9));
    if (fabs(value) < step * 1e-6) value = 0;
    snprintf(text, size, "%.*f", digits > 9 ? 9 : digits, value);
}

static void axes(canvas *c, const plot_area *f, const curve_figure *figure, const curve_panel *p)
{
    static const double grid_grey = 0.88, fine_grey = 0.96, frame_grey = 0.35;
    char text[32];
    double step = f->y_step;
    for (double v = f->y_low; v <= f->y_high + fmax(step / 2, 1e-6);
         v = step ? v + step : log_tick(v + 0.01, 1)) {
        const double value = f->is_log ? pow(10, v) : v, at = down(f, value);
        canvas_line(c, f->x, at, f->width, 0, grid_grey);
        tick_text(value, f->is_log ? value : step, text, sizeof text);
        canvas_text(c, f->x - 6, at + 3, TEXT_RIGHT, style_tick, text);
        for (int k = 2; f->is_log && k < 10 && v < f->y_high - step / 2 && step == 1; k++)
            canvas_line(c, f->x, down(f, k * value), f->width, 0, fine_grey);
    }
    step = nice_step(f->x_high - f->x_low, 6);
    if (step < 1 && f->x_high - f->x_low >= 2) step = 1;
    for (double v = ceil(f->x_low / step) * step; v <= f->x_high + step * 1e-6; v += step) {
        canvas_line(c, across(f, v), f->y, 0, f->height, grid_grey);
        if (figure->x_is_log2)
            snprintf(text, sizeof text, "%.0f", exp2(v));
        else
            tick_text(v, step, text, sizeof text);
        canvas_text(c, across(f, v), f->y + f->height + 13, TEXT_CENTRE, style_tick, text);
    }
    canvas_frame(c, f->x, f->y, f->width, f->height, frame_grey);
    canvas_text(c, f->x + f->width / 2, f->y + f->height + 29, TEXT_CENTRE, style_label,
                p->x_label ? p->x_label : figure->x_label);
    canvas_text_upward(c, f->x - Y_AXIS + 12, f->y + f->height / 2, style_label, p->y_label);
}

static void dot(cairo_t *cr, double x, double y, int is_ring)
{
    cairo_new_sub_path(cr);
    cairo_arc(cr, x, y, 2.6, 0, 6.283185307179586);
    if (is_ring) {
        cairo_save(cr);
        cairo_set_source_rgb(cr, 1, 1, 1);
        cairo_fill_preserve(cr);
        cairo_restore(cr);
        cairo_set_line_width(cr, 1);
        cairo_stroke(cr);
    }
    cairo_fill(cr);
}

static int is_drawn(const plot_area *f, const curve *one, int i)
{
    return isfinite(one->x[i]) && isfinite(height_of(f->is_log, one->y[i]));
}

static void set_line(cairo_t *cr, const curve *one)
{
    static const double dashes[][4] = {{0}, {7, 3, 7, 3}, {2, 2, 2, 2}, {8, 2, 2, 2}};
    cairo_set_source_rgb(cr, one->colour.red, one->colour.green, one->colour.blue);
    cairo_set_line_width(cr, 1.4);
    cairo_set_dash(cr, dashes[one->dash % 4], one->dash % 4 ? 4 : 0, 0);
}

/* Whether a point can be drawn, and has a deviation. */
static int has_spread(const plot_area *f, const curve *one, int i)
{
    return i < one->count && is_drawn(f, one, i) && isfinite(one->spread[i]);
}

/* An area of one deviation to each side, between points that follow one another. */
static void draw_band(cairo_t *cr, const plot_area *f, const curve *one)
{
    cairo_set_source_rgba(cr, one->colour.red, one->colour.green, one->colour.blue, 0.18);
    for (int first = 0, end; first < one->count; first = end + 1) {
        cairo_new_path(cr);
        for (end = first; has_spread(f, one, end); end++)
            cairo_line_to(cr, across(f, one->x[end]), down(f, bar_end(one, end, 1, f->is_log)));
        for (int i = end - 1; i >= first; i--)
            cairo_line_to(cr, across(f, one->x[i]), down(f, bar_end(one, i, -1, f->is_log)));
        cairo_close_path(cr);
        cairo_fill(cr);
    }
}

/* Bars of one deviation to each side, within the panel, with a cap at each end. */
static void draw_bars(cairo_t *cr, const plot_area *f, const curve *one)
{
    static const double cap = 3;
    cairo_set_line_width(cr, 1);
    for (int i = 0; i < one->count; i++) {
        if (!has_spread(f, one, i)) continue;
        const double x = across(f, one->x[i]),
                     low = fmin(down(f, bar_end(one, i, -1, f->is_log)), f->y + f->height),
                     high = fmax(down(f, bar_end(one, i, 1, f->is_log)), f->y);
        cairo_move_to(cr, x, low);
        cairo_line_to(cr, x, high);
        cairo_move_to(cr, x - cap, low);
        cairo_rel_line_to(cr, 2 * cap, 0);
        cairo_move_to(cr, x - cap, high);
        cairo_rel_line_to(cr, 2 * cap, 0);
    }
    cairo_stroke(cr);
}

static void draw_curve(cairo_t *cr, const plot_area *f, const curve *one)
{
    int open = 0;
    set_line(cr, one);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    for (int i = 0; i < one->count; i++) {
        if (!is_drawn(f, one, i)) {
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
    cairo_set_dash(cr, NULL, 0, 0);
    if (one->spread && !one->band) draw_bars(cr, f, one);
    for (int i = 0; one->dots && i < one->count; i++)
        if (is_drawn(f, one, i))
            dot(cr, across(f, one->x[i]), down(f, one->y[i]), i > 0 && one->dots == 2);
}

/* A sample of the line, and its name. */
static void legend_entry(canvas *c, double x, double middle, const curve *one)
{
    cairo_t *cr = canvas_cairo(c);
    set_line(cr, one);
    cairo_move_to(cr, x, middle);
    cairo_rel_line_to(cr, LEGEND_MARK, 0);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    if (one->dots) dot(cr, x + LEGEND_MARK / 2.0, middle, 0);
    canvas_text(c, x + 6 + LEGEND_MARK, middle + 3.5, TEXT_LEFT, style_label, one->name);
}

static double entry_width(const curve *one)
{
    return LEGEND_MARK + 6 + canvas_text_width(style_label, one->name);
}

static void legend(canvas *c, const plot_area *f, const curve_panel *p)
{
    cairo_t *cr = canvas_cairo(c);
    double width = 0, height = LEGEND_LINE * p->count + 6;
    for (int i = 0; i < p->count; i++) width = fmax(width, entry_width(&p->curves[i]));
    width += 2 * 6;
    double x = f->x + f->width - width - LEGEND_PAD;
    double y = p->legend_below ? f->y + f->height - height - LEGEND_PAD : f->y + LEGEND_PAD;
    cairo_rectangle(cr, x, y, width, height);
    cairo_set_source_rgba(cr, 1, 1, 1, 0.85);
    cairo_fill_preserve(cr);
    cairo_set_source_rgb(cr, 0.8, 0.8, 0.8);
    cairo_set_line_width(cr, 0.5);
    cairo_stroke(cr);
    for (int i = 0; i < p->count; i++)
        legend_entry(c, x + 6, y + 3 + LEGEND_LINE * (i + 0.5), &p->curves[i]);
}

/* The name of a scattered curve, beside its first point. */
typedef struct point_name {
    const curve *curve;
    double x, y;
} point_name;

static int by_height(const void *left, const void *right)
{
    const double a = ((const point_name *)left)->y, b = ((const point_name *)right)->y;
    return (a > b) - (a < b);
}

/* Names are right of their points, or left of them where the panel ends, and one below another. */
static void name_points(canvas *c, const plot_area *f, const curve_panel *p)
{
    enum { MAX_NAMES = 64, GAP = 6, LINE = 10 };
    point_name names[MAX_NAMES];
    cairo_t *cr = canvas_cairo(c);
    int count = 0;
    for (int k = 0; k < p->count && count < MAX_NAMES; k++)
        if (is_drawn(f, &p->curves[k], 0))
            names[count++] = (point_name){&p->curves[k], across(f, p->curves[k].x[0]) + GAP,
                                          down(f, p->curves[k].y[0]) + 3};
    qsort(names, (size_t)count, sizeof *names, by_height);
    for (int i = 1; i < count; i++) names[i].y = fmax(names[i].y, names[i - 1].y + LINE);
    const double bottom = f->y + f->height - 2; /* pushed up again where they would leave it */
    for (int i = count - 1; i >= 0; i--)
        names[i].y = fmin(names[i].y, i == count - 1 ? bottom : names[i + 1].y - LINE);
    for (int i = 0; i < count; i++) {
        const point_name *n = &names[i];
        const double width = canvas_text_width(style_tick, n->curve->name),
                     x = n->x + width > f->x + f->width ? n->x - 2 * GAP - width : n->x;
        /* drawn by canvas_text in grey: the line of the curve leads to it */
        cairo_rectangle(cr, x - 1, n->y - LINE + 2, width + 2, LINE);
        cairo_set_source_rgba(cr, 1, 1, 1, 0.85);
        cairo_fill(cr);
        set_line(cr, n->curve);
        cairo_set_line_width(cr, 0.4);
        cairo_move_to(cr, n->x - GAP, down(f, n->curve->y[0]));
        cairo_line_to(cr, x < n->x ? n->x - 2 * GAP : n->x - 1, n->y - 3);
        cairo_stroke(cr);
        canvas_text(c, x, n->y, TEXT_LEFT, style_tick, n->curve->name);
    }
}

/* Draws the names from left to right, in as many lines as needed, and returns the height. Without a
 * canvas it only measures. */
static double legend_above(canvas *c, double top, double width, const curve_panel *p)
{
    double x = 0, y = 0;
    for (int i = 0; i < p->count; i++) {
        const double own = entry_width(&p->curves[i]);
        if (x > 0 && x + own > width) {
            x = 0;
            y += LEGEND_LINE;
        }
        if (c) legend_entry(c, MARGIN + Y_AXIS + x, top + y + LEGEND_LINE / 2.0, &p->curves[i]);
        x += own + LEGEND_GAP;
    }
    return y + LEGEND_LINE + LEGEND_PAD;
}

/* The page is at least as wide as its title, and as the longest name above the panels. */
static double widest_text(const curve_figure *figure)
{
    double widest = 0;
    if (figure->title) widest = canvas_text_width(style_title, figure->title) - Y_AXIS;
    for (int i = 0; figure->shared_legend && i < figure->panels[0].count; i++)
        widest = fmax(widest, entry_width(&figure->panels[0].curves[i]));
    return widest;
}

ssm2d_status curves_draw(const ssm2d_context *context, const char *path, const curve_figure *figure,
                         ssm2d_error *error)
{
    canvas *c;
    const int columns = figure->columns ? figure->columns : figure->count,
              rows = (figure->count + columns - 1) / columns;
    const double panels = columns * (Y_AXIS + PANEL_WIDTH) + (columns - 1) * PANEL_GAP,
                 width = 2 * MARGIN + fmax(panels, Y_AXIS + widest_text(figure)),
                 legend_width = width - 2 * MARGIN - Y_AXIS;
    const double title = MARGIN + (figure->title ? TITLE_HEIGHT : 0),
                 top = title
                       + (figure->shared_legend
                              ? legend_above(NULL, title, legend_width, &figure->panels[0])
                              : 0),
                 height = top + MARGIN + rows * (PANEL_HEIGHT + X_AXIS) + (rows - 1) * ROW_GAP;
    const canvas_note n = note_lay_out(figure->note, width - 2 * MARGIN);
    ssm2d_status status = canvas_open(context, path, width, height + n.height, &c, error);
    if (status) return status;
    note_draw(c, &n, MARGIN, height + n.height - MARGIN);
    if (figure->title) canvas_text(c, MARGIN, MARGIN + 14, TEXT_LEFT, style_title, figure->title);
    if (figure->shared_legend) legend_above(c, title, legend_width, &figure->panels[0]);
    for (int i = 0; i < figure->count; i++) {
        const curve_panel *p = &figure->panels[i];
        plot_area f = {.x = MARGIN + Y_AXIS + i % columns * (Y_AXIS + PANEL_WIDTH + PANEL_GAP),
                       .y = top + i / columns * (PANEL_HEIGHT + X_AXIS + ROW_GAP),
                       .width = PANEL_WIDTH,
                       .height = PANEL_HEIGHT,
                       .x_low = p->x_low < p->x_high ? p->x_low : figure->x_low,
                       .x_high = p->x_low < p->x_high ? p->x_high : figure->x_high};
        set_limits(&f, p);
        axes(c, &f, figure, p);
        cairo_save(canvas_cairo(c));
        cairo_rectangle(canvas_cairo(c), f.x, f.y, f.width, f.height);
        cairo_clip(canvas_cairo(c));
        for (int k = 0; k < p->count; k++) /* below every line */
            if (p->curves[k].spread && p->curves[k].band)
                draw_band(canvas_cairo(c), &f, &p->curves[k]);
        cairo_restore(canvas_cairo(c));
        for (int k = 0; k < p->count; k++) draw_curve(canvas_cairo(c), &f, &p->curves[k]);
        if (p->is_scatter)
            name_points(c, &f, p);
        else if (!figure->shared_legend)
            legend(c, &f, p);
    }
    return canvas_finish(c, error);
}
