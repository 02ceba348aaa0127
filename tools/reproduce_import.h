/* reproduce_import - results of runs that were made elsewhere, from the table DIR/NAME.json that
 * `ssm2d reproduce` wrote there. */
#ifndef SSM2D_TOOLS_REPRODUCE_IMPORT_H
#define SSM2D_TOOLS_REPRODUCE_IMPORT_H

#include "reproduce_result.h"

/* The settings that decide the result of a run, but for its seed: an object that the caller frees
 * with cJSON_Delete, or NULL without memory. Where data are, what follows from them, and what
 * changes no result (the number of workers, how often is saved) is left out. */
cJSON *reproduce_settings_json(const train_settings *settings);

/* Writes result.json for every run of the plan that the file has a result of and that has none and
 * is not begun here; *taken counts them. Refuses the file when such a run had other settings there
 * than it would have here, as after a change of defaults, naming the setting. */
ssm2d_status reproduce_import(const ssm2d_context *context, const plan *p, const char *path,
                              int *taken, ssm2d_error *error);

#endif
