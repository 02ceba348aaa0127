/* flat - passes over flat arrays of parameters, in pieces of a fixed size, whatever the number of
 * threads: the norm of a gradient, clearing it, and the moving average of weights. */
#ifndef SSM2D_OPTIM_FLAT_H
#define SSM2D_OPTIM_FLAT_H

#include "core/arith.h"
#include "core/context.h"

enum { FLAT_PIECE = 1 << 14 };

static inline size_t flat_pieces(size_t count) { return div_up_size(count, FLAT_PIECE); }
static inline size_t flat_piece_start(size_t piece) { return piece * FLAT_PIECE; }
static inline size_t flat_piece_end(size_t piece, size_t count)
{
    return min_size((piece + 1) * FLAT_PIECE, count);
}

/* Returns the square root of the sum of squares, in double and in a fixed order; it is not finite
 * exactly when some gradient is not. partial: scratch of flat_pieces(count) elements. */
double gradient_norm(const ssm2d_context *context, size_t count, const float *grads,
                     double *partial);

/* gradients = 0 */
void gradient_clear(const ssm2d_context *context, size_t count, float *grads);

/* average = keep*average + (1-keep)*weights */
void average_update(const ssm2d_context *context, double keep, size_t count, const float *weights,
                    float *average);

#endif
