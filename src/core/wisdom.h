/* wisdom - what plans of a context have measured: algorithms by requests, both as text
 * (ssm2d_wisdom_export says what a line looks like). Any number of threads may call these
 * functions. */
#ifndef SSM2D_CORE_WISDOM_H
#define SSM2D_CORE_WISDOM_H

#include "core/context.h"

/* No line is longer, the 0 included. */
enum { WISDOM_LINE = 1024, WISDOM_NAME = 32 };

ssm2d_status wisdom_create(const ssm2d_context *context, wisdom **out, ssm2d_error *error);
void wisdom_destroy(const ssm2d_context *context, wisdom *w);

/* The name of the algorithm for a request; 0: none is known. */
int wisdom_find(const ssm2d_context *context, const char *request, char name[WISDOM_NAME]);
/* Adds, or replaces, the algorithm for a request. */
ssm2d_status wisdom_add(const ssm2d_context *context, const char *request, const char *name,
                        ssm2d_error *error);

#endif
