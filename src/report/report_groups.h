/* report_groups - several runs, sorted into groups of those that differ by their seed alone, and in
 * what the groups differ. */
#ifndef SSM2D_REPORT_REPORT_GROUPS_H
#define SSM2D_REPORT_REPORT_GROUPS_H

#include "core/spread.h"
#include "report/report_run.h"

enum { GROUP_LABEL = 256 };

typedef struct report_group {
    int first; /* run; that with weights, where one has them */
    int count; /* of runs */
    /* Model, mixer, and in what it differs from other groups; of a single run its name, model and
     * mixer, unless that name is a list of settings. */
    char label[GROUP_LABEL];
    int unclear; /* another group would have the same label */
} report_group;

typedef struct report {
    ssm2d_context *context;
    report_run *runs;
    char **names; /* of the runs */
    int run_count;
    int names_are_settings; /* as those of ssm2d reproduce, and so no labels */
    report_group *groups;
    int group_count;
    const char **keys; /* of settings, in the order of train.json; borrowed from the runs */
    int key_count;
    const struct report_options *options;
} report;

/* Reads the runs in these folders, each once, names them, and sorts them into groups. A file
 * NAME.failed stands for the run NAME. Only a folder that is not a run's, and a want of memory, are
 * failures. The caller closes it, after a failure as well. */
ssm2d_status report_open(ssm2d_context *context, const char *const *folders, int count, report *r,
                         ssm2d_error *error);
void report_close(report *r);

/* Whether a key of the settings tells groups apart: not the seed, nor what cannot change a
 * result, such as the number of workers. */
int report_key_counts(const char *key);
/* Whether two groups have the same value of a key. */
int report_groups_share(const report *r, int one, int other, const char *key);
/* Whether known runs have different values of a key. */
int report_key_differs(const report *r, const char *key);

/* Whether a run repeats an earlier one of its group, with the same seed: the same numbers again say
 * nothing of the spread. */
int report_is_repeat(const report *r, int run);

/* Mean and standard deviation (n - 1) of a number over the finished runs of a group but for
 * repeats, or over all when group is -1. get returns NaN for a run that has no such number. */
spread report_spread(const report *r, int group, double (*get)(const report_run *run));

/* Numbers of a run; NaN where there is none. Accuracies are from 0 to 1. */
double run_last_accuracy(const report_run *run);
double run_best_accuracy(const report_run *run);
double run_test_accuracy(const report_run *run); /* evaluated for the report */
double run_top5(const report_run *run);
double run_seconds(const report_run *run);
double run_speed(const report_run *run);

#endif
