/* field - one description of a configuration's fields (ssm2d_field) serves parsing, checking,
 * printing, help and suggestions, from the layer to the training options. Values in JSON files are
 * read and written by io/field_json.h. */
#ifndef SSM2D_CORE_FIELD_H
#define SSM2D_CORE_FIELD_H

#include "ssm2d.h"

/* One field of a configuration, described, so that a program can list, parse, check and print it.
 * The settings of layers are integers, numbers, flags and choices (the public ssm2d_setting); the
 * other kinds are for models, data and training. */
typedef enum ssm2d_kind {
    SSM2D_KIND_INT,    /* int */
    SSM2D_KIND_REAL,   /* double */
    SSM2D_KIND_FLAG,   /* int: 0 false, 1 true */
    SSM2D_KIND_CHOICE, /* int, or an enum: the place of its name in `names` */
    SSM2D_KIND_TEXT,   /* char[SSM2D_TEXT], not empty */
    SSM2D_KIND_PAIR,   /* int[2]: rows and columns; one number stands for both */
    SSM2D_KIND_LIST    /* ssm2d_list */
} ssm2d_kind;

#define SSM2D_TEXT 1024
#define SSM2D_LIST 8
typedef struct ssm2d_list {
    int count, at[SSM2D_LIST];
} ssm2d_list;

typedef struct ssm2d_field {
    const char *name;
    const char *help;
    ssm2d_kind kind;
    size_t offset;             /* in the configuration */
    double minimum, maximum;   /* of numbers, both included */
    const char *default_value; /* as text; NULL: the field has none and must be set */
    const char *const *names;  /* of a choice, ended by NULL */
    const int *allowed; /* when not every integer in between will do: ended by 0; else NULL */
} ssm2d_field;

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
/* On failure config is unchanged. */
ssm2d_status field_parse(field_source from, const ssm2d_field *f, const char *text, void *config,
                         ssm2d_error *error);
/* Refuses a value out of bounds, and a field without a default that was not set. */
ssm2d_status field_check(field_source from, const ssm2d_field *f, const void *config,
                         ssm2d_error *error);
/* The value in the form that field_parse reads. */
const char *field_print(const ssm2d_field *f, const void *config, char *text, size_t size);
/* The valid values: "a whole number from 1 to 64", "1, 2 or 4", "true or false". */
const char *field_values(const ssm2d_field *f, char *text, size_t size);

/* The error for an invalid value, which `shown` displays; for readers of other formats. */
ssm2d_status field_refuse(field_source from, const ssm2d_field *f, const char *shown,
                          ssm2d_error *error);
/* The value that a field set to `number` gets: rounded to 15 digits where that changes at most the
 * last bit, because JSON files keep no more digits. */
double field_real(double number);
/* Whether a number is a valid value of the field. */
int field_takes(const ssm2d_field *f, double number);

/* Finds a field by its name in files (lr_start) or on the command line (lr-start); NULL if there is
 * none. */
const ssm2d_field *field_find(const ssm2d_field *fields, const char *name);
/* Finds a field in a list of groups; *config, the larger struct on entry, becomes the member struct
 * that contains the field. */
const ssm2d_field *field_find_in(const field_group *groups, const char *name, void **config);

#endif
