/* fft - the convolution through Fourier transforms, for large grids: SIMD over channels, one vector
 * of channels at a time.
 *
 * A cyclic convolution of n1 x n2 cells, n1 >= rows + trunc_rows - 1 and n2 likewise, is the plain
 * one. Two rows of an image are transformed as one complex row and split, which leaves frequencies
 * 0 .. n2/2 of each; then each of these columns is transformed, multiplied by the kernel's spectrum
 * and transformed back while it is in the nearest cache:
 *     y = F'(F(u) * K)      du = F'(F(dy) * conj(K))      dk = F'(sum over images of conj(F(u)) * F(dy))
 * Zeros beyond the grid are not read, and results there not computed. Spectra are never put in
 * order of frequency. */
#include "core/arith.h"
#include "layer/fft_line.h"
#include "layer/layer_internal.h"
#include "layer/two_sided.h"

#include <string.h>

/* own[]: lengths, vectors of a task, chunks of the batch */
enum { N1, N2, GROUP, CHUNKS, GRADIENT_GROUP, GRADIENT_CHUNKS };
enum { TABLES, SPECTRA, GRADIENTS, SCRATCH }; /* at.own[] */

/* Enough tasks for many threads, without much overhead; a chunk of images has a gradient of its
 * own, which must be cleared and added. Fixed, so that sums do not depend on the number of
 * threads. */
enum { TASKS_WANTED = 16, IMAGES_OF_GRADIENT = 4, LINE_BYTES = 64 };

/* frequencies that a row keeps */
static int half(const ssm2d_plan *p) { return p->own[N2] / 2 + 1; }

/* Sizes in numbers. An element is 2*lanes. */
static size_t element(const ssm2d_plan *p) { return 2 * (size_t)p->lanes; }
/* Tile: the rows of an image (and one more if they are odd) as spectra. */
static size_t tile_row(const ssm2d_plan *p) { return (size_t)half(p) * element(p); }
static size_t tile_size(const ssm2d_plan *p)
{
    return (size_t)(p->rows + p->rows % 2) * tile_row(p);
}
/* Spectrum of a kernel or its gradient: columns one after the other, with one element between them,
 * which keeps them out of each other's cache sets, and takes the second of two rows when there is
 * only one. */
static size_t spectrum_column(const ssm2d_plan *p) { return (size_t)(p->own[N1] + 1) * element(p); }
static size_t spectrum_size(const ssm2d_plan *p) { return (size_t)half(p) * spectrum_column(p); }
/* Scratch of a worker: a row, its real and imaginary parts, two columns, tiles. */
static size_t scratch_size(const ssm2d_plan *p)
{
    size_t tiles = p->options.inference ? 1 : 2;
    return 2 * (size_t)(p->own[N2] + p->own[N1]) * element(p) + tiles * tile_size(p);
}

/* Work is cut into chunks of at least `images` images, and those, if they are too few, into groups
 * of vectors: whole cache lines, so that no two threads write to one. Few groups are best, for
 * memory is then read and written in long pieces. */
static void share(const ssm2d_plan *p, int images, int *group, int *chunks)
{
    const int line = max_int(1, LINE_BYTES / (p->lanes * (int)sizeof(real))),
              lines = div_up(p->vectors, line);
    *chunks = min_int(TASKS_WANTED, div_up((int)p->options.batch, images));
    *group = line * div_up(lines, div_up(TASKS_WANTED, *chunks));
}

static size_t tasks(const ssm2d_plan *p, int group, int chunks)
{
    return (size_t)div_up(p->vectors, group) * (size_t)chunks;
}

typedef struct range {
    int vector, vector_end;
    size_t chunk, image, image_end;
} range;

static range range_of(const ssm2d_plan *p, size_t task, int group, int chunks)
{
    const size_t n = (size_t)chunks, chunk = task % n, batch = p->options.batch;
    const int vector = (int)(task / n) * group;
    return (range){vector, min_int(p->vectors, vector + group), chunk, batch * chunk / n,
                   batch * (chunk + 1) / n};
}

typedef struct work {
    const ssm2d_plan *p;
    ssm2d_workspace *ws;
    fft_line row, column; /* transforms along a row, along a column */
    const int (*at)[2];   /* [half]: where a row has frequencies c and -c */
    const real *u, *dy;   /* forward: only u and y */
    real *y, *du;
} work;

