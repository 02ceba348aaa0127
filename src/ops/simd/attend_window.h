/* attend_window - one head of softmax attention among few tokens, forward and backward: all scores
 * at once, in the first cache.
 *
 * Everything is the other way round than in attend.h: vectors go along the queries, so that the
 * softmax over keys takes no sums within vectors. With S' = scale * k q^T + bias' + mask':
 *     P'  = exp(S' - largest of each column) / its sum                       [keys][queries]
 *     out = P v
 *     dP' = v dout^T, dS' = P' (dP' - columns' sums of P' dP'), dbias' = dS',
 *     dv = P' dout, dk = scale * dS' q, dq = scale * dS k.
 * Rows of tokens are gathered first, padded to whole vectors. Lanes past the last query hold
 * numbers that nobody reads. */

/* ---- transposing ----------------------------------------------------------------------------- */

#if LANE_BYTES == 16 && defined(REAL_IS_DOUBLE)
#define FIRST_HALVES  0, 2
#define SECOND_HALVES 1, 3
#elif (LANE_BYTES == 32 && defined(REAL_IS_DOUBLE)) || LANE_BYTES == 16
#define FIRST_HALVES  0, 4, 1, 5
#define SECOND_HALVES 2, 6, 3, 7
#elif LANE_BYTES == 32 || defined(REAL_IS_DOUBLE)
#define FIRST_HALVES  0, 8, 1, 9, 2, 10, 3, 11
#define SECOND_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#else
#define FIRST_HALVES  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SECOND_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

/* Lanes of a and b in turn, from their first or their second halves. */
#if defined(__clang__)
#define INTERLEAVE(a, b, lanes) __builtin_shufflevector(a, b, lanes)
#else
#if defined(REAL_IS_DOUBLE)
typedef long long lane_numbers __attribute__((vector_size(LANE_BYTES)));
#else
typedef int lane_numbers __attribute__((vector_size(LANE_BYTES)));
#endif
#define INTERLEAVE(a, b, lanes) __builtin_shuffle(a, b, (lane_numbers){lanes})
#endif

/* Transposes LANES vectors: each step interleaves row i with row i + LANES/2. */
INLINE void transpose_block(vec r[LANES])
{
    for (int step = 1; step < LANES; step *= 2) {
        vec next[LANES];
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = INTERLEAVE(r[i], r[i + LANES / 2], FIRST_HALVES);
            next[2 * i + 1] = INTERLEAVE(r[i], r[i + LANES / 2], SECOND_HALVES);
        }
        for (int i = 0; i < LANES; i++) r[i] = next[i];
    }
}

/* to[wide][across] = factor * from[tokens][wide]^T, padded with 0 */
static void transpose_rows(real *to, size_t across, const real *from, size_t wide, size_t tokens,
                           real factor)
{
    for (size_t t = 0; t < across; t += LANES)
        for (size_t d = 0; d < wide; d += LANES) {
            vec r[LANES];
            for (int l = 0; l < LANES; l++)
                r[l] = t + (size_t)l < tokens ? load(from + (t + (size_t)l) * wide + d) * factor
                                              : (vec){0};
            transpose_block(r);
            for (int l = 0; l < LANES; l++) store(to + (d + (size_t)l) * across + t, r[l]);
        }
}

/* ---- tokens of a window ---------------------------------------------------------------------- */

/* to[tokens][wide] = from[order[t]][width], padded with 0; the next head's numbers, which are
 * beside these, are prefetched. */
static void gather_tokens(const attend_window_args *a, real *to, size_t wide, const real *from,
                          size_t row, size_t width)
{
    const size_t whole = width / LANES * LANES;
    for (size_t t = 0; t < a->tokens; t++, to += wide) {
        if (a->order && a->order[t] < 0) {
            for (size_t d = 0; d < wide; d += LANES) store(to + d, (vec){0});
            continue;
        }
        const real *x = from + (a->order ? (size_t)a->order[t] : t) * row;
        for (size_t d = 0; d < whole; d += LANES) store(to + d, load(x + d));
        if (whole < width) store(to + whole, load_part(x + whole, width - whole));
        for (size_t d = width; d < 2 * width; d += 64 / sizeof(real)) __builtin_prefetch(x + d);
    }
}

/* to[order[t]][width] (+)= factor * from[tokens][wide] */
static void scatter_tokens(const attend_window_args *a, real *to, size_t row, const real *from,
                           size_t wide, size_t width, const real *factor, size_t factor_step,
                           int adds)
{
    for (size_t t = 0; t < a->tokens; t++, from += wide, factor += factor_step)
        if (!a->order || a->order[t] >= 0)
            put(to + (a->order ? (size_t)a->order[t] : t) * row, 0, from, 0, 1, width, *factor,
                adds);
}

typedef struct window_pieces {
    size_t across, wide, v_wide;
    real *q, *k, *v, *qt, *p, *rows, *sums, *dout, *doutt, *ds;
    size_t total;
} window_pieces;

