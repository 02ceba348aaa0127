/* oracle - the layer as slow, plain double code, written from its definition and not from the
 * library.
 *
 * Tensors are dense: u, y [batch][rows][cols][channels], kernel [directions][channels][rows][cols].
 * Parameters are the flat array of the public parameter table. Nothing here is fast and nothing
 * here shares code with src/. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "layer_calls.h"

/* By the recursion cell by cell, or by listing every path from the first cell to each other one:
 * small grids only. */
typedef enum oracle_method { BY_RECURSION, BY_PATHS } oracle_method;
void oracle_kernel(const ssm2d_config *config, const double *params, oracle_method method,
                   size_t rows, size_t cols, double *kernel);
/* y from a kernel: flips, convolution, flips back, sum or mean, D.u, LayerNorm. */
void oracle_apply(const ssm2d_config *config, const double *params, const double *kernel,
                  size_t batch, size_t rows, size_t cols, const double *u, double *y);
void oracle_forward(const ssm2d_config *config, const double *params, size_t batch, size_t rows,
                    size_t cols, const double *u, double *y);

/* Which axes direction r mirrors. */
void oracle_flips(const ssm2d_config *config, int direction, int *flip_rows, int *flip_cols);
/* Theorem 4.1: k[i][j] = binomial(j, i). */
void oracle_pascal(size_t rows, size_t cols, double *k);
/* Numerical rank by elimination with full pivoting; pivots below tolerance * the first one count as
 * zero. */
size_t oracle_rank(size_t rows, size_t cols, const double *matrix, double tolerance);

/* The parameter array of that name; NULL when the configuration has none. */
const double *oracle_param(const ssm2d_config *config, const double *params, const char *name);

#endif
