/* fields - the table of a model's keys. Internal to src/models. */
#ifndef SSM2D_MODELS_FIELDS_H
#define SSM2D_MODELS_FIELDS_H

#include "models/model.h"

typedef enum field_kind { FIELD_INT, FIELD_REAL, FIELD_FLAG, FIELD_IMAGE } field_kind;

typedef struct model_field {
    const char *name, *help;
    field_kind kind;
    size_t offset; /* in model_config */
    double low, high;
} model_field;

/* all keys but `model` and `mixer`, in the order of files */
extern const model_field model_fields[];
extern const int model_field_count;

#endif
