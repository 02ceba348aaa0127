/* Systems that are diagonal plus low rank: taps against dense matrices, and the required initial
 * values. */
#include "layers/s4nd/s4nd_dplr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 8, N = 2 * PAIRS, LONGEST = 70 };

typedef struct matrix {
    double complex at[N][N];
} matrix;

static matrix product(const matrix *a, const matrix *b)
{
    matrix c = {0};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) c.at[i][j] += a->at[i][k] * b->at[k][j];
    return c;
}

/* I + factor * a */
static matrix plus_identity(const matrix *a, double factor)
{
    matrix c;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c.at[i][j] = factor * a->at[i][j] + (i == j);
    return c;
}

/* Gauss-Jordan elimination with pivoting. */
static matrix inverse(matrix a)
{
    matrix b = {0};
    for (int i = 0; i < N; i++) b.at[i][i] = 1;
    for (int k = 0; k < N; k++) {
        int pivot = k;
        for (int i = k; i < N; i++)
            if (cabs(a.at[i][k]) > cabs(a.at[pivot][k])) pivot = i;
        for (int j = 0; j < N; j++) {
            double complex t = a.at[k][j];
            a.at[k][j] = a.at[pivot][j], a.at[pivot][j] = t;
            t = b.at[k][j];
            b.at[k][j] = b.at[pivot][j], b.at[pivot][j] = t;
        }
        const double complex scale = 1 / a.at[k][k];
        for (int j = 0; j < N; j++) a.at[k][j] *= scale, b.at[k][j] *= scale;
        for (int i = 0; i < N; i++) {
            const double complex factor = a.at[i][k];
            if (i == k) continue;
            for (int j = 0; j < N; j++)
                a.at[i][j] -= factor * a.at[k][j], b.at[i][j] -= factor * b.at[k][j];
        }
    }
    return b;
}

static double complex full(const double complex *half, int n)
{
    return n < PAIRS ? half[n] : conj(half[n - PAIRS]);
}

/* k[l] = C (I - Ad^L)^-1 Ad^l Bd; without_end: k[l] = C Ad^l Bd */
static void dense_taps(const dplr_system *s, int side, int L, int without_end, double *k)
{
    matrix a = {0};
    double complex x[N], y[N], c[N];
    for (int i = 0; i < N; i++) {
        a.at[i][i] = full(s->lambda, i);
        for (int j = 0; j < N; j++) a.at[i][j] -= full(s->p, i) * conj(full(s->p, j));
    }
    const matrix implicit = plus_identity(&a, -s->dt / 2), explicit = plus_identity(&a, s->dt / 2);
    const matrix back = inverse(implicit), step = product(&back, &explicit);
    matrix power = plus_identity(&step, 0);
    for (int l = 0; l < L; l++) power = product(&power, &step);
    const matrix rest = plus_identity(&power, -1), whole = inverse(rest);
    for (int j = 0; j < N; j++) {
        c[j] = without_end ? full(s->c[side], j) : 0;
        for (int i = 0; i < N && !without_end; i++) c[j] += full(s->c[side], i) * whole.at[i][j];
        x[j] = 0;
        for (int i = 0; i < N; i++) x[j] += s->dt * back.at[j][i] * full(s->b, i);
    }
    for (int l = 0; l < L; l++) {
        k[l] = 0;
        for (int i = 0; i < N; i++) k[l] += creal(c[i] * x[i]);
        for (int i = 0; i < N; i++) {
            y[i] = 0;
            for (int j = 0; j < N; j++) y[i] += step.at[i][j] * x[j];
        }
        memcpy(x, y, sizeof x);
    }
}

static double uniform(void) { return rand() / (RAND_MAX / 2.0) - 1; }

static dplr_system random_system(double dt)
{
    dplr_system s = {.pairs = PAIRS, .dt = dt};
    dplr_legs(PAIRS, s.lambda, s.p, s.b);
    for (int n = 0; n < PAIRS; n++) {
        s.b[n] += 0.3 * uniform() + 0.3 * uniform() * I;
        s.p[n] += 0.3 * uniform() + 0.3 * uniform() * I;
        for (int side = 0; side < 2; side++) s.c[side][n] = uniform() + uniform() * I;
    }
    return s;
}

static void compare(const double *got, const double *want, int L, double tolerance)
{
    double largest = 0;
    for (int l = 0; l < L; l++) largest = fmax(largest, fabs(want[l]));
    for (int l = 0; l < L; l++)
        if (!(fabs(got[l] - want[l]) <= tolerance * largest))
            fail_msg("tap %d of %d is %.15g, not %.15g", l, L, got[l], want[l]);
}

static void taps_equal_dense_matrices(void **state)
{
    static const double steps[] = {0.001, 0.01, 0.1, 1};
    static const int lengths[] = {1, 2, 3, 4, 7, 8, 16, LONGEST};
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++) {
            const int L = lengths[j];
            const dplr_system s = random_system(steps[i]);
            double k[2][LONGEST], want[LONGEST];
            const dplr_view view = {{k[0], k[1]}, {1, 1}, {L, L}};
            dplr_taps(&s, L, &view);
            for (int side = 0; side < 2; side++) {
                dense_taps(&s, side, L, 0, want);
                compare(k[side], want, L, 1e-11);
            }
        }
}

static void shortened_c_gives_plain_taps(void **state)
{
    (void)state;
    for (int L = 1; L < 20; L += 3) {
        const dplr_system s = random_system(0.05);
        dplr_system t = s;
        double k[2][LONGEST], want[LONGEST];
        const dplr_view view = {{k[0], k[1]}, {1, 1}, {L, L}};
        for (int side = 0; side < 2; side++) dplr_shorten(&t, side, L);
        dplr_taps(&t, L, &view);
        for (int side = 0; side < 2; side++) {
            dense_taps(&s, side, L, 1, want);
            compare(k[side], want, L, 1e-11);
        }
    }
}

/* Published frequencies of LegS with 16 states; b is sqrt(2) p but for the cut. */
static void legs_has_its_eigenvalues(void **state)
{
    static const double frequencies[] = {80.966, 25.629, 13.834, 8.362, 5.090, 2.900, 1.372, 0.352};
    double complex lambda[PAIRS], p[PAIRS], b[PAIRS];
    (void)state;
    dplr_legs(PAIRS, lambda, p, b);
    for (int n = 0; n < PAIRS; n++) {
        assert_true(fabs(creal(lambda[n]) + 0.5) < 1e-12);
        assert_true(fabs(cimag(lambda[n]) + frequencies[n]) < 5e-4);
        assert_true(fabs(creal(b[n] - sqrt(2) * p[n])) < 1e-10);
        assert_true(fabs(cimag(b[n]) - fmin(sqrt(2) * cimag(p[n]), 2)) < 1e-10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(taps_equal_dense_matrices),
                                       cmocka_unit_test(shortened_c_gives_plain_taps),
                                       cmocka_unit_test(legs_has_its_eigenvalues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
