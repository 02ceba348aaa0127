/* s4nd_dplr - the kernel of a system whose matrix is diagonal plus low rank (S4), and its gradient,
 * in double.
 *
 * Only half of a vector's elements, n < pairs, are stored; the other half are their conjugates.
 * With A = diag(lambda) - P P^*, the bilinear step Ad = (I - dt/2 A)^-1 (I + dt/2 A) and Bd = dt (I
 * - dt/2 A)^-1 B, the taps of a side are
 *     k[l] = C (I - Ad^L)^-1 Ad^l Bd,   l < L. */
#ifndef SSM2D_LAYERS_S4ND_DPLR_H
#define SSM2D_LAYERS_S4ND_DPLR_H

#include "layers/layer_names.h"

#include <complex.h>
#include <stddef.h>

enum { DPLR_MAX_PAIRS = 32 };

typedef struct dplr_system {
    int pairs;
    double dt;
    double complex lambda[DPLR_MAX_PAIRS], b[DPLR_MAX_PAIRS], p[DPLR_MAX_PAIRS];
    double complex c[2][DPLR_MAX_PAIRS]; /* of each side */
} dplr_system;

/* Strided view of the taps of both sides: tap l < count is at[l*step]. */
typedef struct dplr_view {
    double *at[2];
    ptrdiff_t step[2];
    int count[2]; /* at most L */
} dplr_view;

void dplr_taps(const dplr_system *s, int L, const dplr_view *k);
/* Given dk, the gradient of the taps, adds the gradient with respect to every member of s to *out
 * (as d/dRe + i*d/dIm). */
void dplr_taps_adjoint(const dplr_system *s, int L, const dplr_view *dk, dplr_system *out);

/* HiPPO-LegS as diagonal plus low rank: lambda with negative imaginary parts, the highest frequency
 * first, p and b; eigenvectors are scaled so that their first component is real. The phase matters
 * because Im b is clamped to +-2. */
void dplr_legs(int pairs, double complex *lambda, double complex *p, double complex *b);
/* c <- c (I - Ad^L), which cancels the factor (I - Ad^L)^-1 of the taps. */
void dplr_shorten(dplr_system *s, int side, int L);

#endif
