/* fft_run - computes the convolution with Fourier transforms, for large grids: SIMD over channels,
 * one vector of channels at a time.
 *
 * A cyclic convolution of n1 x n2 cells, n1 >= rows + trunc_rows - 1 and n2 likewise, equals the
 * linear one. Two rows of an image are transformed as one complex row and split, which leaves
 * frequencies 0 .. n2/2 of each; then each of these columns is transformed, multiplied by the
 * kernel's spectrum and transformed back while it is in the nearest cache:
 *     y = F'(F(u) * K)      du = F'(F(dy) * conj(K))
 *     dk2 = F'(sum over images of conj(F(u)) * F(dy))
 * Padding zeros are not read, and results outside the grid are not computed. Spectra stay in the
 * order that the transform produces; they are never sorted by frequency. */
#include "conv/fft_plan.h"

#include "core/arith.h"

#include <string.h>

typedef struct job {
    const conv_plan *plan;
    const fft_plan *fft;
    void *memory;
    const real *k2, *u, *dy; /* forward: only u, bias and y */
    const real *bias;        /* [vectors][lanes], or NULL */
    real *y, *du, *dk2;
} job;

/* The vectors and images of one task. */
typedef struct range {
    int vector, vector_end;
    size_t chunk, image, image_end;
} range;

static range range_of(const conv_plan *p, size_t task, conv_share s)
{
    const size_t n = (size_t)s.chunks, chunk = task % n, batch = p->problem.batch;
    const int vector = (int)(task / n) * s.group;
    return (range){vector, min_int(p->vectors, vector + s.group), chunk, batch * chunk / n,
                   batch * (chunk + 1) / n};
}

static void run(const job *t, conv_share s, pool_task task)
{
    pool_run(t->plan->problem.context->pool, (size_t)s.groups * (size_t)s.chunks, task, (void *)t);
}

/* The parts of a worker's scratch. */
typedef struct scratch {
    real *line, *re, *im; /* a row, and its real and imaginary parts */
    real *x, *x_u;        /* columns */
    real *tile, *tile_u;  /* the rows of an image as spectra */
} scratch;

static scratch scratch_of(const job *t, int worker)
{
    const fft_plan *f = t->fft;
    const size_t element = 2 * (size_t)t->plan->lanes;
    const size_t n1 = (size_t)f->n1 * element, n2 = (size_t)f->n2 * element;
    real *start = conv_array(t->memory, f->scratch) + (size_t)worker * f->scratch_size;
    real *x = start + 2 * n2, *tile = x + 2 * n1;
    return (scratch){start, start + n2, start + n2 + n2 / 2, x, x + n1, tile, tile + f->tile_size};
}

/* Whether row d of the cyclic kernel of n1 rows is a row of the kernel, and its row offset. */
static int kernel_offset(const job *t, int d, int *offset)
{
    const int T = t->plan->layout.trunc_rows, n1 = t->fft->n1;
    const int row = d < T ? d : d - n1;
    *offset = row;
    return d < n1 && row > -T;
}

/* Copy that row of a two-sided kernel to a cyclic row of n2 vectors, and back. */
static void kernel_row_in(const job *t, real *to, const real *k2, int d)
{
    const two_sided *k = &t->plan->layout;
    const size_t lanes = (size_t)k->lanes, T = (size_t)k->trunc_cols, n = (size_t)t->fft->n2;
    if (!kernel_offset(t, d, &d)) {
        memset(to, 0, n * lanes * sizeof(real));
        return;
    }
    memcpy(to, k2 + two_sided_at(k, d, 0), T * lanes * sizeof(real));
    memset(to + T * lanes, 0, (n - 2 * T + 1) * lanes * sizeof(real));
    memcpy(to + (n - T + 1) * lanes, k2 + two_sided_at(k, d, 1 - k->trunc_cols),
           (T - 1) * lanes * sizeof(real));
}

static void kernel_row_out(const job *t, real *k2, const real *from, int d)
{
    const two_sided *k = &t->plan->layout;
    const size_t lanes = (size_t)k->lanes, T = (size_t)k->trunc_cols, n = (size_t)t->fft->n2;
    if (!kernel_offset(t, d, &d)) return;
    memcpy(k2 + two_sided_at(k, d, 0), from, T * lanes * sizeof(real));
    memcpy(k2 + two_sided_at(k, d, 1 - k->trunc_cols), from + (n - T + 1) * lanes,
           (T - 1) * lanes * sizeof(real));
}

