#include "scale_model.h"

#include <math.h>

/* A bucket that is being exchanged. */
typedef struct lane {
    int stage;      /* -1: not begun; 2n: done */
    double arrival; /* when the exchange of its stage is complete */
} lane;

typedef struct simulation {
    const scale_work *work;
    const scale_network *network;
    int stages;  /* n, log2 of the processes */
    double now;  /* ms: up to when the process has computed */
    double link; /* when the network is free */
    int begun, done;
    lane lanes[SCALE_BUCKETS];
} simulation;

/* Bytes that are exchanged in a stage: a half, a quarter .. and back. */
static double bytes_of(const simulation *s, int bucket, int stage)
{
    const int halvings = stage < s->stages ? stage + 1 : 2 * s->stages - stage;
    return 4 * (double)s->work->buckets[bucket].count / pow(2, halvings);
}

static void exchange(simulation *s, int bucket)
{
    lane *l = &s->lanes[bucket];
    const double time = bytes_of(s, bucket, l->stage) / s->network->bandwidth;
    if (s->network->by_processor) {
        s->now += time;
        l->arrival = s->now + s->network->latency;
        return;
    }
    const double start = fmax(s->now, s->link);
    s->link = start + time;
    l->arrival = start + time + s->network->latency;
}

/* Simulates reduction_progress: adds what has arrived, and starts the next stage. */
static void progress(simulation *s)
{
    for (int i = 0; i < s->begun; i++) {
        lane *l = &s->lanes[i];
        while (l->stage < 2 * s->stages && l->arrival <= s->now) {
            if (l->stage < s->stages) s->now += bytes_of(s, i, l->stage) / s->work->add;
            if (++l->stage == 2 * s->stages)
                s->done++;
            else
                exchange(s, i);
        }
    }
}

static void begin_ready(simulation *s, int visit)
{
    const scale_work *w = s->work;
    while (s->begun < w->bucket_count && w->buckets[s->begun].ready <= visit) {
        s->lanes[s->begun].stage = 0;
        exchange(s, s->begun++);
    }
}

/* The time of the next arrival. */
static double next_arrival(const simulation *s)
{
    double next = INFINITY;
    for (int i = 0; i < s->begun; i++)
        if (s->lanes[i].stage < 2 * s->stages) next = fmin(next, s->lanes[i].arrival);
    return next;
}

scale_step scale_simulate(const scale_work *work, const scale_network *network, int ranks)
{
    simulation s = {.work = work, .network = network};
    double alone = work->update;
    while (1 << s.stages < ranks) s.stages++;
    for (int v = 0; v < work->visit_count; v++) {
        s.now += work->visits[v];
        alone += work->visits[v];
        if (ranks == 1) continue;
        begin_ready(&s, v);
        progress(&s);
    }
    if (ranks > 1) begin_ready(&s, work->visit_count);
    while (ranks > 1 && s.done < work->bucket_count) {
        s.now = fmax(s.now, next_arrival(&s));
        progress(&s);
    }
    /* the sum of the losses before the update */
    s.now += s.stages * network->latency + work->update;
    return (scale_step){s.now, s.now - alone};
}
