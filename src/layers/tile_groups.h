/* tile_groups - how work on vectors of channels of images is cut into tasks, and how channels get
 * into tiles (simd/simd_table.h) and out of them.
 *
 * A task is a group of neighbouring vectors and a chunk of the batch. Chunks, on which sums depend,
 * are a function of the shapes alone; there are more groups for more threads. Groups are whole
 * cache lines, so that no two threads write to one, and no wider than the second-level cache
 * allows. */
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

/* vector_bytes: what a task needs for one vector. */
tile_groups tile_groups_cut(const ssm2d_plan *plan, size_t vector_bytes);
/* Image b of an array, channels of the task's vectors, to and from tiles `step` numbers apart whose
 * rows are tile_row numbers apart. */
void tile_gather(const ssm2d_plan *plan, const tile_task *t, real *tiles, size_t step,
                 size_t tile_row, const real *array, plane_strides s, size_t b);
void tile_scatter(const ssm2d_plan *plan, const tile_task *t, const real *tiles, size_t step,
                  size_t tile_row, real *array, plane_strides s, size_t b, int add);

#endif
