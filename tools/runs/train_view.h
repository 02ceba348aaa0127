/* train_view - shows the progress of a run: a bar on the terminal (standard error), and a line per
 * epoch on standard output. */
#ifndef SSM2D_TOOLS_TRAIN_VIEW_H
#define SSM2D_TOOLS_TRAIN_VIEW_H

#include "train/training.h"

typedef struct train_view {
    int terminal, threads, processes;
    int bar;         /* whether one is on the screen */
    double shown_at; /* clock_seconds of the last bar or line */
    long epoch;      /* the current one */
    size_t bad;      /* unreadable image files that were reported at the start */
    char of[32];     /* prefix of each line, such as "run 3/30, "; "" for a single run */
} train_view;

void train_view_open(train_view *v, int threads);
void train_view_close(train_view *v); /* removes the bar */
/* Prints the result of a run that has reached its end. */
void train_view_end(train_view *v, const char *folder, const train_result *result);

/* Writes a duration in seconds as 1:05 or 2:03:04 to text and returns text. */
const char *clock_text(double time, char *text, size_t size);

/* The hooks; user is the train_view. */
void train_view_checking(void *user, size_t done, size_t files);
void train_view_start(void *user, const train_start *start);
void train_view_step(void *user, const train_progress *progress);
void train_view_testing(void *user, size_t batch, size_t batches);
void train_view_epoch(void *user, const train_epoch *epoch);

#endif
