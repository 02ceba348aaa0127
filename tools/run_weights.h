/* run_weights - which weights of a run a command uses, and for images of which size. */
#ifndef SSM2D_TOOLS_RUN_WEIGHTS_H
#define SSM2D_TOOLS_RUN_WEIGHTS_H

#include "train/run_folder.h"

#include <string.h>

static inline const char *run_weights_at(int i)
{
    static const char *const names[] = {"last", "best", NULL};
    return names[i];
}

/* 32, or 24x40: rows and columns. NULL: 0, as in training. */
ssm2d_status image_size_of(const char *text, int size[2], ssm2d_error *error);

static inline run_file run_weights_file(const char *name)
{
    return strcmp(name, "best") ? RUN_MODEL : RUN_BEST;
}

#endif
