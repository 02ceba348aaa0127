/* skipped_total - the images that could not be read, of all processes that share a loader's. */
#ifndef SSM2D_TRAIN_SKIPPED_TOTAL_H
#define SSM2D_TRAIN_SKIPPED_TOTAL_H

#include "cluster/cluster.h"
#include "data/loader.h"

/* As loader_skipped, for the loaders of all processes, each of which calls it: an image that
 * several could not read counts once. *first is a line of the first process that has one. */
ssm2d_status skipped_total(const ssm2d_context *context, cluster *c, loader *l, size_t *count,
                           ssm2d_error *first, ssm2d_error *error);

#endif