static void prepare_vector(void *arg, size_t vector, int worker)
{
    const job *t = arg;
    const fft_plan *f = t->fft;
    const scratch s = scratch_of(t, worker);
    const ptrdiff_t lanes = t->plan->lanes, column = (ptrdiff_t)f->spectrum_column;
    const real *k2 = t->k2 + vector * two_sided_size(&t->plan->layout);
    real *spectrum = conv_array(t->memory, f->spectra) + vector * f->spectrum_size;
    for (int d = 0; d < f->n1; d += 2) {
        real *to = spectrum + 2 * d * lanes;
        kernel_row_in(t, s.re, k2, d);
        kernel_row_in(t, s.im, k2, d + 1);
        fft_line_forward(&f->row, s.line, s.re, s.im, lanes, f->n2);
        f->row.f->split(to, to + 2 * lanes, column, s.line, f->at, f->half,
                        (real)(0.5 / ((double)f->n1 * (double)f->n2)));
    }
    for (int c = 0; c < f->half; c++, spectrum += column)
        fft_line_forward(&f->column, spectrum, spectrum, spectrum + lanes, 2 * lanes, f->n1);
}

static void prepare(const conv_plan *p, void *memory, const real *k2)
{
    job t = {.plan = p, .fft = p->own, .memory = memory, .k2 = k2};
    pool_run(p->problem.context->pool, (size_t)p->vectors, prepare_vector, &t);
}

static int channels_of(const conv_plan *p, int vector)
{
    return min_int(p->lanes, p->problem.channels - vector * p->lanes);
}

/* Whether rows of an array with these strides can be transformed without a copy: there are two, and
 * the channels of a whole vector are contiguous. */
static int in_place(const conv_plan *p, int vector, plane_strides s, int rows)
{
    return rows == 2 && s.channel == 1 && channels_of(p, vector) == p->lanes;
}

/* tile <- the spectra of the rows of one vector of an image, times scale. */
static void rows_forward(const job *t, const scratch *s, real *tile, const real *image,
                         plane_strides from, int vector, real scale)
{
    const conv_plan *p = t->plan;
    const fft_plan *f = t->fft;
    const int rows = p->problem.rows, cols = p->problem.cols, channels = channels_of(p, vector);
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)f->tile_row;
    gather_fn *gather = p->simd->gather;
    for (int i = 0; i < rows; i += 2, tile += 2 * pitch) {
        const int pair = min_int(2, rows - i);
        const real *one = image + i * from.row + vector * lanes * from.channel;
        const real *two = pair == 2 ? one + from.row : NULL;
        if (in_place(p, vector, from, pair)) {
            fft_line_forward(&f->row, s->line, one, two, from.col, cols);
        } else {
            gather(s->re, 0, one, (size_t)cols, from.col, from.channel, channels);
            if (two)
                gather(s->im, 0, two, (size_t)cols, from.col, from.channel, channels);
            else
                memset(s->im, 0, (size_t)(cols * lanes) * sizeof(real));
            fft_line_forward(&f->row, s->line, s->re, s->im, lanes, cols);
        }
        f->row.f->split(tile, tile + pitch, 2 * lanes, s->line, f->at, f->half, scale);
    }
}

/* The rows of one vector of an image <- (add: +=) the inverse transform of their spectra. */
static void rows_backward(const job *t, const scratch *s, real *image, plane_strides to, int vector,
                          const real *tile, int add)
{
    const conv_plan *p = t->plan;
    const fft_plan *f = t->fft;
    const int rows = p->problem.rows, cols = p->problem.cols, channels = channels_of(p, vector);
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)f->tile_row;
    scatter_fn *scatter = p->simd->scatter;
    for (int i = 0; i < rows; i += 2, tile += 2 * pitch) {
        const int pair = min_int(2, rows - i);
        real *one = image + i * to.row + vector * lanes * to.channel;
        real *two = pair == 2 ? one + to.row : NULL;
        f->row.f->join(s->line, tile, tile + pitch, 2 * lanes, f->at, f->half);
        if (in_place(p, vector, to, pair)) {
            fft_line_backward(&f->row, one, two, to.col, cols, s->line, add);
            continue;
        }
        fft_line_backward(&f->row, s->re, s->im, lanes, cols, s->line, 0);
        scatter(one, s->re, 0, (size_t)cols, to.col, to.channel, channels, add);
        if (two) scatter(two, s->im, 0, (size_t)cols, to.col, to.channel, channels, add);
    }
}

