/* scale_model - predicts the time of a training step in several processes by simulating its
 * schedule: buckets that are sent while backward goes on, stage by stage as reduction.h exchanges
 * them. */
#ifndef SSM2D_TOOLS_SCALE_MODEL_H
#define SSM2D_TOOLS_SCALE_MODEL_H

#include <stddef.h>

typedef struct scale_network {
    const char *name;
    double latency;   /* ms, of a short message */
    double bandwidth; /* bytes per ms that a process sends while it receives as much */
    /* The process moves the bytes itself, as within a machine, and cannot compute meanwhile; a
     * network moves them on its own. */
    int by_processor;
} scale_network;

typedef struct scale_bucket {
    size_t count; /* gradients, 4 bytes each */
    int ready;    /* the visit after which they are complete */
} scale_bucket;

typedef struct scale_work {
    const double *visits; /* ms of each visit of a slice, forward and backward */
    int visit_count;
    double update;               /* ms */
    const scale_bucket *buckets; /* in the order in which they are sent */
    int bucket_count;
    double add; /* bytes per ms that are added to others */
} scale_work;

enum { SCALE_BUCKETS = 1024 };

typedef struct scale_step {
    double ms;      /* of the step */
    double exposed; /* ms of communication that is not hidden behind computation */
} scale_step;

/* Returns the step of `ranks` processes, a power of two, each with one slice. All processes behave
 * alike, so only one of them is simulated. */
scale_step scale_simulate(const scale_work *work, const scale_network *network, int ranks);

#endif
