/* baseline_fields - the tables behind ssm2d_baseline_fields, for tables that are made from them.
 * Ended by a field without a name; `channels` is the first. */
#ifndef SSM2D_BASELINES_BASELINE_FIELDS_H
#define SSM2D_BASELINES_BASELINE_FIELDS_H

#include "ssm2d_baselines.h"

extern const ssm2d_field s4nd_fields[], ema_fields[];

#endif
