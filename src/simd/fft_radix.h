/* fft_radix - which stages of a Fourier transform there are. */
#ifndef SSM2D_SIMD_FFT_RADIX_H
#define SSM2D_SIMD_FFT_RADIX_H

/* the largest. A first stage has 1, 4 or 8; others have 2, 3, 4, 5, 7 or 8, and a last one 1,
 * too */
enum { FFT_RADIX = 8 };

/* Whether there is a first stage of radix r in which only the first `present` of its r elements are
 * not zero. */
static inline int fft_first_offered(int r, int present)
{
    if (r == 1) return present == 1;
    if (r == 4) return present >= 1 && present <= 4;
    return r == 8 && present >= 3 && present <= 8;
}

#endif
