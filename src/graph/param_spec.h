/* param_spec - a parameter says, where it is declared, all that others need to know of it: its
 * shape in the graph and in files, how the optimiser treats it, its initial values, and what
 * becomes of it at another image size. Nobody has to guess any of that from its name or rank. */
#ifndef SSM2D_GRAPH_PARAM_SPEC_H
#define SSM2D_GRAPH_PARAM_SPEC_H

#include "ssm2d.h"

enum { GRAPH_RANK = 5, PARAM_NAME = 112 };

/* Where the patches of an image are among its tokens: after `first` others, rows x cols of them in
 * raster order. rows 0: there is no grid. */
typedef struct token_grid {
    int first, rows, cols;
} token_grid;

/* How the optimiser treats it. */
typedef enum param_group {
    PARAM_DECAY,    /* weight decay acts on it */
    PARAM_NO_DECAY, /* biases */
    PARAM_SYSTEM,   /* A, B and C of a mixer's systems: no decay, a learning rate of their own */
    /* Not learned: has no gradient, and is no parameter to be counted. Forward runs in training
     * change it (the running moments of BatchNorm); it is saved with the weights. */
    PARAM_STATE
} param_group;

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
    PARAM_NORMAL,        /* mean 0, deviation `scale` */
    PARAM_TRUNC_NORMAL,  /* the same, cut at +-2 (not at two deviations), as timm does */
    PARAM_XAVIER_NORMAL, /* deviation sqrt(2 / (in + out)), out being the first axis */
    PARAM_BY_BLOCK       /* all arrays of its block at once, by the block's function */
} param_init;

/* What to do at another image size. */
typedef enum param_resize {
    PARAM_KEEP,
    PARAM_GRID,     /* rows of numbers, one for each token of `grid`: interpolated */
    PARAM_RELATIVE, /* a table of (2*rows - 1) x (2*cols - 1) offsets in `grid`: interpolated */
    /* One axis of 2P - 1 numbers, P at least the tokens of `grid`: entry P-1 + o is that of two
     * tokens o apart in raster order. Interpolated along rows and columns. */
    PARAM_OFFSETS
} param_resize;

typedef struct param_spec {
    const char *name; /* of an array of a block, after the block's name; else NULL */
    int rank;
    size_t shape[GRAPH_RANK];
    int file_rank; /* 0: the shape in files is the same */
    size_t file_shape[GRAPH_RANK];
    param_group group;
    param_part part;
    param_init init;
    double scale;
    param_resize resize;
    token_grid grid;
    int nonnegative; /* files with negative numbers are refused */
    int is_token;    /* of tokens rather than a weight: a position embedding, a class token */
} param_spec;

/* An array as it is in files. Arrays tile the flat array of parameters in the order of their
 * declaration. */
typedef struct param_array {
    char name[PARAM_NAME];
    int rank;
    size_t shape[GRAPH_RANK];
    size_t offset, count; /* in numbers */
    param_spec spec;      /* without the name */
    int block;            /* the one it belongs to; -1: it stands alone */
} param_array;

/* The initial values of all arrays of a block. owner and channels are the block's. */
typedef ssm2d_status param_fill(const void *owner, int channels, uint64_t seed, float *values,
                                ssm2d_error *error);

/* Several arrays that are one tensor of the graph: what a mixer has in one block of a model. */
typedef struct param_block {
    char name[PARAM_NAME];   /* of the model's block: "blocks.3" */
    int first_array, arrays; /* in the list of arrays */
    size_t offset, count;    /* in numbers */
    param_fill *fill;
    const void *owner; /* what made it; lives as long as the graph */
    int channels;
    token_grid grid; /* of the tokens it acts on */
} param_block;

#endif
