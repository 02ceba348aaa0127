/* options - the settings of a training run, which options.def lists. */
#ifndef SSM2D_TRAIN_OPTIONS_H
#define SSM2D_TRAIN_OPTIONS_H

#include "core/field.h"
#include "data/split.h"
#include "tasks/task.h"

typedef struct train_options {
#define TEXT(field)                                                char field[SSM2D_TEXT];
#define INT(field)                                                 int field;
#define REAL(field)                                                double field;
#define CHOICE(field)                                              int field;
#define OPTION(kind, field, default_value, low, high, names, help) kind(field)
#include "train/options.def"
#undef OPTION
#undef TEXT
#undef INT
#undef REAL
#undef CHOICE
} train_options;

typedef enum train_bad_images { TRAIN_BAD_STOP, TRAIN_BAD_SKIP, TRAIN_BAD_FEW } train_bad_images;
typedef enum train_memory { TRAIN_MEMORY_NORMAL, TRAIN_MEMORY_LOW } train_memory;
typedef enum train_precision {
    TRAIN_PRECISION_FLOAT32,
    TRAIN_PRECISION_BF16,
    TRAIN_PRECISION_AUTO, /* becomes one of the others when a run begins */
    TRAIN_PRECISION_BF16_TILES
} train_precision;
typedef enum train_decay {
    TRAIN_DECAY_ALL,
    TRAIN_DECAY_MATRICES,
    TRAIN_DECAY_PAPER,
    TRAIN_DECAY_EVERYTHING
} train_decay;
enum { TRAIN_SCHEDULE_FROM_WARMUP, TRAIN_SCHEDULE_FROM_RUN };
enum { TRAIN_LR_SCALED_PEAK, TRAIN_LR_SCALED_ALL };
enum { TRAIN_LR_EVERY_STEP, TRAIN_LR_EVERY_EPOCH };
enum { TRAIN_REDUCE_ORDERED, TRAIN_REDUCE_UNORDERED };

extern const ssm2d_field train_fields[]; /* in the order of options.def; the last has no name */

split_options train_options_split(const train_options *options);

void train_options_default(train_options *options);
/* Sets one option from text; messages call it --NAME, as on the command line. */
ssm2d_status train_options_set(train_options *options, const char *field, const char *text,
                               ssm2d_error *error);
typedef struct train_rates {
    double peak, start, final;
} train_rates;

/* Returns the learning rates, scaled by the batch if lr_batch is set. */
train_rates train_learning_rates(const train_options *options);
/* Returns the number of epochs, including the cooldown. */
long train_epochs(const train_options *options);
/* Returns the label smoothing of a task; 0 when it has none. */
double train_smoothing(const train_options *options, const task *t);
/* Completes options of a run whose file does not have `slices`: its batches were one slice. */
void train_options_complete(train_options *options);
/* Refuses options that contradict each other. */
ssm2d_status train_options_check(const train_options *options, ssm2d_error *error);

#endif
