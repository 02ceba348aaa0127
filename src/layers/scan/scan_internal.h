/* scan_internal - functions of selective scans that are compiled for each number type. */
#ifndef SSM2D_LAYERS_SCAN_INTERNAL_H
#define SSM2D_LAYERS_SCAN_INTERNAL_H

#include "layers/layer_names.h"
#include "layers/scan/scan_plan.h"
#include "layers/tile_groups.h"

static inline const scan_functions *scan_simd(const scan_layer_plan *p)
{
    return &((const simd_table *)p->base.simd)->scan;
}

static inline tile_groups scan_tiles(const scan_layer_plan *p)
{
    return (tile_groups){p->groups.group, p->groups.groups, p->groups.chunks};
}

static inline size_t scan_tasks(const scan_layer_plan *p)
{
    return (size_t)p->groups.groups * (size_t)p->groups.chunks;
}

/* Sets sizes and groups; vector_bytes: scratch that a task needs per vector. */
void scan_layout_plan(scan_layer_plan *p, size_t vector_bytes);

/* ---- scan_projection.c ----------------------------------------------------------------------- */

/* The projection's maps, columns and segments are set; reserves its regions. */
void scan_projection_plan(scan_layer_plan *p);
void scan_projection_prepare(const scan_layer_plan *p, ssm2d_workspace *ws, const real *params);
void scan_projection_forward(const scan_layer_plan *p, ssm2d_workspace *ws, const real *u);
/* From dmap, which is changed; adds to du and dparams unless NULL. */
void scan_projection_backward(const scan_layer_plan *p, ssm2d_workspace *ws, const real *u,
                              real *du, real *dparams);

static inline size_t scan_map_size(const scan_layer_plan *p)
{
    return (size_t)p->projection.maps * p->cells * (size_t)p->projection.width;
}

static inline real *scan_map(const scan_layer_plan *p, ssm2d_workspace *ws, size_t image)
{
    return REGION_AT(real, ws, p->projection.map) + image * scan_map_size(p);
}

static inline real *scan_dmap(const scan_layer_plan *p, ssm2d_workspace *ws, int group,
                              size_t image)
{
    return REGION_AT(real, ws, p->projection.dmap)
           + ((size_t)group * p->base.options.batch + image) * scan_map_size(p);
}

/* ---- scan_rows.c ----------------------------------------------------------------------------- */

/* A scan over rows. `carry` is what a row leaves to the next one; forward advances it and stores
 * the row's states in slot, or nowhere if slot < 0. */
typedef struct scan_rows {
    int rows, block;
    size_t size;         /* elements of the carry */
    real *carry, *saved; /* saved: copies of it before each block */
    void (*forward)(void *arg, int row, int slot);
    /* before: the carry before the block's first row, in slot 0. */
    void (*backward)(void *arg, int row, int slot, const real *before);
    void *arg;
} scan_rows;

void scan_rows_forward(const scan_rows *r);
void scan_rows_backward(const scan_rows *r);
/* Rows of a block: all if their states are few enough for the cache, else so many that the memory
 * of states and copies of the carry is smallest. */
int scan_rows_block(int rows, size_t row_bytes);

#endif
