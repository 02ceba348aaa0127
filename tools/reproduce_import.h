/* reproduce_import - results of runs that were made elsewhere, from the table DIR/NAME.json that
 * `ssm2d reproduce` wrote there. */
#ifndef SSM2D_TOOLS_REPRODUCE_IMPORT_H
#define SSM2D_TOOLS_REPRODUCE_IMPORT_H

#include "reproduce_plan.h"

/* Writes result.json for every run of the plan that the file has a result of and that has none and
 * is not begun here; *taken counts them. Refuses the file when such a run had other settings there
 * than it would have here, as after a change of defaults, naming the setting. */
ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              int *taken, ssm2d_error *error);

#endif
