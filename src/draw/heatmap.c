/* All lengths are in points. Where possible, the side of a cell is a multiple of half a point (a
 * pixel of a PNG), so that all cells have the same size. */
#include "draw/heatmap.h"

#include "core/arith.h"
#include "draw/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 18, TITLE_HEIGHT = 30, COLUMN_TITLE = 20, ROW_TITLE = 22 };
enum { Y_AXIS = 42, X_AXIS = 32, ROW_GAP = 18, TEXT_GAP = 10, PANEL_GAP = 14, ASIDE_GAP = 26 };
enum { BAR_GAP = 6, BAR_WIDTH = 9, BAR_TEXT = 40, SHARED_GAP = 16 }; /* of colour bars */
enum { PANEL_SIDE = 132, ASIDE_SIDE = 280, MIN_SIDE = 14 };
enum { TICK_WIDTH = 22, TICK_HEIGHT = 11 }; /* of a tick's label */
enum { DECADES = 4 };                       /* of a logarithmic scale, at most */
enum { NOTE_WIDTH = 360 };                  /* of a line of the note, at least */

static const double line_grey = 0.35;
static const text_style style_title = {15, 1, 0.1}, style_head = {11, 1, 0.15},
                        style_label = {10, 0, 0.2}, style_tick = {8.5, 0, 0.3};

typedef struct box {
    double x, y, width, height;
} box;

typedef struct limits {
    double low, high;
} limits;

typedef struct layout {
    double panel_width, panel_height, step_x, step_y; /* of the grid */
    double grid_x, grid_y, grid_width, grid_height;
    box aside;
    double width, height;
} layout;

/* ---- values to colours ----------------------------------------------------------------------- */

/* The values at the ends of the colour scale of `count` panels. Panels of zeros get a scale up to
 * 1. */
static limits limits_of(const heat_panel *panels, int count)
{
    double max = 0, min = INFINITY; /* of the finite absolute values; min: of those but 0 */
    for (int k = 0; k < count; k++)
        for (size_t i = 0, n = (size_t)panels[k].rows * (size_t)panels[k].cols; i < n; i++) {
            const double magnitude = fabs(panels[k].values[i]);
            if (!isfinite(magnitude)) continue;
            max = fmax(max, magnitude);
            if (magnitude > 0) min = fmin(min, magnitude);
        }
    if (!(max > 0)) min = max = 1;
    if (panels->map == COLOUR_DIVERGING) return (limits){-max, max};
    if (!panels->logarithmic) return (limits){0, max};
    const double decades = ceil(log10(max) - log10(min));
    return (limits){max * pow(10, -fmin(fmax(decades, 1), DECADES)), max};
}

/* The position of a value on the colour scale, from 0 to 1; NaN stays NaN. */
static double position(const heat_panel *p, limits l, double value)
{
    if (p->logarithmic)
        return value > l.low    ? log(value / l.low) / log(l.high / l.low)
               : value <= l.low ? 0
                                : value;
    return (value - l.low) / (l.high - l.low);
}

static uint32_t pixel_of(colour c)
{
    return (uint32_t)lround(255 * c.red) << 16 | (uint32_t)lround(255 * c.green) << 8
           | (uint32_t)lround(255 * c.blue);
}

/* ---- text of numbers ------------------------------------------------------------------------- */

/* A proper minus sign, and no zeros before an exponent: 1.5e-05 is 1.5e-5. */
static const char *number_text(double value, char *text, size_t size)
{
    char plain[32];
    size_t used = 0;
    snprintf(plain, sizeof plain, "%.2g", value);
    for (const char *s = plain; *s && used + 4 < size; s++) {
        if (*s == '+'
            || (*s == '0' && s > plain && (s[-1] == '-' || s[-1] == '+') && s > plain + 1))
            continue;
        if (*s == '-') {
            memcpy(text + used, "\xe2\x88\x92", 3);
            used += 3;
        } else {
            text[used++] = *s;
        }
    }
    text[used] = 0;
    return text;
}

/* The distance between ticks in cells, 1, 2, 5, 10, ..: at most about five ticks on `length`, each
 * with `label_length` for its label. */
