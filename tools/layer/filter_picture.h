/* filter_picture - converts a picture to a layer's input, and the layer's output to a picture.
 *
 * The layer's input are planes with values from 0 to 1: the colours, and for a trail alpha and a
 * plane of ones. The output of the latter is the sum of the weights inside the picture, by which
 * the others are divided. With alpha the trail's colours are multiplied by it before and divided
 * after, so that transparent pixels leave no colour behind; other layers leave alpha as it is. */
#ifndef SSM2D_TOOLS_FILTER_PICTURE_H
#define SSM2D_TOOLS_FILTER_PICTURE_H

#include "io/image.h"

typedef struct filter_picture {
    image_info info;
    image_reader *reader;
    image_writer *writer;
    int colours, alpha; /* 1 or 3; whether there is one more */
    int coverage;       /* there is a plane of ones: a trail */
    int planes;
    size_t batch;     /* the layer's: 1, when planes are its channels; else one image per plane */
    void *bytes;      /* one row of the picture */
    uint16_t *alphas; /* [rows in memory][cols], unless the layer gets alpha; else NULL */
} filter_picture;

/* Reads the next row of the picture into row `row` of u, [batch][rows][cols][channels]. */
ssm2d_status filter_read_row(const filter_picture *p, double *u, size_t rows, size_t row,
                             ssm2d_error *error);
/* Writes row `row` of y as the next row of the picture, whose number is for messages. */
ssm2d_status filter_write_row(const filter_picture *p, const double *y, size_t rows, size_t row,
                              size_t number, ssm2d_error *error);

#endif
