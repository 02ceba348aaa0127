/* metrics - how a run went: one JSON object per line in metrics.jsonl, and the same in memory for
 * the curves.
 *
 *     {"kind": "step", "step": 50, "epoch": 0.107, "loss": 1.93, "lr": 0.001, "norm": 0.8, ..}
 *     {"kind": "epoch", "step": 468, "epoch": 1, "loss": 0.91, "accuracy": 0.78,
 *      "test_loss": 0.55, "test_accuracy": 0.84, ..}
 *
 * A line per `log_every` steps, with the mean loss since the last one, and a line per epoch.
 * Accuracies are parts of 1. */
#ifndef SSM2D_TRAIN_METRICS_H
#define SSM2D_TRAIN_METRICS_H

#include "ssm2d.h"

typedef struct metric {
    int is_epoch;
    long step;
    double epoch; /* done by then */
    double loss, lr, images_per_s;
    double norm; /* of the last step's gradient; lines of steps only */
    double accuracy, test_loss, test_accuracy, seconds; /* lines of epochs only */
} metric;

typedef struct metrics metrics;

/* Goes on with the file at path: lines up to the given step and epoch are kept, later ones dropped;
 * step 0 starts anew. */
ssm2d_status metrics_open(const ssm2d_context *context, const char *path, long step, long epochs,
                          metrics **out, ssm2d_error *error);
ssm2d_status metrics_add(metrics *m, const metric *line, ssm2d_error *error);
/* to the disk, before a checkpoint says that they are there */
ssm2d_status metrics_sync(metrics *m, ssm2d_error *error);
void metrics_close(metrics *m);

/* The loss and the accuracy against epochs, as a picture. */
ssm2d_status metrics_draw(const metrics *m, const char *path, const char *title, long epochs,
                          ssm2d_error *error);

#endif
