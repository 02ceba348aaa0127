#define _GNU_SOURCE /* sched_getaffinity */
#include "core/processors.h"

#include "core/arith.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#endif

/* Parses an integer of up to 18 digits, and sets where it ends; -1 if there is none. */
static long long number(const char *text, const char **end)
{
    while (*text == ' ') text++;
    long long value = 0;
    int digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 18; text++, digits++)
        value = value * 10 + (*text - '0');
    *end = text;
    return digits && !(*text >= '0' && *text <= '9') ? value : -1;
}

static int quota(long long microseconds, long long period)
{
    if (microseconds <= 0 || period <= 0) return 0;
    const long long n = microseconds / period + (microseconds % period != 0);
    return n > INT_MAX ? 0 : (int)n;
}

int quota_from_cpu_max(const char *text)
{
    const char *rest;
    const long long microseconds = number(text, &rest);
    return quota(microseconds, number(rest, &rest));
}

int quota_from_cfs(const char *quota_us, const char *period_us)
{
    const char *rest;
    return quota(number(quota_us, &rest), number(period_us, &rest));
}

/* Whether the list "a,b,c" of the given length has the name. */
static int listed(const char *list, size_t length, const char *name)
{
    const size_t size = strlen(name);
    for (size_t start = 0; start <= length;) {
        const char *comma = memchr(list + start, ',', length - start);
        const size_t end = comma ? (size_t)(comma - list) : length;
        if (end - start == size && !memcmp(list + start, name, size)) return 1;
        start = end + 1;
    }
    return 0;
}

/* Lines are "NUMBER:CONTROLLER,CONTROLLER..:PATH". */
int cgroup_path(const char *text, const char *controller, char *path, size_t size)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *place = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (!place || !listed(list + 1, (size_t)(place - list - 1), controller)) continue;
        const size_t length = (size_t)(end - ++place);
        if (!length || *place != '/' || length >= size) return 0;
        memcpy(path, place, length);
        path[length] = 0;
        return 1;
    }
    return 0;
}

#if defined(__linux__)

/* The start of a small file as a string; returns 0 when it cannot be read. */
static int read_text(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* The quota of one group. root: where its hierarchy is mounted. */
static int group_quota(const char *root, const char *group, int version)
{
    char path[600], first[128], second[128];
    const char *name = version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
    if (snprintf(path, sizeof path, "%s%s/%s", root, group, name) >= (int)sizeof path) return 0;
    if (!read_text(path, first, sizeof first)) return 0;
    if (version == 2) return quota_from_cpu_max(first);
    if (snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", root, group) >= (int)sizeof path)
        return 0;
    return read_text(path, second, sizeof second) ? quota_from_cfs(first, second) : 0;
}

/* The smallest quota of the process's group and all groups that contain it; 0: none. In a container
 * the path may be the host's, which does not exist here; then the root is used. */
static int hierarchy_quota(const char *groups, const char *root, const char *controller,
                           int version)
{
    char group[512];
    int min = 0;
    if (!cgroup_path(groups, controller, group, sizeof group)) return 0;
    for (;;) {
        const int one = group_quota(root, strcmp(group, "/") ? group : "", version);
        if (one && (!min || one < min)) min = one;
        char *slash = strrchr(group, '/'); /* "/a/b" -> "/a" -> "" */
        if (!slash) return min;
        *slash = 0;
    }
}

static int affinity(void)
{
    union {
        cpu_set_t set;
        char bytes
            [1024]; /* 8192 processors; on a system with more the call fails, and sysconf is used */
    } mask;
    memset(&mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, &mask.set)) return 0;
    return CPU_COUNT_S(sizeof mask, &mask.set);
}

static int quota_of_process(void)
{
    char groups[4096];
    if (!read_text("/proc/self/cgroup", groups, sizeof groups)) return 0;
    const int two = hierarchy_quota(groups, "/sys/fs/cgroup", "", 2);
    const int one = hierarchy_quota(groups, "/sys/fs/cgroup/cpu", "cpu", 1);
    return !two || (one && one < two) ? one : two;
}

#else
static int affinity(void) { return 0; }
static int quota_of_process(void) { return 0; }
#endif

int processors_available(void)
{
    int n = affinity();
    if (n < 1) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online < 1 ? 1 : online > INT_MAX ? INT_MAX : (int)online;
    }
    const int limit = quota_of_process();
    return limit ? min_int(n, limit) : n;
}
