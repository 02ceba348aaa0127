/* fft - the stages of fft_table.h. Every radix is written once, for both directions and for any
 * number of present elements. */

/* `present` is a compile-time constant wherever these are used: an absent element is zero and costs
 * nothing. */
typedef struct element {
    vec re, im;
    int present;
} element;

INLINE element fft_get(const real *re, const real *im) { return (element){load(re), load(im), 1}; }
INLINE element fft_zero(void) { return (element){(vec){0}, (vec){0}, 0}; }
INLINE void fft_put(real *p, element a)
{
    store(p, a.re);
    store(p + LANES, a.im);
}

INLINE element plus(element a, element b)
{
    if (!b.present) return a;
    if (!a.present) return b;
    return (element){a.re + b.re, a.im + b.im, 1};
}

INLINE element minus(element a, element b)
{
    if (!b.present) return a;
    if (!a.present) return (element){-b.re, -b.im, 1};
    return (element){a.re - b.re, a.im - b.im, 1};
}

/* a + i*b, a - i*b */
INLINE element plus_i(element a, element b)
{
    if (!b.present) return a;
    if (!a.present) return (element){-b.im, b.re, 1};
    return (element){a.re - b.im, a.im + b.re, 1};
}

INLINE element minus_i(element a, element b)
{
    if (!b.present) return a;
    if (!a.present) return (element){b.im, -b.re, 1};
    return (element){a.re + b.im, a.im - b.re, 1};
}

/* a + s*i*b; the sign s = -1 is forward */
INLINE element plus_si(element a, element b, int s) { return s < 0 ? minus_i(a, b) : plus_i(a, b); }

INLINE element scale(element a, real c) { return a.present ? (element){a.re * c, a.im * c, 1} : a; }
INLINE element scale_plus(element a, real c, element b)
{
    return (element){mul_add(all(c), b.re, a.re), mul_add(all(c), b.im, a.im), 1};
}

/* a * (re + s*i*im); and for elements a*b, a*conj(b) */
INLINE element twiddle(element a, real re, real im, int s)
{
    if (!a.present) return a;
    const vec c = all(re), d = all(im);
    if (s < 0) return (element){mul_add(a.re, c, a.im * d), mul_sub(a.im, c, a.re * d), 1};
    return (element){mul_sub(a.re, c, a.im * d), mul_add(a.im, c, a.re * d), 1};
}
INLINE element times(element a, element b)
{
    return (element){mul_sub(a.re, b.re, a.im * b.im), mul_add(a.im, b.re, a.re * b.im), 1};
}
INLINE element times_conj(element a, element b)
{
    return (element){mul_add(a.re, b.re, a.im * b.im), mul_sub(a.im, b.re, a.re * b.im), 1};
}

INLINE void dft1(element *x, int s) { (void)x, (void)s; }

INLINE void dft2(element *x, int s)
{
    (void)s;
    element a = x[0], b = x[1];
    x[0] = plus(a, b), x[1] = minus(a, b);
}

INLINE void dft3(element *x, int s)
{
    const real half = (real)-0.5, sine = (real)0.86602540378443864676;
    element t = plus(x[1], x[2]), d = minus(x[1], x[2]), a = scale_plus(x[0], half, t);
    x[0] = plus(x[0], t);
    x[1] = scale_plus(a, sine, plus_si(fft_zero(), d, s));
    x[2] = scale_plus(a, sine, plus_si(fft_zero(), d, -s));
}

INLINE void dft4_of(element *x0, element *x1, element *x2, element *x3, int s)
{
    element a = plus(*x0, *x2), b = minus(*x0, *x2), c = plus(*x1, *x3), d = minus(*x1, *x3);
    *x0 = plus(a, c);
    *x1 = plus_si(b, d, s);
    *x2 = minus(a, c);
    *x3 = plus_si(b, d, -s);
}

INLINE void dft4(element *x, int s) { dft4_of(x, x + 1, x + 2, x + 3, s); }

