/* augment_options - the options of all augmentations, one struct of each behind the other, as
 * settings of a run.
 *
 * The structs are known to their augmentations alone; everybody else goes by their fields. */
#ifndef SSM2D_DATA_AUGMENT_OPTIONS_H
#define SSM2D_DATA_AUGMENT_OPTIONS_H

#include "core/field.h"
#include "data/augmentation.h"

enum { MAX_AUGMENTATIONS = 32, MAX_AUGMENT_OPTIONS = 8192 };

typedef struct augment_options {
    _Alignas(16) unsigned char bytes[MAX_AUGMENT_OPTIONS];
} augment_options;

/* Every augmentation off. */
augment_options augment_options_default(void);
/* The groups of fields of all augmentations, for a struct in which augment_options stands `offset`
 * bytes from the start. Returns how many; groups has space for MAX_AUGMENTATIONS. */
size_t augment_options_groups(size_t offset, field_group *groups);
/* Whether an augmentation has an option of this name. */
int augment_options_has(const char *name);
/* One option from text, by its name. */
ssm2d_status augment_options_set(augment_options *options, const char *name, const char *text,
                                 ssm2d_error *error);
ssm2d_status augment_options_check(const augment_options *options, ssm2d_error *error);
/* The struct of the i-th augmentation. */
const void *augment_options_at(const augment_options *options, int i);

#endif
