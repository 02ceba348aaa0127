/* All lengths are points. */
#include "draw/confusion.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "draw/canvas.h"
#include "draw/colour.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 18, TITLE = 30, AXIS = 18, BAR = 10, BAR_GAP = 16, BAR_TEXT = 40, MAX_NAME = 110 };

/* ---- cells ----------------------------------------------------------------------------------- */

static int by_pair(const void *a, const void *b)
{
    const confusion_cell *x = a, *y = b;
    if (x->truth != y->truth) return x->truth < y->truth ? -1 : 1;
    return (x->predicted > y->predicted) - (x->predicted < y->predicted);
}

size_t confusion_cells_merge(confusion_cell *cells, size_t count)
{
    size_t left = 0;
    if (count) qsort(cells, count, sizeof *cells, by_pair);
    for (size_t i = 0; i < count; i++) {
        if (left && !by_pair(&cells[left - 1], &cells[i]))
            cells[left - 1].count += cells[i].count;
        else
            cells[left++] = cells[i];
    }
    return left;
}

size_t confusion_row_total(const confusion_cell *cells, size_t count, size_t first, size_t *end)
{
    size_t total = 0;
    for (*end = first; *end < count && cells[*end].truth == cells[first].truth; ++*end)
        total += cells[*end].count;
    return total;
}

/* ---- picture --------------------------------------------------------------------------------- */

enum { WITH_COUNTS = 24, WITH_NAMES = 100 }; /* the most labels with counts, and with names */
enum { MAX_SQUARES = 1400 };                 /* along a side: half a point each */

static const text_style style_title = {14, 1, 0.1}, style_axis = {10, 1, 0.2},
                        style_tick = {8.5, 0, 0.3};

static double cell_side(int label_count)
{
    return label_count <= WITH_COUNTS  ? 26
           : label_count <= WITH_NAMES ? 8
                                       : fmax(0.5, 700. / label_count);
}

/* From white, 0, to dark blue, 1. The square root makes small shares visible. */
static colour shade(double share)
{
    const double t = sqrt(share);
    return (colour){1 - 0.92 * t, 1 - 0.72 * t, 1 - 0.45 * t};
}

static void fill(canvas *c, double x, double y, double width, double height, colour k)
{
    cairo_t *cr = canvas_cairo(c);
    cairo_set_source_rgb(cr, k.red, k.green, k.blue);
    cairo_rectangle(cr, x, y, width, height);
    cairo_fill(cr);
}

static void draw_cell(canvas *c, const confusion *m, const confusion_cell *cell, double share,
                      double left, double top, double side)
{
    const text_style on_light = {8, 0, 0.15}, on_dark = {8, 0, 1};
    char text[24];
    fill(c, left, top, side, side, shade(share));
    if (m->label_count > WITH_COUNTS) return;
    snprintf(text, sizeof text, "%zu", cell->count);
    if (canvas_text_width(on_light, text) > side - 2)
        snprintf(text, sizeof text, "%.0f%%", 100 * share);
    canvas_text(c, left + side / 2, top + side / 2 + 3, TEXT_CENTRE,
                share > 0.3 ? on_dark : on_light, text);
}

static void draw_cells(canvas *c, const confusion *m, double x, double y, double side)
{
    for (size_t first = 0, end; first < m->cell_count; first = end) {
        const size_t total = confusion_row_total(m->cells, m->cell_count, first, &end);
        for (size_t i = first; i < end; i++) {
            const confusion_cell *cell = &m->cells[i];
            draw_cell(c, m, cell, (double)cell->count / (double)total, x + cell->predicted * side,
                      y + cell->truth * side, side);
        }
    }
    canvas_frame(c, x, y, m->label_count * side, m->label_count * side, 0.35);
}

static text_style name_style(double side) { return (text_style){fmin(8.5, side), 0, 0.3}; }

