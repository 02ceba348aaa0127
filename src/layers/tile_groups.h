/* tile_groups - cuts work on vectors of channels into tasks, and copies channels to and from tiles
 * (simd/simd_table.h).
 *
 * A task is a group of neighbouring vectors and a chunk of the batch. The chunks, on which sums
 * depend, are a function of the shapes alone; the number of groups grows with the number of
 * threads. Groups are whole cache lines, so that no two threads write to the same one, and fit the
 * second-level cache. */
#ifndef SSM2D_LAYERS_TILE_GROUPS_H
#define SSM2D_LAYERS_TILE_GROUPS_H

#include "core/plan_options.h"
#include "layers/layer_names.h"
#include "simd/simd_table.h"

typedef struct tile_groups {
    int group, groups; /* vectors of a group; groups */
    int chunks;        /* parts of the batch */
} tile_groups;

/* One task: vectors [first, end), images [image, image_end). */
typedef struct tile_task {
    int first, end;
    size_t chunk, image, image_end;
} tile_task;

tile_task tile_task_at(const ssm2d_plan *plan, const tile_groups *g, size_t task);

/* vector_bytes: memory that a task needs per vector. */
tile_groups tile_groups_cut(const ssm2d_plan *plan, size_t vector_bytes);
/* Copy image b of an array, channels of the task's vectors, to and from tiles that are `step`
 * elements apart and whose rows are tile_row elements apart. */
void tile_gather(const ssm2d_plan *plan, const tile_task *t, real *tiles, size_t step,
                 size_t tile_row, const real *array, plane_strides s, size_t b);
void tile_scatter(const ssm2d_plan *plan, const tile_task *t, const real *tiles, size_t step,
                  size_t tile_row, real *array, plane_strides s, size_t b, int add);

#endif
