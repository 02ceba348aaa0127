/* theory - the topics of `ssm2d theory`: what the paper proves about kernels, computed by the
 * library from single systems with given coefficients. */
#ifndef SSM2D_TOOLS_THEORY_H
#define SSM2D_TOOLS_THEORY_H

#include "layers/ssm2d/ssm2d_config.h"

/* ---- topics ---------------------------------------------------------------------------------- */

/* How a topic is shown. */
typedef struct theory_view {
    int side;      /* of its kernels */
    uint64_t seed; /* of random parameters */
} theory_view;

typedef struct theory_topic {
    const char *name, *title;
    int side; /* default */
    /* Prints the topic's table to standard output. */
    ssm2d_status (*print)(ssm2d_context *context, const theory_view *view, ssm2d_error *error);
    /* Draws its picture to a .png, .svg or .pdf. */
    ssm2d_status (*draw)(ssm2d_context *context, const theory_view *view, const char *path,
                         ssm2d_error *error);
} theory_topic;

extern const theory_topic theory_pascal, theory_ranks, theory_special_case, theory_paths,
    theory_relaxation;

/* Draws the lattice paths, the paper's Figure 2, as `ssm2d theory paths -o PATH` does. */
ssm2d_status theory_paths_draw(ssm2d_context *context, const char *path, ssm2d_error *error);

/* ---- kernels (theory_kernels.c) -------------------------------------------------------------- */

enum { THEORY_SIDE = 24 }; /* of a kernel, at most */
enum { THEORY_CELLS = THEORY_SIDE * THEORY_SIDE };

/* The coefficients of a real system of state dimension 1: A1..A4 and B1, B2 from 0 to 1, both
 * included, C1 and C2. */
typedef struct theory_system {
    double a[4], b[2], c[2];
} theory_system;

/* kernel[side][side] of the layer with one channel, one direction and this system. Coefficients of
 * 0 and 1 are exact: their raw parameters lie where the sigmoid rounds to them. */
ssm2d_status theory_kernel(ssm2d_context *context, const theory_system *system, ssm2d_norm norm,
                           int side, double *kernel, ssm2d_error *error);
/* The same with a system drawn at random, with coefficients a mostly between 0.8 and 1. */
ssm2d_status theory_kernel_drawn(ssm2d_context *context, uint64_t seed, ssm2d_norm norm, int side,
                                 double *kernel, ssm2d_error *error);
/* kernel[side][side] of S4ND, looking forward only, with one real state per axis: the outer product
 * of rows^i and cols^j, 0 < rows, cols < 1. */
ssm2d_status theory_s4nd(ssm2d_context *context, double rows, double cols, int side, double *kernel,
                         ssm2d_error *error);
/* The same for S4ND with 16 states per axis and its initial values. */
ssm2d_status theory_s4nd_drawn(ssm2d_context *context, uint64_t seed, int side, double *kernel,
                               ssm2d_error *error);

/* The singular values of matrix[side][side], in descending order. */
void theory_singular_values(const double *matrix, int side, double *values);
/* The number of singular values above side * epsilon times the largest. */
int theory_rank(const double *matrix, int side);
/* The largest difference between two kernels, relative to the largest element of the first. */
double theory_difference(const double *a, const double *b, int side);

#endif
