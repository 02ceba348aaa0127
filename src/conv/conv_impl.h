/* conv_impl - what the algorithms of the convolution share. */
#ifndef SSM2D_CONV_CONV_IMPL_H
#define SSM2D_CONV_CONV_IMPL_H

#include "conv/conv.h"

/* Tasks beyond this many are not worth their overhead; fewer leave threads idle at the end. It does
 * not depend on the number of threads, so that neither do the sums over tasks. */
enum { TASKS_WANTED = 16, CACHE_LINE_BYTES = 64 };

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
    size_t own_size; /* of the struct behind conv_plan.own, which is zeroed before `plan` */
    void (*plan)(conv_plan *plan); /* decides, and reserves memory */
    double (*cost)(const conv_plan *plan);
    /* Computes tables, in memory of the context; NULL: there are none. */
    ssm2d_status (*finish)(conv_plan *plan, ssm2d_error *error);
    void (*release)(conv_plan *plan); /* frees the tables, if finish has made them; may be NULL */
    void (*prepare)(const conv_plan *plan, void *memory, const real *k2);
    void (*apply)(const conv_plan *plan, void *memory, const real *u, real *y);
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
