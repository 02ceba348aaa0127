/* recipes - named lists of settings that reproduce how a paper trained. They are applied before the
 * user's own settings. */
#ifndef SSM2D_TRAIN_RECIPES_H
#define SSM2D_TRAIN_RECIPES_H

#include "train/settings.h"

/* The runs that a part applies to. */
typedef enum recipe_when {
    RECIPE_ALWAYS,
    RECIPE_SSM2D,         /* the mixer is the 2-D SSM */
    RECIPE_TINY_IMAGENET, /* the data are Tiny-ImageNet */
    RECIPE_SWIN,          /* the model's family is swin */
    RECIPE_MEGA,          /* .. mega */
    RECIPE_CONVNEXT       /* .. convnext */
} recipe_when;

typedef struct recipe_part {
    recipe_when when;
    const char *settings; /* "KEY=VALUE ..", as for --set; NULL in the last part */
} recipe_part;

typedef struct recipe {
    const char *name, *help;
    const recipe_part *parts; /* later settings override earlier ones */
} recipe;

/* One setting of a recipe. */
typedef struct recipe_line {
    char key[32], value[32];
    recipe_when when;
} recipe_line;

/* Returns the i-th recipe, NULL past the last. */
const recipe *recipe_at(int i);
/* Returns the recipe of this name; if there is none, NULL and an error that lists the names. */
const recipe *recipe_find(const char *name, ssm2d_error *error);
/* Sets *line to the i-th setting of a recipe; returns 0 past the last. */
int recipe_line_at(const recipe *r, int i, recipe_line *line);
/* Whether a line applies to the model and data of a run. Lines with keys that the model does not
 * have do not apply. */
int recipe_line_applies(const recipe_line *line, const train_settings *run);
/* Applies the recipe to *s. `run` has the model and data that decide which lines apply. */
ssm2d_status recipe_apply(const recipe *r, const train_settings *run, train_settings *s,
                          ssm2d_error *error);

#endif
