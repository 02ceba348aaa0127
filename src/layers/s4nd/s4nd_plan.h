/* s4nd_plan - the plan of an S4ND layer.
 *
 * S systems, R rows, C columns. The taps of an axis of side L are 2*L-1 elements, offset o at o +
 * L-1; those of rows come first, then those of columns. */
#ifndef SSM2D_LAYERS_S4ND_PLAN_H
#define SSM2D_LAYERS_S4ND_PLAN_H

#include "conv/fft_length.h"
#include "layers/s4nd/s4nd_config.h"
#include "layers/tile_groups.h"

/* A side cut into nearly equal parts: `larger` parts of size+1, then parts of size. */
typedef struct side_cut {
    int parts, larger, size;
} side_cut;

typedef struct s4nd_plan {
    ssm2d_plan base;
    s4nd_config config;
    const void *algorithm; /* an s4nd_algorithm of the plan's number type */
    int taps;              /* of both axes */
    tile_groups groups;
    size_t tile_row, tile; /* elements of a row of a tile, and of a tile */
    size_t scratch;        /* elements of scratch that the algorithm needs per worker */
    size_t sums;           /* elements for sums of the gradients of a vector's taps */
    /* direct: lines that share a register block, and how positions are cut into blocks when A lines
     * share one, [A][axis]; axis 0 is along rows */
    int max_a;
    side_cut positions[5][2];
    /* fft: along each axis; the tables are owned */
    fft_length length[2];
    void *twiddles[2];
    /* Offsets in a workspace. */
    size_t system_taps; /* [taps][s4nd_steps] in double; also used for gradients */
    size_t vector_taps; /* [vectors][taps][lanes] */
    size_t transformed; /* the taps as the algorithm needs them: [vectors][..] */
    size_t d;           /* [vectors][lanes] */
    size_t tiles;       /* of all workers, with sums and scratch */
    size_t partial;     /* [chunks][vectors][taps + 1][lanes] gradients of taps, and of D */
} s4nd_plan;

extern const layer_functions s4nd_functions_f32, s4nd_functions_f64;

#endif
