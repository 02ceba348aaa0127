/* bench_simulate - predicts the time of a training step with more threads than this machine has.
 *
 * A step is split into the tasks that it would have with all threads, but runs on one thread, which
 * records the time of each task; the tasks then go through the schedule of the pool. Contention for
 * memory bandwidth, caches and power is not simulated. The same simulation for 1 and 2 threads is
 * compared with the times of 1 and 2 real threads. */
#ifndef SSM2D_TOOLS_BENCH_SIMULATE_H
#define SSM2D_TOOLS_BENCH_SIMULATE_H

#include "bench_model.h"
#include "pool_schedule.h"

/* All visits of an operator, forward or backward. Times are those of one step, in milliseconds. */
typedef struct simulated_op {
    const char *name;
    int backward;
    long runs, tasks; /* of the pool, in a step */
    double one, many; /* with one thread, and with all threads */
    /* what `many` consists of, besides the tasks' time divided by the threads: work outside the
     * pool's tasks, threads that wait for the longest task, and the pool itself */
    double serial, uneven, pool;
} simulated_op;

/* Simulated against measured time of a step. */
typedef struct simulation_check {
    int threads;
    double simulated, measured;
} simulation_check;

enum { SIMULATED_OPS = 2 * BENCH_OPS, SIMULATION_CHECKS = 2 };
typedef struct simulation {
    int threads, rounds;
    pool_costs costs;
    simulated_op ops[SIMULATED_OPS], step; /* the longest first; step: all of them together */
    int op_count;
    simulation_check checks[SIMULATION_CHECKS];
    int check_count;
    double spread; /* of the real steps with one thread: median over shortest */
} simulation;

ssm2d_status bench_simulate(const model_config *config, size_t batch, int threads, double seconds,
                            simulation *s, ssm2d_error *error);

/* Print the results, as bench_outcome_json and bench_outcome_table do. */
void bench_simulation_json(const simulation *s, size_t batch);
void bench_simulation_table(const simulation *s, size_t batch);

#endif
