#include "data/augment_options.h"

#include "core/status.h"

#include <string.h>

static const augmentation *const table[] = {
#define AUGMENTATION(name, PURPOSE, value) &augmentation_##name,
#include "data/augmentations.def"
#undef AUGMENTATION
};
enum { TABLE = sizeof table / sizeof *table };
_Static_assert((int)TABLE <= (int)MAX_AUGMENTATIONS, "raise MAX_AUGMENTATIONS");

const augmentation *const *augmentation_extra;

const augmentation *augmentation_at(int i)
{
    const augmentation *const *extra = augmentation_extra;
    if (i < TABLE) return i < 0 ? NULL : table[i];
    while (extra && *extra && i-- > TABLE) extra++;
    return extra ? *extra : NULL;
}

/* ---- layout of the options ------------------------------------------------------------------- */

/* The size of a struct, rounded up so that the next one is aligned for any type. */
static size_t padded(size_t size)
{
    const size_t alignment = _Alignof(augment_options);
    return (size + alignment - 1) / alignment * alignment;
}

static size_t offset_of(int i)
{
    size_t offset = 0;
    for (int k = 0; k < i; k++) offset += padded(augmentation_at(k)->options_size);
    return offset;
}

const void *augment_options_at(const augment_options *options, int i)
{
    return options->bytes + offset_of(i);
}

size_t augment_options_groups(size_t offset, field_group *groups)
{
    const augmentation *a;
    size_t count = 0;
    for (int i = 0; (a = augmentation_at(i)); i++)
        groups[count++] = (field_group){a->fields, offset + offset_of(i)};
    return count;
}

/* ---- values ---------------------------------------------------------------------------------- */

int augmentation_is_on(const augmentation *a, const void *options)
{
    int value;
    double real;
    if (a->is_on) return a->is_on(options);
    const char *first = (const char *)options + a->fields->offset;
    memcpy(&value, first, sizeof value);
    if (a->fields->kind != SSM2D_KIND_REAL) return value != 0;
    memcpy(&real, first, sizeof real);
    return real > 0;
}

augment_options augment_options_default(void)
{
    augment_options options = {{0}};
    const augmentation *a;
    for (int i = 0; (a = augmentation_at(i)); i++)
        for (const ssm2d_field *f = a->fields; f->name; f++)
            field_set_default(f, options.bytes + offset_of(i));
    return options;
}

int augment_options_has(const char *name)
{
    field_group groups[MAX_AUGMENTATIONS + 1] = {{0}};
    augment_options options;
    void *config = &options;
    augment_options_groups(0, groups);
    return field_find_in(groups, name, &config) != NULL;
}

ssm2d_status augment_options_set(augment_options *options, const char *name, const char *text,
                                 ssm2d_error *error)
{
    field_group groups[MAX_AUGMENTATIONS + 1] = {{0}};
    void *config = options;
    augment_options_groups(0, groups);
    const ssm2d_field *f = field_find_in(groups, name, &config);
    if (!f)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no augmentation setting %.40s", name);
    return field_parse((field_source){0}, f, text, config, error);
}

ssm2d_status augment_options_check(const augment_options *options, ssm2d_error *error)
{
    const augmentation *a;
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; (a = augmentation_at(i)) && !status; i++) {
        const void *own = augment_options_at(options, i);
        for (const ssm2d_field *f = a->fields; f->name && !status; f++)
            status = field_check((field_source){0}, f, own, error);
        if (!status && a->check) status = a->check(own, error);
    }
    return status;
}
