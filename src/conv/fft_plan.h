/* fft_plan - the fft algorithm's part of a plan, with the tables that executions share. */
#ifndef SSM2D_CONV_FFT_PLAN_H
#define SSM2D_CONV_FFT_PLAN_H

#include "conv/conv_impl.h"
#include "conv/fft_line.h"

/* Sizes are in units of `real`. An element is one complex number per lane: 2*lanes reals. */
typedef struct fft_plan {
    fft_line row, column; /* transforms of n2 elements along a row, n1 along a column */
    int n1, n2;
    int half;             /* frequencies 0 .. n2/2 of a row, which determine the others */
    const int (*at)[2];   /* [half]: indices of frequencies c and -c in a transformed row */
    void *tables;         /* the memory of `at` and the twiddles; NULL before finish */
    conv_share convolve;  /* tasks for y, and for du alone */
    conv_share correlate; /* tasks for the kernel's gradient */
    size_t tile_row;      /* one row of an image as a spectrum */
    size_t tile_size;     /* all rows, padded to an even number */
    size_t spectrum_column, spectrum_size; /* of a kernel: columns one after the other */
    size_t scratch_size;                   /* of one worker, see scratch_of in fft_run.c */
    size_t spectra, gradients, scratch;    /* offsets in the memory of an execution */
} fft_plan;

void fft_plan_make(conv_plan *plan);
ssm2d_status fft_plan_tables(conv_plan *plan, ssm2d_error *error);
void fft_plan_release(conv_plan *plan);
double fft_cost(const conv_plan *plan);

#endif
