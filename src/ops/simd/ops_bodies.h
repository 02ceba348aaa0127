/* ops_bodies - every SIMD body of the operators, compiled for the instruction set of the including
 * file. */
#include "ops/simd/simd_ops.h"

#include "simd/vector.h"

#include "simd/vecmath.h"
#include "simd/sigmoid.h"

#include "ops/simd/activation.h"
#include "ops/simd/gated.h"
#include "ops/simd/attend.h"
#include "ops/simd/attend_window.h"
#include "ops/simd/norm.h"
#include "ops/simd/gemm_block.h"
#include "ops/simd/gemm_packed.h"
#include "ops/simd/gemm_tn.h"

extern const simd_ops TABLE;

const simd_ops TABLE = {
    .gelu = gelu,
    .gelu_back = gelu_back,
    .silu = silu,
    .silu_back = silu_back,
    .sigmoid = sigmoid,
    .sigmoid_back = sigmoid_back,
    .silu_gate = silu_gate,
    .silu_gate_back = silu_gate_back,
    .gated_update = gated_update,
    .gated_update_back = gated_update_back,
    .softmax = softmax,
    .softmax_back = softmax_back,
    .norm = norm,
    .norm_back = norm_back,
    .attend_scratch_size = attend_scratch_size,
    .attend = attend,
    .attend_back = attend_back,
    .attend_window_row = attend_window_row,
    .attend_window_scratch_size = attend_window_scratch_size,
    .attend_window = attend_window,
    .attend_window_back = attend_window_back,
    .panel = PANEL,
    .gemm_packed_size = gemm_packed_size,
    .gemm_pack = gemm_pack,
    .gemm_packed = gemm_packed,
    .tn_rows = BLOCK_MOST,
    .tn_depth = TN_DEPTH,
    .gemm_tn_costs = gemm_tn_costs,
    .gemm_tn_scratch_size = gemm_tn_scratch_size,
    .gemm_tn = gemm_tn,
};
