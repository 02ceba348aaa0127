#include "data/resize.h"

#include "core/context.h"
#include "core/status.h"
#include "data/resize_axis.h"
#include "io/text.h"

#include <string.h>

/* Memory that grows, but never shrinks. */
typedef struct block {
    void *memory;
    size_t size;
} block;

struct resize {
    const ssm2d_context *context;
    size_t rows, cols; /* of the output */
    int channels;
    resize_chooser *choose;
    void *user;
    resize_region region;
    int in_channels;
    resize_axis across, down;
    block across_block, down_block, row_buffer, converted, ring;
    uint8_t *out;
    size_t rows_read, rows_done; /* of the source, and of the output */
};

static int block_reserve(const ssm2d_context *context, block *b, size_t size)
{
    if (size <= b->size) return 1;
    mem_free(context, b->memory);
    b->memory = mem_alloc(context, size);
    b->size = b->memory ? size : 0;
    return b->memory != NULL;
}

ssm2d_status resize_create(const ssm2d_context *context, size_t rows, size_t cols, int channels,
                           resize **out, ssm2d_error *error)
{
    *out = NULL;
    if (rows < 1 || rows > MAX_IMAGE_SIDE || cols < 1 || cols > MAX_IMAGE_SIDE
        || (channels != 1 && channels != 3))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "images of %zu x %zu x %d: use 1 to %d rows and columns, and 1 or 3 channels",
                    rows, cols, channels, MAX_IMAGE_SIDE);
    resize *r = mem_alloc(context, sizeof *r);
    if (!r) return fail_memory(error, "resizing images");
    *r = (resize){.context = context, .rows = rows, .cols = cols, .channels = channels};
    *out = r;
    return SSM2D_OK;
}

void resize_destroy(resize *r)
{
    if (!r) return;
    const ssm2d_context *context = r->context;
    block *blocks[] = {&r->across_block, &r->down_block, &r->row_buffer, &r->converted, &r->ring};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        mem_free(context, blocks[i]->memory);
    mem_free(context, r);
}

void resize_choose_with(resize *r, resize_chooser *choose, void *user)
{
    r->choose = choose;
    r->user = user;
}

/* Returns 0 if out of memory. */
static int plan_axis(const ssm2d_context *context, resize_axis *a, block *b, resize_filter filter,
                     size_t from, size_t to, size_t window, size_t outputs)
{
    if (axis_is(a, filter, from, to, window, outputs)) return 1;
    a->from = 0;
    if (!block_reserve(context, b, axis_bytes(filter, from, to, outputs))) return 0;
    axis_plan(a, filter, from, to, window, outputs, b->memory);
    return 1;
}

static int keeps_rows(const resize *r) { return r->region.rows == r->region.resized_rows; }
static int keeps_cols(const resize *r) { return r->region.cols == r->region.resized_cols; }

/* Allocates buffers and computes weights for the region. Returns 0 if out of memory. */
static int prepare(resize *r, size_t cols, int channels)
{
    const resize_region *g = &r->region;
    const size_t line = r->cols * (size_t)r->channels;
    if (!block_reserve(r->context, &r->row_buffer, cols * (size_t)channels)) return 0;
    if (channels != r->channels
        && !block_reserve(r->context, &r->converted, g->cols * (size_t)r->channels))
        return 0;
    if (!keeps_cols(r)
        && !plan_axis(r->context, &r->across, &r->across_block, g->filter, g->cols, g->resized_cols,
                      g->window_left, r->cols))
        return 0;
    if (keeps_rows(r)) return 1;
    return plan_axis(r->context, &r->down, &r->down_block, g->filter, g->rows, g->resized_rows,
                     g->window_top, r->rows)
           && block_reserve(r->context, &r->ring, r->down.taps * line);
}

/* Whether the range of `count` pixels from `first` is not empty and within `size`. */
static int within(size_t first, size_t count, size_t size)
{
    return count >= 1 && count <= size && first <= size - count;
}

static int region_fits(const resize *r, size_t rows, size_t cols)
{
    const resize_region *g = &r->region;
    return within(g->top, g->rows, rows) && within(g->left, g->cols, cols)
           && g->resized_rows <= MAX_IMAGE_SIDE && g->resized_cols <= MAX_IMAGE_SIDE
           && within(g->window_top, r->rows, g->resized_rows)
           && within(g->window_left, r->cols, g->resized_cols);
}

