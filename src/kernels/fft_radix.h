/* fft_radix - which stages of a Fourier transform there are. */
#ifndef SSM2D_KERNELS_FFT_RADIX_H
#define SSM2D_KERNELS_FFT_RADIX_H

enum { FFT_FIRST = 16, FFT_RADIX = 8 }; /* the largest radix of a first stage, and of the others (2 3 4 5 7 8; a last one: 1 too) */

/* Whether there is a first stage of radix r in which only the first `present` of its r elements are not zero. */
static inline int fft_first_offered(int r, int present)
{
    if (r == 1) return present == 1;
    if (r == 4) return present >= 1 && present <= 4;
    if (r == 8) return present >= 3 && present <= 8;
    return r == 16 && (present == 8 || present == 16);
}

#endif
