/* context - what every object needs: memory, threads, the instruction set. */
#ifndef SSM2D_CORE_CONTEXT_H
#define SSM2D_CORE_CONTEXT_H

#include "core/cpu.h"
#include "core/pool.h"

struct ssm2d_context {
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *memory, void *user);
    void *user;
    pool *pool;
    cpu_level cpu;
};

/* 64-byte aligned and zeroed memory; NULL when there is none (or bytes is absurd). */
void *mem_alloc(const ssm2d_context *context, size_t bytes);
void mem_free(const ssm2d_context *context, void *memory);
/* A list with space for `more` elements behind its first `count`: itself, or one that is at least
 * twice as long, to which they are moved. NULL when there is no memory: the list is as it was. */
void *mem_grow(const ssm2d_context *context, void *list, size_t element, size_t count, size_t more,
               size_t *capacity);

#endif
