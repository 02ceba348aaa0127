/* train_values - the options of `ssm2d train`, and the settings that result from them, a recipe and
 * a file. */
#ifndef SSM2D_TOOLS_TRAIN_VALUES_H
#define SSM2D_TOOLS_TRAIN_VALUES_H

#include "tools/command.h"
#include "train/recipes.h"

typedef struct train_values {
    const char *out, *resume, *recipe, *config, *model, *mixer;
    word_list set;
    int overwrite, print_settings;
#define OPTION(kind, field, default_value, low, high, names, help) const char *text_##field;
#include "train/options.def"
#undef OPTION
} train_values;

/* Returns the i-th name of a recipe, NULL past the last. */
const char *recipe_name_at(int i);

/* The settings of a new run: those of the recipe, overridden by --config, overridden by the command
 * line. Without a context --config is ignored, to check the other settings early. */
ssm2d_status train_values_settings(const ssm2d_context *context, const train_values *o,
                                   train_settings *s, ssm2d_error *error);
/* Prints all settings of a new run, and the origin of each. */
ssm2d_status train_values_print(const ssm2d_context *context, const train_values *o,
                                ssm2d_error *error);

#endif
