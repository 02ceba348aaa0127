/* fft_line - Fourier transforms of one line of elements (kernels/fft_table.h), stage by stage. */
#ifndef SSM2D_LAYER_FFT_LINE_H
#define SSM2D_LAYER_FFT_LINE_H

#include "kernels/simd.h"
#include "layer/fft_length.h"

typedef struct NAME(fft_line) {
    const NAME(fft_functions) *f;
    fft_length length;
    const real *twiddles; /* fft_length_twiddles numbers, from fft_line_twiddles */
} NAME(fft_line);

void NAME(fft_line_twiddles)(const fft_length *length, real *twiddles);

/* x[n] <- the forward transform of `count` elements given as real and imaginary parts, `step` numbers apart, and zeros after
 * them; frequencies at fft_length_position. `start` leaves out the last stage. */
void NAME(fft_line_start)(const NAME(fft_line) *t, real *x, const real *re, const real *im, ptrdiff_t step, int count);
void NAME(fft_line_forward)(const NAME(fft_line) *t, real *x, const real *re, const real *im, ptrdiff_t step, int count);
/* The first `count` elements of the way back, without 1/n; destroys x. `finish` expects that the last stage has been undone. */
void NAME(fft_line_finish)(const NAME(fft_line) *t, real *re, real *im, ptrdiff_t step, int count, real *x, int add);
void NAME(fft_line_backward)(const NAME(fft_line) *t, real *re, real *im, ptrdiff_t step, int count, real *x, int add);

/* The last stage: its radix, and in how many blocks of x it works. */
static inline int NAME(fft_line_last)(const NAME(fft_line) *t) { return t->length.radix[t->length.stages - 1]; }
static inline int NAME(fft_line_blocks)(const NAME(fft_line) *t) { return t->length.n / NAME(fft_line_last)(t); }

#endif
