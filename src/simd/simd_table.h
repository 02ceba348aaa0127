/* simd_table - the SIMD bodies of one instruction set, for one element type.
 *
 * `lanes` is the number of elements of a vector. A tile is [cell][lanes]: one vector of channels
 * for each cell of a grid. */
#ifndef SSM2D_SIMD_SIMD_TABLE_H
#define SSM2D_SIMD_SIMD_TABLE_H

#include "core/cpu.h"
#include "simd/simd_names.h"
#include "simd/fft_table.h"
#include "simd/scan_table.h"

enum { CORRELATE_MAX_A = 4, CORRELATE_MAX_C = 8 };

/* acc[a*acc_a + c] += sum over r < rows, t < n of x[r*x_row + t - c] * y[r*y_row + a*y_a + t]; a <
 * A, c < C. Distances are in elements; acc steps by `lanes` per c, x and y per t. x is read from
 * -(C-1) to n-1 in each row. With x a kernel and y the cells of A images it is a convolution; with
 * x cells and y output gradients, it gives the gradient of the kernel. */
typedef void correlate_fn(real *acc, ptrdiff_t acc_a, const real *x, ptrdiff_t x_row, const real *y,
                          ptrdiff_t y_row, ptrdiff_t y_a, int rows, int n);

/* out[c*out_col] = start[c*start_col] + sum over r < rows, w < SHORT_TAPS of
 * k[r*k_row + w*lanes] * in[r*in_row + (c+w)*in_col]; c < C. Inputs beyond an edge that the block
 * touches (a sum of SHORT_LEFT and SHORT_RIGHT: the first, the last SHORT_REACH) are not read. */
enum { SHORT_REACH = 3, SHORT_TAPS = 2 * SHORT_REACH + 1, SHORT_MIN_C = 4, SHORT_MAX_C = 16 };
enum { SHORT_LEFT = 1, SHORT_RIGHT = 2, SHORT_EDGES = 4 };
typedef void short_rows_fn(real *out, ptrdiff_t out_col, const real *start, ptrdiff_t start_col,
                           const real *k, ptrdiff_t k_row, const real *in, ptrdiff_t in_row,
                           ptrdiff_t in_col, int rows);

/* Channels h < channels of each cell, at src[cell*cell_stride + h*lane_stride], into the tiles of
 * their vectors, tile v at tile + v*vector_step; lanes past the last channel become 0. */
typedef void gather_fn(real *tile, size_t vector_step, const real *src, size_t cells,
                       ptrdiff_t cell_stride, ptrdiff_t lane_stride, int channels);
/* The inverse: copies tiles to dst (add 0) or adds them to it (add 1). */
typedef void scatter_fn(real *dst, const real *tile, size_t vector_step, size_t cells,
                        ptrdiff_t cell_stride, ptrdiff_t lane_stride, int channels, int add);

/* The state-space recursions, vectorised over the coordinates n of one system, which are padded
 * with zeros to `width`, a multiple of lanes. Complex numbers are split: width real parts, then
 * width imaginary ones. "W" is width (complex: twice).
 *
 * coef: [COEFS][W], see enum. c: [2][W], c1 and c2. A gradient has the layout of its array. Kernel
 * rows: state [width / lanes][cols][2][lanes] (complex: [2][2][lanes]), h and v of each cell. */
enum coef { RHO, SIGMA, TAU, PHI, PSI, CHI, E_H, E_V, COEFS };

typedef struct state_functions {
    /* now <- the states of kernel row i from those of row i-1 (before; not read when i = 0). */
    void (*kernel_row)(real *now, const real *before, const real *coef, int i, int cols, int width);
    /* out[j*stride] = Re sum_n c1*h + c2*v for cells first <= j < cols. */
    void (*kernel_emit)(real *out, ptrdiff_t stride, const real *now, const real *c, int first,
                        int cols, int width);
    /* The adjoint of kernel_emit: dnow += dout * conj(c) with respect to the states, dc += dout *
     * conj(state) with respect to c. */
    void (*kernel_emit_back)(real *dnow, real *dc, const real *dout, ptrdiff_t stride,
                             const real *now, const real *c, int first, int cols, int width);
    /* The adjoint of kernel_row: dnow is the gradient of row i's states and is changed; adds to
     * dbefore, that of row i-1 (not touched when i = 0), and to dcoef. */
    void (*kernel_row_back)(real *dbefore, real *dcoef, real *dnow, const real *now,
                            const real *before, const real *coef, int i, int cols, int width);
    /* One row of the recurrence. row: states as above, q and Q; advanced to the next row. u, y:
     * cols elements at `stride` (negative to run from right to left); y is added to. sums:
     * [cols][lanes] scratch. */
    void (*scan_row)(real *y, ptrdiff_t y_stride, const real *u, ptrdiff_t u_stride, real *row,
                     const real *coef, const real *c, real centre, real border, int cols, int width,
                     real *sums);
    /* The adjoint of that row. row: q and Q before the row; left: scratch for states; drow: the
     * gradient of the next row's q and Q, replaced by that of this row's. du is added to unless
     * NULL. */
    void (*scan_row_back)(real *du, ptrdiff_t du_stride, real *dcoef, real *dc, real *dcentre,
                          const real *dy, ptrdiff_t dy_stride, const real *u, ptrdiff_t u_stride,
                          const real *row, real *drow, const real *coef, const real *c, real centre,
                          real border, int cols, int width, real *left, real *sums);
} state_functions;

