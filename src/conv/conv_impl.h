/* conv_impl - definitions shared by the convolution algorithms. */
#ifndef SSM2D_CONV_CONV_IMPL_H
#define SSM2D_CONV_CONV_IMPL_H

#include "core/context.h"
#include "core/tasks.h"
#include "conv/conv.h"

/* The batch is cut into chunks first, each with all channels, because memory is fastest when read
 * in long runs (groups of half the channels cost 15 % on two processors). If that gives too few
 * tasks for the threads, channels are cut into groups as well; no sum depends on the groups. Each
 * chunk has a kernel gradient, which takes memory and must be added up: there are at most
 * GRADIENT_CHUNKS of them, for any number of threads, so that sums do not depend on it. */
enum { TASKS_WANTED = 2 * TASKS_THREADS, GRADIENT_CHUNKS = 16, FEW_TASKS = 16 };
enum { CACHE_LINE_BYTES = 64 };

/* Minimum number of tasks that keeps all threads busy. */
static inline int conv_min_tasks(const ssm2d_context *context)
{
    return max_int(FEW_TASKS, pool_threads(context->pool));
}

/* How a pass over the batch is cut into tasks: groups of vectors times chunks of images. */
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
    void *own;          /* the algorithm's part of the plan: a struct of its own type */
};

struct conv_algorithm {
    const char *name;
    /* See conv_plan_error_of_largest. */
    int error_of_largest;
    size_t own_size; /* of the struct behind conv_plan.own, which is zeroed before `plan` */
    void (*plan)(conv_plan *plan); /* fills `own` and reserves memory */
    double (*cost)(const conv_plan *plan);
    /* Computes tables; NULL: the algorithm has none. */
    ssm2d_status (*finish)(conv_plan *plan, ssm2d_error *error);
    void (*release)(conv_plan *plan); /* frees the tables if finish made them; may be NULL */
    void (*prepare)(const conv_plan *plan, void *memory, const real *k2);
    void (*apply)(const conv_plan *plan, void *memory, const real *u, const real *bias, real *y);
    void (*backward)(const conv_plan *plan, void *memory, const real *k2, const real *u,
                     const real *dy, real *du, real *dk2);
};

/* While planning: reserves count * size bytes in the memory of an execution and returns their
 * offset, 64-byte aligned. On overflow bytes becomes SIZE_MAX. */
size_t conv_reserve(conv_plan *plan, size_t count, size_t size);

/* The array at an offset of the memory of an execution. */
static inline real *conv_array(void *memory, size_t offset)
{
    return (real *)(void *)((char *)memory + offset);
}

extern const conv_algorithm conv_direct, conv_fft;

#endif
