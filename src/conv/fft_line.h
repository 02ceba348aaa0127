/* fft_line - Fourier transforms of one line of elements (simd/fft_table.h), stage by stage. */
#ifndef SSM2D_CONV_FFT_LINE_H
#define SSM2D_CONV_FFT_LINE_H

#include "conv/conv_names.h"
#include "simd/simd_table.h"
#include "conv/fft_length.h"

typedef struct fft_line {
    const fft_functions *f;
    fft_length length;
    const real *twiddles; /* fft_length_twiddles elements, filled by fft_line_twiddles */
} fft_line;

void fft_line_twiddles(const fft_length *length, real *twiddles);

/* x[n] <- the forward transform of `count` elements given as real and imaginary parts, `step`
 * elements apart, padded with zeros; frequencies are at fft_length_position. `start` omits the last
 * stage. */
void fft_line_start(const fft_line *t, real *x, const real *re, const real *im, ptrdiff_t step,
                    int count);
void fft_line_forward(const fft_line *t, real *x, const real *re, const real *im, ptrdiff_t step,
                      int count);
/* The first `count` elements of the inverse transform, without the factor 1/n; destroys x. `finish`
 * expects that the last stage is already undone. */
void fft_line_finish(const fft_line *t, real *re, real *im, ptrdiff_t step, int count, real *x,
                     int add);
void fft_line_backward(const fft_line *t, real *re, real *im, ptrdiff_t step, int count, real *x,
                       int add);

/* The radix of the last stage, and the number of blocks of x that it transforms. */
static inline int fft_line_last(const fft_line *t) { return t->length.radix[t->length.stages - 1]; }
static inline int fft_line_blocks(const fft_line *t) { return t->length.n / fft_line_last(t); }

#endif
