/* failing_memory - a version of the tool in which an allocation fails (chosen by fail_at.h): the
 * linker wraps malloc, aligned_alloc and free for the objects of this tree, where the context's
 * allocator alone calls them, and cJSON is given the same. Ends with exit code 70 when something
 * was not freed. */
#include "fail_at.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>

static atomic_long live;

void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    void *memory = fail_now() ? NULL : __real_malloc(size);
    if (memory)
        atomic_fetch_add(&live, 1);
    else
        errno = ENOMEM; /* as malloc does */
    return memory;
}

/* of large blocks */
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    void *memory = fail_now() ? NULL : __real_aligned_alloc(alignment, size);
    if (memory) atomic_fetch_add(&live, 1);
    return memory;
}

void __wrap_free(void *memory)
{
    if (memory) atomic_fetch_sub(&live, 1);
    __real_free(memory);
}

__attribute__((constructor)) static void count_json(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){__wrap_malloc, __wrap_free});
}

__attribute__((destructor)) static void report(void)
{
    if (!live) return;
    fprintf(stderr, "failing_memory: %ld blocks were not freed\n", (long)live);
    fflush(stderr);
    _exit(70);
}
