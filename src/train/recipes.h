/* recipes - settings that belong together, under a name: how a paper trained. A recipe is a list of
 * lines key=value, set before everything that the user gives. */
#ifndef SSM2D_TRAIN_RECIPES_H
#define SSM2D_TRAIN_RECIPES_H

#include "train/settings.h"

/* For which runs a line is. */
typedef enum recipe_when {
    RECIPE_ALWAYS,
    RECIPE_SSM2D,         /* the mixer is the 2-D SSM */
    RECIPE_TINY_IMAGENET, /* the data are Tiny-ImageNet */
    RECIPE_SWIN,          /* the model is of the family swin */
    RECIPE_MEGA,          /* or mega */
    RECIPE_CONVNEXT       /* or convnext */
} recipe_when;

typedef struct recipe_line {
    const char *key, *value; /* as for --set; the list ends with a key that is NULL */
    recipe_when when;        /* a later line for the same key replaces an earlier one */
} recipe_line;

typedef struct recipe {
    const char *name, *help;
    const recipe_line *lines;
} recipe;

/* Returns the i-th recipe, NULL past the last. */
const recipe *recipe_at(int i);
/* Returns the recipe of this name; NULL: there is none, and the error says which there are. */
const recipe *recipe_find(const char *name, ssm2d_error *error);
/* Whether a line is for runs with such a model and such data. Lines with keys that the model does
 * not have are for none. */
int recipe_line_applies(const recipe_line *line, const train_settings *run);
/* Sets what the recipe has for a run like `run`, whose model is that of *s, in *s. */
ssm2d_status recipe_apply(const recipe *r, const train_settings *run, train_settings *s,
                          ssm2d_error *error);

#endif
