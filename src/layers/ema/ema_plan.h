/* ema_plan - the plan of an EMA layer.
 *
 * H channels, Kd = H or 2*H rows of decays, N states, padded to W, a multiple of the register
 * block. */
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
    size_t taps;      /* of a kernel: cells, or fewer if truncated */
    size_t keep;      /* distance in cells between the states that the adjoint keeps */
    size_t scratch;   /* elements of scratch that the adjoint needs per worker */
    conv_plan *conv;  /* owned; NULL: the layer runs as a scan */
    int in_is_raster; /* whether the cells of u have one constant stride */
    tile_groups groups;
    size_t tile, worker; /* elements of a tile; of one worker's tiles and scratch */
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
