/* run_control - callbacks through which the caller of a run follows its progress and stops it. */
#ifndef SSM2D_TRAIN_RUN_CONTROL_H
#define SSM2D_TRAIN_RUN_CONTROL_H

#include "cluster/cluster.h"

struct train_start;
struct train_progress;
struct train_epoch;

/* Each function may be NULL. */
typedef struct run_control {
    void *user; /* passed to all of them */
    /* Whether to stop: called after each step, before each batch of an evaluation, and, when there
     * are several processes, between operators too, because their launcher soon kills them. The run
     * then ends with a checkpoint. */
    int (*stop)(void *user);
    void (*start)(void *user, const struct train_start *start);
    void (*step)(void *user, const struct train_progress *progress);
    void (*testing)(void *user, size_t batch, size_t batches);
    void (*epoch)(void *user, const struct train_epoch *epoch);
    /* while the image files of a new run are checked, before `start` */
    void (*checking)(void *user, size_t done, size_t files);
    const char *checked; /* file that lists the image files found good, or NULL */
    /* The processes that train together, each of which calls the same function with the same
     * settings. Only the first uses the run's folder. NULL: there is one process. */
    cluster *cluster;
} run_control;

static inline int run_stop_requested(const run_control *c)
{
    return c && c->stop && c->stop(c->user);
}

#endif
