/* train_view - how a run is shown: a bar on a terminal (standard error), and a line per epoch on
 * standard output. */
#ifndef SSM2D_TOOLS_TRAIN_VIEW_H
#define SSM2D_TOOLS_TRAIN_VIEW_H

#include "train/loop.h"

typedef struct train_view {
    int terminal, threads;
    int bar;         /* one is on the screen */
    double shown_at; /* seconds */
    long epoch;      /* under way */
} train_view;

void train_view_open(train_view *v, int threads);
void train_view_close(train_view *v); /* removes the bar */
void train_view_end(train_view *v, const char *folder, const train_result *result);

/* The hooks; user is the train_view. */
void train_view_start(void *user, const train_start *start);
void train_view_step(void *user, const train_progress *progress);
void train_view_testing(void *user, size_t batch, size_t batches);
void train_view_epoch(void *user, const train_epoch *epoch);

#endif
