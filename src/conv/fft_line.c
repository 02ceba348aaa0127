#include "conv/fft_line.h"

#include <math.h>

void fft_line_twiddles(const fft_length *l, real *w)
{
    const double two_pi = 6.28318530717958647693;
    int m = l->n;
    for (int s = 0; s + 1 < l->stages; s++) {
        const int r = l->radix[s], size = m;
        m /= r;
        for (int k = 0; k < m; k++)
            for (int j = 1; j < r; j++, w += 2) {
                double angle = two_pi * ((double)j * k / size);
                w[0] = (real)cos(angle);
                w[1] = (real)-sin(angle);
            }
    }
}

/* Returns the end of the run of butterflies that starts at `from` and has one number of elements
 * present. */
static int same_present(int m, int count, int from, int *present)
{
    *present = (count - from + m - 1) / m;
    int end = count - (*present - 1) * m;
    return end < m ? end : m;
}

void fft_line_start(const fft_line *t, real *x, const real *re, const real *im, ptrdiff_t step,
                    int count)
{
    const fft_length *l = &t->length;
    const real *w = t->twiddles;
    int r = l->radix[0], m = l->n / r, present;
    for (int from = 0, to; from < m; from = to) {
        to = same_present(m, count, from, &present);
        t->f->first[r][present](x, re, im, step, m, from, to, w);
    }
    for (int s = 1; s + 1 < l->stages; s++) {
        w += (size_t)m * 2 * (size_t)(r - 1);
        r = l->radix[s];
        t->f->middle[r](x, l->n / m, m / r, w);
        m /= r;
    }
}

void fft_line_finish(const fft_line *t, real *re, real *im, ptrdiff_t step, int count, real *x,
                     int add)
{
    const fft_length *l = &t->length;
    const real *w = t->twiddles + fft_length_twiddles(l);
    int m = l->radix[l->stages - 1], present;
    for (int s = l->stages - 2; s > 0; s--) {
        const int r = l->radix[s];
        w -= (size_t)m * 2 * (size_t)(r - 1);
        t->f->middle_back[r](x, l->n / (m * r), m, w);
        m *= r;
    }
    for (int from = 0, to; from < m; from = to) {
        to = same_present(m, count, from, &present);
        t->f->first_back[l->radix[0]][present](re, im, step, x, m, from, to, t->twiddles, add);
    }
}

void fft_line_forward(const fft_line *t, real *x, const real *re, const real *im, ptrdiff_t step,
                      int count)
{
    fft_line_start(t, x, re, im, step, count);
    const int r = fft_line_last(t);
    if (r > 1) t->f->last[r](x, fft_line_blocks(t));
}

void fft_line_backward(const fft_line *t, real *re, real *im, ptrdiff_t step, int count, real *x,
                       int add)
{
    const int r = fft_line_last(t);
    if (r > 1) t->f->last_back[r](x, fft_line_blocks(t));
    fft_line_finish(t, re, im, step, count, x, add);
}