static int tick_step(int cells, double length, double label_length)
{
    static const int steps[] = {1, 2, 5};
    const int max_ticks = (int)fmin(4, length / label_length);
    int scale = 1;
    for (;; scale *= 10)
        for (int i = 0; i < 3; i++)
            if ((cells - 1) / (steps[i] * scale) <= max_ticks) return steps[i] * scale;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void frame(canvas *c, box b) { canvas_frame(c, b.x, b.y, b.width, b.height, line_grey); }

static void paint_image(cairo_t *cr, cairo_surface_t *image, box b)
{
    double width = cairo_image_surface_get_width(image),
           height = cairo_image_surface_get_height(image);
    cairo_surface_mark_dirty(image);
    cairo_save(cr);
    cairo_translate(cr, b.x, b.y);
    cairo_scale(cr, b.width / width, b.height / height);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr),
                             width <= 2 * b.width + 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_pattern_set_extend(cairo_get_source(cr), CAIRO_EXTEND_PAD);
    cairo_rectangle(cr, 0, 0, width, height);
    cairo_fill(cr);
    cairo_restore(cr);
}

/* A frame around the marked cells: black inside white, visible on any colour. */
static void paint_mark(canvas *c, const heat_panel *p, box b)
{
    const heat_mark *m = &p->mark;
    cairo_t *cr = canvas_cairo(c);
    const double cell_x = b.width / p->cols, cell_y = b.height / p->rows;
    const int above = p->from_below ? p->rows - m->row - m->rows : m->row;
    if (!m->rows) return;
    for (int i = 0; i < 2; i++) {
        cairo_rectangle(cr, b.x + m->col * cell_x, b.y + above * cell_y, m->cols * cell_x,
                        m->rows * cell_y);
        cairo_set_source_rgb(cr, 1 - i, 1 - i, 1 - i);
        cairo_set_line_width(cr, i ? 1 : 2.5);
        cairo_stroke(cr);
    }
}

/* The point of a position in cells. */
static void cell_point(const heat_panel *p, box b, double row, double col, double *x, double *y)
{
    const double down = (row + 0.5) / p->rows;
    *x = b.x + b.width * (col + 0.5) / p->cols;
    *y = b.y + b.height * (p->from_below ? 1 - down : down);
}

static const char *value_text(double value, char *text, size_t size)
{
    if (value != round(value) || fabs(value) >= 1e6) return number_text(value, text, size);
    snprintf(text, size, "%.0f", value);
    return text;
}

/* The largest size of text in which every value fits its cell; 0: they do not. */
static double value_size(const heat_panel *p, box b)
{
    static const double smallest = 6;
    char text[48];
    double size = style_tick.size;
    for (size_t i = 0, n = (size_t)p->rows * (size_t)p->cols; i < n && size >= smallest;) {
        const text_style style = {size, 0, 0};
        value_text(p->values[i], text, sizeof text);
        if (canvas_text_width(style, text) > b.width / p->cols - 2 || size > b.height / p->rows)
            size -= 0.5;
        else
            i++;
    }
    return size >= smallest ? size : 0;
}

/* Writes the values into their cells, white on dark colours. */
static void paint_values(canvas *c, const heat_panel *p, limits l, box b)
{
    const double size = p->shows_values ? value_size(p, b) : 0;
    char text[48];
    for (int i = 0; i < p->rows && size > 0; i++)
        for (int j = 0; j < p->cols; j++) {
            const double value = p->values[row_major(i, p->cols, j)], at = position(p, l, value);
            const int is_light = p->map == COLOUR_DIVERGING ? fabs(at - 0.5) < 0.35 : at > 0.6;
            double x, y;
            cell_point(p, b, i, j, &x, &y);
            canvas_text(c, x, y + size / 3, TEXT_CENTRE, (text_style){size, 0, is_light ? 0.1 : 1},
                        value_text(value, text, sizeof text));
        }
}

static void paint_lines(canvas *c, const heat_panel *p, box b)
{
    cairo_t *cr = canvas_cairo(c);
    for (int k = 0; k < p->line_count; k++) {
        const heat_line *line = &p->lines[k];
        for (int i = 0; i < line->count; i++) {
            double x, y;
            cell_point(p, b, line->rows[i], line->cols[i], &x, &y);
            if (i)
                cairo_line_to(cr, x, y);
            else
                cairo_move_to(cr, x, y);
        }
        cairo_set_source_rgb(cr, line->colour.red, line->colour.green, line->colour.blue);
        cairo_set_line_width(cr, 1.5);
        cairo_stroke(cr);
    }
}

/* Paints the cells as an image with several pixels per cell, because some SVG viewers blur enlarged
 * images. */