INLINE void dft5(element *x, int s)
{
    const real c1 = (real)0.30901699437494742410, c2 = (real)-0.80901699437494742410;
    const real s1 = (real)0.95105651629515357212, s2 = (real)0.58778525229247312917;
    element t1 = plus(x[1], x[4]), d1 = minus(x[1], x[4]), t2 = plus(x[2], x[3]),
            d2 = minus(x[2], x[3]);
    element a1 = scale_plus(scale_plus(x[0], c1, t1), c2, t2),
            a2 = scale_plus(scale_plus(x[0], c2, t1), c1, t2);
    element b1 = scale_plus(scale(d2, s2), s1, d1), b2 = scale_plus(scale(d2, -s1), s2, d1);
    x[0] = plus(x[0], plus(t1, t2));
    x[1] = plus_si(a1, b1, s);
    x[2] = plus_si(a2, b2, s);
    x[3] = plus_si(a2, b2, -s);
    x[4] = plus_si(a1, b1, -s);
}

/* The sums of products of dft7: x0 + a*x1 + b*x2 + c*x3, and a*x1 + b*x2 + c*x3. */
INLINE vec dft7_even(vec x0, real a, vec x1, real b, vec x2, real c, vec x3)
{
    return mul_add(all(c), x3, mul_add(all(b), x2, mul_add(all(a), x1, x0)));
}
INLINE vec dft7_odd(real a, vec x1, real b, vec x2, real c, vec x3)
{
    return mul_add(all(c), x3, mul_add(all(a), x1, all(b) * x2));
}

/* Real parts first, then imaginary ones: either needs only half of the sums and differences, which
 * then fit the registers. */
INLINE void dft7(element *x, int s)
{
    const real c1 = (real)0.62348980185873353053, c2 = (real)-0.22252093395631440429,
               c3 = (real)-0.90096886790241912624;
    const real s1 = (real)0.78183148246802980871, s2 = (real)0.97492791218182360702,
               s3 = (real)0.43388373911755812048;
    const vec t1 = x[1].re + x[6].re, t2 = x[2].re + x[5].re, t3 = x[3].re + x[4].re, t0 = x[0].re;
    const vec d1 = x[1].im - x[6].im, d2 = x[2].im - x[5].im, d3 = x[3].im - x[4].im;
    const vec i1 = x[1].im + x[6].im, i2 = x[2].im + x[5].im, i3 = x[3].im + x[4].im, i0 = x[0].im;
    const vec r1 = x[1].re - x[6].re, r2 = x[2].re - x[5].re, r3 = x[3].re - x[4].re;
    vec a, b;
    x[0].re = t0 + t1 + (t2 + t3);
    a = dft7_even(t0, c1, t1, c2, t2, c3, t3), b = dft7_odd(s * s1, d1, s * s2, d2, s * s3, d3);
    x[1].re = a - b, x[6].re = a + b;
    a = dft7_even(t0, c2, t1, c3, t2, c1, t3), b = dft7_odd(s * s2, d1, -s * s3, d2, -s * s1, d3);
    x[2].re = a - b, x[5].re = a + b;
    a = dft7_even(t0, c3, t1, c1, t2, c2, t3), b = dft7_odd(s * s3, d1, -s * s1, d2, s * s2, d3);
    x[3].re = a - b, x[4].re = a + b;
    x[0].im = i0 + i1 + (i2 + i3);
    a = dft7_even(i0, c1, i1, c2, i2, c3, i3), b = dft7_odd(s * s1, r1, s * s2, r2, s * s3, r3);
    x[1].im = a + b, x[6].im = a - b;
    a = dft7_even(i0, c2, i1, c3, i2, c1, i3), b = dft7_odd(s * s2, r1, -s * s3, r2, -s * s1, r3);
    x[2].im = a + b, x[5].im = a - b;
    a = dft7_even(i0, c3, i1, c1, i2, c2, i3), b = dft7_odd(s * s3, r1, -s * s1, r2, s * s2, r3);
    x[3].im = a + b, x[4].im = a - b;
}

