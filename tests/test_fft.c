/* The transforms of the fft algorithm against the defining sum, in every instruction set of this
 * machine: each length that can be planned, any number of elements present, forward and inverse;
 * the fused stages; rows transformed two at a time. Lengths too large for that sum are compared
 * with FFTW, if the test is built with it, and transformed forward and back. */
#include "aligned_arrays.h"

#include "core/cpu.h"
#include "conv/fft_line.h"

#include <math.h>

#ifdef WITH_FFTW
#include <fftw3.h>
#endif

enum { MAX_PLAIN = 320 };

static const double turn = 6.28318530717958647693;
static rng generator = {.state = 20240217};

/* Relative to the largest value: rounding grows with log n. */
static double tolerance(void) { return sizeof(real) == sizeof(double) ? 2e-15 : 1e-6; }

static real *new_array(size_t count)
{
    real *p = zeros(count);
    for (size_t i = 0; i < count; i++) p[i] = (real)rng_uniform(&generator, -1, 1);
    return p;
}

/* What the tests work on: a transform of a length, and a signal of `count` elements for it. */
typedef struct line {
    fft_line t;
    real *twiddles, *in, *x; /* in, x: [n][2][lanes] */
    size_t all;              /* elements of x */
    int n, count, lanes;
} line;

static line line_make(cpu_level level, fft_length length, int count)
{
    const simd_table *simd = simd_for(level);
    size_t all = 2 * (size_t)simd->lanes * (size_t)length.n;
    line l = {.n = length.n,
              .count = count,
              .lanes = simd->lanes,
              .all = all,
              .in = new_array(all),
              .x = new_array(all)};
    l.twiddles = new_array(fft_length_twiddles(&length) + 1);
    fft_line_twiddles(&length, l.twiddles);
    l.t = (fft_line){&simd->fft, length, l.twiddles};
    return l;
}

static void line_free(line *l)
{
    free(l->twiddles);
    free(l->in);
    free(l->x);
}

static double at(const line *l, const real *x, int element, int part, int lane)
{
    return (double)x[((size_t)element * 2 + (size_t)part) * (size_t)l->lanes + (size_t)lane];
}

/* sum over j < count of x[j] * exp(sign*2*pi*i*j*k/n), of one lane */
static void plain(const line *l, const real *x, const double (*roots)[2], int count, int k,
                  int sign, int lane, double out[2])
{
    out[0] = out[1] = 0;
    for (int j = 0; j < count; j++) {
        const double *w = roots[(size_t)j * (size_t)k % (size_t)l->n];
        double re = at(l, x, j, 0, lane), im = at(l, x, j, 1, lane), wi = sign * w[1];
        out[0] += re * w[0] - im * wi;
        out[1] += re * wi + im * w[0];
    }
}

static double (*roots_of(int n))[2]
{
    double(*roots)[2] = malloc((size_t)n * sizeof *roots);
    assert_non_null(roots);
    for (int j = 0; j < n; j++) roots[j][0] = cos(turn * j / n), roots[j][1] = sin(turn * j / n);
    return roots;
}

/* Forward: a lane of the result, in order of position, against the plain sum. Backward: from a
 * spectrum in that order. */
static void check_plain(line *l)
{
    const ptrdiff_t lanes = l->lanes;
    double(*roots)[2] = roots_of(l->n), limit = tolerance() * sqrt(l->n) * (2 + log2(l->n)),
    want[2];
    real *out = new_array(l->all), *shuffled = new_array(l->all);
    const int lane = l->n % l->lanes;
    fft_line_forward(&l->t, l->x, l->in, l->in + lanes, 2 * lanes, l->count);
    for (int k = 0; k < l->n; k++) {
        int p = fft_length_position(&l->t.length, k);
        assert_in_range(p, 0, l->n - 1);
        plain(l, l->in, roots, l->count, k, -1, lane, want);
        if (!(fabs(at(l, l->x, p, 0, lane) - want[0]) < limit)
            || !(fabs(at(l, l->x, p, 1, lane) - want[1]) < limit))
            fail_msg("length %d, %d present, frequency %d: off by %g, %g", l->n, l->count, k,
                     at(l, l->x, p, 0, lane) - want[0], at(l, l->x, p, 1, lane) - want[1]);
    }
    for (int k = 0; k < l->n; k++)
        memcpy(shuffled + fft_length_position(&l->t.length, k) * 2 * lanes, l->in + k * 2 * lanes,
               2 * (size_t)lanes * sizeof(real));
    for (int add = 0; add < 2; add++) {
        memcpy(l->x, shuffled, l->all * sizeof(real));
        for (size_t i = 0; i < l->all; i++) out[i] = 1;
        fft_line_backward(&l->t, out, out + lanes, 2 * lanes, l->count, l->x, add);
        for (int j = 0; j < l->n; j++) {
            plain(l, l->in, roots, l->n, j, 1, lane, want);
            if (j >= l->count) want[0] = want[1] = 0;
            double one = add || j >= l->count; /* elements beyond are not changed */
            assert_true(fabs(at(l, out, j, 0, lane) - want[0] - one) < limit);
            assert_true(fabs(at(l, out, j, 1, lane) - want[1] - one) < limit);
        }
    }
    free(roots);
    free(out);
    free(shuffled);
}