static window_pieces cut_window(size_t tokens, size_t width, size_t v_width, int back,
                                real *scratch)
{
    window_pieces s = {.across = padded(tokens), .wide = padded(width), .v_wide = padded(v_width)};
    size_t at = 0;
#define PIECE(name, numbers) (s.name = scratch + at, at += (numbers))
    PIECE(q, tokens * s.wide);
    PIECE(k, tokens * s.wide);
    PIECE(v, tokens * s.v_wide);
    PIECE(qt, s.wide * s.across);
    PIECE(p, tokens * s.across);
    PIECE(rows, tokens * (s.wide > s.v_wide ? s.wide : s.v_wide));
    PIECE(sums, s.across);
    if (back) {
        PIECE(dout, tokens * s.v_wide);
        PIECE(doutt, s.v_wide * s.across);
        PIECE(ds, tokens * s.across);
    }
#undef PIECE
    s.total = at;
    return s;
}

static size_t attend_window_scratch_size(size_t tokens, size_t width, size_t v_width, int back)
{
    static real nothing[1];
    return cut_window(tokens, width, v_width, back, nothing).total;
}

static size_t attend_window_row(size_t tokens) { return padded(tokens); }

/* ---- forward --------------------------------------------------------------------------------- */

/* S' of the whole window. */
static void window_scores(const attend_window_args *a, const window_pieces *s)
{
    const size_t T = a->tokens, numbers = T * s->across;
    gather_tokens(a, s->q, s->wide, a->q, a->q_row, a->width);
    gather_tokens(a, s->k, s->wide, a->k, a->k_row, a->width);
    gather_tokens(a, s->v, s->v_wide, a->v, a->v_row, a->v_width);
    transpose_rows(s->qt, s->across, s->q, s->wide, T, a->scale);
    if (a->bias && a->mask)
        for (size_t i = 0; i < numbers; i += LANES)
            store(s->p + i, load(a->bias + i) + load(a->mask + i));
    else if (a->bias || a->mask)
        for (size_t i = 0; i < numbers; i += LANES)
            store(s->p + i, load((a->bias ? a->bias : a->mask) + i));
    product(s->p, s->across, s->k, s->wide, 1, s->qt, s->across, T, s->across, a->width,
            a->bias || a->mask);
}

/* Turns scores into exponentials relative to the largest of their query; sums gets one over their
 * sum for each query. */
static void window_exponentials(const window_pieces *s, size_t tokens)
{
    for (size_t i = 0; i < s->across; i += LANES) {
        real *p = s->p + i;
        vec top = load(p), sum = {0};
        for (size_t t = 1; t < tokens; t++) top = larger(load(p + t * s->across), top);
        for (size_t t = 0; t < tokens; t++) {
            vec e = vec_exp(not_below(load(p + t * s->across) - top, -FAR));
            store(p + t * s->across, e);
            sum += e;
        }
        store(s->sums + i, 1 / sum);
    }
}

static void attend_window(const attend_window_args *a)
{
    const window_pieces s = cut_window(a->tokens, a->width, a->v_width, 0, a->scratch);
    const size_t T = a->tokens;
    window_scores(a, &s);
    window_exponentials(&s, T);
    product(s.rows, s.v_wide, s.p, 1, s.across, s.v, s.v_wide, T, s.v_wide, T, 0);
    scatter_tokens(a, a->out, a->out_row, s.rows, s.v_wide, a->v_width, s.sums, 1, 0);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* P' in the place of exponentials, dS' in that of dP'. */
static void window_gradients(const window_pieces *s, size_t tokens)
{
    for (size_t i = 0; i < s->across; i += LANES) {
        real *p = s->p + i, *ds = s->ds + i;
        const vec share = load(s->sums + i);
        vec along = {0};
        for (size_t t = 0; t < tokens * s->across; t += s->across) {
            vec e = load(p + t) * share;
            store(p + t, e);
            along += e * load(ds + t);
        }
        for (size_t t = 0; t < tokens * s->across; t += s->across)
            store(ds + t, load(p + t) * (load(ds + t) - along));
    }
}

static void attend_window_back(const attend_window_args *a)
{
    const window_pieces s = cut_window(a->tokens, a->width, a->v_width, 1, a->scratch);
    const size_t T = a->tokens, across = s.across;
    const real one = 1;
    window_scores(a, &s);
    gather_tokens(a, s.dout, s.v_wide, a->dout, a->out_row, a->v_width);
    transpose_rows(s.doutt, across, s.dout, s.v_wide, T, 1);
    product(s.ds, across, s.v, s.v_wide, 1, s.doutt, across, T, across, a->v_width, 0);
    window_exponentials(&s, T);
    window_gradients(&s, T);
    for (size_t i = 0; a->dbias && i < T * across; i += LANES)
        store(a->dbias + i, load(a->dbias + i) + load(s.ds + i));
    if (a->dq) {
        product(s.rows, s.wide, s.ds, 1, across, s.k, s.wide, T, s.wide, T, 0);
        scatter_tokens(a, a->dq, a->q_row, s.rows, s.wide, a->width, &a->scale, 0, a->dq_adds);
    }
    if (a->dk) {
        product(s.rows, s.wide, s.ds, across, 1, s.q, s.wide, T, s.wide, T, 0);
        scatter_tokens(a, a->dk, a->k_row, s.rows, s.wide, a->width, &a->scale, 0, a->dk_adds);
    }
    if (a->dv) {
        product(s.rows, s.v_wide, s.p, across, 1, s.dout, s.v_wide, T, s.v_wide, T, 0);
        scatter_tokens(a, a->dv, a->v_row, s.rows, s.v_wide, a->v_width, &one, 0, a->dv_adds);
    }
}
