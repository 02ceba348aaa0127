/* reproduce_settings - whether a run of a given name is the planned one: names contain only what
 * differs from a model's defaults, and these may differ between versions. */
#ifndef SSM2D_TOOLS_REPRODUCE_SETTINGS_H
#define SSM2D_TOOLS_REPRODUCE_SETTINGS_H

#include "reproduce_plan.h"

#include <cjson/cJSON.h>

#define RESULT_FILE "result.json" /* in the folder of a run; reproduce_result.h */

/* The settings that determine the result of a run, except its seed: an object that the caller frees
 * with cJSON_Delete, or NULL if out of memory. It excludes the location of the data, what follows
 * from the data, and settings that change no result (such as the number of workers). */
cJSON *reproduce_settings_json(const train_settings *settings);

/* What distinguishes the data of a run from others of the same name; NULL if out of memory. */
cJSON *reproduce_data_json(const data_choice *data);

/* Refuses an object of a table at path if its "settings" or "images" differ from the run's, naming
 * the first difference. */
ssm2d_status reproduce_settings_check(const char *path, const cJSON *cell, const planned_run *run,
                                      ssm2d_error *error);
/* Refuses runs of the plan that have begun with other settings than they would have now. */
ssm2d_status reproduce_settings_check_begun(const ssm2d_context *context, const plan *p,
                                            ssm2d_error *error);

#endif
