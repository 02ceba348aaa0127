/* fft - the convolution through Fourier transforms, for large grids: SIMD over channels, one vector of channels at a time.
 *
 * A cyclic convolution of n1 x n2 cells, n1 >= rows + trunc_rows - 1 and n2 likewise, is the plain one. Two rows of an image are
 * transformed as one complex row and split, which leaves frequencies 0 .. n2/2 of each; then each of these columns is
 * transformed, multiplied by the kernel's spectrum and transformed back while it is in the nearest cache:
 *     y = F'(F(u) * K)      du = F'(F(dy) * conj(K))      dk = F'(sum over images of conj(F(u)) * F(dy))
 * Zeros beyond the grid are not read, and results there not computed. Spectra are never put in order of frequency. */
#include "layer/fft_line.h"
#include "layer/parts.h"
#include "layer/two_sided.h"

#include <string.h>

enum { N1, N2, LINE, CHUNKS };                  /* own[]: lengths, vectors of a task, chunks of the batch */
enum { TABLES, SPECTRA, GRADIENTS, SCRATCH };   /* at.own[] */
enum { TASKS_WANTED = 16, IMAGES_OF_CHUNK = 4 }; /* fixed, so that sums do not depend on the number of threads */

static int least(int a, int b) { return a < b ? a : b; }
static int ceiling(int a, int b) { return (a + b - 1) / b; }
static int half(const ssm2d_plan *p) { return p->own[N2] / 2 + 1; } /* frequencies that a row keeps */

/* Sizes in numbers. An element is 2*lanes. */
static size_t element(const ssm2d_plan *p) { return 2 * (size_t)p->lanes; }
/* Tile: the rows of an image (and one more if they are odd) as spectra. */
static size_t tile_row(const ssm2d_plan *p) { return (size_t)half(p) * element(p); }
static size_t tile_size(const ssm2d_plan *p) { return (size_t)(p->rows + p->rows % 2) * tile_row(p); }
/* Spectrum of a kernel or its gradient: columns one after the other, with one element between them, which keeps them out of
 * each other's cache sets, and takes the second of two rows when there is only one. */
static size_t spectrum_column(const ssm2d_plan *p) { return (size_t)(p->own[N1] + 1) * element(p); }
static size_t spectrum_size(const ssm2d_plan *p) { return (size_t)half(p) * spectrum_column(p); }
/* Scratch of a worker: a row, its real and imaginary parts, two columns, tiles. */
static size_t scratch_size(const ssm2d_plan *p)
{
    size_t tiles = p->options.inference ? 1 : 2;
    return 2 * (size_t)(p->own[N2] + p->own[N1]) * element(p) + tiles * tile_size(p);
}

typedef struct work {
    const ssm2d_plan *p;
    ssm2d_workspace *ws;
    NAME(fft_line) row, column; /* transforms along a row, along a column */
    const int (*at)[2];         /* [half]: where a row has frequencies c and -c */
    const real *u, *dy;         /* forward: only u and y */
    real *y, *du;
    int want_params;
} work;

/* A column more is transformed twice for each rows/2 transforms of rows; about what COLUMN says. */
enum { COLUMN = 60, PRODUCT = 12, PASS = 8 }; /* costs of an element in multiply-adds */
static fft_length row_length(const ssm2d_plan *p) { return fft_length_choose(p->cols + p->trunc_cols - 1, p->cols, COLUMN); }
static fft_length column_length(const ssm2d_plan *p) { return fft_length_choose(p->rows + p->trunc_rows - 1, p->rows, PRODUCT); }

static work work_of(const ssm2d_plan *p, ssm2d_workspace *ws)
{
    const NAME(fft_functions) *f = &((const NAME(simd) *)p->simd)->fft;
    work w = {.p = p, .ws = ws, .row = {f, row_length(p), NULL, p->lanes}, .column = {f, column_length(p), NULL, p->lanes}};
    w.at = (const int(*)[2])REGION(void, ws, own[TABLES]);
    w.row.twiddles = (const real *)(const void *)(w.at + half(p));
    w.column.twiddles = w.row.twiddles + fft_length_twiddles(&w.row.length);
    return w;
}

static double cost(const ssm2d_plan *p)
{
    fft_length row = row_length(p), column = column_length(p);
    double one = p->rows * row.cost + half(p) * (2 * column.cost + PRODUCT * p->own[N1] + PASS * p->rows);
    return one * (double)p->options.batch * p->vectors * p->lanes;
}

