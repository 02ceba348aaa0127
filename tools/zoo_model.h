/* zoo_model - the trained models that come with ssm2d: model files in a folder beside the program,
 * which commands take as zoo:NAME. */
#ifndef SSM2D_TOOLS_ZOO_MODEL_H
#define SSM2D_TOOLS_ZOO_MODEL_H

#include "ssm2d.h"

#include <limits.h>

enum { ZOO_MODELS = 64, ZOO_NAME = 64 };

/* The folder of the models: the environment variable SSM2D_MODELS, or share/ssm2d/models beside the
 * folder of the program, where the build tree has a link to the source tree's models. */
ssm2d_status zoo_folder(char folder[PATH_MAX], ssm2d_error *error);
/* The names of its models, NAME.ssm2d, sorted; at most ZOO_MODELS. */
typedef struct zoo_names {
    int count;
    char names[ZOO_MODELS][ZOO_NAME];
} zoo_names;
ssm2d_status zoo_list(const char *folder, zoo_names *list, ssm2d_error *error);

/* Replaces *word by the path of a model if it is zoo:NAME; other words stay. The path is in static
 * memory; at most ZOO_MODELS words of one command line can be replaced. */
ssm2d_status zoo_resolve(const char **word, ssm2d_error *error);

#endif