/* Costs in multiply-adds: of an element of a row, for the columns it adds to; of a product in a
 * spectrum; of splitting and joining an element; of a byte. */
enum { COLUMN = 60, PRODUCT = 12, PASS = 8, BYTE = 10 };
static fft_length row_length(const ssm2d_plan *p)
{
    return fft_length_choose(p->cols + p->trunc_cols - 1, p->cols, COLUMN);
}
static fft_length column_length(const ssm2d_plan *p)
{
    return fft_length_choose(p->rows + p->trunc_rows - 1, p->rows, PRODUCT);
}

static work work_of(const ssm2d_plan *p, ssm2d_workspace *ws)
{
    const fft_functions *f = &((const simd_table *)p->simd)->fft;
    work w = {.p = p, .ws = ws, .row = {.f = f}, .column = {.f = f}};
    w.row.length = fft_length_of(p->own[N2], p->cols);
    w.column.length = fft_length_of(p->own[N1], p->rows);
    w.at = (const int(*)[2])REGION(void, ws, own[TABLES]);
    w.row.twiddles = (const real *)(const void *)(w.at + half(p));
    w.column.twiddles = w.row.twiddles + fft_length_twiddles(&w.row.length);
    return w;
}

/* Kernels have their spectra made once, images go there and back; and a workspace of many gigabytes
 * is a cost of its own. */
static double cost(const ssm2d_plan *p)
{
    const fft_length row = row_length(p), column = column_length(p);
    const double large = 1 << 30, bytes = (double)p->bytes, batch = (double)p->options.batch;
    double kernel = p->own[N1] / 2.0 * row.cost + half(p) * column.cost;
    double image = (p->rows + p->rows % 2) * row.cost
                   + half(p) * (2 * column.cost + PRODUCT * p->own[N1] + PASS * p->rows);
    return (kernel + batch * image) * p->vectors * p->lanes
           + (bytes > large ? BYTE * (bytes - large) : 0);
}

static ssm2d_status plan(ssm2d_plan *p, ssm2d_error *error)
{
    (void)error;
    const fft_length row = row_length(p), column = column_length(p);
    const size_t threads = (size_t)pool_threads(p->context->pool);
    p->own[N1] = column.n;
    p->own[N2] = row.n;
    share(p, 1, &p->own[GROUP], &p->own[CHUNKS]);
    share(p, IMAGES_OF_GRADIENT, &p->own[GRADIENT_GROUP], &p->own[GRADIENT_CHUNKS]);
    p->at.own[TABLES] = plan_reserve(
        p,
        (size_t)half(p) * 2 * sizeof(int)
            + (fft_length_twiddles(&row) + fft_length_twiddles(&column)) * sizeof(real),
        1);
    p->at.own[SPECTRA] = plan_reserve(p, spectrum_size(p), (size_t)p->vectors * sizeof(real));
    if (!p->options.inference)
        p->at.own[GRADIENTS] =
            plan_reserve(p, spectrum_size(p),
                         (size_t)p->own[GRADIENT_CHUNKS] * (size_t)p->vectors * sizeof(real));
    p->at.own[SCRATCH] = plan_reserve(p, scratch_size(p), threads * sizeof(real));
    return SSM2D_OK;
}

static void fill_tables(const work *w)
{
    const ssm2d_plan *p = w->p;
    int(*at)[2] = (int(*)[2])(void *)(uintptr_t)w->at;
    for (int c = 0; c < half(p); c++) {
        at[c][0] = fft_length_position(&w->row.length, c);
        at[c][1] = fft_length_position(&w->row.length, (p->own[N2] - c) % p->own[N2]);
    }
    fft_line_twiddles(&w->row.length, (real *)(uintptr_t)w->row.twiddles);
    fft_line_twiddles(&w->column.length, (real *)(uintptr_t)w->column.twiddles);
}

/* Row d of a cycle of n1: what row offset of the kernel it is, and whether there is one. */
static int kernel_offset(const ssm2d_plan *p, int d, int *offset)
{
    *offset = d < p->trunc_rows ? d : d - p->own[N1];
    return d < p->own[N1] && *offset > -p->trunc_rows;
}

