/* report_eval - evaluates a run's model on the test images of its data, for the sections about what
 * it gets right and wrong. */
#ifndef SSM2D_REPORT_REPORT_EVAL_H
#define SSM2D_REPORT_REPORT_EVAL_H

#include "report/report_groups.h"

/* Fills in run->evaluation. What stands in the way (data that are gone, no weights yet) is not a
 * failure but run->evaluation.why. */
ssm2d_status report_evaluate(const report *r, report_run *run, ssm2d_error *error);

#endif
