/* bodies - every SIMD body, compiled for the instruction set of the including file, and the table that makes them known. */
#include "kernels/simd.h"

#include "kernels/vector.h"

#include "kernels/correlate.h"
#include "kernels/fft.h"
#include "kernels/tile.h"

#define COMPLEX 0
#include "kernels/state.h"
#undef COMPLEX
#define COMPLEX 1
#include "kernels/state.h"
#undef COMPLEX

extern const NAME(simd) TABLE;

const NAME(simd) TABLE = {
    .lanes = LANES,
    .correlate = CORRELATE_TABLE,
    .gather = gather,
    .scatter = scatter,
    .state = {STATE_TABLE(real), STATE_TABLE(complex)},
    .fft = FFT_TABLE,
};
