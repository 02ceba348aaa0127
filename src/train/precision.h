/* precision - which precision trains faster on this machine. */
#ifndef SSM2D_TRAIN_PRECISION_H
#define SSM2D_TRAIN_PRECISION_H

#include "train/options.h"

/* Sets *precision to TRAIN_PRECISION_BF16 if products of bfloat16 take clearly less time than those
 * of float32, measured with one thread, and else to TRAIN_PRECISION_FLOAT32. That a processor has
 * instructions for bfloat16 does not say that they are faster. */
ssm2d_status precision_measure(const ssm2d_context *context, int *precision, ssm2d_error *error);

#endif
