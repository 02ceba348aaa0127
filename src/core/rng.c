/* rng - splitmix64, and normals by Box and Muller.
 *
 * Numbers are the same bits on every machine. The C library's log, sin and cos are not, so that
 * those are computed here from +, -, *, / alone, which IEEE 754 fixes, as it does sqrt; the file is
 * compiled without contraction of a*b + c into one rounding (CMakeLists.txt). Errors are below one
 * unit in the last place. */
#include "core/rng.h"

#include <math.h>
#include <string.h>

rng rng_seed(uint64_t seed) { return (rng){.state = seed}; }

uint64_t rng_next(rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double rng_uniform(rng *r, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

/* coef[0] + x*coef[1] + x^2*coef[2] + .. */
static double polynomial(double x, const double *coef, int count)
{
    double sum = coef[count - 1];
    for (int i = count - 2; i >= 0; i--) sum = sum * x + coef[i];
    return sum;
}

/* high + low = a*b exactly (Dekker), for numbers far from overflow. */
static double product(double a, double b, double *low)
{
    const double split = 0x1p27 + 1;
    const double ca = split * a, cb = split * b, high = a * b;
    const double a1 = ca - (ca - a), a2 = a - a1, b1 = cb - (cb - b), b2 = b - b1;
    *low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2;
    return high;
}

/* high + low = a + b exactly (Knuth). */
static double sum(double a, double b, double *low)
{
    const double high = a + b, part = high - a;
    *low = (a - (high - part)) + (b - part);
    return high;
}

/* log(x) for a normal number x > 0. With x = 2^e * m and m near 1, log(x) = e*log(2) + log(m), and
 * log(m) = 2*(s + s^3/3 + s^5/5 + ..) for s = (m-1)/(m+1). */
static double natural_log(double x)
{
    static const double coef[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                                  1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
    const double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m); /* 1 <= m < 2 */
    if (m > 1.4142135623730951) {
        m /= 2;
        e++;
    }
    double below, rest, tail;
    const double f = m - 1, above = sum(m, 1, &below), s = f / above;
    const double whole = product(s, above, &rest);
    const double s_low = (((f - whole) - rest) - s * below) / above; /* s + s_low is the quotient */
    const double z = s * s;
    const double more = s_low + s * z * polynomial(z, coef, sizeof coef / sizeof *coef);
    const double high = sum(e * ln2_high, 2 * s, &tail);
    return high + (tail + (e * ln2_low + 2 * more));
}

/* *sine and *cosine of 0 <= angle <= 2*pi: by symmetry those of an angle r + low within pi/4 of 0,
 * and from there by their series, whose leading terms are kept in two parts. */
static void sine_cosine(double angle, double *sine, double *cosine)
{
    /* after r - r^3/6 and 1 - r^2/2 */
    static const double sines[] = {
        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,          -1.0 / 39916800,
        1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000, -1.0 / 121645100408832000};
    static const double cosines[] = {1.0 / 24,
                                     -1.0 / 720,
                                     1.0 / 40320,
                                     -1.0 / 3628800,
                                     1.0 / 479001600,
                                     -1.0 / 87178291200,
                                     1.0 / 20922789888000,
                                     -1.0 / 6402373705728000,
                                     1.0 / 2432902008176640000};
    /* pi/2 in three parts; the first two have trailing zero bits, so that products with `quarter`
     * are exact */
    const double part1 = 0x1.921fb54442cp+0, part2 = 0x1.18469898cc4p-44,
                 part3 = 0x1.1701b839a252p-88;
    const double sixth = -1.0 / 6, sixth_low = -0x1.5555555555555p-57;
    const int quarter = (int)(angle * 0.6366197723675814 + 0.5);
    double low, z_low, a_low, p_low, t_low, s_low, c_low;
    const double r = sum(angle - quarter * part1, -quarter * part2, &low);
    low -= quarter * part3;
    const double z = product(r, r, &z_low);
    const double rest = z * z * polynomial(z, cosines, sizeof cosines / sizeof *cosines);

    /* s = r + r*p + low*cos(r) with p = z*(-1/6 + z/120 - ..) */
    const double a = sum(sixth, z * polynomial(z, sines, sizeof sines / sizeof *sines), &a_low);
    const double p = product(z, a, &p_low);
    p_low += z * (a_low + sixth_low) + z_low * a;
    const double t = product(r, p, &t_low);
    double s = sum(r, t, &s_low);
    s += s_low + (t_low + r * p_low + low * (1 - z / 2 + rest));

    /* c = 1 - z/2 + z^2/24 - .. - low*sin(r); rest is what follows z/2 */
    double c = sum(1, -z / 2, &c_low);
    c += c_low + (rest - z_low / 2 - (r + t) * low);

    switch (quarter & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s;
    }
}

double rng_normal(rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    const double radius = sqrt(-2 * natural_log(1 - rng_uniform(r, 0, 1)));
    const double angle = 6.283185307179586 * rng_uniform(r, 0, 1);
    double sine, cosine;
    sine_cosine(angle, &sine, &cosine);
    r->spare = radius * sine;
    r->has_spare = 1;
    return radius * cosine;
}
