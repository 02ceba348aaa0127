/* run_weights - the options --weights and --image-size of commands that use a run. */
#ifndef SSM2D_TOOLS_RUN_WEIGHTS_H
#define SSM2D_TOOLS_RUN_WEIGHTS_H

#include "train/run_folder.h"

#include <string.h>

/* Returns the i-th name of --weights, NULL past the last. */
static inline const char *run_weights_at(int i)
{
    static const char *const names[] = {"last", "best", NULL};
    return names[i];
}

/* Parses --image-size: 32, or 24x40 for rows and columns. NULL gives 0, the size of training. */
ssm2d_status image_size_of(const char *text, int size[2], ssm2d_error *error);

/* Returns the run's file for a name of --weights. */
static inline run_file run_weights_file(const char *name)
{
    return strcmp(name, "best") ? RUN_MODEL : RUN_BEST;
}
/* The name of weights that were opened. */
static inline const char *run_weights_name(run_file which)
{
    return run_weights_at(which == RUN_BEST);
}
/* The same file where --weights may be missing (NULL): then the latest. Refuses --weights for a
 * model file, which has the weights of one epoch. */
ssm2d_status run_weights_choose(const char *run, const char *given, run_file *which,
                                ssm2d_error *error);

#endif
