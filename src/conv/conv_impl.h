/* conv_impl - what the algorithms of the convolution share. */
#ifndef SSM2D_CONV_CONV_IMPL_H
#define SSM2D_CONV_CONV_IMPL_H

#include "core/context.h"
#include "core/tasks.h"
#include "conv/conv.h"

/* Tasks are chunks of the batch first, each with all channels: memory is fastest when it is read in
 * long pieces (groups of half the channels cost 15 % on two processors). Where chunks give too few
 * tasks for the threads, channels are cut into groups as well, on which no sum depends. The kernel
 * gradient of a chunk takes memory and must be added up: there are at most GRADIENT_CHUNKS,
 * whatever the number of threads, so that sums do not depend on it. */
enum { TASKS_WANTED = 2 * TASKS_THREADS, GRADIENT_CHUNKS = 16, FEW_TASKS = 16 };
enum { CACHE_LINE_BYTES = 64 };

/* The tasks that there should be at least. */
static inline int conv_min_tasks(const ssm2d_context *context)
{
    return max_int(FEW_TASKS, pool_threads(context->pool));
}

/* How a pass over the batch is cut into tasks: groups of so many vectors times chunks of images. */
typedef struct conv_share {
    int group, groups, chunks;
} conv_share;

typedef struct conv_algorithm conv_algorithm;

struct conv_plan {
    conv_problem problem;
    const conv_algorithm *algorithm;
    const simd_table *simd;
    two_sided layout;
    int lanes, vectors; /* vectors of channels: channels / lanes, rounded up */
    size_t bytes;       /* of the memory of one execution */
    void *own;          /* what the algorithm has decided: a struct of its own type */
};

struct conv_algorithm {
    const char *name;
    /* Whether rounding errors are relative to the largest value of an array, not to each. */
    int error_of_largest;
    size_t own_size; /* of the struct behind conv_plan.own, which is zeroed before `plan` */
    void (*plan)(conv_plan *plan); /* decides, and reserves memory */
    double (*cost)(const conv_plan *plan);
    /* Computes tables, in memory of the context; NULL: there are none. */
    ssm2d_status (*finish)(conv_plan *plan, ssm2d_error *error);
    void (*release)(conv_plan *plan); /* frees the tables, if finish has made them; may be NULL */
    void (*prepare)(const conv_plan *plan, void *memory, const real *k2);
    void (*apply)(const conv_plan *plan, void *memory, const real *u, const real *bias, real *y);
    void (*backward)(const conv_plan *plan, void *memory, const real *k2, const real *u,
                     const real *dy, real *du, real *dk2);
};

/* While planning: makes room for count * size bytes in the memory of an execution and returns its
 * offset, 64-byte aligned. Sizes that do not fit a size_t leave bytes at SIZE_MAX. */
size_t conv_reserve(conv_plan *plan, size_t count, size_t size);

/* The array at an offset of the memory of an execution. */
static inline real *conv_array(void *memory, size_t offset)
{
    return (real *)(void *)((char *)memory + offset);
}

extern const conv_algorithm conv_direct, conv_fft;

#endif
