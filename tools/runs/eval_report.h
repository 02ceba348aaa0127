/* eval_report - what `ssm2d eval` prints: one line, tables of classes or attributes, JSON, and the
 * picture of the confusion matrix. */
#ifndef SSM2D_TOOLS_EVAL_REPORT_H
#define SSM2D_TOOLS_EVAL_REPORT_H

#include "train/evaluate.h"
#include "train/run_folder.h"

typedef struct eval_report {
    const run_model *model;
    const char *split; /* test, val or train */
    evaluation result;
    const evaluation_detail *detail; /* NULL: no table */
    int per_class;
} eval_report;

void eval_report_text(const eval_report *r);
ssm2d_status eval_report_json(const eval_report *r, ssm2d_error *error);
/* Draws the confusion matrix, or refuses binary labels, which have none. */
ssm2d_status eval_report_confusion(const ssm2d_context *context, const eval_report *r,
                                   const char *path, ssm2d_error *error);

#endif