static ssm2d_status plan(ssm2d_plan *p, ssm2d_error *error)
{
    (void)error;
    const fft_length row = row_length(p), column = column_length(p);
    const size_t threads = (size_t)pool_threads(p->context->pool);
    p->own[N1] = column.n;
    p->own[N2] = row.n;
    p->own[LINE] = 64 / (p->lanes * (int)sizeof(real)); /* vectors of a cache line: one task, no line shared by two */
    if (p->own[LINE] < 1) p->own[LINE] = 1;
    size_t chunks = (p->options.batch + IMAGES_OF_CHUNK - 1) / IMAGES_OF_CHUNK;
    p->own[CHUNKS] = ceiling(TASKS_WANTED, ceiling(p->vectors, p->own[LINE]));
    if (chunks < (size_t)p->own[CHUNKS]) p->own[CHUNKS] = (int)chunks;
    p->at.own[TABLES] = plan_reserve(p, (size_t)half(p) * 2 * sizeof(int)
                                            + (fft_length_twiddles(&row) + fft_length_twiddles(&column)) * sizeof(real), 1);
    p->at.own[SPECTRA] = plan_reserve(p, spectrum_size(p), (size_t)p->vectors * sizeof(real));
    if (!p->options.inference)
        p->at.own[GRADIENTS] = plan_reserve(p, spectrum_size(p), (size_t)p->own[CHUNKS] * (size_t)p->vectors * sizeof(real));
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
    NAME(fft_line_twiddles)(&w->row.length, (real *)(uintptr_t)w->row.twiddles);
    NAME(fft_line_twiddles)(&w->column.length, (real *)(uintptr_t)w->column.twiddles);
}

static real *scratch(const work *w, int worker) { return REGION(real, w->ws, own[SCRATCH]) + (size_t)worker * scratch_size(w->p); }

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
    memcpy(to + (n - T + 1) * lanes, k2 + two_sided_at(p, d, 1 - p->trunc_cols), (T - 1) * lanes * sizeof(real));
}

static void kernel_row_out(const ssm2d_plan *p, real *k2, const real *from, int d)
{
    const size_t lanes = (size_t)p->lanes, T = (size_t)p->trunc_cols, n = (size_t)p->own[N2];
    if (!kernel_offset(p, d, &d)) return;
    memcpy(k2 + two_sided_at(p, d, 0), from, T * lanes * sizeof(real));
    memcpy(k2 + two_sided_at(p, d, 1 - p->trunc_cols), from + (n - T + 1) * lanes, (T - 1) * lanes * sizeof(real));
}

static void prepare_vector(void *arg, size_t vector, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, n1 = p->own[N1], n2 = p->own[N2];
    const real *k2 = REGION(real, w->ws, k2) + vector * two_sided_size(p);
    real *spectrum = REGION(real, w->ws, own[SPECTRA]) + vector * spectrum_size(p);
    real *line = scratch(w, worker), *re = line + 2 * n2 * lanes, *im = re + n2 * lanes;
    for (int d = 0; d < n1; d += 2) {
        real *to = spectrum + 2 * d * lanes;
        kernel_row_in(p, re, k2, d);
        kernel_row_in(p, im, k2, d + 1);
        NAME(fft_line_forward)(&w->row, line, re, im, lanes, (int)n2);
        w->row.f->split(to, to + 2 * lanes, (ptrdiff_t)spectrum_column(p), line, w->at, half(p), (real)(0.5 / ((double)n1 * (double)n2)));
    }
    for (int c = 0; c < half(p); c++, spectrum += spectrum_column(p))
        NAME(fft_line_forward)(&w->column, spectrum, spectrum, spectrum + lanes, 2 * lanes, (int)n1);
}

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws)
{
    work w = work_of(p, ws);
    fill_tables(&w);
    pool_run(p->context->pool, (size_t)p->vectors, prepare_vector, &w);
}

/* Where the cells of one vector of channels are. */
typedef struct view {
    size_t at; /* of cell (0, 0) of the first image */
    ssm2d_strides s;
    int count; /* channels */
} view;

static view view_of(const ssm2d_plan *p, ssm2d_strides s, int vector)
{
    const int first = vector * p->lanes;
    return (view){(size_t)(first * s.channel), s, least(p->lanes, p->config.channels - first)};
}

static int whole(const ssm2d_plan *p, const view *v) { return v->s.channel == 1 && v->count == p->lanes; }

