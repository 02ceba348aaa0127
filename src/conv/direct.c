/* direct - computes the convolution directly from its definition, for small grids: SIMD over
 * channels, blocks of A images x C columns in registers.
 *
 * All three sums of conv.h are the same loop (correlate_fn in simd/simd_table.h):
 *     y[i][j]    = sum k2[i-p][j-q] * u[p][q]       kernel mirrored, cells of A images
 *     du[p][q]   = sum k2[i-p][j-q] * dy[i][j]      kernel as it is
 *     dk2[d][o]  = sum dy[i][j] * u[i-d][j-o]       cells of one image, A row offsets
 * Only offsets within the problem's reach are visited. */
#include "conv/direct.h"

#include "core/tasks.h"

#include <string.h>

typedef struct job {
    const conv_plan *plan;
    const direct_plan *direct;
    void *memory;
    const real *in;
    plane_strides in_strides;
    real *out;
    plane_strides out_strides;
    const real *kernel; /* [vectors]: out[i][j] = sum kernel[p-i][q-j] * in[p][q] */
    const real *bias;   /* [vectors][lanes], or NULL */
    int mirrored, add;
    const real *dy; /* for the kernel's gradient, into dk2 */
    real *dk2;
} job;

/* Size of the next part when `total` is cut into the fewest nearly equal parts of at most `limit`;
 * *done is the total size of the parts cut off so far. */
static int part(int total, int limit, int *done)
{
    int left = total - *done, size = div_up(left, div_up(left, limit));
    *done += size;
    return size;
}

static void mirror_vector(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const two_sided *k = &t->plan->layout;
    const real *from = t->kernel + vector * two_sided_size(k);
    real *to = conv_array(t->memory, t->direct->mirrored) + vector * two_sided_size(k);
    for (int d = 1 - k->trunc_rows; d < k->trunc_rows; d++)
        for (int o = 1 - k->trunc_cols; o < k->trunc_cols; o++)
            memcpy(to + two_sided_at(k, -d, -o), from + two_sided_at(k, d, o),
                   (size_t)k->lanes * sizeof(real));
}

/* Packs a short kernel and its mirror image, so that taps are contiguous. */
static void pack_vector(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const two_sided *k = &t->plan->layout;
    const ptrdiff_t size = direct_packed_size(t->plan);
    const real *from = t->kernel + vector * two_sided_size(k);
    real *mirrored = conv_array(t->memory, t->direct->packed_mirrored) + (ptrdiff_t)vector * size;
    real *plain = t->plan->problem.inference
                      ? NULL
                      : conv_array(t->memory, t->direct->packed) + (ptrdiff_t)vector * size;
    const size_t bytes = (size_t)k->lanes * sizeof(real);
    for (int d = 1 - k->trunc_rows; d < k->trunc_rows; d++)
        for (int o = -SHORT_REACH; o <= SHORT_REACH; o++) {
            const ptrdiff_t at =
                ((d + k->trunc_rows - 1) * SHORT_TAPS + o + SHORT_REACH) * (ptrdiff_t)k->lanes;
            memcpy(mirrored + at, from + two_sided_at(k, -d, -o), bytes);
            if (plain) memcpy(plain + at, from + two_sided_at(k, d, o), bytes);
        }
}

static void prepare(const conv_plan *p, void *memory, const real *k2)
{
    const direct_plan *d = p->own;
    job t = {.plan = p, .direct = d, .memory = memory, .kernel = k2};
    pool_run(p->problem.context->pool, (size_t)p->vectors,
             d->short_rows ? pack_vector : mirror_vector, &t);
}

/* The reach of the job's kernel at row offsets of a sign. */
static conv_reach job_reach(const job *t, int sign)
{
    const conv_reach *reach = t->plan->problem.reach;
    if (!t->mirrored) return reach[sign];
    return (conv_reach){-reach[REACH_AFTER - sign].high, -reach[REACH_AFTER - sign].low};
}

static int empty(conv_reach r) { return r.low > r.high; }
static int same(conv_reach a, conv_reach b) { return a.low == b.low && a.high == b.high; }

/* One vector of channels of A images: tiles in -> out. An output row depends on input rows before
 * it, on its own and on rows after it; neighbouring ranges with the same reach are processed in one
 * call. */
