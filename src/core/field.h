/* field - one description of a configuration's fields (ssm2d_field, in ssm2d.h) serves parsing,
 * checking, printing, help and suggestions, from the layer to the training options. Values in JSON
 * files are read and written by io/field_json.h. */
#ifndef SSM2D_CORE_FIELD_H
#define SSM2D_CORE_FIELD_H

#include "ssm2d.h"

/* A table of fields ends with one that has no name. A group is the table of a struct that stands
 * `offset` bytes into a larger one; a list of groups ends with one that has no fields. */
typedef struct field_group {
    const ssm2d_field *fields;
    size_t offset;
} field_group;

/* Where a value comes from, for messages.
 *     where NULL          directions=3: use 1, 2 or 4
 *     FIELD_OPTION        --mixer-lr=x: use a number from 0 to 1000
 *     a file, or "--set"  a.json: "mixer.directions" is 3: use 1, 2 or 4 */
typedef struct field_source {
    const char *where;
    const char *prefix; /* put before the field's name, such as "mixer."; NULL: nothing */
} field_source;

#define FIELD_OPTION "--"

/* `config` is always the struct that the field's offset counts from. */
void field_set_default(const ssm2d_field *f, void *config);
/* On failure config is left as it is. */
ssm2d_status field_parse(field_source from, const ssm2d_field *f, const char *text, void *config,
                         ssm2d_error *error);
/* Refuses a value out of bounds, and a field without a default that was not set. */
ssm2d_status field_check(field_source from, const ssm2d_field *f, const void *config,
                         ssm2d_error *error);
/* The value as field_parse takes it. */
const char *field_print(const ssm2d_field *f, const void *config, char *text, size_t size);
/* What may be given: "a whole number from 1 to 64", "1, 2 or 4", "true or false". */
const char *field_values(const ssm2d_field *f, char *text, size_t size);

/* The refusal of a value, shown as it is; for readers of other formats. */
ssm2d_status field_refuse(field_source from, const ssm2d_field *f, const char *shown,
                          ssm2d_error *error);
/* What a field becomes that is set to this number: the nearest of 15 digits where that differs in
 * the last bit at most, since JSON files keep no more of it. */
double field_real(double number);
/* Whether a number is one of the field's. */
int field_takes(const ssm2d_field *f, double number);

/* By its name, as in files (lr_start) or as on the command line (lr-start); NULL: there is none. */
const ssm2d_field *field_find(const ssm2d_field *fields, const char *name);
/* In a list of groups; *config, the larger struct before, becomes what the offset counts from. */
const ssm2d_field *field_find_in(const field_group *groups, const char *name, void **config);

#endif
