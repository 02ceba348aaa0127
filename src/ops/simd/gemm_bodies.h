/* gemm_bodies - a gemm_table, compiled for the instruction set of the including file. PAIRS: the
 * factors are bfloat16. TILES names a header as well: they are multiplied in its tiles. */
#include "ops/simd/gemm_table.h"

#if !defined(PAIRS) || !defined(REAL_IS_DOUBLE)

#include "simd/vector.h"

#include "simd/vecmath.h"
#include "simd/narrow.h"

#include "ops/simd/gemm_bias.h"

#ifdef PAIRS
#include "ops/simd/gemm_rounding.h"
#endif
#ifdef TILES
#include TILES
#include "ops/simd/gemm_tiles.h"
#else

/* PANEL: the columns of a block, two vectors. */
enum { PANEL = 2 * LANES, LINE = 64 / sizeof(real) };
#ifdef MANY_REGISTERS
enum { BLOCK_MAX = 12 };
#else
enum { BLOCK_MAX = 6 };
#endif

#ifdef PAIRS
#include "ops/simd/gemm_pairs.h"
#else
#include "ops/simd/gemm_reals.h"
#endif
#include "ops/simd/gemm_block.h"
#include "ops/simd/gemm_packed.h"
#include "ops/simd/gemm_tn.h"
#include "ops/simd/gemm_micro.h"

#endif
#include "ops/simd/attend.h"

#ifndef PAIRS
#include "ops/simd/attend_window.h"

static const attend_window_table window_table = {
    .row = attend_window_row,
    .scratch_size = attend_window_scratch_size,
    .forward = attend_window,
    .backward = attend_window_back,
};
#endif

extern const gemm_table TABLE;

const gemm_table TABLE = {
#define BODY(result, name, parameters) .name = name,
#define VALUE(name, value)             .name = value,
#include "ops/simd/gemm.def"
#undef BODY
#undef VALUE
#ifndef PAIRS
    .attend_window = &window_table,
#endif
};

#endif
