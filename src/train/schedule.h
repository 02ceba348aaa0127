/* schedule - the learning rate of each step: linear warm-up, then a cosine down to the final rate,
 * or constant. */
#ifndef SSM2D_TRAIN_SCHEDULE_H
#define SSM2D_TRAIN_SCHEDULE_H

typedef enum schedule_kind { SCHEDULE_COSINE, SCHEDULE_CONSTANT } schedule_kind;

typedef struct schedule {
    schedule_kind kind;
    double lr;          /* peak */
    double start;       /* of the first step of the warm-up */
    double final;       /* at the end of the cosine */
    long warmup, steps; /* steps of the warm-up, steps of the run */
} schedule;

/* Returns the learning rate of a step, counted from 0; after the last step it is the final one. */
double schedule_at(const schedule *s, long step);

#endif
