/* machines - machines.json of a run: the machines and program versions that trained it.
 *
 *     [{"step": 0, "starts": 2, "started": "2026-11-16T21:00:00Z", "ssm2d": "1.0.0",
 *       "processor": "AMD EPYC", "processors": 2, "threads": 2, "processes": 1,
 *       "instruction_set": "avx512", "system": "Linux 6.1 x86_64", "compiler": "12.2.0"}, ..]
 *
 * A new object is added when one of these values changes, with the step at which it did; resuming a
 * run without a change increments `starts`. With several processes it is the machine of the first,
 * which writes to the folder. */
#ifndef SSM2D_TRAIN_MACHINES_H
#define SSM2D_TRAIN_MACHINES_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

/* Returns this machine and program, without step, starts and started; NULL if out of memory. The
 * caller frees it with cJSON_Delete. */
cJSON *machine_here(const ssm2d_context *context, int processes);
/* Adds this machine to the file at path, at the given step. */
ssm2d_status machines_add(const ssm2d_context *context, const char *path, long step, int processes,
                          ssm2d_error *error);
/* Reads the file at path; *list is NULL if there is none, as in runs of earlier versions. Refuses
 * any other JSON. The caller frees *list with cJSON_Delete. */
ssm2d_status machines_read(const ssm2d_context *context, const char *path, cJSON **list,
                           ssm2d_error *error);

#endif