/* tile <- the spectra of the rows of an image, times scale. */
static void rows_forward(const work *w, real *tile, const real *image, const view *v, real scale, real *line)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const size_t cols = (size_t)p->cols;
    real *re = line + (size_t)p->own[N2] * element(p), *im = re + p->own[N2] * lanes;
    NAME(gather) *gather = ((const NAME(simd) *)p->simd)->gather;
    for (int i = 0; i < p->rows; i += 2, tile += 2 * pitch) {
        const real *one = image + i * v->s.row, *two = one + v->s.row;
        if (i + 1 < p->rows && whole(p, v)) {
            NAME(fft_line_forward)(&w->row, line, one, two, v->s.col, p->cols);
        } else {
            gather(re, 0, one, cols, v->s.col, v->s.channel, v->count);
            if (i + 1 < p->rows)
                gather(im, 0, two, cols, v->s.col, v->s.channel, v->count);
            else
                memset(im, 0, cols * (size_t)lanes * sizeof(real));
            NAME(fft_line_forward)(&w->row, line, re, im, lanes, p->cols);
        }
        w->row.f->split(tile, tile + pitch, 2 * lanes, line, w->at, half(p), scale);
    }
}

/* The rows of an image <- (add: +=) the way back from their spectra. */
static void rows_backward(const work *w, real *image, const view *v, const real *tile, int add, real *line)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const size_t cols = (size_t)p->cols;
    real *re = line + (size_t)p->own[N2] * element(p), *im = re + p->own[N2] * lanes;
    NAME(scatter) *scatter = ((const NAME(simd) *)p->simd)->scatter;
    for (int i = 0; i < p->rows; i += 2, tile += 2 * pitch) {
        real *one = image + i * v->s.row, *two = one + v->s.row;
        w->row.f->join(line, tile, tile + pitch, 2 * lanes, w->at, half(p));
        if (i + 1 < p->rows && whole(p, v)) {
            NAME(fft_line_backward)(&w->row, one, two, v->s.col, p->cols, line, add);
            continue;
        }
        NAME(fft_line_backward)(&w->row, re, im, lanes, p->cols, line, 0);
        scatter(one, re, 0, cols, v->s.col, v->s.channel, v->count, add);
        if (i + 1 < p->rows) scatter(two, im, 0, cols, v->s.col, v->s.channel, v->count, add);
    }
}

/* One vector of channels of one image: out <- in convolved, or (conjugate) correlated, with the kernel. */
static void convolve_image(const work *w, int vector, real *out, const view *to, const real *in, const view *from, int conjugate,
                           real *line)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const int last = NAME(fft_line_last)(&w->column), blocks = NAME(fft_line_blocks)(&w->column);
    const real *k = REGION(real, w->ws, own[SPECTRA]) + (size_t)vector * spectrum_size(p);
    real *x = line + 2 * (size_t)p->own[N2] * element(p), *tile = x + 2 * (size_t)p->own[N1] * element(p);
    rows_forward(w, tile, in, from, (real)0.5, line);
    real *top = tile;
    for (int c = 0; c < half(p); c++, k += spectrum_column(p), top += 2 * lanes) {
        NAME(fft_line_start)(&w->column, x, top, top + lanes, pitch, p->rows);
        w->column.f->convolve[conjugate][last](x, k, blocks);
        NAME(fft_line_finish)(&w->column, top, top + lanes, pitch, p->rows, x, 0);
    }
    rows_backward(w, out, to, tile, conjugate, line);
}

/* Adds what one image says of the kernel's gradient, and unless du is NULL, to du. */
static void differentiate_image(const work *w, int vector, real *g, real *du, const real *u, const view *in, const real *dy,
                                const view *out, real *line)
{
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, pitch = (ptrdiff_t)tile_row(p);
    const int last = NAME(fft_line_last)(&w->column), blocks = NAME(fft_line_blocks)(&w->column);
    const real *k = du ? REGION(real, w->ws, own[SPECTRA]) + (size_t)vector * spectrum_size(p) : NULL;
    real *x = line + 2 * (size_t)p->own[N2] * element(p), *x_u = x + (size_t)p->own[N1] * element(p);
    real *tile = x_u + (size_t)p->own[N1] * element(p), *tile_u = tile + tile_size(p);
    rows_forward(w, tile, dy, out, (real)0.5, line);
    rows_forward(w, tile_u, u, in, (real)(0.5 / ((double)p->own[N1] * p->own[N2])), line);
    real *top = tile, *top_u = tile_u;
    for (int c = 0; c < half(p); c++, g += spectrum_column(p), top += 2 * lanes, top_u += 2 * lanes) {
        NAME(fft_line_forward)(&w->column, x_u, top_u, top_u + lanes, pitch, p->rows);
        NAME(fft_line_start)(&w->column, x, top, top + lanes, pitch, p->rows);
        w->column.f->correlate[last](x, g, x_u, k, blocks);
        if (!du) continue;
        NAME(fft_line_finish)(&w->column, top, top + lanes, pitch, p->rows, x, 0);
        k += spectrum_column(p);
    }
    if (du) rows_backward(w, du, in, tile, 1, line);
}

