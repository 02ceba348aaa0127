/* gated - products with elementwise functions, in one pass over memory. */

/* Elements [i, i + count) as vectors, count being LANES but for the last ones. */
#define LOAD_SOME(p)     (count == LANES ? load((p) + i) : load_part((p) + i, count))
#define STORE_SOME(p, v) (count == LANES ? store((p) + i, v) : store_part((p) + i, v, count))
#define ADD_SOME(p, v, adds)                                                                       \
    do {                                                                                           \
        if (p) STORE_SOME(p, (adds) ? LOAD_SOME(p) + (v) : (v));                                   \
    } while (0)
#define ADD_PRODUCT(p, a, b, adds)                                                                 \
    do {                                                                                           \
        if (p) STORE_SOME(p, (adds) ? mul_add(a, b, LOAD_SOME(p)) : (a) * (b));                    \
    } while (0)

INLINE void silu_gate_at(real *y, const real *a, const real *b, size_t i, size_t count)
{
    STORE_SOME(y, LOAD_SOME(a) * silu_of(LOAD_SOME(b)));
}

static void silu_gate(real *y, const real *a, const real *b, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) silu_gate_at(y, a, b, i, LANES);
    if (i < n) silu_gate_at(y, a, b, i, n - i);
}

INLINE void silu_gate_back_at(const silu_gate_args *g, size_t i, size_t count)
{
    vec dy = LOAD_SOME(g->dy), b = LOAD_SOME(g->b), s = sigmoid_of(b);
    ADD_PRODUCT(g->da, dy, silu_from(b, s), g->adds[0]);
    ADD_PRODUCT(g->db, dy * LOAD_SOME(g->a), silu_slope_from(b, s), g->adds[1]);
}

static void silu_gate_back(const silu_gate_args *g, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) silu_gate_back_at(g, i, LANES);
    if (i < n) silu_gate_back_at(g, i, n - i);
}

/* y = x + sigmoid(u) (silu(h + p) - x) */
INLINE void gated_update_at(const gated_update_args *g, size_t i, size_t count)
{
    vec x = LOAD_SOME(g->x), sum = LOAD_SOME(g->h) + LOAD_SOME(g->p);
    vec change = silu_from_minus(sum, sigmoid_of(sum), x);
    STORE_SOME(g->y, mul_add(sigmoid_of(LOAD_SOME(g->u)), change, x));
}

static void gated_update(const gated_update_args *g, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) gated_update_at(g, i, LANES);
    if (i < n) gated_update_at(g, i, n - i);
}

INLINE void gated_update_back_at(const gated_update_args *g, size_t i, size_t count)
{
    vec dy = LOAD_SOME(g->dy), gate = sigmoid_of(LOAD_SOME(g->u));
    vec sum = LOAD_SOME(g->h) + LOAD_SOME(g->p), s = sigmoid_of(sum);
    vec through = dy * gate, slope = silu_slope_from(sum, s);
    vec change = silu_from_minus(sum, s, LOAD_SOME(g->x));
    ADD_SOME(g->dx, dy - through, g->adds[0]);
    ADD_PRODUCT(g->du, through * (1 - gate), change, g->adds[1]);
    ADD_PRODUCT(g->dh, through, slope, g->adds[2]);
    ADD_PRODUCT(g->dp, through, slope, g->adds[3]);
}

static void gated_update_back(const gated_update_args *g, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) gated_update_back_at(g, i, LANES);
    if (i < n) gated_update_back_at(g, i, n - i);
}
