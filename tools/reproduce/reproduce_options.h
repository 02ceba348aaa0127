/* reproduce_options - the options of `ssm2d reproduce`, stored in OUT/NAME.options.json, so that
 * `ssm2d reproduce NAME --out OUT` continues. All experiments in OUT share their data; each writes
 * only its own file, because several may run at the same time. */
#ifndef SSM2D_TOOLS_REPRODUCE_OPTIONS_H
#define SSM2D_TOOLS_REPRODUCE_OPTIONS_H

#include "reproduce_plan.h"

typedef struct reproduce_values {
    const char *name, *scale, *out, *rows, *columns, *results, *variant, *test_sizes;
    const char *rows_option, *columns_option; /* what a command calls them; NULL: rows, columns */
    word_list data, set;
    long seeds, epochs;
    double lr;
    int dry_run, plan_only, tables_only, no_wait;
} reproduce_values;

enum { MAX_EXPERIMENTS = 16 };

/* The effective options. */
typedef struct reproduce_options {
    plan_options plan;
    word_list data;               /* kept and given; of one name the last counts */
    int first_own;                /* of data: those before are of other experiments */
    data_facts facts[DATA_NAMES]; /* of data that experiments in OUT have found */
    cJSON *kept[MAX_EXPERIMENTS]; /* by experiment_at; the kept words are in them */
    char *sets[PLAN_SETS];
} reproduce_options;

/* Checks a word KEY=VALUE of --set. */
ssm2d_status reproduce_set_check(const char *word, ssm2d_error *error);
/* Reads the value of --test-sizes. */
ssm2d_status reproduce_sizes_check(const char *text, int sizes[PLAN_SIZES], int *count,
                                   ssm2d_error *error);
/* The experiment of a name, or NULL. In a folder where an earlier version has stored options under
 * this name, it keeps the meaning that it had: figure2 and figure3 have changed theirs. */
const experiment *reproduce_experiment(const char *name, const char *out);

/* Completes the given options by the stored ones: given data replace stored ones of the same name;
 * seeds, epochs, variant, lr and sets are stored for one scale. An experiment without stored
 * options uses the scale, seeds and epochs that the others in OUT have in common; without any, the
 * scale is the experiment's usual one, with 3 seeds. The caller destroys it. */
ssm2d_status reproduce_options_read(const ssm2d_context *context, const reproduce_values *given,
                                    reproduce_options *out, ssm2d_error *error);
/* Stores them, with what the plan knows about the data. */
ssm2d_status reproduce_options_write(const ssm2d_context *context, const reproduce_options *options,
                                     const plan *p, ssm2d_error *error);
void reproduce_options_destroy(const ssm2d_context *context, reproduce_options *options);

/* What `ssm2d reproduce` checks and does, for commands that are one experiment of it. */
ssm2d_status reproduce_check(const reproduce_values *values, ssm2d_error *error);
ssm2d_status reproduce_run(ssm2d_context *context, const reproduce_values *values,
                           ssm2d_error *error);

#endif