INLINE void dft8(element *x, int s)
{
    const real root = (real)0.70710678118654752440;
    element e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1], o1 = x[3], o2 = x[5], o3 = x[7];
    dft4_of(&e0, &e1, &e2, &e3, s);
    dft4_of(&o0, &o1, &o2, &o3, s);
    x[0] = plus(e0, o0), x[4] = minus(e0, o0);
    x[2] = plus_si(e2, o2, s), x[6] = plus_si(e2, o2, -s);
    o1 = plus_si(o1, o1, s);  /* times 1 + s*i */
    o3 = plus_si(o3, o3, -s); /* times 1 - s*i; the factor -1 follows below */
    x[1] = scale_plus(e1, root, o1), x[5] = scale_plus(e1, -root, o1);
    x[3] = scale_plus(e3, -root, o3), x[7] = scale_plus(e3, root, o3);
}

/* The compiler unrolls loops over j < r, because r and `present` are constants wherever these are
 * used. */
#define FFT_EACH(from, end) _Pragma("GCC unroll 8") for (int j = from; j < (end); j++)
#define PAIR                (2 * LANES)

typedef void fft_dft(element *x, int s);

INLINE void fft_first(fft_dft *dft, const int r, const int present, real *out, const real *re,
                      const real *im, ptrdiff_t step, int m, int from, int to, const real *twiddles)
{
    for (int k = from; k < to; k++) {
        const real *w = twiddles + (ptrdiff_t)k * 2 * (r - 1);
        element x[FFT_RADIX];
        FFT_EACH(0, r)
        x[j] = j < present ? fft_get(re + (k + j * m) * step, im + (k + j * m) * step) : fft_zero();
        dft(x, -1);
        fft_put(out + (ptrdiff_t)k * PAIR, x[0]);
        FFT_EACH(1, r)
        fft_put(out + (ptrdiff_t)(k + j * m) * PAIR, twiddle(x[j], w[2 * j - 2], w[2 * j - 1], 1));
    }
}

INLINE void fft_first_back(fft_dft *dft, const int r, const int present, real *re, real *im,
                           ptrdiff_t step, const real *in, int m, int from, int to,
                           const real *twiddles, int add)
{
    for (int k = from; k < to; k++) {
        const real *w = twiddles + (ptrdiff_t)k * 2 * (r - 1);
        element x[FFT_RADIX];
        FFT_EACH(0, r)
        {
            const real *p = in + (ptrdiff_t)(k + j * m) * PAIR;
            x[j] = fft_get(p, p + LANES);
            if (j) x[j] = twiddle(x[j], w[2 * j - 2], w[2 * j - 1], -1);
        }
        dft(x, 1);
        FFT_EACH(0, present)
        {
            real *to_re = re + (k + j * m) * step, *to_im = im + (k + j * m) * step;
            store(to_re, add ? load(to_re) + x[j].re : x[j].re);
            store(to_im, add ? load(to_im) + x[j].im : x[j].im);
        }
    }
}

INLINE void fft_middle(fft_dft *dft, const int r, real *x, int blocks, int m, const real *twiddles)
{
    for (int b = 0; b < blocks; b++, x += (ptrdiff_t)r * m * PAIR)
        fft_first(dft, r, r, x, x, x + LANES, PAIR, m, 0, m, twiddles);
}

INLINE void fft_middle_back(fft_dft *dft, const int r, real *x, int blocks, int m,
                            const real *twiddles)
{
    for (int b = 0; b < blocks; b++, x += (ptrdiff_t)r * m * PAIR)
        fft_first_back(dft, r, r, x, x + LANES, PAIR, x, m, 0, m, twiddles, 0);
}

