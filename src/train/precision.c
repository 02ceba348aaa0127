#include "train/precision.h"

#include "core/clock.h"
#include "core/context.h"
#include "core/status.h"
#include "ops/simd/gemm_table.h"

enum { SIDE = 256, ROUNDS = 7 };
/* A step has more than products: what they gain has to be worth the lower precision. */
static const double worth = 0.8;

/* The shortest time of a product, its factors being square matrices. */
static double time_product(const gemm_table *gemm, const float *x, float *packed, float *y)
{
    const gemm_packed_args product = {.m = SIDE,
                                      .n = SIDE,
                                      .k = SIDE,
                                      .x = x,
                                      .x_row = SIDE,
                                      .packed = packed,
                                      .y = y,
                                      .y_row = SIDE};
    const gemm_pack_args packing = {SIDE, SIDE, x, 1, SIDE, packed};
    double shortest = 0;
    gemm->gemm_pack(&packing, 0, SIDE);
    for (int i = 0; i < ROUNDS; i++) {
        const double start = clock_seconds();
        gemm->gemm_packed(&product, 0, SIDE);
        const double took = clock_seconds() - start;
        if (i == 0 || took < shortest) shortest = took;
    }
    return shortest;
}

ssm2d_status precision_measure(const ssm2d_context *context, int *precision, ssm2d_error *error)
{
    const gemm_table *exact = gemm_for(context->cpu, ELEMENT_REAL),
                     *rounded = gemm_for(context->cpu, ELEMENT_BFLOAT16);
    const size_t count = SIDE * SIDE;
    /* packed float32 needs more memory than packed bfloat16 */
    float *x = mem_alloc(context, count * sizeof *x), *y = mem_alloc(context, count * sizeof *y),
          *packed = mem_alloc(context, exact->gemm_packed_size(SIDE, SIDE) * sizeof *packed);
    const int done = x && y && packed;
    for (size_t i = 0; i < count && done; i++) x[i] = (float)(i % 7) - 3;
    if (done)
        *precision = time_product(rounded, x, packed, y) < worth * time_product(exact, x, packed, y)
                         ? TRAIN_PRECISION_BF16
                         : TRAIN_PRECISION_FLOAT32;
    mem_free(context, x);
    mem_free(context, y);
    mem_free(context, packed);
    return done ? SSM2D_OK : fail_memory(error, "matrix products of %d x %d", SIDE, SIDE);
}