static void convolve_tile(const job *t, int vector, const real *in, real *out, int A)
{
    const conv_plan *p = t->plan;
    const two_sided *k = &p->layout;
    const int rows = p->problem.rows, cols = p->problem.cols, max_c = t->direct->max_c[A];
    const ptrdiff_t lanes = p->lanes, image = (ptrdiff_t)rows * cols * lanes, row = cols * lanes;
    const real *kernel = t->kernel + (size_t)vector * two_sided_size(k);
    const real *bias = t->bias ? t->bias + vector * lanes : NULL;
    const conv_reach reaches[REACH_SIGNS] = {job_reach(t, REACH_BEFORE), job_reach(t, REACH_CENTRE),
                                             job_reach(t, REACH_AFTER)};
    if (bias)
        for (ptrdiff_t cell = 0; cell < A * image; cell += lanes)
            memcpy(out + cell, bias, (size_t)lanes * sizeof(real));
    else
        memset(out, 0, (size_t)A * (size_t)image * sizeof(real));
    for (int i = 0; i < rows; i++) {
        const int top = max_int(0, i - k->trunc_rows + 1), end = min_int(rows, i + k->trunc_rows);
        const int starts[REACH_SIGNS + 1] = {top, i, i + 1, end};
        for (int done = 0; done < cols;) {
            const int j = done, C = part(cols, max_c, &done);
            correlate_fn *correlate = p->simd->correlate[A][C];
            for (int s = 0; s < REACH_SIGNS;) {
                const conv_reach c = reaches[s];
                int first = starts[s], last = starts[++s];
                while (s < REACH_SIGNS && same(reaches[s], c)) last = starts[++s];
                const int q = max_int(0, j + c.low), q_end = min_int(cols, j + C + c.high);
                if (empty(c) || first >= last || q >= q_end) continue;
                correlate(out + i * row + j * lanes, image,
                          kernel + two_sided_at(k, first - i, q - j), two_sided_row(k),
                          in + first * row + q * lanes, row, image, last - first, q_end - q);
            }
        }
    }
}

/* A group of vectors of channels. */
typedef struct group {
    int first, end; /* vectors */
    int channel, channels;
} group;

static group group_at(const job *t, int size, int g)
{
    const conv_plan *p = t->plan;
    const int first = g * size, end = min_int(p->vectors, first + size);
    return (group){first, end, first * p->lanes,
                   min_int(p->problem.channels, end * p->lanes) - first * p->lanes};
}

/* Copies the rows of image b into the tiles of a group; tile rows are `tile_row` elements apart. */
static void gather_image(const job *t, const group *g, real *tile, ptrdiff_t tile_row,
                         const real *array, plane_strides s, size_t b)
{
    const conv_plan *p = t->plan;
    const int rows = p->problem.rows, cols = p->problem.cols;
    const real *from = array + (ptrdiff_t)b * s.batch + g->channel * s.channel;
    const int dense = s.row == s.col * cols && tile_row == cols * p->lanes;
    for (int i = 0; i < (dense ? 1 : rows); i++)
        p->simd->gather(tile + i * tile_row, t->direct->tile, from + i * s.row,
                        (size_t)cols * (dense ? (size_t)rows : 1), s.col, s.channel, g->channels);
}

static void scatter_image(const job *t, const group *g, const real *tile, size_t b)
{
    const conv_plan *p = t->plan;
    const int rows = p->problem.rows, cols = p->problem.cols;
    const plane_strides s = t->out_strides;
    real *to = t->out + (ptrdiff_t)b * s.batch + g->channel * s.channel;
    const int dense = s.row == s.col * cols;
    for (int i = 0; i < (dense ? 1 : rows); i++)
        p->simd->scatter(to + i * s.row, tile + (ptrdiff_t)i * cols * p->lanes, t->direct->tile,
                         (size_t)cols * (dense ? (size_t)rows : 1), s.col, s.channel, g->channels,
                         t->add);
}

/* Computes row i of an image without tiles, for vectors [v, v_end), which share cache lines. A row
 * that is wider than a block is cut into nearly equal blocks of at least SHORT_MIN_C columns, so
 * that only the first and the last touch an edge. */
static void short_row(const job *t, real *out, const real *in, int i, int v, int v_end)
{
    static const real zeros[64 / sizeof(real)] = {0};
    const conv_plan *p = t->plan;
    const plane_strides from = t->in_strides, to = t->out_strides;
    const int cols = p->problem.cols, trunc = p->layout.trunc_rows, lanes = p->lanes;
    const int first = max_int(0, i - trunc + 1), end = min_int(p->problem.rows, i + trunc);
    const ptrdiff_t tap_row = SHORT_TAPS * (ptrdiff_t)lanes, kernel_size = direct_packed_size(p);
    const real *taps = t->kernel + (first - i + trunc - 1) * tap_row;
    for (int done = 0; done < cols;) {
        const int j = done, C = part(cols, t->direct->short_cols, &done);
        const int edges = (j ? 0 : SHORT_LEFT) | (done < cols ? 0 : SHORT_RIGHT);
        short_rows_fn *block = p->simd->short_rows[edges][C];
        for (int w = v; w < v_end; w++) {
            const real *x = in + first * from.row + (j - SHORT_REACH) * from.col + w * lanes;
            real *y = out + i * to.row + j * to.col + w * lanes;
            const real *start = t->add ? y : t->bias ? t->bias + w * lanes : zeros;
            block(y, to.col, start, t->add ? to.col : 0, taps + w * kernel_size, tap_row, x,
                  from.row, from.col, end - first);
        }
    }
}

