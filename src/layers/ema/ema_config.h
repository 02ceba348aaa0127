/* ema_config - the settings of EMA: y = SiLU(conv(u) + omega.u), over cells in raster order. */
#ifndef SSM2D_LAYERS_EMA_CONFIG_H
#define SSM2D_LAYERS_EMA_CONFIG_H

#include "layers/layer_kind.h"

typedef struct ema_config {
    int channels;      /* H */
    int d_state;       /* N, states (decays) of each channel */
    int bidirectional; /* adds a second average that runs from the last cell to the first */
    int shift;         /* the second average starts at the next cell: no cell counts twice */
    int trunc;         /* truncates kernels to this many cells; 0: no truncation */
} ema_config;

#endif
