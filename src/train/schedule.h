/* schedule - the learning rate of each step: linear warm-up, then a cosine or a line down to the
 * final rate, or constant.
 *
 * Steps are counted from 0. With a unit of u > 1 steps the rate changes every u steps, for example
 * once per epoch: a step counts as u * floor(step / u). */
#ifndef SSM2D_TRAIN_SCHEDULE_H
#define SSM2D_TRAIN_SCHEDULE_H

typedef enum schedule_kind { SCHEDULE_COSINE, SCHEDULE_CONSTANT, SCHEDULE_LINEAR } schedule_kind;

typedef struct schedule {
    schedule_kind kind;
    double lr;          /* peak */
    double start;       /* in the first step of the warm-up */
    double final;       /* at the end of the cosine or line */
    long warmup, steps; /* steps of the warm-up; the step at which the final rate is reached */
    /* The cosine or line starts with the run, and the warm-up replaces its first part; otherwise it
     * starts at the peak, after the warm-up. */
    int from_start;
    long unit; /* 0 means 1 */
} schedule;

/* Returns the learning rate of a step; from `steps` on it is the final or the constant rate. */
double schedule_at(const schedule *s, long step);

#endif
