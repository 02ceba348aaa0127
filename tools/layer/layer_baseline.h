/* layer_baseline - what cases of the baselines (ssm2d_baselines.h) share. */
#ifndef SSM2D_TOOLS_LAYER_BASELINE_H
#define SSM2D_TOOLS_LAYER_BASELINE_H

#include "layer_case.h"

/* Reads the fields of the configuration, which holds the defaults; `sizes` are the keys of the
 * grid, ended by NULL. A field that is null keeps its default. */
ssm2d_status layer_baseline_read(const char *path, const cJSON *root, const char *const *sizes,
                                 layer_case *c, ssm2d_error *error);
/* The functions of a layer_kind. */
int layer_baseline_array(const layer_case *c, int i, layer_array *array);
ssm2d_status layer_baseline_check(const layer_case *c, ssm2d_type type, const void *params,
                                  ssm2d_error *error);
ssm2d_status layer_baseline_run(ssm2d_context *context, const layer_case *c, const layer_run *r,
                                ssm2d_error *error);

#endif
