/* scan_projection - products of the channels of a cell with weights: map = W u, and back. */
#include "layers/scan/scan_internal.h"

#include <string.h>

/* Many images make tasks by themselves; for few the channels are cut finer. */
enum { CHUNKS = 16, MIN_TASKS = 32, GROUP_BYTES = 768 << 10 };

void scan_layout_plan(scan_layer_plan *p, size_t vector_bytes)
{
    const int V = p->base.vectors, chunks = (int)min_size(CHUNKS, p->base.options.batch);
    const int fitting = (int)max_size(1, min_size((size_t)V, GROUP_BYTES / vector_bytes));
    const int group = max_int(1, min_int(fitting, V / div_up(MIN_TASKS, chunks)));
    p->groups.chunks = chunks;
    p->groups.groups = div_up(V, group);
    p->groups.group = div_up(V, p->groups.groups);
    p->groups.groups = div_up(V, p->groups.group);
    p->cells = (size_t)p->base.rows * (size_t)p->base.cols;
    p->tile = p->cells * (size_t)p->base.lanes;
}

static size_t vector_elements(const scan_layer_plan *p)
{
    return (size_t)p->base.vectors * (size_t)p->base.lanes;
}

static size_t sums_size(const scan_layer_plan *p)
{
    return (size_t)p->projection.maps * (size_t)p->projection.columns * vector_elements(p);
}

void scan_projection_plan(scan_layer_plan *p)
{
    scan_projection *s = &p->projection;
    const size_t H = (size_t)p->base.channels, maps = (size_t)s->maps, B = p->base.options.batch;
    s->width = div_up(max_int(s->width, s->columns), p->base.lanes) * p->base.lanes;
    s->in = plan_reserve(&p->base, maps * H, (size_t)s->width * sizeof(real));
    s->map = plan_reserve(&p->base, B * maps * p->cells, (size_t)s->width * sizeof(real));
    if (p->base.options.inference) return;
    s->out = plan_reserve(&p->base, sums_size(p), sizeof(real));
    s->dmap = plan_reserve(&p->base, (size_t)p->groups.groups * B,
                           maps * p->cells * (size_t)s->width * sizeof(real));
    s->sums = plan_reserve(&p->base, (size_t)p->groups.chunks, sums_size(p) * sizeof(real));
}

/* Offset of the weights of column j of a map among the parameters. */
static size_t row_offset(const scan_layer_plan *p, int map, int j)
{
    const scan_segment *s = p->projection.segment;
    while (j >= s->rows) j -= s++->rows;
    return s->offset + ((size_t)map * (size_t)s->rows + (size_t)j) * (size_t)p->base.channels;
}

void scan_projection_prepare(const scan_layer_plan *p, ssm2d_workspace *ws, const real *params)
{
    const scan_projection *s = &p->projection;
    const size_t H = (size_t)p->base.channels, width = (size_t)s->width;
    memset(REGION_AT(real, ws, s->in), 0, (size_t)s->maps * H * width * sizeof(real));
    if (s->out) memset(REGION_AT(real, ws, s->out), 0, sums_size(p) * sizeof(real));
    for (int m = 0; m < s->maps; m++)
        for (int j = 0; j < s->columns; j++) {
            const real *from = params + row_offset(p, m, j);
            real *in = REGION_AT(real, ws, s->in) + (size_t)m * H * width + (size_t)j;
            for (size_t h = 0; h < H; h++) in[h * width] = from[h];
            if (s->out)
                memcpy(REGION_AT(real, ws, s->out)
                           + row_major(m, s->columns, j) * vector_elements(p),
                       from, H * sizeof(real));
        }
}

typedef struct job {
    const scan_layer_plan *plan;
    ssm2d_workspace *ws;
    const real *u;
    real *du, *dparams;
} job;

/* One row of an image. */
static void forward_row(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *t = arg;
    const scan_layer_plan *p = t->plan;
    const scan_projection *s = &p->projection;
    const plane_strides in = p->base.in;
    const size_t rows = (size_t)p->base.rows, cols = (size_t)p->base.cols, image = task / rows,
                 row = task % rows, H = (size_t)p->base.channels, width = (size_t)s->width;
    const real *u = t->u + (ptrdiff_t)image * in.batch + (ptrdiff_t)row * in.row;
    for (int m = 0; m < s->maps; m++) {
        real *map = scan_map(p, t->ws, image) + ((size_t)m * p->cells + row * cols) * width;
        const real *w = REGION_AT(real, t->ws, s->in) + (size_t)m * H * width;
        for (size_t j = 0; j < width; j += (size_t)p->base.lanes)
            scan_simd(p)->product(map + j, (ptrdiff_t)width, u, in.col, in.channel, w + j,
                                  (ptrdiff_t)width, cols, H, 0);
    }
}

