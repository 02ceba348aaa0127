/* weights - the parameters of a model: their names and shapes, initial values, and files.
 *
 * All parameters are one flat float array that the caller owns; each array of a file is a range of
 * it. The list of arrays is taken from the graph, so that they are declared only once. */
#ifndef SSM2D_MODELS_WEIGHTS_H
#define SSM2D_MODELS_WEIGHTS_H

#include "io/safetensors.h"
#include "models/model.h"

#include <stddef.h>
#include <stdint.h>

typedef struct weights {
    ssm2d_context *context;
    model_config config;
    graph *graph;              /* declares the arrays; it is never run */
    int count, blocks;         /* number of arrays, and of blocks with a mixer */
    const param_array *arrays; /* in the order of the flat array, without gaps */
    const param_block *block;
    size_t total;   /* elements of all arrays */
    size_t learned; /* parameters: without the group PARAM_STATE */
} weights;

/* config must have been finished. */
ssm2d_status weights_create(ssm2d_context *context, const model_config *config, weights **out,
                            ssm2d_error *error);
void weights_destroy(weights *w);
const param_array *weights_find(const weights *w, const char *name); /* NULL: there is none */
/* Copies the arrays of a graph of the same model, from index `first` on; they may be fewer, and in
 * another order. */
ssm2d_status weights_copy(const weights *w, const float *params, const graph *g, int first,
                          real *out, ssm2d_error *error);

/* Writes the declared initial values of all arrays of these parts. They depend only on the seed and
 * the array's name (a mixer's on the block's name), so that models with and without mixers start
 * with the same weights. */
ssm2d_status weights_init(const weights *w, int parts, uint64_t seed, float *params,
                          ssm2d_error *error);

/* ---- files (safetensors) --------------------------------------------------------------------- */

typedef struct weights_options {
    uint64_t seed; /* of arrays that are initialised because the file lacks them */
    /* initialise a head that is missing or has another number of outputs, instead of refusing it */
    int new_head;
    /* Rows and columns of patches of the position embeddings in the file; 0: as the file's metadata
     * say, else the model's, or a square. */
    int old_grid[2];
    /* the file may have the parts of 8-bit arrays (weights_match.h), whose integers are read */
    int quantized;
} weights_options;

/* For the caller to report. */
typedef struct weights_report {
    int new_mixer_arrays; /* not in the file, initialised */
    int new_head;         /* whether the head was initialised */
    int resized;          /* position embeddings interpolated, the first from old_grid to grid */
    int old_grid[2], grid[2];
    int resized_tables; /* tables of relative positions interpolated */
} weights_report;

/* Every array of the model, except those of mixers, must be in the file with its shape, under its
 * name or one that the family knows from published files. Refuses arrays that the model does not
 * have, so that nothing is ignored by mistake, and NaN and infinity. options and report may be
 * NULL. On failure the contents of params are undefined. */
ssm2d_status weights_load(const weights *w, const char *path, const weights_options *options,
                          float *params, weights_report *report, ssm2d_error *error);
/* The same from a file that is open, whose name is `path` in messages. */
ssm2d_status weights_read(const weights *w, const char *path, const safetensors *file,
                          const weights_options *options, float *params, weights_report *report,
                          ssm2d_error *error);
/* The metadata of a file with this model's weights; notes and texts have one element more than
 * there are arrays. Returns the count. */
enum { WEIGHTS_NOTE = 32 };
size_t weights_notes(const weights *w, safetensors_note *notes, char (*texts)[WEIGHTS_NOTE]);
/* Writes the file atomically. */
ssm2d_status weights_save(const weights *w, const char *path, const float *params,
                          ssm2d_error *error);
/* The same for gradients, without arrays of the group PARAM_STATE, which have none. */
ssm2d_status weights_save_gradients(const weights *w, const char *path, const float *grads,
                                    ssm2d_error *error);
/* Converts the weights of a model to another image size: arrays that depend on the grid are
 * interpolated, the others copied. */
ssm2d_status weights_resize(const weights *from, const float *params, const weights *to, float *out,
                            ssm2d_error *error);

/* ---- resize_params.c ------------------------------------------------------------------------- */

/* Position embeddings and tables of relative positions: bicubic interpolation of the rows of a
 * grid's cells, as in PyTorch (a = -0.75, half-pixel centres, edges repeated, no antialiasing), the
 * authors of Swin, and timm's resize_rel_pos_bias_table_simple (its resize_rel_pos_bias_table
 * spaces the old offsets geometrically instead). The first `prefix` rows are copied.
 * from: [prefix + old rows*cols][dim], to: [prefix + rows*cols][dim] */
void grid_resize(const float *from, const int old_grid[2], float *to, const int grid[2], int prefix,
                 size_t dim);

/* A table of offsets in raster order (PARAM_OFFSETS), for another grid. Two tokens at offset o =
 * i*cols + j, with j as close to 0 as possible, are i rows and j columns apart. In the old grid the
 * same fraction of the image is a fractional offset, whose neighbouring entries are interpolated
 * linearly; entries beyond the table equal its last one. The same grid gives the same entries.
 * from: [2*old_positions - 1], to: [2*positions - 1] */
void offsets_resize(const float *from, int old_positions, const int old_grid[2], float *to,
                    int positions, const int grid[2]);

#endif
