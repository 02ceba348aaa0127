/* s4nd_internal - the functions of S4ND that are compiled for each number type. */
#ifndef SSM2D_LAYERS_S4ND_INTERNAL_H
#define SSM2D_LAYERS_S4ND_INTERNAL_H

#include "layers/s4nd/s4nd_plan.h"

/* The side of an axis; the index of its first tap in the taps of both axes; the index of its tap at
 * offset 0. */
static inline int s4nd_side(const s4nd_plan *p, int axis)
{
    return axis ? p->base.cols : p->base.rows;
}
static inline int s4nd_first(const s4nd_plan *p, int axis)
{
    return axis ? 2 * p->base.rows - 1 : 0;
}
static inline int s4nd_centre(const s4nd_plan *p, int axis)
{
    return s4nd_first(p, axis) + s4nd_side(p, axis) - 1;
}

/* How a tile is traversed along an axis and across it. */
typedef struct s4nd_walk {
    ptrdiff_t step, line; /* strides in elements from position to position, line to line */
    int n, lines;
} s4nd_walk;

static inline s4nd_walk s4nd_walk_of(const s4nd_plan *p, int axis)
{
    const ptrdiff_t row = (ptrdiff_t)p->tile_row;
    return axis ? (s4nd_walk){p->base.lanes, row, p->base.cols, p->base.rows}
                : (s4nd_walk){row, p->base.lanes, p->base.rows, p->base.cols};
}

/* s4nd_taps.c: computes the taps of systems, the taps of vectors of channels and D from the
 * parameters. The adjoint adds to dparams, given the gradients in `partial`. */
void s4nd_systems_make(const s4nd_plan *plan, ssm2d_workspace *ws, const real *params);
void s4nd_taps_prepare(const s4nd_plan *plan, ssm2d_workspace *ws, const real *params);
void s4nd_taps_adjoint(const s4nd_plan *plan, ssm2d_workspace *ws, const real *params,
                       real *dparams);

/* One vector of channels that a worker processes. */
typedef struct s4nd_pass {
    const s4nd_plan *plan;
    ssm2d_workspace *ws;
    size_t vector;
    real *scratch; /* s4nd_plan.scratch elements */
    real *sums;    /* s4nd_plan.sums elements */
} s4nd_pass;

/* How lines of a tile are convolved. T convolves along an axis with its taps, T' is the adjoint. */
typedef struct s4nd_algorithm {
    const char *name;
    void (*plan)(s4nd_plan *plan); /* sets its sizes, reserves `transformed` */
    double (*cost)(const s4nd_plan *plan);
    ssm2d_status (*finish)(s4nd_plan *plan, ssm2d_error *error); /* computes tables; or NULL */
    /* computes `transformed` from the taps of a vector of channels */
    void (*prepare)(const s4nd_pass *pass);
    /* out = T in (+ scale * out, a vector, unless NULL) */
    void (*convolve)(const s4nd_pass *pass, int axis, real *out, const real *in, const real *scale);
    /* out = T' dy (+ scale * out); unless x is NULL, adds to sums the gradient of the taps, dy
     * being the gradient of T x. out may be NULL. */
    void (*adjoint)(const s4nd_pass *pass, int axis, real *out, const real *dy, const real *x,
                    const real *scale);
    /* dtaps[taps][lanes] <- the gradients in sums, which are destroyed */
    void (*collect)(const s4nd_pass *pass, real *dtaps);
} s4nd_algorithm;

extern const s4nd_algorithm s4nd_direct, s4nd_fft;

/* s4nd_tiles.c: computes the layer in passes over tiles that stay in the cache. */
void s4nd_tiles_plan(s4nd_plan *plan);
void s4nd_tiles_prepare(const s4nd_plan *plan, ssm2d_workspace *ws);
void s4nd_tiles_apply(const s4nd_plan *plan, ssm2d_workspace *ws, const real *u, real *y);
/* Writes `partial` when want_params; adds to du unless NULL. */
void s4nd_tiles_backward(const s4nd_plan *plan, ssm2d_workspace *ws, const real *u, const real *dy,
                         real *du, int want_params);

#endif
