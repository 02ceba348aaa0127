/* mix_ema - EMA over the patch tokens in raster order, SiLU included; tokens before `first` (CLS)
 * pass unchanged. */
#include "ops/mix_baseline.h"
#include "ops/ops.h"

const op op_mix_ema = MIX_BASELINE_OP("mix_ema");

tensor *mix_ema(graph *g, tensor *x, tensor *params, const ssm2d_ema_config *config, int first,
                int rows, int cols)
{
    return mix_baseline(g, &op_mix_ema, x, params, &config->base, first, rows, cols);
}
