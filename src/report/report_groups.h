/* report_groups - several runs in groups whose members differ only by their seed, and the settings
 * in which the groups differ. */
#ifndef SSM2D_REPORT_REPORT_GROUPS_H
#define SSM2D_REPORT_REPORT_GROUPS_H

#include "core/spread.h"
#include "report/report_run.h"
#include "train/loss_note.h"

enum { GROUP_LABEL = 256 };

typedef struct report_group {
    int first; /* index of the run that represents the group */
    int count; /* of runs */
    /* Model, mixer, and the settings that differ from other groups; for a single run its name,
     * model and mixer, unless that name is a list of settings. */
    char label[GROUP_LABEL];
    int unclear; /* another group would have the same label */
} report_group;

typedef struct report {
    ssm2d_context *context;
    report_run *runs;
    char **names; /* of the runs */
    int run_count;
    int names_are_settings; /* from `ssm2d reproduce`, and not used as labels */
    report_group *groups;
    int group_count;
    const char **keys; /* of settings, in the order of train.json; borrowed from the runs */
    int key_count;
    const struct report_options *options;
} report;

/* Reads the runs in these folders, each once, names them, and sorts them into groups. A file
 * NAME.failed stands for the run NAME. Fails only for a folder that is not a run's, and when out of
 * memory. The caller closes it, after a failure as well. */
ssm2d_status report_open(ssm2d_context *context, const char *const *folders, int count, report *r,
                         ssm2d_error *error);
void report_close(report *r);

/* The run that represents a group. */
const report_run *group_run(const report *r, int group);

/* Whether two groups have the same value of a key. */
int report_groups_share(const report *r, int one, int other, const char *key);
/* Whether known runs have different values of a key. */
int report_key_differs(const report *r, const char *key);

/* Whether a run repeats an earlier one of its group with the same seed: it adds nothing to the
 * spread. */
int report_is_repeat(const report *r, int run);

/* Mean and standard deviation (n - 1) of a value over the finished runs of a group without repeats,
 * or over all runs when group is -1. get returns NaN for a run without the value. */
spread report_spread(const report *r, int group, double (*get)(const report_run *run));

/* Values of a run; NaN if missing. Scores are values of the task's first metric. */
double run_last_score(const report_run *run);
double run_best_score(const report_run *run);
double run_test_score(const report_run *run);    /* evaluated for the report */
double run_second_metric(const report_run *run); /* likewise; of a task that has one */
double run_seconds(const report_run *run);
double run_speed(const report_run *run);

/* The sentence about the training losses in a picture of all runs (train/loss_note.h); where runs
 * differ, it says how many have what. NULL: there is nothing to say. */
const char *report_loss_note(const report *r, char note[LOSS_NOTE]);

/* Evaluates a run's model on the test images of its data (report_eval.c), and fills in
 * run->evaluation. Missing data or weights are not a failure: run->evaluation.why says so. */
ssm2d_status report_evaluate(const report *r, report_run *run, ssm2d_error *error);

#endif
