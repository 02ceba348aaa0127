/* short_names - names for a list of folders: the ends of their paths, as long as is needed to tell
 * them apart, without what all of them say.
 *
 * The names of folders that `ssm2d reproduce` makes consist of parts joined by '+', most of which
 * they have in common: data+vit+none+seed=0 and data+vit+ssm2d+seed=0 become none and ssm2d. */
#ifndef SSM2D_IO_SHORT_NAMES_H
#define SSM2D_IO_SHORT_NAMES_H

#include "ssm2d.h"

/* Returns the names of all folders in one block of memory, which the caller frees with mem_free;
 * NULL if out of memory. */
char **short_names_make(const ssm2d_context *context, const char *const *folders, int count);

#endif