/* Names of columns read upwards. */
static void draw_names(canvas *c, const confusion *m, double x, double y, double side, double space)
{
    const text_style style = name_style(side);
    for (int i = 0; i < m->label_count; i++) {
        char text[128];
        canvas_fit(style, space - 6, m->names[i], text, sizeof text);
        const double at = (i + 0.5) * side;
        canvas_text(c, x - 5, y + at + style.size / 3, TEXT_RIGHT, style, text);
        canvas_text_upward(c, x + at + style.size / 3,
                           y + m->label_count * side + 5 + canvas_text_width(style, text) / 2,
                           style, text);
    }
}

static void draw_scale(canvas *c, double x, double y, double height)
{
    enum { SHADES = 100 };
    for (int i = 0; i < SHADES; i++)
        fill(c, x, y + height * i / SHADES, BAR, height / SHADES + 0.5,
             shade(1 - (double)i / SHADES));
    canvas_frame(c, x, y, BAR, height, 0.35);
    for (int i = 0; i <= 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d %%", 25 * i);
        canvas_text(c, x + BAR + 5, y + height * (4 - i) / 4 + 3, TEXT_LEFT, style_tick, text);
    }
}

/* Draws a matrix with a square per pair of labels. */
static ssm2d_status draw(const ssm2d_context *context, const char *path, const confusion *m,
                         const char *x_label, ssm2d_error *error)
{
    const double side = cell_side(m->label_count), whole = m->label_count * side;
    double names = 0;
    char y_label[64];
    for (int i = 0; i < m->label_count && m->label_count <= WITH_NAMES; i++) {
        char text[128];
        text_valid(m->names[i], text, sizeof text);
        names = fmax(names, canvas_text_width(name_style(side), text) + 8);
    }
    names = fmin(names, MAX_NAME);
    const double x = MARGIN + AXIS + names, y = MARGIN + (m->title ? TITLE : 0),
                 width = x + whole + BAR_GAP + BAR + BAR_TEXT + MARGIN;
    canvas *c;
    ssm2d_status status =
        canvas_open(context, path, width, y + whole + names + AXIS + MARGIN, &c, error);
    if (status) return status;
    if (m->title) {
        text_style title = style_title; /* smaller where there is little space */
        title.size *= fmin(1, (width - 2 * MARGIN) / canvas_text_width(title, m->title));
        canvas_text(c, MARGIN, MARGIN + 14, TEXT_LEFT, title, m->title);
    }
    draw_cells(c, m, x, y, side);
    if (m->label_count <= WITH_NAMES) draw_names(c, m, x, y, side, names);
    snprintf(y_label, sizeof y_label, "true %s", m->one);
    canvas_text_upward(c, MARGIN + 9, y + whole / 2, style_axis, y_label);
    canvas_text(c, x + whole / 2, y + whole + names + AXIS - 2, TEXT_CENTRE, style_axis, x_label);
    draw_scale(c, x + whole + BAR_GAP, y, fmin(whole, 180));
    return canvas_finish(c, error);
}

ssm2d_status confusion_draw(const ssm2d_context *context, const char *path, const confusion *m,
                            ssm2d_error *error)
{
    const int per_square = div_up(m->label_count, MAX_SQUARES);
    char x_label[96];
    snprintf(x_label, sizeof x_label, "predicted %s", m->one);
    if (per_square <= 1) return draw(context, path, m, x_label, error);
    confusion_cell *cells = mem_alloc(context, (m->cell_count + 1) * sizeof *cells);
    if (!cells) return fail_memory(error, "%s: drawing %zu cells", text_path(path), m->cell_count);
    for (size_t i = 0; i < m->cell_count; i++) {
        const confusion_cell *from = &m->cells[i];
        cells[i] =
            (confusion_cell){from->truth / per_square, from->predicted / per_square, from->count};
    }
    const confusion squares = {.title = m->title,
                               .one = m->one,
                               .many = m->many,
                               .label_count = div_up(m->label_count, per_square),
                               .names = m->names,
                               .cells = cells,
                               .cell_count = confusion_cells_merge(cells, m->cell_count)};
    snprintf(x_label, sizeof x_label, "predicted %s; a square is %d x %d %s", m->one, per_square,
             per_square, m->many);
    const ssm2d_status status = draw(context, path, &squares, x_label, error);
    mem_free(context, cells);
    return status;
}
