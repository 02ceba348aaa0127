#define _DEFAULT_SOURCE /* madvise */
#include "core/context.h"

#include "core/processors.h"
#include "core/sized.h"
#include "core/status.h"
#include "core/tasks.h"
#include "core/wisdom.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, MAX_THREADS = 1024 };
enum { LARGE = 8 << 20, PIECE = 2 << 20 }; /* PIECE: a large page */

/* Large blocks request huge pages, which many systems provide only on request: a step accesses
 * hundreds of megabytes, and with small pages TLB misses would slow it down. */
static void *default_allocate(size_t bytes, void *user)
{
    (void)user;
#if defined(MADV_HUGEPAGE) && !defined(__EMSCRIPTEN__) /* it has the name alone */
    if (bytes >= LARGE && bytes <= SIZE_MAX - PIECE) {
        const size_t whole = (bytes + PIECE - 1) / PIECE * PIECE;
        void *memory = aligned_alloc(PIECE, whole);
        if (memory)
            (void)madvise(memory, whole, MADV_HUGEPAGE); /* a hint only; failure is harmless */
        return memory;
    }
#endif
    return malloc(bytes);
}

static void default_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

/* On NUMA machines a page is placed near the thread that touches it first. All threads zero a large
 * block, piece by piece in turn, which spreads it over the machine's memory; this is also faster,
 * because the system zeroes new pages itself. */
typedef struct zeroing {
    char *memory;
    size_t bytes;
} zeroing;

static void zero_pieces(void *arg, size_t task, int worker)
{
    (void)worker;
    const zeroing *z = arg;
    for (size_t at = task * PIECE; at < z->bytes; at += (size_t)TASKS_THREADS * PIECE)
        memset(z->memory + at, 0, min_size(PIECE, z->bytes - at));
}

static void zero(const ssm2d_context *context, char *memory, size_t bytes)
{
    zeroing z = {memory, bytes};
    if (context->pool && bytes >= LARGE)
        pool_run(context->pool, TASKS_THREADS, zero_pieces, &z);
    else
        memset(memory, 0, bytes);
}

/* The allocator's pointer is stored just below the aligned block. */
void *mem_alloc(const ssm2d_context *context, size_t bytes)
{
    if (bytes > PTRDIFF_MAX - 2 * ALIGNMENT) return NULL;
    char *raw = context->allocate(bytes + ALIGNMENT + sizeof(void *), context->user);
    if (!raw) return NULL;
    uintptr_t start = ((uintptr_t)raw + sizeof(void *) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *memory = raw + (start - (uintptr_t)raw);
    memcpy(memory - sizeof raw, &raw, sizeof raw);
    zero(context, memory, bytes);
    return memory;
}

void mem_free(const ssm2d_context *context, void *memory)
{
    if (!memory) return;
    void *raw;
    memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
    context->release(raw, context->user);
}

void *mem_grow(const ssm2d_context *context, void *list, size_t element, size_t count, size_t more,
               size_t *capacity)
{
    const size_t most = PTRDIFF_MAX / element;
    if (count + more <= *capacity) return list;
    if (more > most - count || *capacity > most / 2) return NULL;
    const size_t wanted = max_size(max_size(2 * *capacity, 64), count + more);
    void *larger = mem_alloc(context, wanted * element);
    if (!larger) return NULL;
    if (count) memcpy(larger, list, count * element);
    mem_free(context, list);
    *capacity = wanted;
    return larger;
}

void ssm2d_context_options_init(ssm2d_context_options *options, size_t size)
{
    const ssm2d_context_options defaults = {0};
    sized_init(options, size, &defaults, sizeof defaults);
}

ssm2d_status ssm2d_context_create(const ssm2d_context_options *options, ssm2d_context **out,
                                  ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_context_options), 0};
    ssm2d_context_options o = {0};
    ssm2d_status status = SSM2D_OK;
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: there is nowhere to put the result");
    *out = NULL;
    if (options) status = sized_read(&o, options, sizes, "context_options", error);
    if (status) return status;
    if (o.threads < 0 || o.threads > MAX_THREADS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "threads=%d: use 1 to %d, or 0 for all processors",
                    o.threads, MAX_THREADS);
    if (!o.allocate != !o.release)
        return fail(error, SSM2D_ERROR_ARGUMENT, "allocate and release: give both or neither");
    ssm2d_context c = {o.allocate ? o.allocate : default_allocate,
                       o.release ? o.release : default_release,
                       o.user,
                       NULL,
                       CPU_BASELINE,
                       NULL};
    status = cpu_choose(o.cpu, &c.cpu, error);
    if (status) return status;

    int threads = o.threads ? o.threads : min_int(processors_available(), MAX_THREADS);
    ssm2d_context *context = mem_alloc(&c, sizeof c);
    void *memory = mem_alloc(&c, pool_bytes(threads));
    if (!context || !memory) {
        mem_free(&c, memory);
        mem_free(&c, context);
        return fail_memory(error, "context of %d threads", threads);
    }
    status = wisdom_create(&c, &c.wisdom, error);
    if (!status) status = pool_start(memory, threads, &c.pool, error);
    if (status) {
        wisdom_destroy(&c, c.wisdom);
        mem_free(&c, memory);
        mem_free(&c, context);
        return status;
    }
    *context = c;
    *out = context;
    return SSM2D_OK;
}

void ssm2d_context_destroy(ssm2d_context *context)
{
    if (!context) return;
    ssm2d_context c = *context;
    pool_stop(c.pool);
    wisdom_destroy(&c, c.wisdom);
    mem_free(&c, c.pool);
    mem_free(&c, context);
}

int ssm2d_context_threads(const ssm2d_context *context) { return pool_threads(context->pool); }
const char *ssm2d_context_cpu(const ssm2d_context *context) { return cpu_names[context->cpu]; }
