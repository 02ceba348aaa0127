/* memory_budget - an allocator that counts, and refuses what goes beyond a limit. */
#ifndef SSM2D_INFERENCE_MEMORY_BUDGET_H
#define SSM2D_INFERENCE_MEMORY_BUDGET_H

#include "core/context.h"

typedef struct memory_budget {
    const ssm2d_context *from; /* whose memory it is */
    size_t taken, limit;       /* limit 0: there is none */
} memory_budget;

/* For the options of a context whose `user` is a memory_budget. One thread at a time calls them. */
void *budget_allocate(size_t bytes, void *budget);
void budget_release(void *memory, void *budget);

#endif