/* Such a row of a two-sided kernel as a cycle of n2 vectors; and back. */
static void kernel_row_in(const ssm2d_plan *p, real *to, const real *k2, int d)
{
    const size_t lanes = (size_t)p->lanes, T = (size_t)p->trunc_cols, n = (size_t)p->own[N2];
    if (!kernel_offset(p, d, &d)) {
        memset(to, 0, n * lanes * sizeof(real));
        return;
    }
    memcpy(to, k2 + two_sided_at(p, d, 0), T * lanes * sizeof(real));
    memset(to + T * lanes, 0, (n - 2 * T + 1) * lanes * sizeof(real));
    memcpy(to + (n - T + 1) * lanes, k2 + two_sided_at(p, d, 1 - p->trunc_cols),
           (T - 1) * lanes * sizeof(real));
}

static void kernel_row_out(const ssm2d_plan *p, real *k2, const real *from, int d)
{
    const size_t lanes = (size_t)p->lanes, T = (size_t)p->trunc_cols, n = (size_t)p->own[N2];
    if (!kernel_offset(p, d, &d)) return;
    memcpy(k2 + two_sided_at(p, d, 0), from, T * lanes * sizeof(real));
    memcpy(k2 + two_sided_at(p, d, 1 - p->trunc_cols), from + (n - T + 1) * lanes,
           (T - 1) * lanes * sizeof(real));
}

/* Parts of a worker's scratch. */
typedef struct desk {
    real *line, *re, *im; /* a row, and its real and imaginary parts */
    real *x, *x_u;        /* columns */
    real *tile, *tile_u;
} desk;

static desk desk_of(const work *w, int worker)
{
    const ssm2d_plan *p = w->p;
    const size_t n1 = (size_t)p->own[N1] * element(p), n2 = (size_t)p->own[N2] * element(p);
    real *start = REGION(real, w->ws, own[SCRATCH]) + (size_t)worker * scratch_size(p),
         *x = start + 2 * n2;
    return (desk){start,  start + n2, start + n2 + n2 / 2,      x,
                  x + n1, x + 2 * n1, x + 2 * n1 + tile_size(p)};
}

static void prepare_vector(void *arg, size_t vector, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const desk t = desk_of(w, worker);
    const ptrdiff_t lanes = p->lanes, n1 = p->own[N1], n2 = p->own[N2];
    const real *k2 = REGION(real, w->ws, k2) + vector * two_sided_size(p);
    real *spectrum = REGION(real, w->ws, own[SPECTRA]) + vector * spectrum_size(p);
    for (int d = 0; d < n1; d += 2) {
        real *to = spectrum + 2 * d * lanes;
        kernel_row_in(p, t.re, k2, d);
        kernel_row_in(p, t.im, k2, d + 1);
        fft_line_forward(&w->row, t.line, t.re, t.im, lanes, (int)n2);
        w->row.f->split(to, to + 2 * lanes, (ptrdiff_t)spectrum_column(p), t.line, w->at, half(p),
                        (real)(0.5 / ((double)n1 * (double)n2)));
    }
    for (int c = 0; c < half(p); c++, spectrum += spectrum_column(p))
        fft_line_forward(&w->column, spectrum, spectrum, spectrum + lanes, 2 * lanes, (int)n1);
}

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws)
{
    work w = work_of(p, ws);
    fill_tables(&w);
    pool_run(p->context->pool, (size_t)p->vectors, prepare_vector, &w);
}

/* Channels of a vector, and whether rows of an array with these strides can be transformed where
 * they are. */
static int channels(const ssm2d_plan *p, int vector)
{
    return min_int(p->lanes, p->config.channels - vector * p->lanes);
}
static int in_place(const ssm2d_plan *p, int vector, ssm2d_strides s, int rows)
{
    return rows == 2 && s.channel == 1 && channels(p, vector) == p->lanes;
}

