/* sized - structs of the public header that begin with their size, so that members can be added
 * without breaking programs compiled with an older header. */
#ifndef SSM2D_CORE_SIZED_H
#define SSM2D_CORE_SIZED_H

#include "ssm2d.h"

/* Fills the caller's struct of `size` bytes, which may be of an older and shorter version, from the
 * defaults of the current one, and writes its size. */
void sized_init(void *out, size_t size, const void *defaults, size_t current);

/* Fills the caller's struct of `size` bytes, which does not begin with its size, from that of the
 * current version. Returns 1. */
int sized_write(void *out, size_t size, const void *full, size_t current);

/* full holds the defaults and gets what the caller gives. sizes: of every version of the struct, in
 * order, the current one last and then 0; refuses any other. name: as in ssm2d_<name>_default. */
ssm2d_status sized_read(void *full, const void *given, const size_t *sizes, const char *name,
                        ssm2d_error *error);

#endif
