#include "conv/fft_length.h"

#include "core/arith.h"
#include "simd/fft_radix.h"

/* Measured costs of a stage: per element, and per call. First stages were measured with half of
 * their elements present. */
static const double first_cost[FFT_RADIX + 1] = {[1] = 2, [4] = 5.3, [8] = 7.9};
static const double middle_cost[FFT_RADIX + 1] = {
    [2] = 4, [3] = 5.3, [4] = 5, [5] = 7.4, [7] = 10.5, [8] = 7.9};
static const double last_cost[FFT_RADIX + 1] = {
    [1] = 1.7, [2] = 3.4, [3] = 4.2, [4] = 3.7, [5] = 5.5, [7] = 8.7, [8] = 6.5};
enum { STAGE_COST = 30 };

/* Whether fft_table.h has every butterfly that a first stage needs for this number of elements; the
 * last butterfly may have one element fewer. */
static int first_fits(int n, int radix, int count)
{
    const int m = n / radix;
    if (n % radix || count < m) return 0;
    return fft_first_offered(radix, div_up(count, m)) && fft_first_offered(radix, count / m);
}

/* Whether n has no prime factor above 7. */
static int smooth(int n)
{
    for (int r = 2; r <= FFT_RADIX; r++)
        while (n % r == 0) n /= r;
    return n == 1;
}

/* Tries all ways to factor the `rest` of n into further stages, with middle radices in descending
 * order. */
static void divide(fft_length one, int rest, double cost, fft_length *best)
{
    if (rest <= FFT_RADIX && last_cost[rest] > 0 && one.stages < FFT_STAGES) {
        one.cost = (cost + last_cost[rest]) * one.n + STAGE_COST * (one.stages + 1);
        if (best->cost == 0 || one.cost < best->cost) {
            *best = one;
            best->radix[best->stages++] = rest;
        }
    }
    const int largest = one.stages == 1 ? FFT_RADIX : one.radix[one.stages - 1];
    for (int r = 2; r <= largest && one.stages + 1 < FFT_STAGES; r++) {
        if (!middle_cost[r] || rest % r) continue;
        fft_length more = one;
        more.radix[more.stages++] = r;
        divide(more, rest / r, cost + middle_cost[r], best);
    }
}

fft_length fft_length_of(int n, int count)
{
    fft_length best = {0};
    for (int r = 1; smooth(n) && r <= FFT_RADIX; r++)
        if (first_cost[r] > 0 && first_fits(n, r, count))
            divide((fft_length){n, 1, {r}, 0}, n / r, first_cost[r], &best);
    return best;
}

/* Replaces *best by length n if that is cheaper, or as cheap and shorter. */
static void consider(int n, int count, double per_element, fft_length *best)
{
    const fft_length one = fft_length_of(n, count);
    if (one.cost == 0) return;
    const double cost = one.cost + per_element * n, best_cost = best->cost + per_element * best->n;
    if (best->cost == 0 || cost < best_cost || (cost == best_cost && n < best->n)) *best = one;
}

/* Candidates are the multiples of 4 without prime factors above 7, of which there are few: they are
 * listed by their odd parts, so that the work does not grow with the length. */
fft_length fft_length_choose(int need, int count, double per_element)
{
    fft_length best = {0};
    const int limit = need + need / 4 + 3;
    if (need == 1) return fft_length_of(1, count);
    for (int seven = 1; seven <= limit; seven *= 7)
        for (int five = seven; five <= limit; five *= 5)
            for (int three = five; three <= limit; three *= 3)
                for (int n = 4 * three; n <= limit; n *= 2)
                    if (n >= need) consider(n, count, per_element, &best);
    return best;
}

size_t fft_length_twiddles(const fft_length *l)
{
    size_t count = 0, m = (size_t)l->n;
    for (int s = 0; s + 1 < l->stages; s++) {
        m /= (size_t)l->radix[s];
        count += m * 2 * (size_t)(l->radix[s] - 1);
    }
    return count;
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