INLINE void fft_last(fft_dft *dft, const int r, real *p, int blocks, int s)
{
    for (int b = 0; b < blocks; b++, p += r * PAIR) {
        element x[FFT_RADIX];
        FFT_EACH(0, r) x[j] = fft_get(p + j * PAIR, p + j * PAIR + LANES);
        dft(x, s);
        FFT_EACH(0, r) fft_put(p + j * PAIR, x[j]);
    }
}

INLINE void fft_convolve(fft_dft *dft, const int r, const int conjugate, real *p, const real *k,
                         int blocks)
{
    for (int b = 0; b < blocks; b++, p += r * PAIR, k += r * PAIR) {
        element x[FFT_RADIX];
        FFT_EACH(0, r) x[j] = fft_get(p + j * PAIR, p + j * PAIR + LANES);
        dft(x, -1);
        FFT_EACH(0, r)
        {
            element kj = fft_get(k + j * PAIR, k + j * PAIR + LANES);
            x[j] = conjugate ? times_conj(x[j], kj) : times(x[j], kj);
        }
        dft(x, 1);
        FFT_EACH(0, r) fft_put(p + j * PAIR, x[j]);
    }
}

INLINE void fft_correlate(fft_dft *dft, const int r, real *p, real *g, const real *u, const real *k,
                          int blocks)
{
    for (int b = 0; b < blocks; b++, p += r * PAIR, g += r * PAIR, u += r * PAIR) {
        element x[FFT_RADIX];
        FFT_EACH(0, r) x[j] = fft_get(p + j * PAIR, p + j * PAIR + LANES);
        dft(x, -1);
        FFT_EACH(0, r)
        {
            element uj = fft_get(u + j * PAIR, u + j * PAIR + LANES),
                    gj = fft_get(g + j * PAIR, g + j * PAIR + LANES);
            gj.re += mul_add(uj.re, x[j].re, uj.im * x[j].im);
            gj.im += mul_sub(uj.re, x[j].im, uj.im * x[j].re);
            fft_put(g + j * PAIR, gj);
        }
        if (!k) continue;
        FFT_EACH(0, r) x[j] = times_conj(x[j], fft_get(k + j * PAIR, k + j * PAIR + LANES));
        k += r * PAIR;
        dft(x, 1);
        FFT_EACH(0, r) fft_put(p + j * PAIR, x[j]);
    }
}

/* With Z(c) = A(c) + i*B(c) and A(-c) = conj(A(c)): A = (Z(c) + conj(Z(-c))) / 2, B = (Z(c) -
 * conj(Z(-c))) / 2i. */
static void fft_split(real *a, real *b, ptrdiff_t step, const real *z, const int (*at)[2],
                      int count, real factor)
{
    for (int c = 0; c < count; c++, a += step, b += step) {
        const real *p = z + (ptrdiff_t)at[c][0] * PAIR, *q = z + (ptrdiff_t)at[c][1] * PAIR;
        const vec by = all(factor);
        element x = fft_get(p, p + LANES), y = scale(fft_get(q, q + LANES), factor);
        fft_put(a, (element){mul_add(x.re, by, y.re), mul_sub(x.im, by, y.im), 1});
        fft_put(b, (element){mul_add(x.im, by, y.im), sub_mul(y.re, x.re, by), 1});
    }
}

static void fft_join(real *z, const real *a, const real *b, ptrdiff_t step, const int (*at)[2],
                     int count)
{
    for (int c = 0; c < count; c++, a += step, b += step) {
        real *p = z + (ptrdiff_t)at[c][0] * PAIR, *q = z + (ptrdiff_t)at[c][1] * PAIR;
        element x = fft_get(a, a + LANES), y = fft_get(b, b + LANES);
        fft_put(p, (element){x.re - y.im, x.im + y.re, 1});
        fft_put(q, (element){x.re + y.im, y.re - x.im, 1});
    }
}

