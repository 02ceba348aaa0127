/* augment_options - the options of all augmentations, as settings of a run: the structs of all
 * augmentations, one after another. Each struct is private to its augmentation; other code accesses
 * it through its fields. */
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
/* Writes the field groups of all augmentations, for a struct that contains augment_options at
 * `offset`. Returns their count; groups has space for MAX_AUGMENTATIONS. */
size_t augment_options_groups(size_t offset, field_group *groups);
/* Whether an augmentation has an option with this name. */
int augment_options_has(const char *name);
/* Parses the value of the option with this name. */
ssm2d_status augment_options_set(augment_options *options, const char *name, const char *text,
                                 ssm2d_error *error);
ssm2d_status augment_options_check(const augment_options *options, ssm2d_error *error);
/* The options of the i-th augmentation. */
const void *augment_options_at(const augment_options *options, int i);

#endif
