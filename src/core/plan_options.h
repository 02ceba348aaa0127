/* plan_options - what every plan over a grid of cells is asked for (ssm2d_plan_options): read,
 * checked, and completed. */
#ifndef SSM2D_CORE_PLAN_OPTIONS_H
#define SSM2D_CORE_PLAN_OPTIONS_H

#include "core/context.h"

/* full <- the caller's options, which may come from a program compiled with an older header. */
ssm2d_status plan_options_read(ssm2d_plan_options *full, const ssm2d_plan_options *options,
                               ssm2d_error *error);
/* Refuses what no algorithm could serve; o->in and o->out get dense strides where they are zero. */
ssm2d_status plan_options_check(const ssm2d_context *context, int channels, ssm2d_plan_options *o,
                                ssm2d_error *error);
/* How many numbers an array with these strides spreads over. */
size_t plan_options_extent(const ssm2d_plan_options *o, int channels, ssm2d_strides s);
/* How many of them come before the first cell, because strides run backwards. */
size_t plan_options_origin(const ssm2d_plan_options *o, int channels, ssm2d_strides s);

#endif