/* The channels of one vector at every cell of an image <- their biases. */
static void fill_bias(const job *t, int vector, real *image, plane_strides to)
{
    const conv_problem *q = &t->plan->problem;
    const int first = vector * t->plan->lanes, channels = channels_of(t->plan, vector);
    for (int i = 0; i < q->rows; i++)
        for (int j = 0; j < q->cols; j++)
            for (int h = first; h < first + channels; h++)
                image[i * to.row + j * to.col + h * to.channel] = t->bias[h];
}

/* One vector of one image: out <- in convolved, or (conjugate) out += in correlated, with the
 * kernel. */
static void convolve_image(const job *t, const scratch *s, int vector, real *out, plane_strides to,
                           const real *in, plane_strides from, int conjugate)
{
    const fft_plan *f = t->fft;
    const int rows = t->plan->problem.rows;
    const ptrdiff_t lanes = t->plan->lanes, pitch = (ptrdiff_t)f->tile_row;
    const int last = fft_line_last(&f->column), blocks = fft_line_blocks(&f->column);
    const real *k = conv_array(t->memory, f->spectra) + (size_t)vector * f->spectrum_size;
    real *top = s->tile;
    rows_forward(t, s, s->tile, in, from, vector, (real)0.5);
    for (int c = 0; c < f->half; c++, k += f->spectrum_column, top += 2 * lanes) {
        fft_line_start(&f->column, s->x, top, top + lanes, pitch, rows);
        f->column.f->convolve[conjugate][last](s->x, k, blocks);
        fft_line_finish(&f->column, top, top + lanes, pitch, rows, s->x, 0);
    }
    if (t->bias) fill_bias(t, vector, out, to);
    rows_backward(t, s, out, to, vector, s->tile, conjugate || t->bias);
}

/* Adds the contribution of one vector of one image to the kernel's gradient, and unless du is NULL,
 * to du. */
static void differentiate_image(const job *t, const scratch *s, int vector, real *gradient,
                                real *du, const real *u, const real *dy)
{
    const fft_plan *f = t->fft;
    const conv_problem *q = &t->plan->problem;
    const ptrdiff_t lanes = t->plan->lanes, pitch = (ptrdiff_t)f->tile_row;
    const int last = fft_line_last(&f->column), blocks = fft_line_blocks(&f->column);
    const real *k = conv_array(t->memory, f->spectra) + (size_t)vector * f->spectrum_size;
    const real scale = (real)(0.5 / ((double)f->n1 * f->n2));
    real *top = s->tile, *top_u = s->tile_u;
    rows_forward(t, s, s->tile, dy, q->out, vector, (real)0.5);
    rows_forward(t, s, s->tile_u, u, q->in, vector, scale);
    for (int c = 0; c < f->half; c++, gradient += f->spectrum_column, k += f->spectrum_column,
             top += 2 * lanes, top_u += 2 * lanes) {
        fft_line_forward(&f->column, s->x_u, top_u, top_u + lanes, pitch, q->rows);
        fft_line_start(&f->column, s->x, top, top + lanes, pitch, q->rows);
        f->column.f->correlate[last](s->x, gradient, s->x_u, du ? k : NULL, blocks);
        if (du) fft_line_finish(&f->column, top, top + lanes, pitch, q->rows, s->x, 0);
    }
    if (du) rows_backward(t, s, du, q->in, vector, s->tile, 1);
}

