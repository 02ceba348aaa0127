/* direct_plan - cuts the work of the direct algorithm into tasks and estimates its cost. */
#include "conv/direct.h"

#include "core/arith.h"

/* A task works on a group of neighbouring vectors of channels. Groups are whole cache lines, so
 * that no two threads write to the same line, and as wide as the second-level cache allows, because
 * memory is fastest when accessed in long runs. */
enum { GROUP_BYTES = 480 << 10 };
/* Tiles of neighbouring vectors are written together. If they were whole pages apart they would map
 * to the same few cache sets, so each starts STAGGER bytes past a page from the one before. */
enum { PAGE_BYTES = 4096, STAGGER = 5 * CACHE_LINE_BYTES };

static int max_a(const simd_table *simd)
{
    int A = CORRELATE_MAX_A;
    while (!simd->correlate[A][1]) A--;
    return A;
}

static int max_c(const simd_table *simd, int A)
{
    int C = CORRELATE_MAX_C;
    while (!simd->correlate[A][C]) C--;
    return C;
}

/* Elements in the tile of one vector. It holds A images; or one image with padding columns around
 * it, and its output gradient with A-1 rows around it. */
static size_t tile_elements(const conv_plan *p, size_t A)
{
    const size_t rows = (size_t)p->problem.rows, cols = (size_t)p->problem.cols;
    const size_t convolve = A * rows * cols;
    const size_t gradient =
        TWO_SIDED_PADDING + rows * (cols + TWO_SIDED_PADDING) + (rows + 2 * (A - 1)) * cols;
    const size_t bytes = max_size(convolve, gradient) * (size_t)p->lanes * sizeof(real);
    return (bytes + (PAGE_BYTES + STAGGER - bytes % PAGE_BYTES) % PAGE_BYTES) / sizeof(real);
}

/* As few groups as the cache allows, unless chunks of the batch give too few tasks. */
static conv_share share(int lines, int line, int fitting, int max_chunks, int tasks)
{
    const int wanted = div_up(tasks, max_chunks);
    const int max_lines = max_int(1, min_int(fitting, lines / wanted));
    const int group = line * div_up(lines, div_up(lines, max_lines)); /* nearly equal groups */
    const int groups = div_up(lines * line, group);
    return (conv_share){group, groups, min_int(div_up(TASKS_WANTED, groups), max_chunks)};
}

/* Columns of the widest block of simd short_rows. */
static int short_cols(const simd_table *simd)
{
    int C = SHORT_MAX_C;
    while (!simd->short_rows[0][C]) C--;
    return C;
}

/* Whether the kernel has seven columns and channels are contiguous in whole vectors: then no copies
 * to tiles are needed. */
static int short_rows_apply(const conv_plan *p)
{
    const conv_problem *q = &p->problem;
    if (!p->simd->short_rows[0][SHORT_MIN_C] || q->trunc_cols != SHORT_REACH + 1
        || q->channels % p->lanes || q->in.channel != 1 || q->out.channel != 1)
        return 0;
    for (int s = 0; s < REACH_SIGNS; s++)
        if (q->reach[s].low != -SHORT_REACH || q->reach[s].high != SHORT_REACH) return 0;
    return 1;
}

void direct_plan_make(conv_plan *p)
{
    direct_plan *d = p->own;
    const int batch = (int)p->problem.batch;
    const int line = max_int(1, CACHE_LINE_BYTES / (p->lanes * (int)sizeof(real)));
    const int lines = div_up(p->vectors, line);
    const size_t threads = (size_t)pool_threads(p->problem.context->pool);
    const size_t kernels = two_sided_size(&p->layout), vectors = (size_t)p->vectors * sizeof(real);

    d->max_a = max_a(p->simd);
    for (int A = 1; A <= d->max_a; A++) d->max_c[A] = max_c(p->simd, A);
    d->tile = tile_elements(p, (size_t)d->max_a);
    const int fitting = (int)(GROUP_BYTES / (d->tile * (size_t)line * sizeof(real)));
    d->short_rows = short_rows_apply(p);
    if (d->short_rows) d->short_cols = short_cols(p->simd);
    d->images = d->short_rows ? 1 : min_int(d->max_a, batch);
    const int tasks = conv_min_tasks(p->problem.context);
    d->convolve =
        share(lines, line, d->short_rows ? lines : fitting, div_up(batch, d->images), tasks);
    d->gradient = share(lines, line, fitting, min_int(GRADIENT_CHUNKS, batch), FEW_TASKS);
    const int chunks = min_int(div_up(GRADIENT_CHUNKS, d->gradient.groups), batch);
    d->gradient = share(lines, line, fitting, chunks, tasks);
    d->gradient.chunks = chunks;
    /* one tile more: see convolve_task; in place only the kernel's gradient needs tiles */
    const int tiled = d->short_rows ? 0 : d->convolve.group;
    d->worker = d->tile * ((size_t)max_int(tiled, d->gradient.group) + 1);

    if (d->short_rows) {
        const size_t packed = (size_t)direct_packed_size(p);
        d->packed_mirrored = conv_reserve(p, packed, vectors);
        if (!p->problem.inference) d->packed = conv_reserve(p, packed, vectors);
    } else {
        d->mirrored = conv_reserve(p, kernels, vectors);
    }
    if (!d->short_rows || !p->problem.inference)
        d->tiles = conv_reserve(p, threads * d->worker, sizeof(real));
    if (!p->problem.inference && d->gradient.chunks > 1)
        d->partial = conv_reserve(p, kernels, (size_t)d->gradient.chunks * vectors);
}

/* The sum of side - |o| over offsets low .. high: pairs of cells of a line of `side` cells. */
static double line_pairs(double side, double low, double high)
{
    if (low > high) return 0;
    if (low < 0 && high > 0) return line_pairs(side, low, -1) + line_pairs(side, 0, high);
    const double offsets = high - low + 1, sum = (low + high) * offsets / 2;
    return side * offsets - (sum < 0 ? -sum : sum);
}

double direct_pairs(const conv_problem *q)
{
    const double before = line_pairs(q->rows, 1 - q->trunc_rows, -1);
    const double after = line_pairs(q->rows, 1, q->trunc_rows - 1);
    const double rows[REACH_SIGNS] = {before, q->rows, after};
    double pairs = 0;
    for (int s = 0; s < REACH_SIGNS; s++)
        pairs += rows[s] * line_pairs(q->cols, q->reach[s].low, q->reach[s].high);
    return pairs;
}

double direct_cost(const conv_plan *p)
{
    /* Register blocks also compute some unneeded products at edges. Kernels of seven columns are
     * convolved in place, without copies, and skip the offsets outside the map. */
    const double overlap = ((const direct_plan *)p->own)->short_rows ? 0.5 : 1.4;
    return overlap * direct_pairs(&p->problem) * (double)p->problem.batch * p->vectors * p->lanes;
}
