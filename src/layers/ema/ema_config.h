/* ema_config - the settings of EMA: y = SiLU(conv(u) + omega.u), over cells in raster order. */
#ifndef SSM2D_LAYERS_EMA_CONFIG_H
#define SSM2D_LAYERS_EMA_CONFIG_H

#include "layers/layer_kind.h"

typedef struct ema_config {
    int channels;      /* H */
    int d_state;       /* N, decays of each channel */
    int bidirectional; /* a second average that looks back from the end */
    int shift;         /* the second one starts at the next cell, so that none counts twice */
    int trunc;         /* kernels are cut to this many cells; 0: as many as there are */
} ema_config;

#endif
