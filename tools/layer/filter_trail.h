/* filter_trail - a layer with chosen parameters: a motion blur whose trail fades and widens in one
 * direction. */
#ifndef SSM2D_TOOLS_FILTER_TRAIL_H
#define SSM2D_TOOLS_FILTER_TRAIL_H

#include "layers/ssm2d/ssm2d_config.h"

typedef struct filter_trail {
    double angle;  /* degrees: 0 to the right, 90 down, 180 to the left, 270 up */
    double length; /* mean length in pixels */
    double mix;    /* weight of the trail; the picture itself has weight 1 - mix */
} filter_trail;

/* Makes the configuration and the parameters of a layer that treats all channels alike. The caller
 * frees *params with mem_free. */
ssm2d_status filter_trail_layer(const ssm2d_context *context, const filter_trail *trail,
                                int channels, ssm2d_config *config, double **params,
                                ssm2d_error *error);

#endif
