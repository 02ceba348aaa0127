#include "layer/fft_length.h"

#include "kernels/fft_radix.h"

#include <string.h>

/* What a stage costs for each of the elements, as measured: the first stages with half of their elements present. */
static double first_cost(int radix) { return radix == 1 ? 2 : radix == 4 ? 7 : radix == 8 ? 9 : 15; }
static const double stage_cost[FFT_RADIX + 1] = {0, 0, 6, 9, 8, 12, 0, 15, 11};

/* Whether every butterfly of a first stage is offered for this number of elements; the last one may have one less present. */
static int first_fits(int n, int radix, int count)
{
    const int m = n / radix;
    if (n % radix || count < m) return 0;
    return fft_first_offered(radix, (count + m - 1) / m) && fft_first_offered(radix, count / m);
}

static int smooth(int n)
{
    for (int r = 2; r <= FFT_RADIX; r++)
        while (n % r == 0) n /= r;
    return n == 1;
}

/* Fills radix[stage..] with the cheapest radices for `rest`, none larger than the one before; returns the cost of an element. */
static double divide(int rest, int largest, int stage, int *radix, int *stages)
{
    if (rest == 1) return *stages = stage, 0;
    double best = 0;
    for (int r = largest; r > 1 && stage < FFT_STAGES; r--) {
        int tail[FFT_STAGES] = {0}, count = 0;
        if (!stage_cost[r] || rest % r) continue;
        double cost = divide(rest / r, r, stage + 1, tail, &count);
        if (!count || (best > 0 && cost + stage_cost[r] >= best)) continue; /* count 0: the rest has a larger prime factor */
        best = cost + stage_cost[r];
        memcpy(radix + stage, tail + stage, (size_t)(count - stage) * sizeof *radix);
        radix[stage] = r;
        *stages = count;
    }
    return best;
}

fft_length fft_length_of(int n, int count)
{
    static const int firsts[] = {16, 8, 4, 1};
    fft_length best = {.n = n};
    if (!smooth(n)) return best;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        fft_length one = {.n = n, .radix = {firsts[i]}};
        if (!first_fits(n, firsts[i], count) || (firsts[i] == 1 && n > 1)) continue;
        double cost = first_cost(firsts[i]) + divide(n / firsts[i], FFT_RADIX, 1, one.radix, &one.stages);
        if (one.stages == 1) one.radix[one.stages++] = 1;
        one.cost = cost * n;
        if (best.cost == 0 || one.cost < best.cost) best = one;
    }
    return best;
}

fft_length fft_length_choose(int need, int count)
{
    fft_length best = {0};
    for (int n = need == 1 ? 1 : (need + 3) / 4 * 4; n <= need + need / 4 + 3; n += 4) {
        fft_length one = fft_length_of(n, count);
        if (one.cost > 0 && (best.cost == 0 || one.cost < best.cost)) best = one;
    }
    return best;
}

size_t fft_length_twiddles(const fft_length *l)
{
    size_t numbers = 0, m = (size_t)l->n;
    for (int s = 0; s + 1 < l->stages; s++) {
        m /= (size_t)l->radix[s];
        numbers += m * 2 * (size_t)(l->radix[s] - 1);
    }
    return numbers;
}

int fft_length_position(const fft_length *l, int frequency)
{
    int position = 0, m = l->n;
    for (int s = 0; s < l->stages; s++) {
        m /= l->radix[s];
        position += frequency % l->radix[s] * m;
        frequency /= l->radix[s];
    }
    return position;
}
