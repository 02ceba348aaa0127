/* filter - the parts of `ssm2d filter`: the layer that it runs, and the conversion of the picture
 * to the layer's input and back. */
#ifndef SSM2D_TOOLS_FILTER_H
#define SSM2D_TOOLS_FILTER_H

#include "io/image.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "train/run_folder.h"

/* ---- layers ---------------------------------------------------------------------------------- */

/* Both functions make a configuration, and parameters in double that the caller frees with
 * mem_free. */

/* The layer of a block of a trained model. */
typedef struct filter_run {
    const char *folder;
    run_file weights;
    int block;   /* from 1 */
    int channel; /* from 0; -1: the mean of all channels */
} filter_run;

/* A layer of one channel. A LayerNorm at the end of the block's layer, which needs all channels, is
 * left out. */
ssm2d_status filter_run_layer(ssm2d_context *context, const filter_run *what, ssm2d_config *config,
                              double **params, ssm2d_error *error);

/* A motion blur whose trail fades and widens in one direction. */
typedef struct filter_trail {
    double angle;  /* degrees: 0 to the right, 90 down, 180 to the left, 270 up */
    double length; /* mean length in pixels */
    double mix;    /* weight of the trail; the picture itself has weight 1 - mix */
} filter_trail;

/* A layer that treats all channels alike. */
ssm2d_status filter_trail_layer(const ssm2d_context *context, const filter_trail *trail,
                                int channels, ssm2d_config *config, double **params,
                                ssm2d_error *error);

/* ---- the picture (filter_picture.c) ---------------------------------------------------------- */

/* The layer's input are planes with values from 0 to 1: the colours, and for a trail alpha and a
 * plane of ones. The output for the plane of ones is the sum of the weights inside the picture, by
 * which the other planes are divided. A trail's colours are multiplied by alpha before and divided
 * by it after, so that transparent pixels leave no colour behind; other layers leave alpha as it
 * is. */
typedef struct filter_picture {
    image_info info;
    image_reader *reader;
    image_writer *writer;
    int colours, alpha; /* 1 or 3 colours; whether there is an alpha channel */
    int coverage;       /* whether there is a plane of ones, for a trail */
    int planes;
    size_t batch;     /* of the layer: 1 if planes are its channels, else one image per plane */
    void *bytes;      /* one row of the picture */
    uint16_t *alphas; /* [rows in memory][cols]; NULL if there is none or the layer has it */
} filter_picture;

/* Reads the next row of the picture into row `row` of u, [batch][rows][cols][channels]. */
ssm2d_status filter_read_row(const filter_picture *p, double *u, size_t rows, size_t row,
                             ssm2d_error *error);
/* Writes row `row` of y as the next row of the picture; picture_row, its index, is for messages. */
ssm2d_status filter_write_row(const filter_picture *p, const double *y, size_t rows, size_t row,
                              size_t picture_row, ssm2d_error *error);

#endif
