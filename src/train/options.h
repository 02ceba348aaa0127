/* options - the settings of a training run, from text and JSON, checked; the list is
 * options.def. */
#ifndef SSM2D_TRAIN_OPTIONS_H
#define SSM2D_TRAIN_OPTIONS_H

#include "ssm2d.h"

#include <cjson/cJSON.h>

enum { TRAIN_TEXT = 1024 }; /* bytes of a text, with its end */

typedef enum train_kind {
    TRAIN_KIND_TEXT,
    TRAIN_KIND_INT,
    TRAIN_KIND_REAL,
    TRAIN_KIND_CHOICE
} train_kind;

typedef struct train_options {
#define TEXT(field)                                                 char field[TRAIN_TEXT];
#define INT(field)                                                  long field;
#define REAL(field)                                                 double field;
#define CHOICE(field)                                               int field;
#define OPTION(kind, field, name, standard, low, high, names, help) kind(field)
#include "train/options.def"
#undef OPTION
#undef TEXT
#undef INT
#undef REAL
#undef CHOICE
} train_options;

typedef enum train_loss { TRAIN_LOSS_CROSS_ENTROPY, TRAIN_LOSS_BCE } train_loss;

extern const char *const train_schedule_names[], *const train_loss_names[];

typedef struct train_field {
    const char *field, *name; /* in files, on the command line */
    train_kind kind;
    size_t offset;
    const char *standard;
    double low, high;
    const char *const *names; /* of a choice; ends with NULL */
    const char *help;
} train_field;

extern const train_field train_fields[];
extern const int train_field_count;

void train_options_default(train_options *options);
/* Sets one by name, in either form, from text. */
ssm2d_status train_options_set(train_options *options, const char *name, const char *text,
                               ssm2d_error *error);
/* One from a value in a file. */
ssm2d_status train_options_set_json(train_options *options, const char *file,
                                    const train_field *field, const cJSON *value,
                                    ssm2d_error *error);
/* All of them as an object, to be freed with cJSON_Delete; NULL without memory. */
cJSON *train_options_to_json(const train_options *options);
/* What does not go together. */
ssm2d_status train_options_check(const train_options *options, ssm2d_error *error);

#endif