/* Convolutions along one axis of a tile, with as many taps to either side as the axis is long. A
 * line has n positions and is convolved as a whole; strides of lines and positions are in elements.
 * Taps are `lanes` elements apart. Blocks of A lines follow each other. */
typedef struct axis_functions {
    /* out[a][c] = sum over t < n of taps[t - c] * in[a][t], a < A * blocks, c < C; with `scale`, a
     * vector, accumulates scale * previous out[a][c]. */
    void (*convolve[CORRELATE_MAX_A + 1][CORRELATE_MAX_C + 1])(real *out, ptrdiff_t out_line,
                                                               ptrdiff_t out_step, const real *taps,
                                                               const real *in, ptrdiff_t in_line,
                                                               ptrdiff_t in_step, int n, int blocks,
                                                               const real *scale);
    /* dtaps[a - c] += sum over t < n of y[a][t] * x[c][t], a < A * blocks, c < C. Here positions
     * are the lines, and t runs across. */
    void (*gradient[CORRELATE_MAX_A + 1][CORRELATE_MAX_C + 1])(real *dtaps, const real *y,
                                                               ptrdiff_t y_line, ptrdiff_t y_step,
                                                               const real *x, ptrdiff_t x_line,
                                                               ptrdiff_t x_step, int n, int blocks);
    /* acc += sum over i < n of x[i] * y[i], vectors */
    void (*dot)(real *acc, const real *x, const real *y, size_t n);
} axis_functions;

/* Moving averages: h[k] = q*h[k-1] + u[k] for each of some states, z[k] += sum over states of
 * c*h[k]. q, c and their gradients: [states][lanes]. Tokens are `step` elements apart, negative to
 * run backwards. Function i handles 4 << i states; NULL where there are too few registers. */
enum { EMA_SCANS = 3, EMA_BACKS = 2, EMA_MIN_STATES = 4, EMA_MAX_STATES = 16 };

typedef struct ema_functions {
    void (*scan[EMA_SCANS])(real *z, const real *u, ptrdiff_t step, size_t tokens, const real *q,
                            const real *c);
    /* Adds to du, dq and dc. scratch: (keep + 1 + tokens/keep rounded up) * states * lanes. */
    void (*back[EMA_BACKS])(real *du, const real *dz, const real *u, ptrdiff_t step, size_t tokens,
                            const real *q, const real *c, real *dq, real *dc, size_t keep,
                            real *scratch);
    /* On n vectors: y = SiLU(z), dz = dy * SiLU'(z), y = factor * x. y may be z. */
    void (*activate)(real *y, const real *z, size_t n);
    void (*activate_back)(real *dz, const real *dy, const real *z, size_t n);
    void (*scale)(real *y, const real *x, const real *factor, size_t n);
} ema_functions;

typedef struct simd_table {
    int lanes;
    /* [A][C]; NULL where there are too few registers */
    correlate_fn *correlate[CORRELATE_MAX_A + 1][CORRELATE_MAX_C + 1];
    /* [edges][C], C >= SHORT_MIN_C; NULL where there are too few registers, or for all C where it
     * is not compiled */
    short_rows_fn *short_rows[SHORT_EDGES][SHORT_MAX_C + 1];
    gather_fn *gather;
    scatter_fn *scatter;
    state_functions state[2]; /* real, complex */
    fft_functions fft;
    axis_functions axis;
    ema_functions ema;
    scan_functions scan;
} simd_table;

const simd_table *simd_for(cpu_level level);

#endif
