/* reproduce_import - imports results of runs from a table DIR/NAME.json that `ssm2d reproduce`
 * wrote elsewhere. */
#ifndef SSM2D_TOOLS_REPRODUCE_IMPORT_H
#define SSM2D_TOOLS_REPRODUCE_IMPORT_H

#include "reproduce_plan.h"

/* Counts of the results in a file. */
typedef struct import_counts {
    int taken;  /* imported */
    int here;   /* of runs that have a result here, or have begun */
    int others; /* of runs that are not planned */
} import_counts;

/* Imports the results of planned runs that have not begun here, into OUT/taken/NAME.json. Refuses
 * the file if such a run had other settings or data there than here, naming what differs. */
ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              import_counts *counts, ssm2d_error *error);

#endif