/* tile <- the spectra of the rows of one vector of an image, times scale. */
static void rows_forward(const work *w, const desk *t, real *tile, const real *image,
                         ssm2d_strides s, int vector, real scale)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    gather_fn *gather = ((const simd_table *)p->simd)->gather;
    for (int i = 0; i < p->rows; i += 2, tile += 2 * pitch) {
        const real *one = image + i * s.row + vector * lanes * s.channel, *two = one + s.row;
        const int rows = min_int(2, p->rows - i);
        if (in_place(p, vector, s, rows)) {
            fft_line_forward(&w->row, t->line, one, two, s.col, p->cols);
        } else {
            gather(t->re, 0, one, (size_t)p->cols, s.col, s.channel, channels(p, vector));
            if (rows == 2)
                gather(t->im, 0, two, (size_t)p->cols, s.col, s.channel, channels(p, vector));
            else
                memset(t->im, 0, (size_t)(p->cols * lanes) * sizeof(real));
            fft_line_forward(&w->row, t->line, t->re, t->im, lanes, p->cols);
        }
        w->row.f->split(tile, tile + pitch, 2 * lanes, t->line, w->at, half(p), scale);
    }
}

/* The rows of one vector of an image <- (add: +=) the way back from their spectra. */
static void rows_backward(const work *w, const desk *t, real *image, ssm2d_strides s, int vector,
                          const real *tile, int add)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    scatter_fn *scatter = ((const simd_table *)p->simd)->scatter;
    for (int i = 0; i < p->rows; i += 2, tile += 2 * pitch) {
        real *one = image + i * s.row + vector * lanes * s.channel, *two = one + s.row;
        const int rows = min_int(2, p->rows - i);
        w->row.f->join(t->line, tile, tile + pitch, 2 * lanes, w->at, half(p));
        if (in_place(p, vector, s, rows)) {
            fft_line_backward(&w->row, one, two, s.col, p->cols, t->line, add);
            continue;
        }
        fft_line_backward(&w->row, t->re, t->im, lanes, p->cols, t->line, 0);
        scatter(one, t->re, 0, (size_t)p->cols, s.col, s.channel, channels(p, vector), add);
        if (rows == 2)
            scatter(two, t->im, 0, (size_t)p->cols, s.col, s.channel, channels(p, vector), add);
    }
}

/* One vector of one image: out <- in convolved, or (conjugate) out += in correlated, with the
 * kernel. */
static void convolve_image(const work *w, const desk *t, int vector, real *out, ssm2d_strides to,
                           const real *in, ssm2d_strides from, int conjugate)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const int last = fft_line_last(&w->column), blocks = fft_line_blocks(&w->column);
    const real *k = REGION(real, w->ws, own[SPECTRA]) + (size_t)vector * spectrum_size(p);
    real *top = t->tile;
    rows_forward(w, t, t->tile, in, from, vector, (real)0.5);
    for (int c = 0; c < half(p); c++, k += spectrum_column(p), top += 2 * lanes) {
        fft_line_start(&w->column, t->x, top, top + lanes, pitch, p->rows);
        w->column.f->convolve[conjugate][last](t->x, k, blocks);
        fft_line_finish(&w->column, top, top + lanes, pitch, p->rows, t->x, 0);
    }
    rows_backward(w, t, out, to, vector, t->tile, conjugate);
}

/* Adds what one vector of one image says of the kernel's gradient, and unless du is NULL, to du. */
static void differentiate_image(const work *w, const desk *t, int vector, real *gradient, real *du,
                                const real *u, const real *dy)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const int last = fft_line_last(&w->column), blocks = fft_line_blocks(&w->column);
    const real *k = REGION(real, w->ws, own[SPECTRA]) + (size_t)vector * spectrum_size(p);
    real *top = t->tile, *top_u = t->tile_u;
    rows_forward(w, t, t->tile, dy, p->conv_out, vector, (real)0.5);
    rows_forward(w, t, t->tile_u, u, p->options.in, vector,
                 (real)(0.5 / ((double)p->own[N1] * p->own[N2])));
    for (int c = 0; c < half(p); c++, gradient += spectrum_column(p), k += spectrum_column(p),
             top += 2 * lanes, top_u += 2 * lanes) {
        fft_line_forward(&w->column, t->x_u, top_u, top_u + lanes, pitch, p->rows);
        fft_line_start(&w->column, t->x, top, top + lanes, pitch, p->rows);
        w->column.f->correlate[last](t->x, gradient, t->x_u, du ? k : NULL, blocks);
        if (du) fft_line_finish(&w->column, top, top + lanes, pitch, p->rows, t->x, 0);
    }
    if (du) rows_backward(w, t, du, p->options.in, vector, t->tile, 1);
}

