/* reproduce_options - the options of `ssm2d reproduce`, which OUT/NAME.options.json keeps, so that
 * `ssm2d reproduce NAME --out OUT` goes on with what was begun. Data are known to all experiments
 * in OUT; each writes a file of its own alone, since they may run at the same time. */
#ifndef SSM2D_TOOLS_REPRODUCE_OPTIONS_H
#define SSM2D_TOOLS_REPRODUCE_OPTIONS_H

#include "reproduce_plan.h"

typedef struct reproduce_values {
    const char *name, *scale, *out, *rows, *results;
    word_list data;
    long seeds, epochs;
    int dry_run, plan_only, tables_only, no_wait;
} reproduce_values;

enum { MAX_EXPERIMENTS = 16 };

/* Options as they count. */
typedef struct reproduce_options {
    plan_options plan;
    word_list data;               /* kept and given; of one name the last counts */
    int first_own;                /* of data: those before are of other experiments */
    data_facts facts[DATA_NAMES]; /* of data that experiments in OUT have found */
    cJSON *kept[MAX_EXPERIMENTS]; /* by experiment_at; the kept words are in them */
} reproduce_options;

/* Completes what is given by what is kept: data that are given replace kept ones of their name;
 * seeds and epochs are kept for the same scale. An experiment that has kept nothing takes what the
 * others in OUT have in common. Without any of them the scale is full, and there are 3 seeds. The
 * caller destroys it. */
ssm2d_status reproduce_options_read(const ssm2d_context *context, const reproduce_values *given,
                                    reproduce_options *out, ssm2d_error *error);
/* Keeps them, with what the plan has found out about the data. */
ssm2d_status reproduce_options_write(const ssm2d_context *context, const reproduce_options *options,
                                     const plan *p, ssm2d_error *error);
void reproduce_options_destroy(const ssm2d_context *context, reproduce_options *options);

#endif
