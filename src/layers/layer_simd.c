/* layer_simd - the table of SIMD functions of one number type, for code that is compiled once. */
#include "layers/layer_names.h"
#include "layers/layer_kind.h"
#include "simd/simd_table.h"

const void *layer_simd(cpu_level level, int *lanes)
{
    const simd_table *simd = simd_for(level);
    *lanes = simd->lanes;
    return simd;
}
