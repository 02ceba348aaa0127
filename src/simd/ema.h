/* ema - the recurrence of an exponential moving average with several decays, vectorised over
 * channels, and its adjoint; simd_table.h has the formulas.
 *
 * N states stay in registers; their q and c are operands in memory. The adjoint runs on mu, the
 * gradient of a state divided by its c:
 *     mu[k] = q*mu[k+1] + dz[k],  du[k] += sum c*mu[k],  dc += dz[k]*h[k],  dq += c*mu[k]*h[k-1]
 * It keeps the states before every `keep`-th token and recomputes the others. */

INLINE void ema_scan_block(const int N, real *z, const real *u, ptrdiff_t step, size_t tokens,
                           const real *q, const real *c)
{
    vec h[EMA_MAX_STATES];
#pragma GCC unroll 16
    for (int n = 0; n < N; n++) h[n] = (vec){0};
    for (; tokens; tokens--, u += step, z += step) {
        const vec now = load(u);
        vec sum[4] = {load(z)};
#pragma GCC unroll 16
        for (int n = 0; n < N; n++) {
            h[n] = mul_add(load(q + n * LANES), h[n], now);
            sum[n % 4] = mul_add(load(c + n * LANES), h[n], sum[n % 4]);
        }
        store(z, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

/* Advances the states in `from` over `tokens` tokens; stores the states before token k, for every k
 * that is a multiple of `every`, in kept[k*kept_step]. */
INLINE void ema_states(const int N, real *kept, size_t every, const real *from, const real *u,
                       ptrdiff_t step, size_t tokens, const real *q)
{
    vec h[EMA_MAX_STATES];
#pragma GCC unroll 16
    for (int n = 0; n < N; n++) h[n] = from ? load(from + n * LANES) : (vec){0};
    for (size_t done = 0; done < tokens; kept += N * LANES) {
#pragma GCC unroll 16
        for (int n = 0; n < N; n++) store(kept + n * LANES, h[n]);
        for (size_t k = 0; k < every && done < tokens; k++, done++, u += step) {
            const vec now = load(u);
#pragma GCC unroll 16
            for (int n = 0; n < N; n++) h[n] = mul_add(load(q + n * LANES), h[n], now);
        }
    }
    /* also the states after the last token; needed only when all are kept */
    if (every == 1)
#pragma GCC unroll 16
        for (int n = 0; n < N; n++) store(kept + n * LANES, h[n]);
}

INLINE void ema_back_block(const int N, real *du, const real *dz, const real *u, ptrdiff_t step,
                           size_t tokens, const real *q, const real *c, real *dq, real *dc,
                           size_t keep, real *scratch)
{
    const size_t blocks = (tokens + keep - 1) / keep;
    real *kept = scratch + (keep + 1) * (size_t)(N * LANES); /* before each block */
    vec mu[EMA_MAX_STATES], sum_q[EMA_MAX_STATES], sum_c[EMA_MAX_STATES];
#pragma GCC unroll 16
    for (int n = 0; n < N; n++) mu[n] = sum_q[n] = sum_c[n] = (vec){0};
    ema_states(N, kept, keep, NULL, u, step, tokens, q);
    for (size_t b = blocks; b--;) {
        const size_t first = b * keep, count = tokens - first < keep ? tokens - first : keep;
        ema_states(N, scratch, 1, kept + b * (size_t)(N * LANES), u + (ptrdiff_t)first * step, step,
                   count, q);
        for (size_t k = count; k--;) {
            const ptrdiff_t at = (ptrdiff_t)(first + k) * step;
            const real *before = scratch + k * (size_t)(N * LANES), *h = before + N * LANES;
            const vec d = load(dz + at);
            vec out[2] = {load(du + at)};
#pragma GCC unroll 16
            for (int n = 0; n < N; n++) {
                mu[n] = mul_add(load(q + n * LANES), mu[n], d);
                out[n % 2] = mul_add(load(c + n * LANES), mu[n], out[n % 2]);
                sum_c[n] = mul_add(d, load(h + n * LANES), sum_c[n]);
                sum_q[n] = mul_add(mu[n], load(before + n * LANES), sum_q[n]);
            }
            store(du + at, out[0] + out[1]);
        }
    }
#pragma GCC unroll 16
    for (int n = 0; n < N; n++) {
        store(dc + n * LANES, load(dc + n * LANES) + sum_c[n]);
        store(dq + n * LANES, mul_add(load(c + n * LANES), sum_q[n], load(dq + n * LANES)));
    }
}

#define EMA_SCAN(N)                                                                                \
    static void ema_scan_##N(real *z, const real *u, ptrdiff_t step, size_t tokens, const real *q, \
                             const real *c)                                                        \
    {                                                                                              \
        ema_scan_block(N, z, u, step, tokens, q, c);                                               \
    }
#define EMA_BACK(N)                                                                                \
    static void ema_back_##N(real *du, const real *dz, const real *u, ptrdiff_t step,              \
                             size_t tokens, const real *q, const real *c, real *dq, real *dc,      \
                             size_t keep, real *scratch)                                           \
    {                                                                                              \
        ema_back_block(N, du, dz, u, step, tokens, q, c, dq, dc, keep, scratch);                   \
    }

/* clang-format off */
EMA_SCAN(4) EMA_SCAN(8)
EMA_BACK(4)
#ifdef MANY_REGISTERS
EMA_SCAN(16)
EMA_BACK(8)
#else
#define ema_scan_16 NULL
#define ema_back_8 NULL
#endif
    /* clang-format on */

    static void ema_activate(real *y, const real *z, size_t n)
{
    for (size_t i = 0; i < n; i++) store(y + i * LANES, silu_of(load(z + i * LANES)));
}

static void ema_activate_back(real *dz, const real *dy, const real *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store(dz + i * LANES, load(dy + i * LANES) * silu_slope(load(z + i * LANES)));
}

static void ema_scale(real *y, const real *x, const real *factor, size_t n)
{
    const vec by = load(factor);
    for (size_t i = 0; i < n; i++) store(y + i * LANES, by * load(x + i * LANES));
}

#define EMA_TABLE                                                                                  \
    {                                                                                              \
        .scan = {ema_scan_4, ema_scan_8, ema_scan_16}, .back = {ema_back_4, ema_back_8},           \
        .activate = ema_activate, .activate_back = ema_activate_back, .scale = ema_scale           \
    }
