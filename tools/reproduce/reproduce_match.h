/* reproduce_match - models with as many parameters as others: rows of an experiment that are
 * `matched` have wider MLPs. */
#ifndef SSM2D_TOOLS_REPRODUCE_MATCH_H
#define SSM2D_TOOLS_REPRODUCE_MATCH_H

#include "train/settings.h"

#define MATCH_KEY "mlp_ratio"

/* What the model's size depends on, where its settings leave it to the data. */
typedef struct match_data {
    int channels, outputs;
} match_data;

/* The number of learned parameters of a run with these settings. */
ssm2d_status match_count(ssm2d_context *context, const train_settings *settings,
                         const match_data *data, size_t *count, ssm2d_error *error);
/* Finds the width of MLPs, as a value of MATCH_KEY, with which the count is closest to `wanted`. */
ssm2d_status match_find(ssm2d_context *context, const train_settings *settings,
                        const match_data *data, size_t wanted, double *ratio, ssm2d_error *error);

#endif
