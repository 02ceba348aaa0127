/* scan_math - exponentials, softplus and products for layers whose coefficients depend on the input
 * (layers/scan). In float and double they are polynomials, so that libm and libmvec are not
 * needed. */

/* exp(x) for x <= 0, within 1.5 units in the last place. Below SCAN_FAR the result is that of
 * SCAN_FAR: close to the smallest normal number, so no state ever becomes subnormal through it. NaN
 * stays NaN. */
#if !defined(REAL_IS_DOUBLE)

#define SCAN_FAR 87
INLINE vec scan_exp(vec x) { return vec_exp(larger(all(-SCAN_FAR), x)); }

#else

#define SCAN_FAR 708
/* As vec_exp of floats: exp(x) = 2^n exp(r), with the series of exp(r), |r| <= log(2)/2, to r^13.
 * The first part of log(2) has 21 zero bits at its end, so n times it is exact. */
INLINE vec scan_exp(vec x)
{
    static const double series[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
        1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    const real rounder = 0x1.8p52;
    x = larger(all(-SCAN_FAR), x);
    vec shifted = mul_add(x, all(0x1.71547652b82fep0), all(rounder)), n = shifted - rounder;
    vec r = sub_mul(sub_mul(x, n, all(0x1.62e42fee00000p-1)), n, all(0x1.a39ef35793c76p-33));
    vec p = all(series[0]);
#pragma GCC unroll 16
    for (int i = 1; i < 12; i++) p = mul_add(p, r, all(series[i]));
    p = mul_add(p, r * r, r) + 1;
    return p * (vec)(((mask)shifted << 52) + 0x3ff0000000000000);
}

#endif

/* log(1 + e) for 0 <= e <= 1: 2 atanh(t), t = e / (2 + e) <= 1/3, by its series in t^2. Relative
 * accuracy holds for small e, too. */
INLINE vec scan_log1p(vec e)
{
    enum { TERMS = sizeof(real) == sizeof(float) ? 8 : 17 };
    const vec t = e / (2 + e), t2 = t * t;
    vec p = all((real)(1.0 / (2 * TERMS + 1)));
#pragma GCC unroll 17
    for (int k = TERMS - 1; k >= 0; k--) p = mul_add(p, t2, all((real)(1.0 / (2 * k + 1))));
    return 2 * t * p;
}

/* dt = log(1 + exp(raw + bias)) and its derivative; bias is one vector. */
static void scan_softplus(real *dt, real *slope, const real *raw, const real *bias, size_t n)
{
    const vec by = load(bias);
    for (size_t i = 0; i < n * (size_t)LANES; i += (size_t)LANES) {
        const vec x = load(raw + i) + by, e = scan_exp(smaller(-x, x)), one = all(1);
        store(dt + i, larger(all(0), x) + scan_log1p(e));
        store(slope + i, choose(x < 0, e, one) / (1 + e));
    }
}

/* ---- products -------------------------------------------------------------------------------- */

INLINE void scan_product_block(const int M, real *out, ptrdiff_t out_row, const real *in,
                               ptrdiff_t in_row, ptrdiff_t in_step, const real *w, ptrdiff_t w_row,
                               size_t depth, int add)
{
    vec sum[8];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) sum[m] = add ? load(out + m * out_row) : all(0);
    for (size_t k = 0; k < depth; k++, in += in_step, w += w_row) {
        const vec weight = load(w);
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) sum[m] = mul_add(all(in[m * in_row]), weight, sum[m]);
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) store(out + m * out_row, sum[m]);
}

/* out[m] (+)= sum over k < depth of in[m*in_row + k*in_step] * w[k]; out and w are vectors. Each
 * sum is taken in the order of k, whatever the number of rows. */
static void scan_product(real *out, ptrdiff_t out_row, const real *in, ptrdiff_t in_row,
                         ptrdiff_t in_step, const real *w, ptrdiff_t w_row, size_t rows,
                         size_t depth, int add)
{
    size_t m = 0;
#define SCAN_PRODUCT_ROWS(M)                                                                       \
    for (; rows - m >= M; m += M)                                                                  \
    scan_product_block(M, out + (ptrdiff_t)m * out_row, out_row, in + (ptrdiff_t)m * in_row,       \
                       in_row, in_step, w, w_row, depth, add)
    SCAN_PRODUCT_ROWS(8);
    SCAN_PRODUCT_ROWS(4);
    SCAN_PRODUCT_ROWS(1);
#undef SCAN_PRODUCT_ROWS
}

/* out[i] += the sum over the lanes of vector i; the vectors of `in` are in_step elements apart. */
static void scan_sum_lanes(real *out, const real *in, ptrdiff_t in_step, size_t count)
{
    size_t i = 0;
    for (; count - i >= (size_t)LANES; i += (size_t)LANES) {
        vec row[LANES];
        for (int l = 0; l < LANES; l++) row[l] = load(in + ((ptrdiff_t)i + l) * in_step);
        transpose(row);
        for (int width = LANES / 2; width; width /= 2)
            for (int l = 0; l < width; l++) row[l] += row[l + width];
        store(out + i, load(out + i) + row[0]);
    }
    for (; i < count; i++) out[i] += sum_lanes(load(in + (ptrdiff_t)i * in_step));
}