#define FIRST(r, present)                                                                          \
    static void fft_first_##r##_##present(real *out, const real *re, const real *im,               \
                                          ptrdiff_t step, int m, int from, int to,                 \
                                          const real *twiddles)                                    \
    {                                                                                              \
        fft_first(dft##r, r, present, out, re, im, step, m, from, to, twiddles);                   \
    }                                                                                              \
    static void fft_first_back_##r##_##present(real *re, real *im, ptrdiff_t step, const real *in, \
                                               int m, int from, int to, const real *twiddles,      \
                                               int add)                                            \
    {                                                                                              \
        fft_first_back(dft##r, r, present, re, im, step, in, m, from, to, twiddles, add);          \
    }

/* clang-format off */

FIRST(1, 1)
FIRST(4, 1) FIRST(4, 2) FIRST(4, 3) FIRST(4, 4)
FIRST(8, 3) FIRST(8, 4) FIRST(8, 5) FIRST(8, 6) FIRST(8, 7) FIRST(8, 8)

#define MIDDLE(r)                                                                                  \
    static void fft_middle_##r(real *x, int blocks, int m, const real *twiddles)                   \
    {                                                                                              \
        fft_middle(dft##r, r, x, blocks, m, twiddles);                                             \
    }                                                                                              \
    static void fft_middle_back_##r(real *x, int blocks, int m, const real *twiddles)              \
    {                                                                                              \
        fft_middle_back(dft##r, r, x, blocks, m, twiddles);                                        \
    }                                                                                              \
    static void fft_last_##r(real *x, int blocks) { fft_last(dft##r, r, x, blocks, -1); }          \
    static void fft_last_back_##r(real *x, int blocks) { fft_last(dft##r, r, x, blocks, 1); }
MIDDLE(2) MIDDLE(3) MIDDLE(4) MIDDLE(5) MIDDLE(7) MIDDLE(8)

#define PRODUCT(r)                                                                                 \
    static void fft_convolve_##r(real *x, const real *k, int blocks)                               \
    {                                                                                              \
        fft_convolve(dft##r, r, 0, x, k, blocks);                                                  \
    }                                                                                              \
    static void fft_convolve_conj_##r(real *x, const real *k, int blocks)                          \
    {                                                                                              \
        fft_convolve(dft##r, r, 1, x, k, blocks);                                                  \
    }                                                                                              \
    static void fft_correlate_##r(real *x, real *g, const real *u, const real *k, int blocks)      \
    {                                                                                              \
        fft_correlate(dft##r, r, x, g, u, k, blocks);                                              \
    }
PRODUCT(1) PRODUCT(2) PRODUCT(3) PRODUCT(4) PRODUCT(5) PRODUCT(7) PRODUCT(8)

#define FFT_FIRSTS(f) { \
    [1] = {[1] = f##1_1}, \
    [4] = {[1] = f##4_1, f##4_2, f##4_3, f##4_4}, \
    [8] = {[3] = f##8_3, f##8_4, f##8_5, f##8_6, f##8_7, f##8_8}, \
}
#define FFT_MIDDLES(f) \
    {[2] = f##2, [3] = f##3, [4] = f##4, [5] = f##5, [7] = f##7, [8] = f##8}
#define FFT_PRODUCTS(f) \
    {[1] = f##1, [2] = f##2, [3] = f##3, [4] = f##4, [5] = f##5, [7] = f##7, [8] = f##8}
#define FFT_TABLE { \
    .first = FFT_FIRSTS(fft_first_), .first_back = FFT_FIRSTS(fft_first_back_), \
    .middle = FFT_MIDDLES(fft_middle_), .middle_back = FFT_MIDDLES(fft_middle_back_), \
    .last = FFT_MIDDLES(fft_last_), .last_back = FFT_MIDDLES(fft_last_back_), \
    .convolve = {FFT_PRODUCTS(fft_convolve_), FFT_PRODUCTS(fft_convolve_conj_)}, \
    .correlate = FFT_PRODUCTS(fft_correlate_), .split = fft_split, .join = fft_join, \
}
