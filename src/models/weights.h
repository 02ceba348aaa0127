/* weights - a model's parameters as named arrays (timm's names) in one flat array of floats, the
 * one its graph is bound to.
 *
 * The list is taken from the graph that the builder makes, so that there is one declaration. A
 * mixer is one parameter of the graph but several arrays here: `blocks.0.mixer.A` .. */
#ifndef SSM2D_MODELS_WEIGHTS_H
#define SSM2D_MODELS_WEIGHTS_H

#include "models/model.h"

#include <stddef.h>
#include <stdint.h>

typedef enum weights_part {
    WEIGHTS_BODY = 1,
    WEIGHTS_MIXERS = 2,
    WEIGHTS_HEAD = 4,
    WEIGHTS_ALL = 7
} weights_part;

typedef struct weights_array {
    char name[112];
    int rank;
    size_t shape[4];
    size_t offset, count; /* in the flat array, in numbers */
    int decay;            /* whether weight decay is meant to act on it; see weights.c */
    weights_part part;    /* what it belongs to */
    int system;           /* whether it is a system's of a mixer: an A, B or C */
} weights_array;

typedef struct weights {
    const ssm2d_context *context;
    model_config config;
    int count;
    weights_array *arrays; /* in the order of the flat array, without gaps */
    size_t total;          /* numbers in all */
} weights;

/* config must have been finished. The batch a graph is built for does not matter to its
 * parameters. */
ssm2d_status weights_create(ssm2d_context *context, const model_config *config, weights **out,
                            ssm2d_error *error);
void weights_destroy(weights *w);
const weights_array *weights_find(const weights *w, const char *name); /* NULL: there is none */

/* Initial values. An array's depend on the seed and its name only, so that a model with and one
 * without mixers start alike.
 *     START_XAVIER (vit):        cls_token and pos_embed N(0,1), matrices xavier-normal (the patch embedding is one)
 *     START_TRUNC_NORMAL (deit): cls_token, pos_embed and matrices N(0, 0.02^2), cut at +-2 as timm does
 * biases 0, LayerNorm 1 and 0, mixers as the configuration's `init` says. Only arrays of these
 * parts are written. */
ssm2d_status weights_init(const weights *w, weights_part parts, uint64_t seed, float *params,
                          ssm2d_error *error);

/* ---- files (safetensors) --------------------------------------------------------------------- */

typedef struct weights_options {
    uint64_t seed; /* of what is initialised rather than read */
    /* a head that is missing, or for another number of classes, is replaced by a new one, not
     * refused */
    int new_head;
    /* Patches per column and row for which pos_embed was made; 0: as the file says, else the
     * model's, or a square. */
    int old_grid[2];
} weights_options;

/* What a caller should tell the user. */
typedef struct weights_report {
    int new_mixer_arrays; /* not in the file: initialised */
    int new_head;         /* of another number of classes in the file: initialised */
    int resized;          /* pos_embed was interpolated from old_grid */
    int old_grid[2];
} weights_report;

/* Every array of the model must be in the file with its shape, mixers excepted; arrays the model
 * does not have are refused, so that nothing is left out by mistake. Refuses NaN and infinity.
 * options and report may be NULL. On failure the contents of params are undefined. */
ssm2d_status weights_load(const weights *w, const char *path, const weights_options *options,
                          float *params, weights_report *report, ssm2d_error *error);
/* Parameters, or gradients. Whole or not at all. */
ssm2d_status weights_save(const weights *w, const char *path, const float *params,
                          ssm2d_error *error);
/* The same model at another image size: all arrays are copied, pos_embed is interpolated. */
ssm2d_status weights_resize(const weights *from, const float *params, const weights *to, float *out,
                            ssm2d_error *error);

/* Bicubic interpolation of a position embedding (a = -0.75, half-pixel centres, edges repeated, no
 * antialiasing: torch's); the first row, of CLS, is kept. from: [1 + old rows*old cols][dim], to:
 * [1 + rows*cols][dim] */
void pos_embed_resize(const float *from, const int old_grid[2], float *to, const int grid[2],
                      size_t dim);

#endif
