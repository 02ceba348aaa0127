/* reproduce_options - the options of `ssm2d reproduce`, which OUT/NAME.options.json keeps, so that
 * `ssm2d reproduce NAME --out OUT` goes on with what was begun. */
#ifndef SSM2D_TOOLS_REPRODUCE_OPTIONS_H
#define SSM2D_TOOLS_REPRODUCE_OPTIONS_H

#include "reproduce_plan.h"

typedef struct reproduce_values {
    const char *name, *scale, *out, *rows;
    word_list data;
    long seeds, epochs;
    int dry_run, plan_only, tables_only, no_wait;
} reproduce_values;

/* Options as they count; the texts of kept data belong to it. */
typedef struct reproduce_options {
    plan_options plan;
    word_list data;
    cJSON *kept;
    char **words;
} reproduce_options;

/* Completes what is given by what is kept: data that are given replace kept ones of their name;
 * seeds and epochs are kept for the same scale. Without either the scale is full, and there are 3
 * seeds. The caller destroys it. */
ssm2d_status reproduce_options_read(const ssm2d_context *context, const reproduce_values *given,
                                    reproduce_options *out, ssm2d_error *error);
ssm2d_status reproduce_options_write(const ssm2d_context *context, const reproduce_options *options,
                                     ssm2d_error *error);
void reproduce_options_destroy(const ssm2d_context *context, reproduce_options *options);

#endif
