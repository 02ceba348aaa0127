/* fft_length - factors lengths into stages of simd/fft_table.h and chooses the cheapest length. */
#ifndef SSM2D_CONV_FFT_LENGTH_H
#define SSM2D_CONV_FFT_LENGTH_H

#include <stddef.h>

enum { FFT_STAGES = 16 };

typedef struct fft_length {
    int n, stages;
    /* radix of each stage, at least a first and a last one; their product is n */
    int radix[FFT_STAGES];
    double cost; /* of one transform, in equivalent multiply-adds */
} fft_length;

/* The cheapest length >= need for signals of `count` elements (need <= 2*count) padded with zeros.
 * per_element: additional cost of every element of the length. */
fft_length fft_length_choose(int need, int count, double per_element);
/* The cheapest factorisation for n elements, of which the first `count` are not zero; cost 0: n is
 * not supported. */
fft_length fft_length_of(int n, int count);
/* Number of elements in the twiddle table of all stages. */
size_t fft_length_twiddles(const fft_length *length);
/* Index of a frequency in the output of the forward transform. */
int fft_length_position(const fft_length *length, int frequency);

#endif
