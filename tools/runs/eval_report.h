/* eval_report - the output of `ssm2d eval`: one line, the table of the task, JSON, and the picture
 * of the confusion matrix. */
#ifndef SSM2D_TOOLS_EVAL_REPORT_H
#define SSM2D_TOOLS_EVAL_REPORT_H

#include "train/evaluate.h"
#include "train/run_folder.h"

typedef struct eval_report {
    const run_model *model;
    const char *split;   /* test, val or train */
    const char *shown;   /* the same in messages: "held-out" */
    const char *weights; /* last or best */
    evaluation result;
    const task_detail *detail; /* NULL: no table */
    int table;
    const confusion_cell *confusion; /* NULL: not requested */
    size_t confusion_count;
} eval_report;

void eval_report_text(const eval_report *r);
ssm2d_status eval_report_json(const eval_report *r, ssm2d_error *error);
ssm2d_status eval_report_confusion(const ssm2d_context *context, const eval_report *r,
                                   const char *path, ssm2d_error *error);

#endif
