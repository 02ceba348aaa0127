#include "data/resize.h"

#include "core/context.h"
#include "core/status.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

enum { BITS = 22 }; /* of the weights: with 8 bits of a pixel and the sign they fill 31 */

/* Output place i is the sum of weights[i * taps + k] * input[first[i] + k], k < count[i]. */
typedef struct axis {
    size_t from, to, taps;
    int *first, *count;
    int32_t *weights;
} axis;

/* A block that only grows. */
typedef struct block {
    void *memory;
    size_t size;
} block;

struct resize {
    const ssm2d_context *context;
    size_t rows, cols;
    int channels;
    size_t in_rows, in_cols;
    int in_channels;
    axis across, down;
    block across_block, down_block, space, converted, ring, sums;
    uint8_t *out;
    size_t taken, given; /* input rows, output rows */
};

static int block_room(const ssm2d_context *context, block *b, size_t size)
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
    if (rows < 1 || rows > RESIZE_MOST || cols < 1 || cols > RESIZE_MOST
        || (channels != 1 && channels != 3))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "images of %zu x %zu x %d: use 1 to %d rows and columns, and 1 or 3 channels",
                    rows, cols, channels, RESIZE_MOST);
    resize *r = mem_alloc(context, sizeof *r);
    if (!r) return fail(error, SSM2D_ERROR_MEMORY, "no memory to resize images");
    *r = (resize){.context = context, .rows = rows, .cols = cols, .channels = channels};
    *out = r;
    return SSM2D_OK;
}

void resize_destroy(resize *r)
{
    if (!r) return;
    const ssm2d_context *context = r->context;
    block *blocks[] = {&r->across_block, &r->down_block, &r->space,
                       &r->converted,    &r->ring,       &r->sums};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        mem_free(context, blocks[i]->memory);
    mem_free(context, r);
}

static double triangle(double x) { return x < 0 ? (x > -1 ? 1 + x : 0) : (x < 1 ? 1 - x : 0); }

/* Every operation as in Pillow's precompute_coeffs, so that the roundings are the same. */
static int plan_axis(const ssm2d_context *context, axis *a, block *b, size_t from, size_t to)
{
    if (a->from == from && a->to == to) return 1;
    double scale = (double)from / (double)to, reach = scale < 1 ? 1 : scale;
    size_t taps = (size_t)ceil(reach) * 2 + 1;
    a->from = 0;
    if (!block_room(context, b, to * (2 * sizeof(int) + taps * sizeof(int32_t)))) return 0;
    *a = (axis){from, to, taps, b->memory, (int *)b->memory + to, (int32_t *)b->memory + 2 * to};
    for (size_t i = 0; i < to; i++) {
        double centre = ((double)i + 0.5) * scale, sum = 0, narrow = 1 / reach;
        int first = (int)(centre - reach + 0.5), end = (int)(centre + reach + 0.5);
        if (first < 0) first = 0;
        if (end > (int)from) end = (int)from;
        a->first[i] = first;
        a->count[i] = end - first;
        for (int k = 0; k < end - first; k++) sum += triangle((k + first - centre + 0.5) * narrow);
        for (int k = 0; k < end - first; k++) {
            double weight = triangle((k + first - centre + 0.5) * narrow);
            if (sum != 0) weight /= sum;
            a->weights[i * taps + (size_t)k] = (int32_t)(0.5 + weight * (1 << BITS));
        }
    }
    return 1;
}

