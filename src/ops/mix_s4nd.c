/* mix_s4nd - S4ND over the patch tokens, as a grid; tokens before `first` (CLS) pass unchanged. */
#include "ops/mix_baseline.h"
#include "ops/ops.h"

const op op_mix_s4nd = MIX_BASELINE_OP("mix_s4nd");

tensor *mix_s4nd(graph *g, tensor *x, tensor *params, const ssm2d_s4nd_config *config, int first,
                 int rows, int cols)
{
    return mix_baseline(g, &op_mix_s4nd, x, params, &config->base, first, rows, cols);
}