static void lengths_agree_with_the_sum(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (int n = 1, tried = 0; n <= MAX_PLAIN; n++) {
            const int counts[] = {n,         (n + 1) / 2, (n + 1) / 2 + 1, n * 2 / 3, n * 3 / 4,
                                  n * 7 / 8, n - 1};
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                if (counts[i] < 1 || counts[i] > n) continue;
                fft_length length = fft_length_of(n, counts[i]);
                if (length.cost == 0) {
                    assert_true(n > 1 && (n % 4 || n > 40)); /* lengths that must be supported */
                    continue;
                }
                line l = line_make((cpu_level)level, length, counts[i]);
                check_plain(&l);
                line_free(&l);
                tried++;
            }
            if (n == MAX_PLAIN) assert_true(tried > 300);
        }
}

/* Any order of stages, not only the planner's. */
static void every_radix_works_in_every_stage(void **state)
{
    (void)state;
    static const int radices[] = {2, 3, 4, 5, 7, 8};
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (int first = 4; first <= 8; first += 4)
            for (size_t middle = 0; middle < 6; middle++)
                for (size_t last = 0; last < 6; last++) {
                    int n = first * radices[middle] * radices[last];
                    fft_length length = {n, 3, {first, radices[middle], radices[last]}, 1};
                    line l = line_make((cpu_level)level, length, n / 2);
                    check_plain(&l);
                    line_free(&l);
                }
}

static void chosen_lengths_are_valid_and_short(void **state)
{
    (void)state;
    for (int count = 1; count < 3000; count++)
        for (int trunc = 1; trunc <= count; trunc += 1 + count / 5) {
            int need = count + trunc - 1, product = 1, seen = 0;
            fft_length l = fft_length_choose(need, count, 20);
            assert_in_range(l.n, need, need + need / 4 + 3);
            assert_true(l.cost > 0 && l.stages >= 2);
            for (int s = 0; s < l.stages; s++) product *= l.radix[s];
            assert_int_equal(product, l.n);
            for (int k = 0; k < l.n; k++) seen += fft_length_position(&l, k) == 0;
            assert_int_equal(seen, 1);
        }
    fft_length large = fft_length_choose((2 << 20) - 1, 1 << 20, 20);
    assert_true(large.cost > 0);
}

/* The last stage, the product and the inverse stage in one call, against three separate calls. */
static void fused_stages_equal_separate_ones(void **state)
{
    (void)state;
    static const int lengths[][2] = {{4, 1},  {8, 2},  {12, 3},  {16, 4}, {20, 5},
                                     {28, 7}, {32, 8}, {120, 5}, {1, 1}};
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            const int n = lengths[i][0], last = lengths[i][1], blocks = n / last;
            const simd_table *simd = simd_for((cpu_level)level);
            const fft_functions *f = &simd->fft;
            const int L = simd->lanes;
            const size_t all = 2 * (size_t)L * (size_t)n;
            real *start = new_array(all), *k = new_array(all), *u = new_array(all),
                 *g0 = new_array(all), *x = new_array(all);
            real *want = new_array(all), *spectrum = new_array(all), *g = new_array(all);
            memcpy(spectrum, start, all * sizeof(real));
            if (last > 1) f->last[last](spectrum, blocks);
            for (int conjugate = 0; conjugate < 3; conjugate++) { /* 2: correlate */
                for (int e = 0; e < n; e++)
                    for (int l = 0; l < L; l++) {
                        size_t re = (size_t)(2 * e * L + l), im = re + (size_t)L;
                        real ki = conjugate ? -k[im] : k[im];
                        want[re] = spectrum[re] * k[re] - spectrum[im] * ki;
                        want[im] = spectrum[re] * ki + spectrum[im] * k[re];
                    }
                if (last > 1) f->last_back[last](want, blocks);
                memcpy(x, start, all * sizeof(real));
                memcpy(g, g0, all * sizeof(real));
                if (conjugate < 2)
                    f->convolve[conjugate][last](x, k, blocks);
                else
                    f->correlate[last](x, g, u, k, blocks);
                for (size_t j = 0; j < all; j++)
                    assert_true(fabs((double)(x[j] - want[j])) < 60 * tolerance());
            }
            memcpy(x, start, all * sizeof(real));
            memcpy(want, g0, all * sizeof(real));
            f->correlate[last](x, want, u, NULL, blocks); /* without k the same gradient */
            for (int e = 0; e < n; e++)
                for (int l = 0; l < L; l++) {
                    size_t re = (size_t)(2 * e * L + l), im = re + (size_t)L;
                    double dre = (double)g0[re] + (double)u[re] * (double)spectrum[re]
                                 + (double)u[im] * (double)spectrum[im];
                    double dim = (double)g0[im] + (double)u[re] * (double)spectrum[im]
                                 - (double)u[im] * (double)spectrum[re];
                    assert_true(fabs((double)g[re] - dre) < 60 * tolerance()
                                && fabs((double)g[im] - dim) < 60 * tolerance());
                    assert_true(g[re] == want[re] && g[im] == want[im]);
                }
            real *const used[] = {start, k, u, g0, x, want, spectrum, g};
            for (size_t j = 0; j < sizeof used / sizeof *used; j++) free(used[j]);
        }
}

