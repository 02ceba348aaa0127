/* processors - how many threads this process can keep busy. */
#ifndef SSM2D_CORE_PROCESSORS_H
#define SSM2D_CORE_PROCESSORS_H

#include <stddef.h>

/* The processors that the process may run on (its affinity mask), but no more than the CPU quota of
 * its control group is worth, as set for containers. At least 1. */
int processors_available(void);

/* The parts of it that read texts; what they do not understand is no limit.
 *
 * The quota in the text of cpu.max (version 2: "QUOTA PERIOD" or "max PERIOD"), or of
 * cpu.cfs_quota_us and cpu.cfs_period_us (version 1), in processors, rounded up. 0: no limit. */
int quota_from_cpu_max(const char *cpu_max);
int quota_from_cfs(const char *quota, const char *period);
/* path <- the group of this process, from the text of /proc/self/cgroup, in the hierarchy of a
 * controller ("cpu"), or of version 2 (""). Returns 0 when there is none or it does not fit. */
int cgroup_path(const char *proc_self_cgroup, const char *controller, char *path, size_t size);

#endif
