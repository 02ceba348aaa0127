/* schedule - the learning rate of each step: linear warm-up, then a cosine down to the final rate,
 * or constant. */
#ifndef SSM2D_TRAIN_SCHEDULE_H
#define SSM2D_TRAIN_SCHEDULE_H

typedef enum schedule_kind { SCHEDULE_COSINE, SCHEDULE_CONSTANT } schedule_kind;

typedef struct schedule {
    schedule_kind kind;
    /* the highest rate; that of the first step of the warm-up; that which the cosine ends at */
    double lr, start, final;
    long warmup, steps; /* how many of the steps are warm-up; how many there are in all */
} schedule;

/* Of a step, from 0 on; steps beyond the last have the final rate. */
double schedule_at(const schedule *s, long step);

#endif