/* A cache line's worth of vectors, and a chunk of the images: y from u; or du and the kernel's gradient from u and dy. */
static void image_task(void *arg, size_t task, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const size_t chunks = (size_t)p->own[CHUNKS], chunk = task % chunks, batch = p->options.batch;
    const int first = (int)(task / chunks) * p->own[LINE], end = least(p->vectors, first + p->own[LINE]);
    real *line = scratch(w, worker), *g = NULL;
    if (w->want_params) {
        g = REGION(real, w->ws, own[GRADIENTS]) + chunk * spectrum_size(p) * (size_t)p->vectors;
        memset(g + (size_t)first * spectrum_size(p), 0, (size_t)(end - first) * spectrum_size(p) * sizeof(real));
    }
    for (size_t b = batch * chunk / chunks; b < batch * (chunk + 1) / chunks; b++)
        for (int v = first; v < end; v++) {
            const view in = view_of(p, p->options.in, v), out = view_of(p, p->conv_out, v);
            const ptrdiff_t at_in = (ptrdiff_t)(in.at) + (ptrdiff_t)b * in.s.batch;
            const ptrdiff_t at_out = (ptrdiff_t)(out.at) + (ptrdiff_t)b * out.s.batch;
            if (w->y)
                convolve_image(w, v, w->y + at_out, &out, w->u + at_in, &in, 0, line);
            else if (w->want_params)
                differentiate_image(w, v, g + (size_t)v * spectrum_size(p), w->du ? w->du + at_in : NULL, w->u + at_in, &in,
                                    w->dy + at_out, &out, line);
            else
                convolve_image(w, v, w->du + at_in, &in, w->dy + at_out, &out, 1, line);
        }
}

static void run_images(work *w)
{
    size_t lines = (size_t)ceiling(w->p->vectors, w->p->own[LINE]);
    pool_run(w->p->context->pool, lines * (size_t)w->p->own[CHUNKS], image_task, w);
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    work w = work_of(p, ws);
    w.u = u;
    w.y = y;
    run_images(&w);
}

/* Sums the chunks' gradients of one vector, and takes them back to cells. */
static void gradient_vector(void *arg, size_t vector, int worker)
{
    const work *w = arg;
    const ssm2d_plan *p = w->p;
    const ptrdiff_t lanes = p->lanes, n2 = p->own[N2], step = (ptrdiff_t)spectrum_column(p);
    const size_t size = spectrum_size(p);
    real *g = REGION(real, w->ws, own[GRADIENTS]) + vector * size, *dk = REGION(real, w->ws, dk2) + vector * two_sided_size(p);
    for (int chunk = 1; chunk < p->own[CHUNKS]; chunk++) {
        const real *more = g + (size_t)chunk * (size_t)p->vectors * size;
        for (size_t i = 0; i < size; i++) g[i] += more[i];
    }
    for (int c = 0; c < half(p); c++) {
        real *column = g + c * step;
        NAME(fft_line_backward)(&w->column, column, column + lanes, 2 * lanes, p->own[N1], column, 0);
    }
    real *line = scratch(w, worker), *re = line + 2 * n2 * lanes, *im = re + n2 * lanes;
    for (int d = 0; d < p->own[N1]; d += 2) {
        const real *from = g + 2 * d * lanes;
        w->row.f->join(line, from, from + 2 * lanes, step, w->at, half(p));
        NAME(fft_line_backward)(&w->row, re, im, lanes, (int)n2, line, 0);
        kernel_row_out(p, dk, re, d);
        kernel_row_out(p, dk, im, d + 1);
    }
}

static void backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, const void *dy, void *du, int want_params)
{
    work w = work_of(p, ws);
    w.u = u;
    w.dy = dy;
    w.du = du;
    w.want_params = want_params;
    if (du || want_params) run_images(&w);
    if (want_params) pool_run(p->context->pool, (size_t)p->vectors, gradient_vector, &w);
}

const algorithm NAME(algorithm_fft) = {"fft", 1, cost, plan, prepare, apply, backward};
