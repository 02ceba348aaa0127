/* label_tables - functions shared by tasks with one output per label: counts per output, tables and
 * JSON of an evaluation, and the list of the likeliest outputs of a prediction. */
#ifndef SSM2D_TASKS_LABEL_TABLES_H
#define SSM2D_TASKS_LABEL_TABLES_H

#include "tasks/task.h"

/* The counts of a task_detail, [outputs] each. */
typedef struct label_counts {
    size_t *images;    /* that have the label */
    size_t *predicted; /* that are predicted to have it */
    size_t *hits;      /* both */
} label_counts;

/* An output for each label of the data. */
task_outputs label_outputs(const dataset_info *data);

size_t label_count_size(const task_shape *shape);
label_counts label_counts_of(size_t *counts, int outputs);

/* A row of labels becomes (1 - e) * row + floor, e being the format's smoothing. */
void label_smooth(const target_format *format, double floor, float *target);

/* Fractions from 0 to 1; -1: undefined (denominator 0). */
typedef struct label_rates {
    double have;     /* images that have the label */
    double accuracy; /* correct decisions about the label */
    double recall, precision;
} label_rates;
label_rates label_rates_of(const task_detail *detail, int output);

void label_print_rate(FILE *to, double rate);
int label_add_rate(cJSON *to, const char *key, double rate);
/* Adds {"name", "images", .. "recall", "precision"} to a list for each output. */
int label_table_to_json(const task_detail *detail, const char *const *names, const char *key,
                        int with_accuracy, cJSON *to);

/* Returns the likeliest output that was not written yet and its value, which is then set to -1. */
int label_next(const task_prediction *p, double *value);
/* The `top` likeliest outputs with their probabilities. */
void label_print_likeliest(const task_prediction *p, int top, FILE *to);
/* Adds a list {"name", "probability"} of them, with_has: and "has". */
int label_likeliest_to_json(const task_prediction *p, int top, const char *key, int with_has,
                            cJSON *to);

#endif
