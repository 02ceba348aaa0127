/* bodies - all SIMD bodies, compiled for the instruction set of the including file, and the table
 * of their functions. */
#include "simd/simd_table.h"

#include "simd/vector.h"

#include "simd/vecmath.h"

#include "simd/sigmoid.h"

#include "simd/axis.h"
#include "simd/correlate.h"
#include "simd/ema.h"
#include "simd/fft.h"
#include "simd/short_rows.h"
#include "simd/tile.h"

#include "simd/scan_math.h"

#include "simd/scan_diagonal.h"
#include "simd/scan_roesser.h"
#include "simd/scan_step.h"

#define COMPLEX 0
#include "simd/state.h"
#undef COMPLEX
#define COMPLEX 1
#include "simd/state.h"
#undef COMPLEX

extern const simd_table TABLE;

const simd_table TABLE = {
    .lanes = LANES,
    .correlate = CORRELATE_TABLE,
    .short_rows = SHORT_ROWS_TABLE,
    .gather = gather,
    .scatter = scatter,
    .state = {STATE_TABLE(real), STATE_TABLE(complex)},
    .fft = FFT_TABLE,
    .axis = {AXIS_TABLE(axis_convolve), AXIS_TABLE(axis_gradient), axis_dot},
    .ema = EMA_TABLE,
    .scan = SCAN_TABLE,
};
