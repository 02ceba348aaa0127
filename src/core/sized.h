/* sized - structs of the public header that begin with their size, so that members can be added
 * without breaking programs compiled with an older header. */
#ifndef SSM2D_CORE_SIZED_H
#define SSM2D_CORE_SIZED_H

#include "ssm2d.h"

/* Fills the caller's struct of `size` bytes from the defaults of the current version, of which it
 * may be a shorter one, and writes its size. */
void sized_init(void *out, size_t size, const void *defaults, size_t current);

/* full holds the defaults and gets what the caller gives. sizes: of every version of the struct, in
 * order, the current one last and then 0; refuses any other. name: as in ssm2d_<name>_default. */
ssm2d_status sized_read(void *full, const void *given, const size_t *sizes, const char *name,
                        ssm2d_error *error);

#endif
