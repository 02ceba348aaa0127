/* fft_table - the stages of a Fourier transform over elements that are vectors of channels.
 *
 * An element is a complex number for each of `lanes` channels: a vector of real parts, then one of
 * imaginary parts. A length n = r0 * r1 * .. * rl takes one stage for each radix: a first, any
 * number of middle ones, a last. The forward stages leave frequencies in digit-reversed order, and
 * the inverse stages (the adjoint of each, in the opposite order) expect that order, which suits
 * products of spectra. With m = n / (radices so far), a stage joins the elements k, k+m, .. of each
 * block and multiplies the j-th result by exp(-2*pi*i*j*k / (radix*m)); twiddles: [m][radix-1][re,
 * im]. */
#ifndef SSM2D_SIMD_FFT_TABLE_H
#define SSM2D_SIMD_FFT_TABLE_H

#include "simd/simd_names.h"
#include "simd/fft_radix.h"

#include <stddef.h>

typedef struct fft_functions {
    /* [radix][present]: out[j*m + k] for from <= k < to. Real and imaginary parts come from
     * separate arrays with stride `step`, which may be `out` itself. */
    void (*first[FFT_RADIX + 1][FFT_RADIX + 1])(real *out, const real *re, const real *im,
                                                ptrdiff_t step, int m, int from, int to,
                                                const real *twiddles);
    /* The inverse: computes only the first `present` of the r elements; add 1: adds to them. */
    void (*first_back[FFT_RADIX + 1][FFT_RADIX + 1])(real *re, real *im, ptrdiff_t step,
                                                     const real *in, int m, int from, int to,
                                                     const real *twiddles, int add);
    void (*middle[FFT_RADIX + 1])(real *x, int blocks, int m, const real *twiddles);
    void (*middle_back[FFT_RADIX + 1])(real *x, int blocks, int m, const real *twiddles);
    /* m = 1: blocks of `radix` elements; NULL: nothing to do for radix 1 */
    void (*last[FFT_RADIX + 1])(real *x, int blocks);
    void (*last_back[FFT_RADIX + 1])(real *x, int blocks);
    /* last, x *= k (conjugate 1: its conjugate), last_back */
    void (*convolve[2][FFT_RADIX + 1])(real *x, const real *k, int blocks);
    /* last, g += conj(u)*x, and then, unless k is NULL, x *= conj(k), last_back */
    void (*correlate[FFT_RADIX + 1])(real *x, real *g, const real *u, const real *k, int blocks);
    /* Two real signals a and b transformed as one, z = a + i*b: their spectra at frequencies 0 ..
     * count-1, times scale, into a and b, `step` elements apart. at[c]: the elements of z with
     * frequencies c and -c. join is the inverse. */
    void (*split)(real *a, real *b, ptrdiff_t step, const real *z, const int (*at)[2], int count,
                  real scale);
    void (*join)(real *z, const real *a, const real *b, ptrdiff_t step, const int (*at)[2],
                 int count);
} fft_functions;

#endif
