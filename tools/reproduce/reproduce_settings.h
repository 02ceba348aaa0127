/* reproduce_settings - whether a run that is called so is the one that is planned: names have what
 * differs from a model's defaults alone, and these may differ between versions. */
#ifndef SSM2D_TOOLS_REPRODUCE_SETTINGS_H
#define SSM2D_TOOLS_REPRODUCE_SETTINGS_H

#include "reproduce_plan.h"

#include <cjson/cJSON.h>

#define RESULT_FILE "result.json" /* in the folder of a run; reproduce_result.h */

/* The settings that decide the result of a run, but for its seed: an object that the caller frees
 * with cJSON_Delete, or NULL without memory. Where data are, what follows from them, and what
 * changes no result (the number of workers, how often is saved) is left out. */
cJSON *reproduce_settings_json(const train_settings *settings);

/* What tells the data of a run from others of the same name, wherever they are; NULL without
 * memory. */
cJSON *reproduce_data_json(const data_choice *data);

/* Refuses an object of a table at path whose "settings" or "images" the run would not have, naming
 * the first. */
ssm2d_status reproduce_settings_check(const char *path, const cJSON *cell, const planned_run *run,
                                      ssm2d_error *error);
/* Refuses runs of the plan that have begun with other settings than they would have now. */
ssm2d_status reproduce_settings_check_begun(const ssm2d_context *context, const plan *p,
                                            ssm2d_error *error);

#endif
