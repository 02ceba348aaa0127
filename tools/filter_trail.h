/* filter_trail - a layer with chosen parameters: a motion blur whose trail fades and widens in one
 * direction. */
#ifndef SSM2D_TOOLS_FILTER_TRAIL_H
#define SSM2D_TOOLS_FILTER_TRAIL_H

#include "ssm2d.h"

typedef struct filter_trail {
    double angle;  /* degrees: 0 to the right, 90 down, 180 to the left */
    double length; /* mean, in pixels */
    double mix;    /* weight of the trail; the rest is the picture itself */
} filter_trail;

/* The configuration for so many channels, all treated alike, and the parameters (give them back
 * with mem_free). */
ssm2d_status filter_trail_layer(const ssm2d_context *context, const filter_trail *trail,
                                int channels, ssm2d_config *config, double **params,
                                ssm2d_error *error);

#endif
