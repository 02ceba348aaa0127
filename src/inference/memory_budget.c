#include "inference/memory_budget.h"

#include <stdint.h>
#include <string.h>

enum { HEAD = 16 }; /* before each block: its size */

void *budget_allocate(size_t bytes, void *user)
{
    memory_budget *b = user;
    if (bytes > PTRDIFF_MAX - HEAD) return NULL;
    const size_t size = bytes + HEAD;
    if (b->limit && (b->taken > b->limit || size > b->limit - b->taken)) return NULL;
    /* not mem_alloc, which would touch it all to zero it: the context above does that */
    char *memory = b->from->allocate(size, b->from->user);
    if (!memory) return NULL;
    memcpy(memory, &size, sizeof size);
    b->taken += size;
    return memory + HEAD;
}

void budget_release(void *memory, void *user)
{
    memory_budget *b = user;
    char *start = (char *)memory - HEAD;
    size_t size;
    memcpy(&size, start, sizeof size);
    b->taken -= size;
    b->from->release(start, b->from->user);
}