static void paint_cells(canvas *c, const heat_panel *p, limits l, box b)
{
    const int across = max_int((int)(2 * b.width) / p->cols, 1); /* pixels per cell */
    const int down = max_int((int)(2 * b.height) / p->rows, 1);
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, p->cols * across, p->rows * down);
    unsigned char *data = cairo_image_surface_get_data(image);
    size_t stride = (size_t)cairo_image_surface_get_stride(image);
    for (int i = 0; data && i < p->rows * down; i++) {
        int row = i / down;
        const double *values =
            p->values + (size_t)(p->from_below ? p->rows - 1 - row : row) * (size_t)p->cols;
        uint32_t *pixels = (uint32_t *)(void *)(data + (size_t)i * stride);
        for (int j = 0; j < p->cols; j++) {
            uint32_t pixel = pixel_of(colour_at(p->map, position(p, l, values[j])));
            for (int k = 0; k < across; k++) pixels[row_major(j, across, k)] = pixel;
        }
    }
    paint_image(canvas_cairo(c), image, b);
    cairo_surface_destroy(image);
    paint_mark(c, p, b);
    paint_values(c, p, l, b);
    paint_lines(c, p, b);
    frame(c, b);
}

static void bar_tick(canvas *c, box b, double at, const char *text)
{
    double y = b.y + b.height * (1 - at);
    canvas_line(c, b.x + b.width, y, 2.5, 0, line_grey);
    canvas_text(c, b.x + b.width + 5, y + 3, TEXT_LEFT, style_tick, text);
}

static void colour_bar(canvas *c, const heat_panel *p, limits l, box b)
{
    enum { SHADES = 256 };
    char text[48];
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, SHADES);
    unsigned char *data = cairo_image_surface_get_data(image);
    for (int i = 0; data && i < SHADES; i++)
        *(uint32_t *)(void *)(data + row_major(i, cairo_image_surface_get_stride(image), 0)) =
            pixel_of(colour_at(p->map, 1 - (double)i / (SHADES - 1)));
    paint_image(canvas_cairo(c), image, b);
    cairo_surface_destroy(image);
    frame(c, b);

    if (b.height < 3 * style_tick.size) {
        bar_tick(c, b, 0, number_text(l.low, text, sizeof text));
        bar_tick(c, b, 1, number_text(l.high, text, sizeof text));
    } else if (p->logarithmic) {
        for (double tick = pow(10, ceil(log10(l.low))); tick <= l.high * 1.0001; tick *= 10)
            bar_tick(c, b, position(p, l, tick), number_text(tick, text, sizeof text));
    } else {
        for (int i = 0; i <= 2; i++)
            bar_tick(c, b, i / 2.0,
                     number_text(l.low + i / 2.0 * (l.high - l.low), text, sizeof text));
    }
}

static void x_axis(canvas *c, const heat_panel *p, box b)
{
    const int step = tick_step(p->cols, b.width, TICK_WIDTH);
    char text[48];
    for (int j = 0; j < p->cols; j++) {
        if ((p->col_first + j) % step) continue;
        double x = b.x + b.width * (j + 0.5) / p->cols;
        canvas_line(c, x, b.y + b.height, 0, 2.5, line_grey);
        canvas_text(c, x, b.y + b.height + 12, TEXT_CENTRE, style_tick,
                    number_text(p->col_first + j, text, sizeof text));
    }
    canvas_text(c, b.x + b.width / 2, b.y + b.height + 26, TEXT_CENTRE, style_label, p->col_label);
}

