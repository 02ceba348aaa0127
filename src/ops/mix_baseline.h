/* mix_baseline - what the operators mix_s4nd and mix_ema share: a baseline (ssm2d_baselines.h) over
 * the patch tokens, as a grid, in the manner of mix_ssm2d. */
#ifndef SSM2D_OPS_MIX_BASELINE_H
#define SSM2D_OPS_MIX_BASELINE_H

#include "graph/graph.h"
#include "ssm2d_baselines.h"

/* The functions of an op. */
ssm2d_status mix_baseline_prepare(graph *g, node *n, ssm2d_error *error);
void mix_baseline_forward(const graph *g, const node *n);
void mix_baseline_backward(const graph *g, const node *n);
void mix_baseline_destroy(graph *g, node *n);

#define MIX_BASELINE_OP(op_name)                                                                   \
    {                                                                                              \
        .name = op_name, .reads_in = 3, .affordable = 1, .prepare = mix_baseline_prepare,          \
        .forward = mix_baseline_forward, .backward = mix_baseline_backward,                        \
        .destroy = mix_baseline_destroy                                                            \
    }

/* Adds a node of such an op. */
tensor *mix_baseline(graph *g, const op *kind, tensor *x, tensor *params,
                     const ssm2d_baseline_config *config, int first, int rows, int cols);

#endif
