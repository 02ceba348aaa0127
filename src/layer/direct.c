/* direct - the convolution as it is written, for small grids: SIMD over channels, blocks of A
 * images x C columns in registers.
 *
 * All three convolutions of a training step are the same loop (correlate in simd/simd_table.h):
 *     y[i][j]    = sum K[i-p][j-q] * u[p][q]       kernel mirrored, cells of A images
 *     du[p][q]   = sum K[i-p][j-q] * dy[i][j]      kernel as it is
 *     dK[d][o]   = sum dy[i][j] * u[i-d][j-o]      cells of one image, A row offsets
 * Only offsets that some direction reaches are visited. */
#include "core/arith.h"
#include "layer/layer_internal.h"
#include "layer/two_sided.h"

#include <string.h>

/* own[]: what planning decides */
enum { IMAGES, CHUNKS, GROUP, GRADIENT_CHUNKS };
/* at.own[]: the mirrored kernel, tiles of each worker, partial kernel gradients */
enum { MIRRORED, TILES, PARTIAL };

/* Tasks beyond this are not worth their overhead; fewer leave threads idle at the end. Fixed, so
 * that sums do not depend on the number of threads. */
enum { TASKS_WANTED = 16 };

/* A task works on a group of neighbouring vectors of channels: whole cache lines, so that no two
 * threads write to one, and as many as fit the second-level cache with their images: memory is best
 * read and written in long pieces, and with one line at a time, waiting for it took longer than the
 * arithmetic. */
enum { LINE_BYTES = 64, GROUP_BYTES = 480 << 10 };
/* Tiles of neighbouring vectors are written together: a whole page apart they would share their few
 * cache sets. */
enum { PAGE_BYTES = 4096, STAGGER = 5 * LINE_BYTES };

static const simd_table *simd(const ssm2d_plan *p) { return p->simd; }

/* The widest block of columns for A rows, and the largest A. */
static int widest(const ssm2d_plan *p, int A)
{
    int C = CORRELATE_MOST_C;
    while (!simd(p)->correlate[A][C]) C--;
    return C;
}

static int most_a(const ssm2d_plan *p)
{
    return simd(p)->correlate[CORRELATE_MOST_A][1] ? CORRELATE_MOST_A : 3;
}

/* Size of part k when `total` is cut into the fewest nearly equal parts of at most `limit`. */
static int part(int total, int limit, int *done)
{
    int left = total - *done, size = div_up(left, div_up(left, limit));
    *done += size;
    return size;
}

/* Numbers in the tile of one vector: A images; or one image with SIDE columns around it, and its
 * gradient with A-1 rows around it. A worker has one for each vector of a group, and one more. */
static size_t tile_numbers(const ssm2d_plan *p)
{
    size_t cells = (size_t)p->rows * (size_t)p->cols, A = (size_t)most_a(p);
    size_t convolve = A * cells;
    size_t gradient = SIDE + (size_t)p->rows * ((size_t)p->cols + SIDE)
                      + ((size_t)p->rows + 2 * (A - 1)) * (size_t)p->cols;
    size_t bytes = (convolve > gradient ? convolve : gradient) * (size_t)p->lanes * sizeof(real);
    return (bytes + (PAGE_BYTES + STAGGER - bytes % PAGE_BYTES) % PAGE_BYTES) / sizeof(real);
}

static size_t worker_numbers(const ssm2d_plan *p)
{
    return tile_numbers(p) * ((size_t)p->own[GROUP] + 1);
}
static int groups(const ssm2d_plan *p) { return div_up(p->vectors, p->own[GROUP]); }

static double cost(const ssm2d_plan *p)
{
    double pairs = 0; /* of an output and an input cell that some direction joins */
    for (int d = 1 - p->trunc_rows; d < p->trunc_rows; d++) {
        reach c = two_sided_reach(p, d);
        double rows = p->rows - (d < 0 ? -d : d), columns = 0;
        if (c.low > c.high) continue;
        for (int j = 0; j < p->cols; j++)
            columns += min_int(c.high, j) - max_int(c.low, j - p->cols + 1) + 1;
        pairs += rows * columns;
    }
    /* blocks overlap the edges of what is reached */
    return 1.4 * pairs * (double)p->options.batch * p->vectors * p->lanes;
}

