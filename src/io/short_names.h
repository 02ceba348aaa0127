/* short_names - short unique names for a list of folders: the shortest unique ends of their paths,
 * without the parts that all of them have.
 *
 * Folders of `ssm2d reproduce` have names of parts joined by '+', most of which are the same:
 * data+vit+none+seed=0 and data+vit+ssm2d+seed=0 become none and ssm2d. */
#ifndef SSM2D_IO_SHORT_NAMES_H
#define SSM2D_IO_SHORT_NAMES_H

#include "ssm2d.h"

/* Returns the names of all folders in one block of memory, which the caller frees with mem_free;
 * NULL if out of memory. */
char **short_names_make(const ssm2d_context *context, const char *const *folders, int count);

#endif
