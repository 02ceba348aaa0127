/* fft_radix - the radices of Fourier transform stages that are compiled. */
#ifndef SSM2D_SIMD_FFT_RADIX_H
#define SSM2D_SIMD_FFT_RADIX_H

/* The largest radix. A first stage has radix 1, 4 or 8; others have 2, 3, 4, 5, 7 or 8; a last
 * stage may also have 1. */
enum { FFT_RADIX = 8 };

/* Whether a first stage of radix r is compiled for `present` elements that are not zero. */
static inline int fft_first_offered(int r, int present)
{
    if (r == 1) return present == 1;
    if (r == 4) return present >= 1 && present <= 4;
    return r == 8 && present >= 3 && present <= 8;
}

#endif
