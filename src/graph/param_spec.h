/* param_spec - the declaration of a parameter has all that other code needs to know: its shape in
 * the graph and in files, how the optimiser treats it, its initial values, and how it is adapted to
 * another image size. Nothing is guessed from its name or rank. */
#ifndef SSM2D_GRAPH_PARAM_SPEC_H
#define SSM2D_GRAPH_PARAM_SPEC_H

#include "core/element_type.h"
#include "core/grid.h"
#include "ssm2d.h"

enum { GRAPH_RANK = 5, PARAM_NAME = 112 };

/* How the optimiser treats it. */
typedef enum param_group {
    PARAM_DECAY,    /* weight decay acts on it */
    PARAM_NO_DECAY, /* biases */
    PARAM_SYSTEM,   /* A, B and C of a mixer's systems: no decay, a learning rate of their own */
    /* Not learned: has no gradient, and is not counted as a parameter. Forward runs in training
     * change it (the running moments of BatchNorm); it is saved with the weights. */
    PARAM_STATE
} param_group;

/* What it is, for the rules of weight decay (train_decays). */
typedef enum param_role {
    PARAM_WEIGHT, /* a matrix or a convolution, and all that is none of the others */
    PARAM_BIAS,   /* of a linear layer, a convolution or a norm */
    PARAM_SCALE,  /* the weight of a norm */
    PARAM_TOKEN,  /* a position embedding, a class token */
    PARAM_INNER   /* inside of a mixer, and not decayed by the paper's runs: all but omega */
} param_role;

/* What it belongs to; a set of parts is a sum. */
typedef enum param_part {
    PARAM_BODY = 1,
    PARAM_MIXER = 2, /* may be missing from a file altogether: then it is initialised */
    PARAM_HEAD = 4,  /* depends on the number of classes */
    PARAM_ALL = 7
} param_part;

typedef enum param_init {
    PARAM_ZEROS,
    PARAM_ONES,
    PARAM_NORMAL,         /* mean 0, deviation `scale` */
    PARAM_TRUNC_NORMAL,   /* the same, cut at +-2 (not at two deviations), as timm does */
    PARAM_UNIFORM,        /* between -scale and scale */
    PARAM_FAN_IN,         /* within +-1 / sqrt(in), as PyTorch's Linear and convolution */
    PARAM_XAVIER_UNIFORM, /* within +-sqrt(6 / (in + out)) */
    PARAM_XAVIER_NORMAL,  /* deviation sqrt(2 / (in + out)), out being the first axis */
    PARAM_BY_BLOCK        /* all arrays of its block at once, by the block's function */
} param_init;

/* What to do at another image size. */
typedef enum param_resize {
    PARAM_KEEP,
    PARAM_GRID,     /* one row for each token of `grid`: interpolated */
    PARAM_RELATIVE, /* a table of (2*rows - 1) x (2*cols - 1) offsets in `grid`: interpolated */
    /* One axis of 2P - 1 elements, P at least the tokens of `grid`: entry P-1 + o is that of two
     * tokens o apart in raster order. Interpolated along rows and columns. */
    PARAM_OFFSETS
} param_resize;

typedef struct param_spec {
    const char *name; /* of an array of a block, after the block's name; else NULL */
    int rank;
    size_t shape[GRAPH_RANK];
    element_type type; /* real, unless the graph is for inference only */
    size_t scales;     /* int8: the number of its scales, 1 or one for each row */
    int file_rank;     /* 0: the shape in files is the same */
    size_t file_shape[GRAPH_RANK];
    param_group group;
    param_role role;
    param_part part;
    param_init init;
    double scale;
    size_t first_rows; /* xavier: rows of the first of two matrices in one array, each with a
                        * deviation of its own; 0: it is one matrix */
    param_resize resize;
    token_grid grid;
    int nonnegative; /* files with negative values are refused */
} param_spec;

/* An array as it is in files. Arrays tile the flat array of parameters in the order of their
 * declaration. */
typedef struct param_array {
    char name[PARAM_NAME];
    int rank;
    size_t shape[GRAPH_RANK];
    size_t offset, count; /* in elements */
    param_spec spec;      /* without the name */
    int block;            /* the index of its block; -1: it has none */
} param_array;

/* Several arrays that are one tensor of the graph: what a mixer has in one block of a model. */
typedef struct param_block {
    char name[PARAM_NAME];   /* of the model's block: "blocks.3" */
    int first_array, arrays; /* in the list of arrays */
    size_t offset, count;    /* in elements */
    /* Writes the initial values of all of its arrays. */
    ssm2d_status (*fill)(const struct param_block *block, uint64_t seed, float *values,
                         ssm2d_error *error);
    const void *owner; /* what made it; lives as long as the graph */
    int channels;
    token_grid grid; /* of the tokens it acts on */
} param_block;

#endif
