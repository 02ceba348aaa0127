/* reproduce_import - results of runs that were made elsewhere, from the table DIR/NAME.json that
 * `ssm2d reproduce` wrote there. */
#ifndef SSM2D_TOOLS_REPRODUCE_IMPORT_H
#define SSM2D_TOOLS_REPRODUCE_IMPORT_H

#include "reproduce_plan.h"

/* What became of the results in a file. */
typedef struct import_counts {
    int taken;  /* over */
    int here;   /* of runs that have a result here, or have begun */
    int others; /* of runs that are not planned */
} import_counts;

/* Takes over the results of runs of the plan that have none and are not begun here, into
 * OUT/taken/NAME.json. Refuses the file when such a run had other settings or data there than it
 * would have here, as after a change of defaults, naming what differs. */
ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              import_counts *counts, ssm2d_error *error);

#endif
