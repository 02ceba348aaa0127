/* ema_plan - what a plan of EMA decides.
 *
 * H channels, Kd = H or 2*H rows of decays, N decays padded to whole blocks of registers (W). */
#ifndef SSM2D_LAYERS_EMA_PLAN_H
#define SSM2D_LAYERS_EMA_PLAN_H

#include "layers/ema/ema_config.h"
#include "layers/tile_groups.h"

typedef struct conv_plan conv_plan;

typedef struct ema_plan {
    ssm2d_plan base;
    ema_config config;
    int directions;   /* 1, or 2 when bidirectional */
    int states;       /* W */
    size_t cells;     /* rows * cols */
    size_t taps;      /* of a kernel: cells, or less when cut */
    size_t keep;      /* cells between states that the adjoint keeps */
    size_t scratch;   /* numbers that it needs for one worker */
    conv_plan *conv;  /* owned; NULL: a scan */
    int in_is_raster; /* whether cells of u follow each other at one distance */
    tile_groups groups;
    size_t tile, worker; /* numbers of a tile; of one worker's tiles and scratch */
    /* Offsets in a workspace. decays: [vectors][directions][q, c][W][lanes] */
    size_t decays, ddecays;
    size_t omega;   /* [vectors][lanes] */
    size_t domega;  /* the same */
    size_t tiles;   /* of all workers */
    size_t z;       /* before SiLU: scan [batch][vectors][cells][lanes], else [batch][cells][H] */
    size_t dz;      /* convolution only */
    size_t partial; /* [chunks][vectors][directions*2*W + 1][lanes] */
    size_t k2, dk2, conv_memory;
    size_t dense_u, dense_du; /* [batch][cells][H], where in_is_raster is 0 */
} ema_plan;

extern const layer_functions ema_functions_table_f32, ema_functions_table_f64;

#endif