static void y_axis(canvas *c, const heat_panel *p, box b)
{
    const int step = tick_step(p->rows, b.height, TICK_HEIGHT);
    char text[48];
    for (int i = 0; i < p->rows; i++) {
        if ((p->row_first + i) % step) continue;
        double at = (i + 0.5) / p->rows, y = b.y + b.height * (p->from_below ? 1 - at : at);
        canvas_line(c, b.x, y, -2.5, 0, line_grey);
        canvas_text(c, b.x - 5, y + 3, TEXT_RIGHT, style_tick,
                    number_text(p->row_first + i, text, sizeof text));
    }
    canvas_text_upward(c, b.x - 30, b.y + b.height / 2, style_label, p->row_label);
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* The size of a panel whose longer side is about `side`. */
static void panel_size(const heat_panel *p, double side, double *width, double *height)
{
    const int longer = max_int(p->rows, p->cols);
    double cell = 2 * side >= longer ? floor(2 * side / longer) / 2 : side / longer;
    *width = fmax(p->cols * cell, MIN_SIDE);
    *height = fmax(p->rows * cell, MIN_SIDE);
}

static layout lay_out(const heat_figure *f)
{
    layout l = {0};
    const double bar = BAR_GAP + BAR_WIDTH + BAR_TEXT;
    const double top = MARGIN + (f->title ? TITLE_HEIGHT : 0) + COLUMN_TITLE;
    panel_size(f->panels, PANEL_SIDE, &l.panel_width, &l.panel_height);
    l.step_x = l.panel_width + (f->shared_scale ? 0 : bar) + PANEL_GAP;
    l.step_y = l.panel_height + ROW_GAP;
    for (int i = 0; i < f->grid_cols; i++)
        l.step_x = fmax(l.step_x, canvas_text_width(style_head, f->col_titles[i]) + TEXT_GAP);
    for (int i = 0; i < f->grid_rows; i++)
        l.step_y = fmax(l.step_y, canvas_text_width(style_head, f->row_titles[i]) + TEXT_GAP);
    l.grid_x = MARGIN + ROW_TITLE + Y_AXIS;
    l.grid_y = top;
    l.grid_width = (f->grid_cols - 1) * l.step_x + l.panel_width + (f->shared_scale ? 0 : bar);
    l.grid_height = (f->grid_rows - 1) * l.step_y + l.panel_height;
    double right = l.grid_x + l.grid_width + (f->shared_scale ? SHARED_GAP + bar : 0),
           height = l.grid_height;
    if (f->aside) {
        panel_size(f->aside, ASIDE_SIDE, &l.aside.width, &l.aside.height);
        height = fmax(height, l.aside.height);
        l.aside.x = right + ASIDE_GAP + Y_AXIS;
        right = l.aside.x + l.aside.width + bar;
        l.aside.y = l.grid_y + (height - l.aside.height) / 2;
        l.grid_y += (height - l.grid_height) / 2;
    }
    l.width = right + MARGIN;
    if (f->title) l.width = fmax(l.width, canvas_text_width(style_title, f->title) + 2 * MARGIN);
    l.height = top + height + X_AXIS + MARGIN;
    return l;
}

static void draw_grid(canvas *c, const heat_figure *f, const layout *l)
{
    const limits shared = limits_of(f->panels, f->grid_rows * f->grid_cols);
    for (int i = 0; i < f->grid_rows; i++) {
        for (int j = 0; j < f->grid_cols; j++) {
            const heat_panel *p = &f->panels[row_major(i, f->grid_cols, j)];
            box b = {l->grid_x + j * l->step_x, l->grid_y + i * l->step_y, l->panel_width,
                     l->panel_height};
            limits range = f->shared_scale ? shared : limits_of(p, 1);
            paint_cells(c, p, range, b);
            if (!f->shared_scale)
                colour_bar(c, p, range, (box){b.x + b.width + BAR_GAP, b.y, BAR_WIDTH, b.height});
            if (i == 0)
                canvas_text(c, b.x + b.width / 2, b.y - 8, TEXT_CENTRE, style_head,
                            f->col_titles[j]);
            if (i == f->grid_rows - 1) x_axis(c, p, b);
            if (j == 0) y_axis(c, p, b);
        }
        canvas_text_upward(c, MARGIN + 11, l->grid_y + i * l->step_y + l->panel_height / 2,
                           style_head, f->row_titles[i]);
    }
    if (f->shared_scale)
        colour_bar(
            c, f->panels, shared,
            (box){l->grid_x + l->grid_width + SHARED_GAP, l->grid_y, BAR_WIDTH, l->grid_height});
}

ssm2d_status heatmap_draw(const ssm2d_context *context, const char *path, const heat_figure *f,
                          ssm2d_error *error)
{
    layout l = lay_out(f);
    canvas *c;
    const canvas_note n = note_lay_out(f->note, fmax(l.width - 2 * MARGIN, NOTE_WIDTH));
    l.width = fmax(l.width, n.width + 2 * MARGIN);
    l.height += n.height;
    ssm2d_status status = canvas_open(context, path, l.width, l.height, &c, error);
    if (status) return status;
    if (f->title) canvas_text(c, MARGIN, MARGIN + 14, TEXT_LEFT, style_title, f->title);
    draw_grid(c, f, &l);
    if (f->aside) {
        limits range = limits_of(f->aside, 1);
        box b = l.aside;
        paint_cells(c, f->aside, range, b);
        colour_bar(c, f->aside, range, (box){b.x + b.width + BAR_GAP, b.y, BAR_WIDTH, b.height});
        x_axis(c, f->aside, b);
        y_axis(c, f->aside, b);
        canvas_text(c, b.x + b.width / 2, b.y - 8, TEXT_CENTRE, style_head, f->aside_title);
    }
    note_draw(c, &n, MARGIN, l.height - MARGIN);
    return canvas_finish(c, error);
}
