/* context - what every object needs: memory, threads, the instruction set. */
#ifndef SSM2D_CORE_CONTEXT_H
#define SSM2D_CORE_CONTEXT_H

#include "core/cpu.h"
#include "core/pool.h"

typedef struct wisdom wisdom;

struct ssm2d_context {
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *memory, void *user);
    void *user;
    pool *pool;
    cpu_level cpu;
    wisdom *wisdom; /* what plans have measured; wisdom.h */
};

/* Returns 64-byte aligned, zeroed memory; NULL if out of memory, or if bytes is too large. */
void *mem_alloc(const ssm2d_context *context, size_t bytes);
void mem_free(const ssm2d_context *context, void *memory);
/* Returns a list with space for `more` elements after its first `count`: the list itself, or one at
 * least twice as long to which they are moved. NULL if out of memory; the list is then
 * unchanged. */
void *mem_grow(const ssm2d_context *context, void *list, size_t element, size_t count, size_t more,
               size_t *capacity);

#endif
