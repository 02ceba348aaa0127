/* ops_bodies - every SIMD body of the operators, compiled for the instruction set of the including
 * file. */
#include "ops/simd/simd_ops.h"

#include "simd/vector.h"

#include "simd/vecmath.h"
#include "simd/narrow.h"
#include "simd/sigmoid.h"

#include "ops/simd/activation.h"
#include "ops/simd/convert.h"
#include "ops/simd/gated.h"
#include "ops/simd/norm.h"

extern const simd_ops TABLE;

const simd_ops TABLE = {
#define BODY(result, name, parameters) .name = name,
#define VALUE(name, value)             .name = value,
#include "ops/simd/simd_ops.def"
#undef BODY
#undef VALUE
};
