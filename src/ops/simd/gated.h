/* gated - products with functions of single numbers, in one pass over memory. */

/* Numbers [i, i + count) as vectors, count being LANES but for the last ones. */
#define LOAD_SOME(p)     (count == LANES ? load((p) + i) : load_part((p) + i, count))
#define STORE_SOME(p, v) (count == LANES ? store((p) + i, v) : store_part((p) + i, v, count))
#define ADD_SOME(p, v, adds)                                                                       \
    do {                                                                                           \
        if (p) STORE_SOME(p, (adds) ? LOAD_SOME(p) + (v) : (v));                                   \
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
    vec db = dy * LOAD_SOME(g->a) * silu_slope_from(b, s);
    ADD_SOME(g->da, dy * silu_from(b, s), g->adds[0]);
    ADD_SOME(g->db, db, g->adds[1]);
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
    vec x = LOAD_SOME(g->x), new = silu_of(LOAD_SOME(g->h) + LOAD_SOME(g->p));
    STORE_SOME(g->y, x + sigmoid_of(LOAD_SOME(g->u)) * (new - x));
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
    vec through = dy * gate, dsum = through * silu_slope_from(sum, s);
    vec du = through * (1 - gate) * (silu_from(sum, s) - LOAD_SOME(g->x));
    ADD_SOME(g->dx, dy - through, g->adds[0]);
    ADD_SOME(g->du, du, g->adds[1]);
    ADD_SOME(g->dh, dsum, g->adds[2]);
    ADD_SOME(g->dp, dsum, g->adds[3]);
}

static void gated_update_back(const gated_update_args *g, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) gated_update_back_at(g, i, LANES);
    if (i < n) gated_update_back_at(g, i, n - i);
}
