/* config - numbers that follow from a configuration. */
#ifndef SSM2D_LAYER_CONFIG_H
#define SSM2D_LAYER_CONFIG_H

#include "ssm2d.h"

/* The table behind ssm2d_config_fields, ended by a field without a name; `channels` is the
 * first. */
extern const ssm2d_field layer_fields[];

/* full <- the caller's configuration, which may come from a program compiled with an older header,
 * if it is valid. */
ssm2d_status config_read(ssm2d_config *full, const ssm2d_config *config, ssm2d_error *error);

/* K, the number of systems */
static inline int config_systems(const ssm2d_config *c)
{
    return c->share_directions ? c->n_ssm : c->directions * c->n_ssm;
}

static inline int config_c_rows(const ssm2d_config *c)
{
    return (c->share_directions ? 1 : c->directions) * (c->c_per_channel ? c->channels : c->n_ssm);
}

/* Whether direction r looks at the grid mirrored in rows, in columns. */
typedef struct flip {
    int rows, cols;
} flip;
flip config_flip(const ssm2d_config *config, int r);

#endif
