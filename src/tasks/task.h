/* task - what is predicted: one table defines how labels become targets, the model's outputs, and
 * how these are trained, measured, printed and exported. Loader, trainer, evaluation, run folder
 * and tools are the same code for all tasks.
 *
 * To add one, write a file NAME.c that ends with `const task task_NAME`, and a line in tasks.def
 * (tests/train/test_extending_task.c does so). Members that may be NULL are marked. */
#ifndef SSM2D_TASKS_TASK_H
#define SSM2D_TASKS_TASK_H

#include "data/dataset.h"
#include "data/targets.h"
#include "models/model.h"
#include "tasks/loss.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum { TASK_METRICS = 4, TASK_VALUES = 4, TASK_TITLE = 64 };

/* The outputs of a model for a data set: `count` for each image. */
typedef struct task_outputs {
    int count;
    const char *const *names; /* [count], as for classes; NULL: outputs have no names */
    const char *const *ids;   /* identifiers, where names are not unique (dataset.h); or NULL */
} task_outputs;

/* A measure of a model's quality; not negative. */
typedef struct task_metric {
    const char *key;  /* in files: "accuracy", and with its split "test_accuracy" */
    const char *name; /* in messages */
    const char *unit; /* "%", or "" */
    double scale;     /* factor for display: 100 for % */
    int digits;       /* digits after the decimal point for display */
    int lower_is_better;
} task_metric;

/* Results of an evaluation besides metrics, for tables. */
typedef struct task_detail {
    size_t images;  /* that were evaluated */
    size_t places;  /* >= images; places without an image have zeros */
    double *values; /* [places][task.values] */
    size_t *counts; /* [task.counts] */
    task_shape shape;
} task_detail;

/* An image for which the prediction is wrong. */
typedef struct task_mistake {
    int truth, predicted;         /* outputs; predicted -1: `truth` outputs of several are wrong */
    double probability, of_truth; /* of these two outputs */
} task_mistake;

/* The prediction for one image, as `ssm2d predict` writes it. */
typedef struct task_prediction {
    const task_outputs *outputs;
    double *values; /* probabilities; writing may change them */
    int top;        /* number of outputs to write; 0: default */
} task_prediction;

typedef struct task {
    const char *name, *help;

    /* ---- data ---- */
    /* accepts: whether the data have the labels that it needs. suits: whether it is the default
     * task for the data. */
    int (*accepts)(const dataset_info *data);
    int (*suits)(const dataset_info *data);
    task_outputs (*outputs)(const dataset_info *data);
    const char *one, *many;  /* words for an output and outputs: "class", "classes" */
    const char *labels;      /* the data that it needs, for messages: "one class per image" */
    const char *file_labels; /* the value of "labels" in data.json; NULL: there is no such key */
    const char *note_labels; /* the value of "labels" in an exported model; NULL: likewise */

    /* ---- targets ---- */
    size_t (*elements)(const task_shape *shape); /* of a target; NULL: outputs */
    target_mixing mixing;
    target_source source;
    void (*make_target)(const target_format *format, target_image *image, float *target);
    const char *smoothing; /* name of the setting for label smoothing; NULL: none */

    /* ---- model and loss ---- */
    /* Builds the last layers from the tokens: see model_config. NULL: the head of the model's
     * family, which emits [batch][outputs]. */
    model_head *head;
    const loss_kind *losses; /* allowed ones, the default first */
    int loss_count;

    /* ---- metrics: the first decides which epoch is best, and is shown in training ---- */
    task_metric metrics[TASK_METRICS];
    int (*metric_count)(int outputs); /* NULL: there is one */
    /* A longer name of metrics[0], where space allows. NULL: metrics[0].name. */
    void (*title)(int outputs, char text[TASK_TITLE]);
    /* Decisions per image, over which metrics are means; NULL: 1. */
    int (*decisions)(const task_shape *shape);
    /* values[i] <- the contribution of one image to metrics[i]: the metric is the sum over all
     * images, in their order, divided by images and decisions. Values after metric_count are only
     * kept in task_detail. */
    void (*judge)(const float *out, const float *target, const task_shape *shape,
                  double values[TASK_VALUES]);
    int values;
    /* Further sums over images, such as hits per output; NULL: none. */
    size_t (*counts)(const task_shape *shape);
    void (*count)(const float *out, const float *target, const task_shape *shape, size_t *counts);
    /* Computes metrics that are not means over images, such as IoU; NULL: all are means. */
    void (*measure)(const task_detail *detail, double metrics[TASK_METRICS]);

    /* ---- tables of an evaluation; each may be NULL ---- */
    void (*print_table)(const task_detail *detail, const char *const *names, FILE *to);
    int (*table_to_json)(const task_detail *detail, const char *const *names, cJSON *to);
    /* The true and the predicted output of the image in a place; returns 0 if it has no image.
     * NULL: the task has no confusion matrix. */
    int (*pair)(const task_detail *detail, size_t place, int *truth, int *predicted);
    /* Whether the prediction is wrong, for a list of images with a high loss. */
    int (*mistake)(loss_kind loss, const float *out, const float *target, const task_shape *shape,
                   double *scratch, task_mistake *mistake);
    /* Task-specific sections of a report (report/section.h); or NULL. */
    const char *const *sections;

    /* ---- what `ssm2d predict` writes after the file's name ---- */
    void (*print)(const task_prediction *p, FILE *to);
    int (*to_json)(const task_prediction *p, cJSON *to); /* 0: out of memory */
    void (*print_csv_head)(const task_outputs *outputs, int top, FILE *to);
    void (*print_csv)(const task_prediction *p, FILE *to);
    int csv_has_all; /* every output has a column, so `top` is refused */
} task;

#define TASK(name) extern const task task_##name;
#include "tasks/tasks.def"
#undef TASK

extern const char *const task_names[];   /* values of the setting `task`: "auto" and their names */
const task *task_at(int i);              /* NULL past the last */
const task *task_find(const char *name); /* NULL: unknown */
/* The task of a value of the setting; for 0, "auto", the one that suits the data. */
const task *task_chosen(int setting, const dataset_info *data);
int task_setting(const task *t); /* the value of the setting */

/* ---- functions derived from the table -------------------------------------------------------- */

int task_allows_loss(const task *t, loss_kind loss);
task_shape task_shape_of(const model_config *model);
target_format task_targets(const task *t, const task_shape *shape, double smoothing);
int task_metric_count(const task *t, int outputs);
void task_title(const task *t, int outputs, char text[TASK_TITLE]);
/* The first metric, given the sum of values[0] over this many images. */
double task_score(const task *t, const task_shape *shape, double sum, double images);
int task_is_better(const task *t, double score, double than);
/* Writes the metric with its unit, as in "91.20 %", to text, and returns it. */
enum { METRIC_TEXT = 32 };
const char *metric_text(const task_metric *m, double value, char text[METRIC_TEXT]);
/* Writes name and unit, as in "accuracy, %", to text, and returns it. */
const char *metric_axis(const task_metric *m, char text[TASK_TITLE]);
int task_has_section(const task *t, const char *id);

/* Index of the largest of x[count]; the first among equals. */
int largest_index(const float *x, int count);

/* Prints text as a field of CSV (RFC 4180); control characters become '?'. */
void csv_text(FILE *to, const char *text);

#endif
