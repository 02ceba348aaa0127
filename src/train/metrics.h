/* metrics - the course of a run: one JSON object per line in metrics.jsonl, and the same in memory
 * for the curves.
 *
 *     {"kind": "step", "step": 50, "epoch": 0.107, "loss": 1.93, "lr": 0.001, "norm": 0.8, ..,
 *      "mixer_norms": [0.1, ..], "kernel_gains": [1.3, ..]}
 *     {"kind": "epoch", "step": 468, "epoch": 1, "loss": 0.91, METRIC: 0.78, ..}
 *
 * There is a line after every `log_every` steps, with the mean loss since the previous line, and a
 * line after every epoch, in which METRIC is the key of the task's first metric.
 * mixer_norms and kernel_gains have an element for each block with a mixer: see mixer_log.h. */
#ifndef SSM2D_TRAIN_METRICS_H
#define SSM2D_TRAIN_METRICS_H

#include "tasks/task.h"

typedef struct metric {
    int is_epoch;
    long step;
    double epoch; /* epochs done, with a fraction */
    double loss, lr, images_per_s;
    double wait; /* fraction of the time that steps waited for images */
    double norm; /* of the last step's gradient; steps only */
    /* of the mixer in each block; steps only. metrics_add writes them but does not keep them; lines
     * from metrics_read have them */
    int blocks;
    const double *mixer_norms, *kernel_gains;
    /* epochs only; score: the task's first metric */
    double score, test_loss, test_score, seconds;
    int validation; /* test_loss and test_score are on validation images: val_ in the file */
} metric;

typedef struct metrics metrics;

/* Opens the file at path for appending; the caller closes it. Lines up to the given step and epoch
 * are kept, later ones are removed; at step 0 the file starts empty. */
ssm2d_status metrics_open(const ssm2d_context *context, const char *path, const task *t, long step,
                          long epochs, metrics **out, ssm2d_error *error);
/* Reads the file at path, for drawing only; the caller closes it. */
ssm2d_status metrics_read(const ssm2d_context *context, const char *path, const task *t,
                          metrics **out, ssm2d_error *error);
/* Returns the i-th line, NULL past the last. */
const metric *metrics_line(const metrics *m, size_t i);
/* The median of images/s over epochs; NAN if no epoch has it. */
ssm2d_status metrics_speed(const metrics *m, double *images_per_s, ssm2d_error *error);
ssm2d_status metrics_add(metrics *m, const metric *line, ssm2d_error *error);
/* Syncs all lines to the disk; to be called before a checkpoint that follows them. */
ssm2d_status metrics_sync(metrics *m, ssm2d_error *error);
void metrics_close(metrics *m);

/* Draws loss and score over epochs to path, .svg, .png or .pdf; the x axis ends at `epochs`. title
 * and note, the text below the panels, may be NULL. The training loss is that of the lines of
 * steps, or of the epochs if there are fewer such lines than epochs. */
ssm2d_status metrics_draw(const metrics *m, const char *path, const char *title, const char *note,
                          long epochs, ssm2d_error *error);

#endif
