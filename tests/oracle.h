/* oracle - the layer as slow, plain double code, written from its definition and not from the library.
 *
 * Tensors are dense: u, y [batch][rows][cols][channels], kernel [directions][channels][rows][cols]. Parameters are the flat
 * array of the public parameter table. Nothing here is fast and nothing here shares code with src/. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "ssm2d.h"

#include <complex.h>

/* One coordinate of the state: the scalars behind the raw parameters. */
typedef struct scalars {
    double complex a[4], b[2], c[2];
} scalars;

scalars oracle_scalars(const ssm2d_config *config, const double *params, int direction, int channel, int n);

/* The recursion cell by cell: taps[rows][cols] += scale-free Re(c1 h + c2 v), without sqrt(1/N). */
void oracle_recursion(ssm2d_norm norm, const scalars *s, size_t rows, size_t cols, double *taps);
/* The same by listing every path from the first cell to (i, j): 2^(i+j) steps, for small grids only. */
double oracle_path_sum(ssm2d_norm norm, const scalars *s, size_t i, size_t j);

typedef enum oracle_method { BY_RECURSION, BY_PATHS } oracle_method;
void oracle_kernel(const ssm2d_config *config, const double *params, oracle_method method, size_t rows, size_t cols,
                   double *kernel);
/* y from a kernel: flips, convolution, flips back, sum or mean, D.u, LayerNorm. */
void oracle_apply(const ssm2d_config *config, const double *params, const double *kernel, size_t batch, size_t rows,
                  size_t cols, const double *u, double *y);
void oracle_forward(const ssm2d_config *config, const double *params, size_t batch, size_t rows, size_t cols, const double *u,
                    double *y);

/* Which axes direction r mirrors. */
void oracle_flips(const ssm2d_config *config, int direction, int *flip_rows, int *flip_cols);
/* Theorem 4.1: k[i][j] = binomial(j, i). */
void oracle_pascal(size_t rows, size_t cols, double *k);
/* Numerical rank by elimination with full pivoting; pivots below tolerance * the first one count as zero. */
size_t oracle_rank(size_t rows, size_t cols, const double *matrix, double tolerance);

/* The i-th parameter array called name; NULL when the configuration has none. */
const double *oracle_param(const ssm2d_config *config, const double *params, const char *name);

#endif