/* One task, a group of vectors and a chunk of the images: computes y from u, or du from dy. */
static void convolve_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const scratch s = scratch_of(t, worker);
    const range r = range_of(t->plan, task, t->fft->convolve);
    const plane_strides in = t->plan->problem.in, out = t->plan->problem.out;
    for (size_t b = r.image; b < r.image_end; b++)
        for (int v = r.vector; v < r.vector_end; v++) {
            const ptrdiff_t at_in = (ptrdiff_t)b * in.batch, at_out = (ptrdiff_t)b * out.batch;
            if (t->y)
                convolve_image(t, &s, v, t->y + at_out, out, t->u + at_in, in, 0);
            else
                convolve_image(t, &s, v, t->du + at_in, in, t->dy + at_out, out, 1);
        }
}

/* One task: computes du and the chunk's kernel gradients from u and dy. */
static void differentiate_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const conv_plan *p = t->plan;
    const scratch s = scratch_of(t, worker);
    const range r = range_of(p, task, t->fft->correlate);
    const size_t size = t->fft->spectrum_size;
    real *gradients =
        conv_array(t->memory, t->fft->gradients) + r.chunk * size * (size_t)p->vectors;
    memset(gradients + (size_t)r.vector * size, 0,
           (size_t)(r.vector_end - r.vector) * size * sizeof(real));
    for (size_t b = r.image; b < r.image_end; b++)
        for (int v = r.vector; v < r.vector_end; v++) {
            const ptrdiff_t at_in = (ptrdiff_t)b * p->problem.in.batch;
            const ptrdiff_t at_out = (ptrdiff_t)b * p->problem.out.batch;
            differentiate_image(t, &s, v, gradients + (size_t)v * size,
                                t->du ? t->du + at_in : NULL, t->u + at_in, t->dy + at_out);
        }
}

static void apply(const conv_plan *p, void *memory, const real *u, const real *bias, real *y)
{
    job t = {.plan = p, .fft = p->own, .memory = memory, .u = u, .bias = bias, .y = y};
    run(&t, t.fft->convolve, convolve_task);
}

/* Sums the chunks' kernel gradients of one vector and transforms them back. */
static void gradient_vector(void *arg, size_t vector, int worker)
{
    const job *t = arg;
    const fft_plan *f = t->fft;
    const scratch s = scratch_of(t, worker);
    const ptrdiff_t lanes = t->plan->lanes, column = (ptrdiff_t)f->spectrum_column;
    const size_t size = f->spectrum_size;
    real *g = conv_array(t->memory, f->gradients) + vector * size;
    real *dk = t->dk2 + vector * two_sided_size(&t->plan->layout);
    for (int chunk = 1; chunk < f->correlate.chunks; chunk++) {
        const real *more = g + (size_t)chunk * (size_t)t->plan->vectors * size;
        for (size_t i = 0; i < size; i++) g[i] += more[i];
    }
    for (int c = 0; c < f->half; c++) {
        real *start = g + c * column;
        fft_line_backward(&f->column, start, start + lanes, 2 * lanes, f->n1, start, 0);
    }
    for (int d = 0; d < f->n1; d += 2) {
        const real *from = g + 2 * d * lanes;
        f->row.f->join(s.line, from, from + 2 * lanes, column, f->at, f->half);
        fft_line_backward(&f->row, s.re, s.im, lanes, f->n2, s.line, 0);
        kernel_row_out(t, dk, s.re, d);
        kernel_row_out(t, dk, s.im, d + 1);
    }
}

static void backward(const conv_plan *p, void *memory, const real *k2, const real *u,
                     const real *dy, real *du, real *dk2)
{
    job t = {.plan = p,
             .fft = p->own,
             .memory = memory,
             .k2 = k2,
             .u = u,
             .dy = dy,
             .du = du,
             .dk2 = dk2};
    if (dk2) {
        run(&t, t.fft->correlate, differentiate_task);
        pool_run(p->problem.context->pool, (size_t)p->vectors, gradient_vector, &t);
    } else if (du) {
        run(&t, t.fft->convolve, convolve_task);
    }
}

const conv_algorithm conv_fft = {.name = "fft",
                                 .error_of_largest = 1,
                                 .own_size = sizeof(fft_plan),
                                 .plan = fft_plan_make,
                                 .cost = fft_cost,
                                 .finish = fft_plan_tables,
                                 .release = fft_plan_release,
                                 .prepare = prepare,
                                 .apply = apply,
                                 .backward = backward};