/* Called twice for the same source, it returns the same region. */
static resize_region choose_region(const resize *r, size_t rows, size_t cols)
{
    resize_region g = {
        .rows = rows, .cols = cols, .resized_rows = r->rows, .resized_cols = r->cols};
    if (r->choose) r->choose(r->user, rows, cols, &g);
    return g;
}

int resize_reduction(const resize *r, size_t rows, size_t cols)
{
    const resize_region g = choose_region(r, rows, cols);
    size_t by = g.may_reduce ? 8 : 1;
    while (by > 1 && (g.rows < by * g.resized_rows || g.cols < by * g.resized_cols)) by /= 2;
    return (int)by;
}

/* Converts a range of pixels to one of an image reduced by the factor `by`, with `size` pixels; the
 * range keeps at least one pixel. */
static void divide(size_t *first, size_t *count, size_t by, size_t size)
{
    const size_t end = (*first + *count + by / 2) / by, last = end < size ? end : size;
    const size_t start = (*first + by / 2) / by;
    *first = start < size ? start : size - 1;
    *count = last > *first ? last - *first : 1;
}

ssm2d_status resize_start(resize *r, const char *name, size_t rows, size_t cols, int channels,
                          uint8_t *out, ssm2d_error *error)
{
    return resize_start_reduced(r, name, rows, cols, channels, 1, out, error);
}

ssm2d_status resize_start_reduced(resize *r, const char *name, size_t rows, size_t cols,
                                  int channels, int reduction, uint8_t *out, ssm2d_error *error)
{
    if (rows < 1 || rows > MAX_IMAGE_SIDE || cols < 1 || cols > MAX_IMAGE_SIDE)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %zu x %zu pixels: at most %d rows and columns are supported",
                    text_path(name), rows, cols, MAX_IMAGE_SIDE);
    resize_region *g = &r->region;
    *g = choose_region(r, rows, cols);
    if (reduction > 1 && region_fits(r, rows, cols)) {
        const size_t by = (size_t)reduction;
        rows = (rows + by - 1) / by;
        cols = (cols + by - 1) / by;
        divide(&g->top, &g->rows, by, rows);
        divide(&g->left, &g->cols, by, cols);
    }
    if (!region_fits(r, rows, cols))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: the region %zu x %zu at (%zu, %zu), resized to %zu x %zu with a window at "
                    "(%zu, %zu), does not fit an image of %zu x %zu",
                    text_path(name), g->rows, g->cols, g->top, g->left, g->resized_rows,
                    g->resized_cols, g->window_top, g->window_left, rows, cols);
    if (!prepare(r, cols, channels)) return fail_memory(error, "resizing %s", text_path(name));
    r->in_channels = channels;
    r->out = out;
    r->rows_read = r->rows_done = 0;
    return SSM2D_OK;
}

int resize_is_complete(const resize *r) { return r->rows_done == r->rows; }

uint8_t *resize_row_buffer(resize *r) { return r->row_buffer.memory; }

/* The region's columns of a row, converted to the channels of the output. */
static const uint8_t *convert(resize *r, const uint8_t *row)
{
    uint8_t *out = r->converted.memory;
    row += r->region.left * (size_t)r->in_channels;
    if (r->in_channels == r->channels) return row;
    for (size_t i = 0; i < r->region.cols; i++)
        if (r->channels == 3)
            out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = row[i];
        else
            out[i] = pixel_luma(row + 3 * i);
    return out;
}

void resize_row(resize *r, const uint8_t *row)
{
    const resize_region *g = &r->region;
    const size_t line = r->cols * (size_t)r->channels,
                 y = r->rows_read++ - g->top; /* in the region */
    const int keeps = keeps_rows(r);
    /* skip rows that no output depends on; for rows above the region y wraps around */
    const size_t first = keeps ? g->window_top : (size_t)r->down.first[0];
    if (y >= g->rows || y < first || r->rows_done == r->rows) return;
    uint8_t *to = keeps ? r->out + r->rows_done++ * line
                        : (uint8_t *)r->ring.memory + y % r->down.taps * line;
    row = convert(r, row);
    if (keeps_cols(r))
        memcpy(to, row + g->window_left * (size_t)r->channels, line);
    else
        axis_across(&r->across, row, r->channels, to);
    while (!keeps && r->rows_done < r->rows
           && (size_t)(r->down.first[r->rows_done] + r->down.count[r->rows_done]) <= y + 1) {
        axis_down(&r->down, r->rows_done, r->ring.memory, line, r->out + r->rows_done * line);
        r->rows_done++;
    }
}