/* Bands of rows, and in a band vectors that share cache lines: the rows that an output row sees are
 * still in the first cache for the next ones, and memory is read in long runs. Other heights of a
 * band, and copies of the vectors beside each other, were slower. */
enum { BAND_ROWS = 4 };

static void short_image(const job *t, const group *g, size_t b)
{
    const conv_plan *p = t->plan;
    const int line = max_int(1, CACHE_LINE_BYTES / (p->lanes * (int)sizeof(real)));
    const real *in = t->in + (ptrdiff_t)b * t->in_strides.batch;
    real *out = t->out + (ptrdiff_t)b * t->out_strides.batch;
    const int rows = p->problem.rows;
    for (int band = 0; band < rows; band += BAND_ROWS)
        for (int v = g->first; v < g->end; v += line)
            for (int i = band; i < min_int(rows, band + BAND_ROWS); i++)
                short_row(t, out, in, i, v, min_int(g->end, v + line));
}

/* One task: a group of vectors and a chunk of the images, A images at a time. */
static void convolve_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const conv_plan *p = t->plan;
    const direct_plan *d = t->direct;
    const size_t A = (size_t)d->images, chunks = (size_t)d->convolve.chunks, chunk = task % chunks;
    const size_t batch = p->problem.batch, image_blocks = div_up_size(batch, A);
    const size_t cells = (size_t)p->problem.rows * (size_t)p->problem.cols * (size_t)p->lanes;
    const group g = group_at(t, d->convolve.group, (int)(task / chunks));
    real *out = conv_array(t->memory, d->tiles) + (size_t)worker * d->worker, *in = out + d->tile;
    for (size_t b = image_blocks * chunk / chunks * A;
         b < image_blocks * (chunk + 1) / chunks * A && b < batch; b += A) {
        const size_t images = min_size(batch - b, A);
        if (d->short_rows) {
            short_image(t, &g, b);
            continue;
        }
        for (size_t a = 0; a < images; a++)
            gather_image(t, &g, in + a * cells, p->problem.cols * p->lanes, t->in, t->in_strides,
                         b + a);
        /* The output of a vector overwrites the input of the vector before it. */
        for (int v = g.first; v < g.end; v++) {
            const size_t at = (size_t)(v - g.first) * d->tile;
            convolve_tile(t, v, in + at, out + at, (int)images);
        }
        for (size_t a = 0; a < images; a++) scatter_image(t, &g, out + a * cells, b + a);
    }
}

static void convolve(const job *t)
{
    pool_run(t->plan->problem.context->pool,
             (size_t)t->direct->convolve.groups * (size_t)t->direct->convolve.chunks, convolve_task,
             (void *)t);
}

static void apply(const conv_plan *p, void *memory, const real *u, const real *bias, real *y)
{
    const direct_plan *d = p->own;
    job t = {.plan = p,
             .direct = d,
             .memory = memory,
             .in = u,
             .in_strides = p->problem.in,
             .out = y,
             .out_strides = p->problem.out,
             .kernel = conv_array(memory, d->short_rows ? d->packed_mirrored : d->mirrored),
             .bias = bias,
             .mirrored = 1};
    convolve(&t);
}

/* Adds the kernel gradient of one image: u with padding columns between rows, dy with A-1 zero rows
 * around it. */
static void gradient_tile(const job *t, real *dk, const real *u, ptrdiff_t u_row, const real *dy)
{
    const conv_plan *p = t->plan;
    const direct_plan *d = t->direct;
    const two_sided *k = &p->layout;
    const int rows = p->problem.rows, cols = p->problem.cols, T = k->trunc_rows;
    const ptrdiff_t lanes = p->lanes, row = cols * lanes;
    const int starts[REACH_SIGNS + 1] = {1 - T, 0, 1, T};
    const conv_reach *reaches = p->problem.reach;
    for (int s = 0; s < REACH_SIGNS;) {
        const conv_reach c = reaches[s];
        int first = starts[s], last = starts[++s];
        while (s < REACH_SIGNS && same(reaches[s], c)) last = starts[++s];
        if (empty(c)) continue;
        for (int ds = 0; ds < last - first;) {
            const int e = first + ds, A = part(last - first, d->max_a, &ds);
            /* rows of u that pair with a row of dy */
            const int p0 = max_int(0, 1 - A - e), p1 = min_int(rows, rows - e);
            for (int os = 0; os < c.high - c.low + 1 && p0 < p1;) {
                const int o = c.low + os, C = part(c.high - c.low + 1, d->max_c[A], &os);
                const int t0 = max_int(0, o), t1 = min_int(cols, cols + o + C - 1);
                if (t0 < t1)
                    p->simd->correlate[A][C](dk + two_sided_at(k, e, o), two_sided_row(k),
                                             u + p0 * u_row + (t0 - o) * lanes, u_row,
                                             dy + (p0 + e) * row + t0 * lanes, row, row, p1 - p0,
                                             t1 - t0);
            }
        }
    }
}

