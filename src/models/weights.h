/* weights - the parameters of a model: their names and shapes, initial values, and files.
 *
 * All parameters are one flat float array that the caller owns; an array of a file is a part of it.
 * The list of arrays is taken from the graph that the builder makes: they are declared once. */
#ifndef SSM2D_MODELS_WEIGHTS_H
#define SSM2D_MODELS_WEIGHTS_H

#include "models/model.h"

#include <stddef.h>
#include <stdint.h>

typedef struct weights {
    ssm2d_context *context;
    model_config config;
    graph *graph;              /* declares the arrays; it is never run */
    int count, blocks;         /* of arrays, of mixers */
    const param_array *arrays; /* in the order of the flat array, without gaps */
    const param_block *block;
    size_t total;   /* elements in all */
    size_t learned; /* of parameters: without those of the group PARAM_STATE */
} weights;

/* config must have been finished. The batch a graph is built for does not matter to its
 * parameters. */
ssm2d_status weights_create(ssm2d_context *context, const model_config *config, weights **out,
                            ssm2d_error *error);
void weights_destroy(weights *w);
const param_array *weights_find(const weights *w, const char *name); /* NULL: there is none */
/* Copies what a graph of the same model has: its arrays from index `first` on, which may be fewer
 * and in another order. */
ssm2d_status weights_copy(const weights *w, const float *params, const graph *g, int first,
                          real *out, ssm2d_error *error);

/* Initial values, as the parameters' declarations say. An array's depend on the seed and its name
 * only (those of a mixer on the block's), so that a model with and one without mixers start alike.
 * Only arrays of these parts are written. */
ssm2d_status weights_init(const weights *w, int parts, uint64_t seed, float *params,
                          ssm2d_error *error);

/* ---- files (safetensors) --------------------------------------------------------------------- */

typedef struct weights_options {
    uint64_t seed; /* of what is initialised rather than read */
    /* a head that is missing, or for another number of outputs, is replaced by a new one, not
     * refused */
    int new_head;
    /* Patches per column and row for which position embeddings in the file were made; 0: as the
     * file says, else the model's, or a square. */
    int old_grid[2];
} weights_options;

/* What a caller should tell the user. */
typedef struct weights_report {
    int new_mixer_arrays; /* not in the file: initialised */
    int new_head;         /* of another number of outputs in the file: initialised */
    int resized;          /* position embeddings interpolated, the first from old_grid to grid */
    int old_grid[2], grid[2];
    int resized_tables; /* tables of relative positions, interpolated */
} weights_report;

/* Every array of the model must be in the file with its shape, mixers excepted, under its name or
 * one that the family knows from published files; arrays the model does not have are refused, so
 * that nothing is left out by mistake. Refuses NaN and infinity.
 * options and report may be NULL. On failure the contents of params are undefined. */
ssm2d_status weights_load(const weights *w, const char *path, const weights_options *options,
                          float *params, weights_report *report, ssm2d_error *error);
/* Whole or not at all. */
ssm2d_status weights_save(const weights *w, const char *path, const float *params,
                          ssm2d_error *error);
/* The same for gradients: without arrays of the group PARAM_STATE, which have none. */
ssm2d_status weights_save_gradients(const weights *w, const char *path, const float *grads,
                                    ssm2d_error *error);
/* The same model at another image size: all arrays are copied, those that depend on the grid are
 * interpolated. */
ssm2d_status weights_resize(const weights *from, const float *params, const weights *to, float *out,
                            ssm2d_error *error);

/* ---- resize_params.c ------------------------------------------------------------------------- */

/* Position embeddings, and tables of relative positions, as the authors of Swin do it and timm's
 * resize_rel_pos_bias_table_simple (its resize_rel_pos_bias_table spaces the old offsets
 * geometrically instead): bicubic interpolation of rows that belong to the cells of a
 * grid (a = -0.75, half-pixel centres, edges repeated, no antialiasing: torch's). The first
 * `prefix` rows are copied. from: [prefix + old rows*cols][dim], to: [prefix + rows*cols][dim] */
void grid_resize(const float *from, const int old_grid[2], float *to, const int grid[2], int prefix,
                 size_t dim);

/* A table of offsets in raster order (PARAM_OFFSETS), for another grid. Two tokens that are o =
 * i*cols + j apart, j being as close to 0 as can be, are i rows and j columns apart; at another
 * size they are that part of the image apart, between whose entries is interpolated linearly.
 * Entries past the end of the table are like the last one. The same grid gives the same entries.
 * from: [2*old_positions - 1], to: [2*positions - 1] */
void offsets_resize(const float *from, int old_positions, const int old_grid[2], float *to,
                    int positions, const int grid[2]);

#endif
