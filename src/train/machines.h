/* machines - machines.json of a run: where, and with which program, it was trained.
 *
 *     [{"step": 0, "starts": 2, "started": "2026-11-16T21:00:00Z", "ssm2d": "1.0.0",
 *       "processor": "AMD EPYC", "processors": 2, "threads": 2, "processes": 1,
 *       "instruction_set": "avx512", "system": "Linux 6.1 x86_64", "compiler": "12.2.0"}, ..]
 *
 * There is an object for each time that one of them changed, with the step at which it did; a run
 * that is resumed as it was adds to `starts`. Of several processes it is the machine of the first,
 * which writes the folder. */
#ifndef SSM2D_TRAIN_MACHINES_H
#define SSM2D_TRAIN_MACHINES_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Returns this machine and program, without step, starts and started; NULL without memory. The
 * caller frees it with cJSON_Delete. */
cJSON *machine_here(const ssm2d_context *context, int processes);
/* Adds this machine to the file at path, at the given step. */
ssm2d_status machines_add(const ssm2d_context *context, const char *path, long step, int processes,
                          ssm2d_error *error);
/* Reads the file at path; *list is NULL when there is none, as in runs of earlier versions. Refuses
 * what is not such a list. The caller frees *list with cJSON_Delete. */
ssm2d_status machines_read(const ssm2d_context *context, const char *path, cJSON **list,
                           ssm2d_error *error);

#endif