ssm2d_status resize_start(resize *r, const char *name, size_t rows, size_t cols, int channels,
                          uint8_t *out, ssm2d_error *error)
{
    if (rows < 1 || rows > RESIZE_MOST || cols < 1 || cols > RESIZE_MOST)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %zu x %zu pixels: at most %d rows and columns are taken",
                    text_path(name), rows, cols, RESIZE_MOST);
    size_t line = r->cols * (size_t)r->channels;
    int good = block_room(r->context, &r->space, cols * (size_t)channels);
    good = good
           && (channels == r->channels
               || block_room(r->context, &r->converted, cols * (size_t)r->channels));
    good =
        good
        && (cols == r->cols || plan_axis(r->context, &r->across, &r->across_block, cols, r->cols));
    good =
        good && (rows == r->rows || plan_axis(r->context, &r->down, &r->down_block, rows, r->rows));
    good = good && (rows == r->rows || block_room(r->context, &r->ring, r->down.taps * line));
    good = good && (rows == r->rows || block_room(r->context, &r->sums, line * sizeof(int32_t)));
    if (!good)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to resize it", text_path(name));
    r->in_rows = rows;
    r->in_cols = cols;
    r->in_channels = channels;
    r->out = out;
    r->taken = r->given = 0;
    return SSM2D_OK;
}

uint8_t *resize_space(resize *r) { return r->space.memory; }

static const uint8_t *convert(resize *r, const uint8_t *row)
{
    uint8_t *out = r->converted.memory;
    if (r->in_channels == r->channels) return row;
    for (size_t i = 0; i < r->in_cols; i++)
        if (r->channels == 3)
            out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = row[i];
        else
            out[i] = (uint8_t)((row[3 * i] * 19595 + row[3 * i + 1] * 38470 + row[3 * i + 2] * 7471
                                + 0x8000)
                               >> 16);
    return out;
}

static uint8_t clip(int32_t sum)
{
    int32_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void across_grey(const axis *a, const uint8_t *row, uint8_t *out)
{
    for (size_t i = 0; i < a->to; i++) {
        const int32_t *weight = a->weights + i * a->taps;
        const uint8_t *in = row + a->first[i];
        int32_t sum = 1 << (BITS - 1);
        for (int k = 0; k < a->count[i]; k++) sum += weight[k] * in[k];
        out[i] = clip(sum);
    }
}

static void across_rgb(const axis *a, const uint8_t *row, uint8_t *out)
{
    for (size_t i = 0; i < a->to; i++) {
        const int32_t *weight = a->weights + i * a->taps;
        const uint8_t *in = row + (size_t)a->first[i] * 3;
        int32_t red = 1 << (BITS - 1), green = red, blue = red;
        for (int k = 0; k < a->count[i]; k++, in += 3) {
            red += weight[k] * in[0];
            green += weight[k] * in[1];
            blue += weight[k] * in[2];
        }
        out[3 * i] = clip(red);
        out[3 * i + 1] = clip(green);
        out[3 * i + 2] = clip(blue);
    }
}

/* Output row i, from the rows in the ring. */
static void down(resize *r, size_t i)
{
    const axis *a = &r->down;
    size_t line = r->cols * (size_t)r->channels;
    int32_t *sums = r->sums.memory;
    uint8_t *out = r->out + i * line;
    for (size_t x = 0; x < line; x++) sums[x] = 1 << (BITS - 1);
    for (int k = 0; k < a->count[i]; k++) {
        const uint8_t *in =
            (const uint8_t *)r->ring.memory + (size_t)(a->first[i] + k) % a->taps * line;
        int32_t weight = a->weights[i * a->taps + (size_t)k];
        for (size_t x = 0; x < line; x++) sums[x] += weight * in[x];
    }
    for (size_t x = 0; x < line; x++) out[x] = clip(sums[x]);
}

void resize_row(resize *r, const uint8_t *row)
{
    size_t line = r->cols * (size_t)r->channels;
    int same = r->in_rows == r->rows;
    uint8_t *to = same ? r->out + r->taken * line
                       : (uint8_t *)r->ring.memory + r->taken % r->down.taps * line;
    row = convert(r, row);
    if (r->in_cols == r->cols)
        memcpy(to, row, line);
    else if (r->channels == 3)
        across_rgb(&r->across, row, to);
    else
        across_grey(&r->across, row, to);
    r->taken++;
    while (!same && r->given < r->rows
           && (size_t)(r->down.first[r->given] + r->down.count[r->given]) <= r->taken)
        down(r, r->given++);
}
