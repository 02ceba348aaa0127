/* precision - which precision trains fastest on this machine, and with which matrix products. That
 * a processor has instructions for bfloat16 does not say that they are faster, so it is measured,
 * with one thread. */
#ifndef SSM2D_TRAIN_PRECISION_H
#define SSM2D_TRAIN_PRECISION_H

#include "graph/graph.h"
#include "train/options.h"

/* Replaces TRAIN_PRECISION_AUTO: float32 unless products of bfloat16 take clearly less time. Tiles
 * are considered where the machine has them. */
ssm2d_status precision_choose(const ssm2d_context *context, int *precision, ssm2d_error *error);

/* Lets a training graph that is not built yet compute in a precision: with its fastest products,
 * which all have the same bits, and unless it is TRAIN_PRECISION_FLOAT32 with activations kept in
 * bfloat16. name: of the instructions that multiply, NULL with float32; may be NULL. */
ssm2d_status precision_use(graph *g, train_precision precision, const char **name,
                           ssm2d_error *error);

#endif
