/* s4nd_dplr - at an L-th root of unity z the generating function of the taps needs no power of Ad:
 *     sum over l of k[l] z^l = C (I - z Ad)^-1 Bd = dt C ((1 - z) I - g A)^-1 B,   g = dt/2 (1 + z)
 * and the matrix is diagonal plus rank one, so that, with d_n = 1 - z - g lambda_n and
 * r_xy = sum over n of x_n y_n / d_n,
 *     K(z) = dt (r_cb - g r_cp r_pb / (1 + g r_pp)),   y being P^* in r_pb and r_pp
 * The taps are the inverse transform of these values; those of z and of its conjugate are
 * conjugates. d_n is not zero, as lambda has a negative real part. */
#include "layers/s4nd/s4nd_dplr.h"

#include <math.h>
#include <string.h>

static double complex complex_of(double re, double im) { return re + im * I; }

/* exp(2*pi*i*k/L) */
static double complex root(long k, int L)
{
    const double angle = 2 * acos(-1) * (double)(k % L) / L;
    return complex_of(cos(angle), sin(angle));
}

/* Weight of root j in the inverse transform: 2/L where it also stands for its conjugate. */
static double weight(int j, int L) { return (j == 0 || 2 * j == L ? 1.0 : 2.0) / L; }

/* The sums at one root. */
typedef struct resolvent {
    double complex z, g;
    double complex one[DPLR_MAX_PAIRS], two[DPLR_MAX_PAIRS]; /* 1/d of a pair and its conjugate */
    double complex cb[2], cp[2], pb, pp;
    double complex k[2]; /* K(z) of each side */
} resolvent;

static void resolve(const dplr_system *s, double complex z, resolvent *r)
{
    memset(r, 0, sizeof *r);
    r->z = z;
    r->g = s->dt / 2 * (1 + z);
    for (int n = 0; n < s->pairs; n++) {
        const double complex b = s->b[n], p = s->p[n];
        const double complex one = 1 / (1 - z - r->g * s->lambda[n]);
        const double complex two = 1 / (1 - z - r->g * conj(s->lambda[n]));
        r->one[n] = one;
        r->two[n] = two;
        for (int side = 0; side < 2; side++) {
            const double complex c = s->c[side][n];
            r->cb[side] += c * b * one + conj(c * b) * two;
            r->cp[side] += c * p * one + conj(c * p) * two;
        }
        r->pb += conj(p) * b * one + p * conj(b) * two;
        r->pp += conj(p) * p * (one + two);
    }
    for (int side = 0; side < 2; side++)
        r->k[side] = s->dt * (r->cb[side] - r->g * r->cp[side] * r->pb / (1 + r->g * r->pp));
}

/* z^l for l = 0, 1, .. in turn: by products, and recomputed exactly at every RECOMPUTE-th power to
 * limit the rounding error. */
enum { RECOMPUTE = 64 };
static double complex next_power(double complex power, double complex z, int j, int l, int L)
{
    return l % RECOMPUTE == 0 ? root((long)j * l, L) : power * z;
}

void dplr_taps(const dplr_system *s, int L, const dplr_view *k)
{
    resolvent r;
    for (int side = 0; side < 2; side++)
        for (int l = 0; l < k->count[side]; l++) k->at[side][l * k->step[side]] = 0;
    for (int j = 0; j <= L / 2; j++) {
        double complex power = 1;
        resolve(s, root(j, L), &r);
        for (int l = 0; l < L; l++) {
            power = next_power(power, r.z, j, l, L);
            for (int side = 0; side < 2; side++)
                if (l < k->count[side])
                    k->at[side][l * k->step[side]] += weight(j, L) * creal(r.k[side] * conj(power));
        }
    }
}

/* The gradient with respect to x, given that of K, where K depends on x and its conjugate. */
static double complex chain(double complex dk, double complex by_x, double complex by_conjugate)
{
    return dk * conj(by_x) + conj(dk) * by_conjugate;
}

/* Adds the contribution of dk, the gradient of K(z) of one side, to the gradient of the system. */
static void back_resolvent(const dplr_system *s, const resolvent *r, int side, double complex dk,
                           dplr_system *out)
{
    const double complex q = 1 + r->g * r->pp, cp = r->cp[side];
    /* derivatives of K with respect to the sums and to g */
    const double complex by_cb = s->dt, by_cp = -s->dt * r->g * r->pb / q;
    const double complex by_pb = -s->dt * r->g * cp / q;
    const double complex by_q = s->dt * r->g * cp * r->pb / (q * q), by_pp = by_q * r->g;
    double complex by_g = -s->dt * cp * r->pb / q + by_q * r->pp;
    for (int n = 0; n < s->pairs; n++) {
        const double complex b = s->b[n], p = s->p[n], c = s->c[side][n], lambda = s->lambda[n];
        const double complex one = r->one[n], two = r->two[n], pp = by_pp * conj(p) * p;
        const double complex by_one = by_cb * c * b + by_cp * c * p + by_pb * conj(p) * b + pp;
        const double complex by_two =
            by_cb * conj(c * b) + by_cp * conj(c * p) + by_pb * p * conj(b) + pp;
        by_g += by_one * lambda * one * one + by_two * conj(lambda) * two * two;
        out->lambda[n] += chain(dk, by_one * r->g * one * one, by_two * r->g * two * two);
        out->c[side][n] +=
            chain(dk, (by_cb * b + by_cp * p) * one, (by_cb * conj(b) + by_cp * conj(p)) * two);
        out->b[n] +=
            chain(dk, (by_cb * c + by_pb * conj(p)) * one, (by_cb * conj(c) + by_pb * p) * two);
        out->p[n] +=
            chain(dk, by_cp * c * one + by_pb * conj(b) * two + by_pp * conj(p) * (one + two),
                  by_cp * conj(c) * two + by_pb * b * one + by_pp * p * (one + two));
    }
    out->dt += creal(dk * conj(r->k[side] / s->dt + by_g * (1 + r->z) / 2));
}

void dplr_taps_adjoint(const dplr_system *s, int L, const dplr_view *dk, dplr_system *out)
{
    resolvent r;
    for (int j = 0; j <= L / 2; j++) {
        double complex power = 1, sum[2] = {0, 0};
        resolve(s, root(j, L), &r);
        for (int l = 0; l < L; l++) {
            power = next_power(power, r.z, j, l, L);
            for (int side = 0; side < 2; side++)
                if (l < dk->count[side]) sum[side] += dk->at[side][l * dk->step[side]] * power;
        }
        for (int side = 0; side < 2; side++)
            back_resolvent(s, &r, side, weight(j, L) * sum[side], out);
    }
}