/* A group of vectors and a chunk of the images: y from u, or du from dy. */
static void convolve_task(void *arg, size_t task, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const desk t = desk_of(w, worker);
    const range r = range_of(p, task, p->own[GROUP], p->own[CHUNKS]);
    const ssm2d_strides in = p->options.in, out = p->conv_out;
    for (size_t b = r.image; b < r.image_end; b++)
        for (int v = r.vector; v < r.vector_end; v++) {
            const ptrdiff_t at_in = (ptrdiff_t)b * in.batch, at_out = (ptrdiff_t)b * out.batch;
            if (w->y)
                convolve_image(w, &t, v, w->y + at_out, out, w->u + at_in, in, 0);
            else
                convolve_image(w, &t, v, w->du + at_in, in, w->dy + at_out, out, 1);
        }
}

/* The same: du, and the kernels' gradients of the chunk, from u and dy. */
static void differentiate_task(void *arg, size_t task, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const desk t = desk_of(w, worker);
    const range r = range_of(p, task, p->own[GRADIENT_GROUP], p->own[GRADIENT_CHUNKS]);
    const size_t size = spectrum_size(p);
    real *gradients = REGION(real, w->ws, own[GRADIENTS]) + r.chunk * size * (size_t)p->vectors;
    memset(gradients + (size_t)r.vector * size, 0,
           (size_t)(r.vector_end - r.vector) * size * sizeof(real));
    for (size_t b = r.image; b < r.image_end; b++)
        for (int v = r.vector; v < r.vector_end; v++) {
            const ptrdiff_t at_in = (ptrdiff_t)b * p->options.in.batch,
                            at_out = (ptrdiff_t)b * p->conv_out.batch;
            differentiate_image(w, &t, v, gradients + (size_t)v * size,
                                w->du ? w->du + at_in : NULL, w->u + at_in, w->dy + at_out);
        }
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    work w = work_of(p, ws);
    w.u = u;
    w.y = y;
    pool_run(p->context->pool, tasks(p, p->own[GROUP], p->own[CHUNKS]), convolve_task, &w);
}

/* Sums the chunks' gradients of one vector, and takes them back to cells. */
static void gradient_vector(void *arg, size_t vector, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const desk t = desk_of(w, worker);
    const ptrdiff_t lanes = p->lanes, step = (ptrdiff_t)spectrum_column(p);
    const size_t size = spectrum_size(p);
    real *g = REGION(real, w->ws, own[GRADIENTS]) + vector * size,
         *dk = REGION(real, w->ws, dk2) + vector * two_sided_size(p);
    for (int chunk = 1; chunk < p->own[GRADIENT_CHUNKS]; chunk++) {
        const real *more = g + (size_t)chunk * (size_t)p->vectors * size;
        for (size_t i = 0; i < size; i++) g[i] += more[i];
    }
    for (int c = 0; c < half(p); c++) {
        real *column = g + c * step;
        fft_line_backward(&w->column, column, column + lanes, 2 * lanes, p->own[N1], column, 0);
    }
    for (int d = 0; d < p->own[N1]; d += 2) {
        const real *from = g + 2 * d * lanes;
        w->row.f->join(t.line, from, from + 2 * lanes, step, w->at, half(p));
        fft_line_backward(&w->row, t.re, t.im, lanes, p->own[N2], t.line, 0);
        kernel_row_out(p, dk, t.re, d);
        kernel_row_out(p, dk, t.im, d + 1);
    }
}

static void backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, const void *dy,
                     void *du, int want_params)
{
    work w = work_of(p, ws);
    w.u = u;
    w.dy = dy;
    w.du = du;
    if (want_params) {
        pool_run(p->context->pool, tasks(p, p->own[GRADIENT_GROUP], p->own[GRADIENT_CHUNKS]),
                 differentiate_task, &w);
        pool_run(p->context->pool, (size_t)p->vectors, gradient_vector, &w);
    } else if (du) {
        pool_run(p->context->pool, tasks(p, p->own[GROUP], p->own[CHUNKS]), convolve_task, &w);
    }
}

const algorithm algorithm_fft = {"fft", 1, cost, plan, prepare, apply, backward};
