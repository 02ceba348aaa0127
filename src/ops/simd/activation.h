/* activation - elementwise functions, and softmax of a row. */

/* body(v): a vector in, a vector out, over n elements of x. */
#define MAP(y, x, n, body)                                                                         \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES) store(y + i, body(load(x + i)));                        \
        if (i < n) store_part(y + i, body(load_part(x + i, n - i)), n - i);                        \
    } while (0)

/* dx (+)= dy * slope(x) */
#define MAP_BACK(dx, dy, x, n, adds, slope)                                                        \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES) {                                                       \
            vec f = slope(load(x + i)), d = load(dy + i);                                          \
            store(dx + i, adds ? mul_add(f, d, load(dx + i)) : f * d);                             \
        }                                                                                          \
        if (i < n) {                                                                               \
            vec f = slope(load_part(x + i, n - i)), d = load_part(dy + i, n - i);                  \
            store_part(dx + i, adds ? mul_add(f, d, load_part(dx + i, n - i)) : f * d, n - i);     \
        }                                                                                          \
    } while (0)

#define NORMAL_TOP ((real)0.39894228040143267794) /* 1/sqrt(2 pi) */

/* The normal distribution's tail, Phi(-t), and exp(-t^2/2), for t >= 0. Both are negligible from
 * TAIL_END on, which stands for everything beyond. NaN stays NaN. */
#if !defined(REAL_IS_DOUBLE)

#define TAIL_END ((real)12.6)

/* Phi(-t) = exp(-t^2/2) Q(t): Q falls slowly, and is a quotient of polynomials within 5e-9. So one
 * exp serves the function and its slope, and the tail keeps its leading digits, which 1 - erf
 * would lose. */
INLINE vec normal_tail(vec t, vec *exponential)
{
    vec above = mul_add(t, all(0.0039586523f), all(0.039565772f));
    vec below = mul_add(t, all(0.0099227093f), all(0.099184722f));
    above = mul_add(above, t, all(0.18005849f));
    below = mul_add(below, t, all(0.46108642f));
    above = mul_add(above, t, all(0.43398854f));
    below = mul_add(below, t, all(1.1892788f));
    above = mul_add(above, t, all(0.5f));
    below = mul_add(below, t, all(1.6658620f));
    below = mul_add(below, t, all(1));
    *exponential = vec_exp(t * t * -0.5f);
    return *exponential * above / below;
}

#else

#define TAIL_END ((real)37)

INLINE vec normal_tail(vec t, vec *exponential)
{
    *exponential = vec_exp(t * t * (real)-0.5);
    return mul_add(vec_erf(t * (real)0.70710678118654752440), all((real)-0.5), all((real)0.5));
}

#endif

INLINE vec tail_argument(vec x) { return smaller(all(TAIL_END), larger(-x, x)); }

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|) */
INLINE vec gelu_of(vec x)
{
    vec t = tail_argument(x), exponential;
    return sub_mul(larger((vec){0}, x), t, normal_tail(t, &exponential));
}

/* Phi(x) + x phi(x), phi(x) = exp(-x^2/2)/sqrt(2 pi) */
INLINE vec gelu_slope(vec x)
{
    vec t = tail_argument(x), exponential, tail = normal_tail(t, &exponential);
    /* 1 - slope for x > 0, slope for x < 0 */
    vec along = sub_mul(tail, t * exponential, all(NORMAL_TOP));
    return choose(x > 0, 1 - along, along);
}

static void gelu(real *y, const real *x, size_t n) { MAP(y, x, n, gelu_of); }
static void gelu_back(real *dx, const real *dy, const real *x, size_t n, int adds)
{
    MAP_BACK(dx, dy, x, n, adds, gelu_slope);
}
static void silu(real *y, const real *x, size_t n) { MAP(y, x, n, silu_of); }
static void silu_back(real *dx, const real *dy, const real *x, size_t n, int adds)
{
    MAP_BACK(dx, dy, x, n, adds, silu_slope);
}
static void sigmoid(real *y, const real *x, size_t n) { MAP(y, x, n, sigmoid_of); }
static void sigmoid_back(real *dx, const real *dy, const real *y, size_t n, int adds)
{
    MAP_BACK(dx, dy, y, n, adds, sigmoid_slope);
}

static void softmax(real *y, const real *x, size_t n)
{
    real top = x[0];
    for (size_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    vec sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec p = vec_exp(not_below(load(x + i) - top, -FAR));
        store(y + i, p);
        sum += p;
    }
    if (i < n) {
        vec p =
            keep(first_lanes(n - i),
                 vec_exp(keep(first_lanes(n - i), not_below(load_part(x + i, n - i) - top, -FAR))));
        store_part(y + i, p, n - i);
        sum += p;
    }
    const real scale = 1 / sum_lanes(sum);
    for (i = 0; i < n; i++) y[i] *= scale;
}

static void softmax_back(real *dx, const real *dy, const real *y, size_t n, int adds)
{
    vec along = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) along = mul_add(load(dy + i), load(y + i), along);
    if (i < n) along = mul_add(load_part(dy + i, n - i), load_part(y + i, n - i), along);
    const real mean = sum_lanes(along);
    for (i = 0; i < n; i++) dx[i] = mul_add_1(y[i], dy[i] - mean, adds ? dx[i] : 0);
}
