#include "layers/tile_groups.h"

#include "layers/layer_kind.h"
#include "core/tasks.h"

/* The batch is cut into chunks first, each with as many channels as fit the cache, because memory
 * is fastest when accessed in long runs. Each chunk has partial gradients, so the number of chunks
 * must not depend on the number of threads; the number of groups may. */
enum { CHUNKS = 16, FEW_TASKS = 16, CACHE_LINE_BYTES = 64, GROUP_BYTES = 480 << 10 };

/* Vectors per group: nearly equal groups that fit the cache and make enough tasks. */
static int group_of(int line, int lines, int fitting, int chunks, int tasks)
{
    const int max_lines = max_int(1, min_int(fitting, lines / div_up(tasks, chunks)));
    return line * div_up(lines, div_up(lines, max_lines));
}

tile_groups tile_groups_cut(const ssm2d_plan *p, size_t vector_bytes)
{
    const int line = max_int(1, CACHE_LINE_BYTES / (p->lanes * (int)sizeof(real)));
    const int lines = div_up(p->vectors, line), batch = (int)min_size(CHUNKS, p->options.batch);
    const int fitting = (int)min_size(GROUP_BYTES / vector_bytes / (size_t)line, (size_t)lines);
    const int few = div_up(p->vectors, group_of(line, lines, fitting, batch, FEW_TASKS));
    tile_groups g;
    g.chunks = min_int(div_up(CHUNKS, few), batch);
    g.group = group_of(line, lines, fitting, g.chunks,
                       max_int(FEW_TASKS, pool_threads(p->context->pool)));
    g.groups = div_up(p->vectors, g.group);
    return g;
}

tile_task tile_task_at(const ssm2d_plan *p, const tile_groups *g, size_t task)
{
    const size_t chunks = (size_t)g->chunks, chunk = task % chunks, batch = p->options.batch;
    const int first = (int)(task / chunks) * g->group;
    return (tile_task){first, min_int(p->vectors, first + g->group), chunk, batch * chunk / chunks,
                       batch * (chunk + 1) / chunks};
}

static int channels_of(const ssm2d_plan *p, const tile_task *t)
{
    return min_int(p->channels, t->end * p->lanes) - t->first * p->lanes;
}

void tile_gather(const ssm2d_plan *p, const tile_task *t, real *tiles, size_t step, size_t tile_row,
                 const real *array, plane_strides s, size_t b)
{
    const simd_table *simd = p->simd;
    const real *from = array + (ptrdiff_t)b * s.batch + t->first * p->lanes * s.channel;
    const int dense = s.row == s.col * p->cols && tile_row == (size_t)p->cols * (size_t)p->lanes;
    const size_t cells = (size_t)p->cols * (size_t)(dense ? p->rows : 1);
    for (int i = 0; i < (dense ? 1 : p->rows); i++)
        simd->gather(tiles + (size_t)i * tile_row, step, from + i * s.row, cells, s.col, s.channel,
                     channels_of(p, t));
}

void tile_scatter(const ssm2d_plan *p, const tile_task *t, const real *tiles, size_t step,
                  size_t tile_row, real *array, plane_strides s, size_t b, int add)
{
    const simd_table *simd = p->simd;
    real *to = array + (ptrdiff_t)b * s.batch + t->first * p->lanes * s.channel;
    const int dense = s.row == s.col * p->cols && tile_row == (size_t)p->cols * (size_t)p->lanes;
    const size_t cells = (size_t)p->cols * (size_t)(dense ? p->rows : 1);
    for (int i = 0; i < (dense ? 1 : p->rows); i++)
        simd->scatter(to + i * s.row, tiles + (size_t)i * tile_row, step, cells, s.col, s.channel,
                      channels_of(p, t), add);
}
