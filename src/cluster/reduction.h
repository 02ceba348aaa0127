/* reduction - sums an array over all processes, bucket by bucket, while the caller continues to
 * compute.
 *
 * Ordered: values are added in the order of a balanced binary tree over the ranks,
 *
 *     ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + (g6 + g7))
 *
 * whichever process adds them, so that a tree over slices of a batch, of which each rank has summed
 * a subtree, gives the same result for any power of two of ranks. Rank r first exchanges half of a
 * bucket with r^1, then a quarter with r^2, and so on, which leaves it one part of the sum; the
 * parts then return the same way. Each process sends and receives 2 (1 - 1/size) of a bucket, which
 * is optimal. Unordered: MPI_Iallreduce, in an order that MPI chooses.
 *
 * Messages advance only during calls: call reduction_progress often, between operators. */
#ifndef SSM2D_CLUSTER_REDUCTION_H
#define SSM2D_CLUSTER_REDUCTION_H

#include "cluster/cluster.h"

typedef struct reduction reduction;

typedef struct reduction_bucket {
    size_t first, count; /* in the array */
} reduction_bucket;

enum { REDUCTION_MAX_BUCKETS = 1024, REDUCTION_MAX_COUNT = 1 << 28 };

/* values: the caller's array; its buckets do not overlap. The number of processes must be a power
 * of two, unless `unordered`. */
ssm2d_status reduction_create(cluster *c, const ssm2d_context *context, float *values, int buckets,
                              const reduction_bucket *bucket, int unordered, reduction **out,
                              ssm2d_error *error);
void reduction_destroy(reduction *r);

/* Starts a bucket whose values this process has computed; they belong to the reduction until it is
 * finished. All processes begin the buckets of a step in the same order, each once. */
void reduction_begin(reduction *r, int bucket);
/* Advances the exchange without waiting. A failure is kept, and returned by reduction_finish. */
void reduction_progress(reduction *r);
/* Waits until every bucket that was begun is the sum over all processes. */
ssm2d_status reduction_finish(reduction *r, ssm2d_error *error);

typedef struct reduction_times {
    double working; /* seconds in begin and progress, while the caller computes */
    double waiting; /* seconds in finish */
} reduction_times;

reduction_times reduction_spent(const reduction *r); /* since creation */

/* to[i] += from[i], by all threads */
void add_arrays(const ssm2d_context *context, float *to, const float *from, size_t count);

#endif
