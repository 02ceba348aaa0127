/* run_weights - which weights of a run a command uses. */
#ifndef SSM2D_TOOLS_RUN_WEIGHTS_H
#define SSM2D_TOOLS_RUN_WEIGHTS_H

#include "train/run_folder.h"

#include <string.h>

static inline const char *run_weights_at(int i)
{
    static const char *const names[] = {"last", "best", NULL};
    return names[i];
}

static inline run_file run_weights_file(const char *name) { return strcmp(name, "best") ? RUN_MODEL : RUN_BEST; }

#endif
