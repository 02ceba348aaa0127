/* fft_length - lengths that the stages of simd/fft_table.h can transform, and how. */
#ifndef SSM2D_CONV_FFT_LENGTH_H
#define SSM2D_CONV_FFT_LENGTH_H

#include <stddef.h>

enum { FFT_STAGES = 16 };

typedef struct fft_length {
    int n, stages;
    /* from the first to the last stage, of which there are at least these two; their product is
     * n */
    int radix[FFT_STAGES];
    double cost; /* of one transform, in multiply-adds that would take as long */
} fft_length;

/* The cheapest length that is not below `need`, for signals of `count` elements (need <= 2*count)
 * and zeros after them, when every element costs something elsewhere, too. */
fft_length fft_length_choose(int need, int count, double per_element);
/* The cheapest way to transform n elements of which the first `count` are not zero; cost 0: there
 * is none. */
fft_length fft_length_of(int n, int count);
/* how many numbers all its stages need */
size_t fft_length_twiddles(const fft_length *length);
/* where the forward transform leaves a frequency */
int fft_length_position(const fft_length *length, int frequency);

#endif
