/* fft_plan - lengths, tasks, memory and tables of the fft algorithm. */
#include "conv/fft_plan.h"

#include "core/arith.h"
#include "core/status.h"

/* A chunk of images has its own kernel gradient, which must be cleared and added: a chunk pays off
 * from this many images on. */
enum { IMAGES_PER_GRADIENT = 4 };

/* Costs in multiply-adds: of one more element per row, which lengthens the work on columns; of a
 * product of spectra; of splitting and joining an element; of a byte of memory beyond
 * LARGE_BYTES. */
enum { COLUMN_COST = 60, PRODUCT_COST = 12, PASS_COST = 8, BYTE_COST = 3, LARGE_BYTES = 1 << 27 };

/* Work is cut into at most max_chunks chunks of at least `images` images, and if those are too few,
 * also into groups of vectors. Groups are whole cache lines, so that no two threads write to one
 * line. Few groups are best: memory is then accessed in long runs. */
static conv_share share(const conv_plan *p, int images, int max_chunks)
{
    const int line = max_int(1, CACHE_LINE_BYTES / (p->lanes * (int)sizeof(real)));
    const int lines = div_up(p->vectors, line);
    const int chunks = min_int(max_chunks, div_up((int)p->problem.batch, images));
    const int group = line * max_int(1, lines / div_up(conv_min_tasks(p->problem.context), chunks));
    return (conv_share){group, div_up(p->vectors, group), chunks};
}

void fft_plan_make(conv_plan *p)
{
    fft_plan *f = p->own;
    const conv_problem *q = &p->problem;
    const size_t threads = (size_t)pool_threads(q->context->pool);
    const size_t element = 2 * (size_t)p->lanes, vectors = (size_t)p->vectors * sizeof(real);
    const size_t tiles = q->inference ? 1 : 2;
    f->row.f = f->column.f = &p->simd->fft;
    f->row.length = fft_length_choose(q->cols + q->trunc_cols - 1, q->cols, COLUMN_COST);
    f->column.length = fft_length_choose(q->rows + q->trunc_rows - 1, q->rows, PRODUCT_COST);
    f->n1 = f->column.length.n;
    f->n2 = f->row.length.n;
    f->half = f->n2 / 2 + 1;
    f->convolve = share(p, 1, TASKS_WANTED);
    f->correlate = share(p, IMAGES_PER_GRADIENT, GRADIENT_CHUNKS);
    f->tile_row = (size_t)f->half * element;
    f->tile_size = (size_t)(q->rows + q->rows % 2) * f->tile_row;
    /* One extra element between columns keeps them in different cache sets; it also holds the
     * unused second row of a pair when the number of rows is odd. */
    f->spectrum_column = (size_t)(f->n1 + 1) * element;
    f->spectrum_size = (size_t)f->half * f->spectrum_column;
    f->scratch_size = 2 * (size_t)(f->n2 + f->n1) * element + tiles * f->tile_size;
    f->spectra = conv_reserve(p, f->spectrum_size, vectors);
    if (!q->inference)
        f->gradients = conv_reserve(p, f->spectrum_size, (size_t)f->correlate.chunks * vectors);
    f->scratch = conv_reserve(p, f->scratch_size, threads * sizeof(real));
}

ssm2d_status fft_plan_tables(conv_plan *p, ssm2d_error *error)
{
    fft_plan *f = p->own;
    const size_t positions = (size_t)f->half * sizeof *f->at;
    const size_t row = fft_length_twiddles(&f->row.length) * sizeof(real);
    const size_t column = fft_length_twiddles(&f->column.length) * sizeof(real);
    char *memory = mem_alloc(p->problem.context, row + column + positions);
    if (!memory)
        return fail_memory(error, "%zu bytes of tables of a plan", row + column + positions);
    real *row_twiddles = (real *)(void *)memory;
    real *column_twiddles = (real *)(void *)(memory + row);
    int(*at)[2] = (int(*)[2])(void *)(memory + row + column);
    for (int c = 0; c < f->half; c++) {
        at[c][0] = fft_length_position(&f->row.length, c);
        at[c][1] = fft_length_position(&f->row.length, (f->n2 - c) % f->n2);
    }
    fft_line_twiddles(&f->row.length, row_twiddles);
    fft_line_twiddles(&f->column.length, column_twiddles);
    f->at = (const int(*)[2])at;
    f->row.twiddles = row_twiddles;
    f->column.twiddles = column_twiddles;
    f->tables = memory;
    return SSM2D_OK;
}

void fft_plan_release(conv_plan *p)
{
    fft_plan *f = p->own;
    mem_free(p->problem.context, f->tables);
}

/* Kernels are transformed once, images forward and back. Memory beyond LARGE_BYTES, including
 * kernels and their gradients, adds to the cost. Memory of workers does not, because the number of
 * threads must not decide which algorithm is used. */
double fft_cost(const conv_plan *p)
{
    const fft_plan *f = p->own;
    const conv_problem *q = &p->problem;
    const double row = f->row.length.cost, column = f->column.length.cost;
    const double kernels = (q->inference ? 1.0 : 2.0) * (double)two_sided_size(&p->layout)
                           * p->vectors * (double)sizeof(real);
    const double workers =
        (double)(f->scratch_size * (size_t)pool_threads(q->context->pool) * sizeof(real));
    const double bytes = (double)p->bytes - workers + kernels;
    const double kernel = f->n1 / 2.0 * row + f->half * column;
    const double image =
        (q->rows + q->rows % 2) * row
        + f->half * (2 * column + (double)PRODUCT_COST * f->n1 + (double)PASS_COST * q->rows);
    return (kernel + (double)q->batch * image) * p->vectors * p->lanes
           + (bytes > LARGE_BYTES ? BYTE_COST * (bytes - LARGE_BYTES) : 0);
}
