/* precision - which precision trains fastest on this machine, and with which matrix products. That
 * a processor has instructions for bfloat16 does not say that they are faster, so it is measured,
 * with one thread. */
#ifndef SSM2D_TRAIN_PRECISION_H
#define SSM2D_TRAIN_PRECISION_H

#include "ops/simd/gemm_table.h"
#include "train/options.h"

/* Replaces TRAIN_PRECISION_AUTO: float32 unless products of bfloat16 take clearly less time. Tiles
 * are considered where the machine has them. */
ssm2d_status precision_choose(const ssm2d_context *context, int *precision, ssm2d_error *error);

/* The fastest products of a precision, which all have the same bits; graph.gemm. name may be NULL.
 */
ssm2d_status precision_products(const ssm2d_context *context, train_precision precision,
                                const gemm_table **table, const char **name, ssm2d_error *error);

#endif
