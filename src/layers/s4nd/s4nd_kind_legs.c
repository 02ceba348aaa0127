/* s4nd_kind_legs - initial values of systems that are diagonal plus low rank: HiPPO-LegS. Compiled
 * once, as s4nd_kind.c is. */
#include "layers/s4nd/s4nd_dplr.h"

#include <math.h>

static double complex complex_of(double re, double im) { return re + im * I; }

/* x <- x Ad for a row x of full length 2*pairs: elements n, then those of their conjugates. */
static void step_row(const dplr_system *s, double complex *x, double complex *y)
{
    /* y = x (I - h A)^-1, then y (I + h A), with h = dt/2; A = D - P P^* as a matrix of 2*pairs */
    const int N = s->pairs;
    const double h = s->dt / 2;
    double complex px = 0, pp = 0;
    for (int n = 0; n < N; n++) {
        const double complex one = 1 / (1 - h * s->lambda[n]),
                             two = 1 / (1 - h * conj(s->lambda[n]));
        y[n] = x[n] * one;
        y[N + n] = x[N + n] * two;
        px += y[n] * s->p[n] + y[N + n] * conj(s->p[n]);
        pp += s->p[n] * conj(s->p[n]) * (one + two);
    }
    /* x (E + h P P^*)^-1 = x E^-1 - h (x E^-1 P) P^* E^-1 / (1 + h P^* E^-1 P) */
    for (int n = 0; n < N; n++) {
        const double complex one = 1 / (1 - h * s->lambda[n]),
                             two = 1 / (1 - h * conj(s->lambda[n]));
        y[n] -= h * px * conj(s->p[n]) * one / (1 + h * pp);
        y[N + n] -= h * px * s->p[n] * two / (1 + h * pp);
    }
    px = 0;
    for (int n = 0; n < N; n++) px += y[n] * s->p[n] + y[N + n] * conj(s->p[n]);
    for (int n = 0; n < N; n++) {
        x[n] = y[n] * (1 + h * s->lambda[n]) - h * px * conj(s->p[n]);
        x[N + n] = y[N + n] * (1 + h * conj(s->lambda[n])) - h * px * s->p[n];
    }
}

void dplr_shorten(dplr_system *s, int side, int L)
{
    double complex x[2 * DPLR_MAX_PAIRS], scratch[2 * DPLR_MAX_PAIRS];
    for (int n = 0; n < s->pairs; n++) {
        x[n] = s->c[side][n];
        x[s->pairs + n] = conj(s->c[side][n]);
    }
    for (int l = 0; l < L; l++) step_row(s, x, scratch);
    for (int n = 0; n < s->pairs; n++) s->c[side][n] -= x[n];
}

/* Eigenvalues of a Hermitian matrix by Jacobi rotations; the eigenvectors are written to the
 * columns of v. */
static void eigen(int N, double complex *a, double complex *v, double *values)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) v[i * N + j] = i == j;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, all = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double square = creal(a[i * N + j] * conj(a[i * N + j]));
                all += square;
                if (i != j) off += square;
            }
        if (off <= 1e-32 * all) break;
        for (int p = 0; p < N - 1; p++)
            for (int q = p + 1; q < N; q++) {
                const double complex apq = a[p * N + q];
                const double size = cabs(apq);
                if (size == 0) continue;
                const double complex phase = apq / size;
                const double theta = (creal(a[q * N + q]) - creal(a[p * N + p])) / (2 * size);
                const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                const double c = 1 / sqrt(t * t + 1), sn = t * c;
                for (int k = 0; k < N; k++) {
                    const double complex kp = a[k * N + p], kq = a[k * N + q];
                    a[k * N + p] = c * kp - sn * conj(phase) * kq;
                    a[k * N + q] = sn * phase * kp + c * kq;
                    const double complex vp = v[k * N + p], vq = v[k * N + q];
                    v[k * N + p] = c * vp - sn * conj(phase) * vq;
                    v[k * N + q] = sn * phase * vp + c * vq;
                }
                for (int k = 0; k < N; k++) {
                    const double complex pk = a[p * N + k], qk = a[q * N + k];
                    a[p * N + k] = c * pk - sn * phase * qk;
                    a[q * N + k] = sn * conj(phase) * pk + c * qk;
                }
            }
    }
    for (int i = 0; i < N; i++) values[i] = creal(a[i * N + i]);
}

/* The matrix of LegS plus p p^T, p_i = sqrt(i + 1/2), is -1/2 I plus a skew matrix K; -i K is
 * Hermitian. */
void dplr_legs(int pairs, double complex *lambda, double complex *p, double complex *b)
{
    double complex a[4 * DPLR_MAX_PAIRS * DPLR_MAX_PAIRS], v[4 * DPLR_MAX_PAIRS * DPLR_MAX_PAIRS];
    double values[2 * DPLR_MAX_PAIRS];
    const int N = 2 * pairs;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double low_rank = sqrt((i + 0.5) * (j + 0.5));
            const double legs = i > j    ? -sqrt((2 * i + 1.0) * (2 * j + 1))
                                : i == j ? -(i + 1.0)
                                         : 0;
            a[i * N + j] = -I * (legs + low_rank + (i == j ? 0.5 : 0));
        }
    eigen(N, a, v, values);
    for (int n = 0; n < pairs; n++) {
        int k = 0; /* the lowest remaining eigenvalue */
        for (int i = 1; i < N; i++)
            if (values[i] < values[k]) k = i;
        const double complex turn = conj(v[k]) / cabs(v[k]);
        lambda[n] = -0.5 + I * values[k];
        values[k] = INFINITY;
        p[n] = b[n] = 0;
        for (int i = 0; i < N; i++) {
            const double complex adjoint = conj(v[i * N + k] * turn);
            p[n] += adjoint * sqrt(i + 0.5);
            b[n] += adjoint * sqrt(2 * i + 1.0);
        }
        b[n] = complex_of(creal(b[n]), fmin(fmax(cimag(b[n]), -2), 2));
    }
}