/* Two real signals transformed as one: their spectra equal those of separate transforms, and the
 * inverse gives both back. */
static void two_real_signals_share_one_transform(void **state)
{
    (void)state;
    static const int lengths[] = {1, 4, 12, 28, 64, 112};
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            const int n = lengths[i], half = n / 2 + 1;
            line l = line_make((cpu_level)level, fft_length_of(n, n), n);
            const ptrdiff_t L = l.lanes, step = 3 * L;
            const double limit = tolerance() * sqrt(n) * (2 + log2(n));
            double(*roots)[2] = roots_of(n), want[2];
            int(*positions)[2] = malloc((size_t)half * sizeof *positions);
            real *spectra[2] = {new_array((size_t)(step * half)), new_array((size_t)(step * half))},
                 *one = new_array(l.all);
            assert_non_null(positions);
            for (int c = 0; c < half; c++) {
                positions[c][0] = fft_length_position(&l.t.length, c);
                positions[c][1] = fft_length_position(&l.t.length, (n - c) % n);
            }
            fft_line_forward(&l.t, l.x, l.in, l.in + L, 2 * L, n);
            l.t.f->split(spectra[0], spectra[1], step, l.x, (const int(*)[2])positions, half,
                         (real)0.5);
            for (int s = 0; s < 2; s++) {
                memset(one, 0, l.all * sizeof(real));
                for (int e = 0; e < n; e++)
                    memcpy(one + 2 * e * L, l.in + (2 * e + s) * L, (size_t)L * sizeof(real));
                for (int c = 0; c < half; c++) {
                    plain(&l, one, (const double(*)[2])roots, n, c, -1, 0, want);
                    assert_true(fabs((double)spectra[s][c * step] - want[0]) < limit);
                    assert_true(fabs((double)spectra[s][c * step + L] - want[1]) < limit);
                }
            }
            l.t.f->join(l.x, spectra[0], spectra[1], step, (const int(*)[2])positions, half);
            fft_line_backward(&l.t, one, one + L, 2 * L, n, l.x, 0);
            for (size_t j = 0; j < l.all; j++)
                assert_true(fabs((double)one[j] / n - (double)l.in[j]) < limit);
            free(roots);
            free(positions);
            free(spectra[0]);
            free(spectra[1]);
            free(one);
            line_free(&l);
        }
}

static void large_lengths_are_accurate(void **state)
{
    (void)state;
    static const int counts[] = {500, 1000, 4096, 5000, 12345, 40000};
    for (int level = 0; level <= (int)cpu_best(); level++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            const int count = counts[i];
            line l =
                line_make((cpu_level)level, fft_length_choose(2 * count - 1, count, 20), count);
            const ptrdiff_t L = l.lanes;
            const double limit = tolerance() * sqrt(l.n) * (2 + log2(l.n));
            fft_line_forward(&l.t, l.x, l.in, l.in + L, 2 * L, count);
#ifdef WITH_FFTW
            fftw_complex *x = fftw_alloc_complex((size_t)l.n);
            fftw_plan plan = fftw_plan_dft_1d(l.n, x, x, FFTW_FORWARD, FFTW_ESTIMATE);
            for (int j = 0; j < l.n; j++)
                for (int part = 0; part < 2; part++)
                    x[j][part] = j < count ? at(&l, l.in, j, part, 1) : 0;
            fftw_execute(plan);
            for (int k = 0; k < l.n; k++)
                for (int part = 0; part < 2; part++)
                    assert_true(
                        fabs(at(&l, l.x, fft_length_position(&l.t.length, k), part, 1) - x[k][part])
                        < limit);
            fftw_destroy_plan(plan);
            fftw_free(x);
#endif
            real *out = new_array(l.all);
            fft_line_backward(&l.t, out, out + L, 2 * L, count, l.x, 0);
            for (size_t j = 0; j < 2 * (size_t)L * (size_t)count; j++)
                assert_true(fabs((double)out[j] / l.n - (double)l.in[j]) < limit);
            free(out);
            line_free(&l);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_agree_with_the_sum),
        cmocka_unit_test(every_radix_works_in_every_stage),
        cmocka_unit_test(chosen_lengths_are_valid_and_short),
        cmocka_unit_test(fused_stages_equal_separate_ones),
        cmocka_unit_test(two_real_signals_share_one_transform),
        cmocka_unit_test(large_lengths_are_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