void scan_projection_forward(const scan_layer_plan *p, ssm2d_workspace *ws, const real *u)
{
    job t = {.plan = p, .ws = ws, .u = u};
    pool_run(p->base.context->pool, p->base.options.batch * (size_t)p->base.rows, forward_row, &t);
}

/* Adds the gradients of the groups of channels, for one image. */
static void sum_groups(void *arg, size_t image, int worker)
{
    (void)worker;
    const job *t = arg;
    const scan_layer_plan *p = t->plan;
    real *to = scan_dmap(p, t->ws, 0, image);
    for (int g = 1; g < p->groups.groups; g++) {
        const real *from = scan_dmap(p, t->ws, g, image);
        for (size_t i = 0; i < scan_map_size(p); i++) to[i] += from[i];
    }
}

static void backward_task(void *arg, size_t task, int worker)
{
    const job *t = arg;
    const scan_layer_plan *p = t->plan;
    const scan_projection *s = &p->projection;
    const tile_groups groups = scan_tiles(p);
    const tile_task k = tile_task_at(&p->base, &groups, task);
    const size_t lanes = (size_t)p->base.lanes, width = (size_t)s->width,
                 row = (size_t)p->base.cols * lanes, vectors = vector_elements(p),
                 columns = (size_t)s->columns, count = (size_t)(k.end - k.first);
    real *u = REGION_AT(real, t->ws, p->scratch) + (size_t)worker * p->worker;
    real *du = u + count * p->tile;
    real *sums = REGION_AT(real, t->ws, s->sums) + k.chunk * sums_size(p);
    for (size_t j = 0; j < (size_t)s->maps * columns; j++)
        memset(sums + j * vectors + (size_t)k.first * lanes, 0, count * lanes * sizeof(real));
    for (size_t b = k.image; b < k.image_end; b++) {
        if (t->dparams) tile_gather(&p->base, &k, u, p->tile, row, t->u, p->base.in, b);
        memset(du, 0, count * p->tile * sizeof(real));
        for (size_t v = 0; v < count; v++)
            for (size_t m = 0; m < (size_t)s->maps; m++) {
                const real *dmap = scan_dmap(p, t->ws, 0, b) + m * p->cells * width;
                const size_t at = m * columns * vectors + ((size_t)k.first + v) * lanes;
                if (t->du)
                    scan_simd(p)->product(du + v * p->tile, (ptrdiff_t)lanes, dmap,
                                          (ptrdiff_t)width, 1, REGION_AT(real, t->ws, s->out) + at,
                                          (ptrdiff_t)vectors, p->cells, columns, 1);
                if (t->dparams)
                    scan_simd(p)->product(sums + at, (ptrdiff_t)vectors, dmap, 1, (ptrdiff_t)width,
                                          u + v * p->tile, (ptrdiff_t)lanes, columns, p->cells, 1);
            }
        if (t->du) tile_scatter(&p->base, &k, du, p->tile, row, t->du, p->base.in, b, 1);
    }
}

/* Adds the chunks of one column to its row of the weights. */
static void sum_column(void *arg, size_t column, int worker)
{
    (void)worker;
    const job *t = arg;
    const scan_layer_plan *p = t->plan;
    const size_t columns = (size_t)p->projection.columns;
    real *to = t->dparams + row_offset(p, (int)(column / columns), (int)(column % columns));
    for (int c = 0; c < p->groups.chunks; c++) {
        const real *from = REGION_AT(real, t->ws, p->projection.sums) + (size_t)c * sums_size(p)
                           + column * vector_elements(p);
        for (int h = 0; h < p->base.channels; h++) to[h] += from[h];
    }
}

void scan_projection_backward(const scan_layer_plan *p, ssm2d_workspace *ws, const real *u,
                              real *du, real *dparams)
{
    job t = {p, ws, u, du, dparams};
    pool *workers = p->base.context->pool;
    pool_run(workers, p->base.options.batch, sum_groups, &t);
    pool_run(workers, scan_tasks(p), backward_task, &t);
    if (dparams)
        pool_run(workers, (size_t)p->projection.maps * (size_t)p->projection.columns, sum_column,
                 &t);
}
