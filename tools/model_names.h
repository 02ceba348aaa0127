/* model_names - names of models and mixers, for completion in shells. */
#ifndef SSM2D_TOOLS_MODEL_NAMES_H
#define SSM2D_TOOLS_MODEL_NAMES_H

#include "models/model.h"

/* Return the i-th name, NULL past the last. */
static inline const char *model_name_at(int i) { return model_at(i) ? model_at(i)->name : NULL; }
static inline const char *mixer_name_at(int i) { return mixer_at(i) ? mixer_at(i)->name : NULL; }

#endif
