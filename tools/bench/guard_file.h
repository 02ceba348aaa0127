/* guard_file - reads and writes the ratios that a kind of processor has reached, as JSON, and
 * compares new ones with them. */
#ifndef SSM2D_TOOLS_GUARD_FILE_H
#define SSM2D_TOOLS_GUARD_FILE_H

#include "ssm2d.h"

/* A ratio, and its noise as a fraction (0.05: 5 %). */
typedef struct guard_ratio {
    char name[80];
    double value, noise;
    int larger_is_better;
} guard_ratio;

enum { GUARD_RATIOS = 64, GUARD_KIND = 128 };
typedef struct guard_ratios {
    char kind[GUARD_KIND]; /* of processor, see guard_kind */
    int threads;
    int count;
    guard_ratio ratios[GUARD_RATIOS];
} guard_ratios;

/* The kind of this processor as a file name without extension: vendor, family, model and name as
 * lscpu shows them, and the instruction set, in lower-case letters, digits and dashes. cpuinfo: the
 * text of /proc/cpuinfo; missing fields are left out. */
void guard_kind(const char *cpuinfo, const char *instruction_set, char kind[GUARD_KIND]);

ssm2d_status guard_read(const ssm2d_context *context, const char *path, guard_ratios *r,
                        ssm2d_error *error);
ssm2d_status guard_write(const ssm2d_context *context, const char *path, const guard_ratios *r,
                         ssm2d_error *error);

/* The ratio of that name, or NULL. */
const guard_ratio *guard_find(const guard_ratios *r, const char *name);
/* How much worse than `then` the value is, whether larger or smaller is better; 1.1: 10 % worse. */
double guard_worse(const guard_ratio *then, double value);

#endif
