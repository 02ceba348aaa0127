/* processors - how many threads this process can keep busy. */
#ifndef SSM2D_CORE_PROCESSORS_H
#define SSM2D_CORE_PROCESSORS_H

#include <stddef.h>

/* The number of processors that the process may run on (its affinity mask), limited by the CPU
 * quota of its control group, which containers set. At least 1. */
int processors_available(void);

/* Parsers that processors_available uses; unparseable text means no limit.
 *
 * The quota in the text of cpu.max (version 2: "QUOTA PERIOD" or "max PERIOD"), or of
 * cpu.cfs_quota_us and cpu.cfs_period_us (version 1), in processors, rounded up. 0: no limit. */
int quota_from_cpu_max(const char *cpu_max);
int quota_from_cfs(const char *quota, const char *period);
/* Sets path to the group of this process, from the text of /proc/self/cgroup, in the hierarchy of a
 * controller ("cpu"), or of version 2 (""). Returns 0 if there is none, or if it does not fit. */
int cgroup_path(const char *proc_self_cgroup, const char *controller, char *path, size_t size);

#endif