static ssm2d_status plan(ssm2d_plan *p, ssm2d_error *error)
{
    (void)error;
    int batch = (int)p->options.batch,
        line = max_int(1, LINE_BYTES / (p->lanes * (int)sizeof(real)));
    int lines = div_up(p->vectors, line),
        fitting = (int)(GROUP_BYTES / (tile_numbers(p) * (size_t)line * sizeof(real)));
    /* nearly equal groups */
    p->own[GROUP] = line * div_up(lines, div_up(lines, max_int(1, fitting)));
    p->own[IMAGES] = min_int(most_a(p), batch);
    p->own[CHUNKS] = min_int(div_up(TASKS_WANTED, groups(p)), div_up(batch, p->own[IMAGES]));
    p->own[GRADIENT_CHUNKS] = min_int(div_up(TASKS_WANTED, groups(p)), batch);
    size_t vectors = (size_t)p->vectors * sizeof(real),
           threads = (size_t)pool_threads(p->context->pool);
    p->at.own[MIRRORED] = plan_reserve(p, two_sided_size(p), vectors);
    p->at.own[TILES] = plan_reserve(p, threads * worker_numbers(p), sizeof(real));
    if (!p->options.inference && p->own[GRADIENT_CHUNKS] > 1)
        p->at.own[PARTIAL] =
            plan_reserve(p, two_sided_size(p), (size_t)p->own[GRADIENT_CHUNKS] * vectors);
    return SSM2D_OK;
}

typedef struct job {
    const ssm2d_plan *plan;
    ssm2d_workspace *ws;
    const real *in;
    ssm2d_strides in_strides;
    real *out;
    ssm2d_strides out_strides;
    const real *kernel; /* [vectors]: out[i][j] = sum kernel[p-i][q-j] * in[p][q] */
    int mirrored, add;
} job;

static void mirror_vector(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const real *k2 = REGION(real, t->ws, k2) + vector * two_sided_size(p);
    real *to = REGION(real, t->ws, own[MIRRORED]) + vector * two_sided_size(p);
    for (int d = 1 - p->trunc_rows; d < p->trunc_rows; d++)
        for (int o = 1 - p->trunc_cols; o < p->trunc_cols; o++)
            memcpy(to + two_sided_at(p, -d, -o), k2 + two_sided_at(p, d, o),
                   (size_t)p->lanes * sizeof(real));
}

static void prepare(const ssm2d_plan *p, ssm2d_workspace *ws)
{
    job t = {.plan = p, .ws = ws};
    pool_run(p->context->pool, (size_t)p->vectors, mirror_vector, &t);
}

/* The input's row offsets e = p-i (in the job's kernel) at which an output row sees columns; a run
 * of rows with one reach. */
static reach job_reach(const job *t, int e)
{
    if (!t->mirrored) return two_sided_reach(t->plan, e);
    reach c = two_sided_reach(t->plan, -e);
    return (reach){-c.high, -c.low};
}

static int same(reach a, reach b) { return a.low == b.low && a.high == b.high; }