static void gradient_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const conv_plan *p = t->plan;
    const direct_plan *d = t->direct;
    const size_t chunks = (size_t)d->gradient.chunks, chunk = task % chunks;
    const size_t batch = p->problem.batch, size = two_sided_size(&p->layout);
    const ptrdiff_t lanes = p->lanes, row = p->problem.cols * lanes;
    const ptrdiff_t u_row = row + TWO_SIDED_PADDING * lanes;
    const group g = group_at(t, d->gradient.group, (int)(task / chunks));
    real *tile = conv_array(t->memory, d->tiles) + (size_t)worker * d->worker;
    real *u = tile + TWO_SIDED_PADDING * lanes;
    real *dy = u + p->problem.rows * u_row + (d->max_a - 1) * row;
    real *dk = t->dk2;
    if (chunks > 1) dk = conv_array(t->memory, d->partial) + chunk * size * (size_t)p->vectors;
    memset(tile, 0, d->worker * sizeof(real));
    memset(dk + (size_t)g.first * size, 0, (size_t)(g.end - g.first) * size * sizeof(real));
    for (size_t b = batch * chunk / chunks; b < batch * (chunk + 1) / chunks; b++) {
        gather_image(t, &g, u, u_row, t->in, t->in_strides, b);
        gather_image(t, &g, dy, row, t->dy, t->out_strides, b);
        for (int v = g.first; v < g.end; v++) {
            const size_t at = (size_t)(v - g.first) * d->tile;
            gradient_tile(t, dk + (size_t)v * size, u + at, u_row, dy + at);
        }
    }
}

enum { SUM_PIECE = 4096, SUM_UNIT = 16 }; /* elements of a task, roughly; of its granularity */

static size_t sum_tasks(const conv_plan *p)
{
    return task_count(two_sided_size(&p->layout) * (size_t)p->vectors, SUM_PIECE);
}

/* Sums the kernel gradients of the chunks, in their order. */
static void sum_task(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const conv_plan *p = t->plan;
    const size_t all = two_sided_size(&p->layout) * (size_t)p->vectors, tasks = sum_tasks(p),
                 first = task_begin(all, tasks, task, SUM_UNIT),
                 count = task_begin(all, tasks, task + 1, SUM_UNIT) - first;
    real *dk = t->dk2 + first;
    const real *partial = conv_array(t->memory, t->direct->partial) + first;
    memcpy(dk, partial, count * sizeof(real));
    for (int c = 1; c < t->direct->gradient.chunks; c++)
        for (size_t i = 0; i < count; i++) dk[i] += partial[(size_t)c * all + i];
}

static void backward(const conv_plan *p, void *memory, const real *k2, const real *u,
                     const real *dy, real *du, real *dk2)
{
    const direct_plan *d = p->own;
    pool *workers = p->problem.context->pool;
    if (du) {
        job t = {.plan = p,
                 .direct = d,
                 .memory = memory,
                 .in = dy,
                 .in_strides = p->problem.out,
                 .out = du,
                 .out_strides = p->problem.in,
                 .kernel = d->short_rows ? conv_array(memory, d->packed) : k2,
                 .add = 1};
        convolve(&t);
    }
    if (!dk2) return;
    job t = {.plan = p,
             .direct = d,
             .memory = memory,
             .in = u,
             .in_strides = p->problem.in,
             .out_strides = p->problem.out,
             .dy = dy,
             .dk2 = dk2};
    pool_run(workers, (size_t)d->gradient.groups * (size_t)d->gradient.chunks, gradient_task, &t);
    if (d->gradient.chunks > 1) pool_run(workers, sum_tasks(p), sum_task, &t);
}

const conv_algorithm conv_direct = {.name = "direct",
                                    .own_size = sizeof(direct_plan),
                                    .plan = direct_plan_make,
                                    .cost = direct_cost,
                                    .prepare = prepare,
                                    .apply = apply,
                                    .backward = backward};
