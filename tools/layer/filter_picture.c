#include "filter.h"

#include "core/status.h"

#include <math.h>

/* Index of (plane c, row, col) in the layer's arrays [batch][rows][cols][channels]. */
static size_t place(const filter_picture *p, size_t rows, int c, size_t row, size_t col)
{
    return p->batch == 1 ? (row * p->info.cols + col) * (size_t)p->planes + (size_t)c
                         : ((size_t)c * rows + row) * p->info.cols + col;
}

static unsigned get_sample(const filter_picture *p, size_t i)
{
    return p->info.depth == 16 ? ((const uint16_t *)p->bytes)[i] : ((const uint8_t *)p->bytes)[i];
}

static void put_sample(const filter_picture *p, size_t i, unsigned value)
{
    if (p->info.depth == 16)
        ((uint16_t *)p->bytes)[i] = (uint16_t)value;
    else
        ((uint8_t *)p->bytes)[i] = (uint8_t)value;
}

static double white(const filter_picture *p) { return p->info.depth == 16 ? 65535 : 255; }

ssm2d_status filter_read_row(const filter_picture *p, double *u, size_t rows, size_t row,
                             ssm2d_error *error)
{
    const ssm2d_status status = image_read_row(p->reader, p->bytes, error);
    if (status) return status;
    const double scale = 1 / white(p);
    for (size_t col = 0; col < p->info.cols; col++) {
        const size_t first = col * (size_t)p->info.channels;
        const unsigned alpha = p->alpha ? get_sample(p, first + (size_t)p->colours) : 0;
        const double factor = p->alpha && p->coverage ? scale * alpha : 1;
        int c = 0;
        for (; c < p->colours; c++)
            u[place(p, rows, c, row, col)] = factor * scale * get_sample(p, first + (size_t)c);
        if (p->alpha && p->coverage) u[place(p, rows, c++, row, col)] = scale * alpha;
        if (p->coverage) u[place(p, rows, c, row, col)] = 1;
        if (p->alphas) p->alphas[row * p->info.cols + col] = (uint16_t)alpha;
    }
    return SSM2D_OK;
}

/* Converts the layer's output to the samples of one pixel. Returns 0 if one is not finite. */
static int write_pixel(const filter_picture *p, const double *y, size_t rows, size_t row,
                       size_t col)
{
    const size_t first = col * (size_t)p->info.channels;
    double divisor = 1;
    if (p->coverage) {
        const double all = y[place(p, rows, p->planes - 1, row, col)];
        const double alpha = p->alpha ? y[place(p, rows, p->colours, row, col)] / all : 1;
        if (p->alpha)
            put_sample(p, first + (size_t)p->colours, (unsigned)lround(white(p) * fmin(alpha, 1)));
        divisor = all * (alpha > 0 ? alpha : 1);
    } else if (p->alpha) {
        put_sample(p, first + (size_t)p->colours, p->alphas[row * p->info.cols + col]);
    }
    for (int c = 0; c < p->colours; c++) {
        const double value = y[place(p, rows, c, row, col)] / divisor;
        if (!isfinite(value)) return 0;
        put_sample(p, first + (size_t)c, (unsigned)lround(white(p) * fmin(fmax(value, 0), 1)));
    }
    return 1;
}

ssm2d_status filter_write_row(const filter_picture *p, const double *y, size_t rows, size_t row,
                              size_t picture_row, ssm2d_error *error)
{
    for (size_t col = 0; col < p->info.cols; col++)
        if (!write_pixel(p, y, rows, row, col))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "row %zu: the layer's output is not finite: use norm relaxed", picture_row);
    return image_write_row(p->writer, p->bytes, error);
}