/* One vector of channels of A images: tiles in -> out. */
static void convolve_tile(const job *t, const real *kernel, const real *in, real *out, int A)
{
    const ssm2d_plan *p = t->plan;
    const int rows = p->rows, cols = p->cols;
    const ptrdiff_t lanes = p->lanes, image = (ptrdiff_t)rows * cols * lanes, row = cols * lanes;
    const reach reaches[3] = {job_reach(t, -1), job_reach(t, 0), job_reach(t, 1)};
    memset(out, 0, (size_t)A * (size_t)image * sizeof(real));
    for (int i = 0; i < rows; i++) {
        const int top = max_int(0, i - p->trunc_rows + 1), end = min_int(rows, i + p->trunc_rows);
        const int starts[4] = {top, i, i + 1, end};
        for (int done = 0; done < cols;) {
            const int j = done, C = part(cols, widest(p, A), &done);
            correlate_fn *correlate = simd(p)->correlate[A][C];
            for (int s = 0; s < 3;) {
                reach c = reaches[s];
                int first = starts[s], last = starts[++s];
                while (s < 3 && same(reaches[s], c)) last = starts[++s];
                int q = max_int(0, j + c.low), q_end = min_int(cols, j + C + c.high);
                if (c.low > c.high || first >= last || q >= q_end) continue;
                correlate(out + i * row + j * lanes, image,
                          kernel + two_sided_at(p, first - i, q - j), two_sided_row(p),
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

static group group_at(const ssm2d_plan *p, int g)
{
    int first = g * p->own[GROUP], end = min_int(p->vectors, first + p->own[GROUP]);
    return (group){first, end, first * p->lanes,
                   min_int(p->config.channels, end * p->lanes) - first * p->lanes};
}

/* Rows of image b into tiles whose rows are tile_row apart, vectors tile_numbers apart. */
static void gather_image(const ssm2d_plan *p, const group *g, real *tile, ptrdiff_t tile_row,
                         const real *array, ssm2d_strides s, size_t b)
{
    const real *from = array + (ptrdiff_t)b * s.batch + g->channel * s.channel;
    const int dense = s.row == s.col * p->cols && tile_row == p->cols * p->lanes;
    for (int i = 0; i < (dense ? 1 : p->rows); i++)
        simd(p)->gather(tile + i * tile_row, tile_numbers(p), from + i * s.row,
                        (size_t)p->cols * (dense ? (size_t)p->rows : 1), s.col, s.channel,
                        g->channels);
}

static void scatter_image(const job *t, const group *g, const real *tile, size_t b)
{
    const ssm2d_plan *p = t->plan;
    const ssm2d_strides s = t->out_strides;
    real *to = t->out + (ptrdiff_t)b * s.batch + g->channel * s.channel;
    const int dense = s.row == s.col * p->cols;
    for (int i = 0; i < (dense ? 1 : p->rows); i++)
        simd(p)->scatter(to + i * s.row, tile + (ptrdiff_t)i * p->cols * p->lanes, tile_numbers(p),
                         (size_t)p->cols * (dense ? (size_t)p->rows : 1), s.col, s.channel,
                         g->channels, t->add);
}

/* A group of vectors, and a chunk of the images, A at a time. */
static void convolve_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const size_t A = (size_t)p->own[IMAGES], chunks = (size_t)p->own[CHUNKS], chunk = task % chunks,
                 batch = p->options.batch;
    const size_t turns = (batch + A - 1) / A,
                 cells = (size_t)p->rows * (size_t)p->cols * (size_t)p->lanes;
    const group g = group_at(p, (int)(task / chunks));
    real *out = REGION(real, t->ws, own[TILES]) + (size_t)worker * worker_numbers(p),
         *in = out + tile_numbers(p);
    for (size_t b = turns * chunk / chunks * A; b < turns * (chunk + 1) / chunks * A && b < batch;
         b += A) {
        size_t images = batch - b < A ? batch - b : A;
        for (size_t a = 0; a < images; a++)
            gather_image(p, &g, in + a * cells, p->cols * p->lanes, t->in, t->in_strides, b + a);
        /* what comes out takes the place of the vector before */
        for (int v = g.first; v < g.end; v++) {
            size_t at = (size_t)(v - g.first) * tile_numbers(p);
            convolve_tile(t, t->kernel + (size_t)v * two_sided_size(p), in + at, out + at,
                          (int)images);
        }
        for (size_t a = 0; a < images; a++) scatter_image(t, &g, out + a * cells, b + a);
    }
}

static void apply(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, void *y)
{
    job t = {p, ws, u, p->options.in, y, p->conv_out, REGION(real, ws, own[MIRRORED]), 1, 0};
    pool_run(p->context->pool, (size_t)groups(p) * (size_t)p->own[CHUNKS], convolve_task, &t);
}

/* Adds the kernel gradient of one image: u with SIDE zero columns between rows, dy with A-1 zero
 * rows around it. */
static void gradient_tile(const ssm2d_plan *p, real *dk, const real *u, ptrdiff_t u_row,
                          const real *dy)
{
    const ptrdiff_t lanes = p->lanes, row = p->cols * lanes;
    const int T = p->trunc_rows;
    const int starts[4] = {1 - T, 0, 1, T}; /* row offsets of one sign have one reach */
    const reach reaches[3] = {two_sided_reach(p, -1), two_sided_reach(p, 0), two_sided_reach(p, 1)};
    for (int s = 0; s < 3;) {
        reach c = reaches[s];
        int first = starts[s], last = starts[++s];
        while (s < 3 && same(reaches[s], c)) last = starts[++s];
        if (c.low > c.high) continue;
        for (int ds = 0; ds < last - first;) {
            const int d = first + ds, A = part(last - first, most_a(p), &ds);
            /* rows of u that meet a row of dy */
            const int p0 = max_int(0, 1 - A - d), p1 = min_int(p->rows, p->rows - d);
            for (int os = 0; os < c.high - c.low + 1 && p0 < p1;) {
                const int o = c.low + os, C = part(c.high - c.low + 1, widest(p, A), &os);
                const int t0 = max_int(0, o), t1 = min_int(p->cols, p->cols + o + C - 1);
                if (t0 < t1)
                    simd(p)->correlate[A][C](dk + two_sided_at(p, d, o), two_sided_row(p),
                                             u + p0 * u_row + (t0 - o) * lanes, u_row,
                                             dy + (p0 + d) * row + t0 * lanes, row, row, p1 - p0,
                                             t1 - t0);
            }
        }
    }
}

static void gradient_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const size_t chunks = (size_t)p->own[GRADIENT_CHUNKS], chunk = task % chunks,
                 batch = p->options.batch, size = two_sided_size(p);
    const ptrdiff_t lanes = p->lanes, u_row = (p->cols + SIDE) * lanes, row = p->cols * lanes;
    const group g = group_at(p, (int)(task / chunks));
    real *tile = REGION(real, t->ws, own[TILES]) + (size_t)worker * worker_numbers(p);
    real *u = tile + SIDE * lanes, *dy = u + p->rows * u_row + (most_a(p) - 1) * row;
    real *dk = REGION(real, t->ws, dk2);
    if (chunks > 1) dk = REGION(real, t->ws, own[PARTIAL]) + chunk * size * (size_t)p->vectors;
    memset(tile, 0, worker_numbers(p) * sizeof(real));
    memset(dk + (size_t)g.first * size, 0, (size_t)(g.end - g.first) * size * sizeof(real));
    for (size_t b = batch * chunk / chunks; b < batch * (chunk + 1) / chunks; b++) {
        gather_image(p, &g, u, u_row, t->in, t->in_strides, b);
        gather_image(p, &g, dy, row, t->out, t->out_strides, b);
        for (int v = g.first; v < g.end; v++) {
            size_t at = (size_t)(v - g.first) * tile_numbers(p);
            gradient_tile(p, dk + (size_t)v * size, u + at, u_row, dy + at);
        }
    }
}

static void sum_task(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const size_t size = two_sided_size(p), all = size * (size_t)p->vectors;
    real *dk = REGION(real, t->ws, dk2) + vector * size;
    const real *partial = REGION(real, t->ws, own[PARTIAL]) + vector * size;
    memcpy(dk, partial, size * sizeof(real));
    for (int c = 1; c < p->own[GRADIENT_CHUNKS]; c++)
        for (size_t i = 0; i < size; i++) dk[i] += partial[(size_t)c * all + i];
}

static void backward(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u, const void *dy,
                     void *du, int want_params)
{
    if (du) {
        job t = {p, ws, dy, p->conv_out, du, p->options.in, REGION(real, ws, k2), 0, 1};
        pool_run(p->context->pool, (size_t)groups(p) * (size_t)p->own[CHUNKS], convolve_task, &t);
    }
    if (!want_params) return;
    job t = {.plan = p,
             .ws = ws,
             .in = u,
             .in_strides = p->options.in,
             .out = (real *)dy,
             .out_strides = p->conv_out};
    pool_run(p->context->pool, (size_t)groups(p) * (size_t)p->own[GRADIENT_CHUNKS], gradient_task,
             &t);
    if (p->own[GRADIENT_CHUNKS] > 1) pool_run(p->context->pool, (size_t)p->vectors, sum_task, &t);
}

const algorithm algorithm_direct = {"direct", 1, cost, plan, prepare, apply, backward};
