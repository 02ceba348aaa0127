/* attend_window - one head of softmax attention among few tokens, forward and backward: a strip of
 * queries at a time, whose scores stay in the first cache.
 *
 * Everything is the other way round than in attend.h: vectors go along the queries, so that the
 * softmax over keys takes no sums within vectors, and products with narrow heads still fill the
 * vectors. With S' = scale * k q^T + bias' + mask' for the queries of a strip:
 *     P'   = exp(S' - largest of each column) / its sum                      [keys][queries]
 *     out' = v^T P'
 *     dP' = v dout^T, dS' = P' (dP' - columns' sums of P' dP'), dbias' = dS',
 *     dq' = scale * k^T dS';  dv += P' dout, dk += scale * dS' q.
 * Forward keeps lse, the log of the sum of exponentials of each query, for backward to begin with
 * P' = exp(S' - lse). Rows of tokens are gathered first, padded to whole vectors. Lanes past the
 * last query hold values that are never read. Where they would be most of a last vector, as with a
 * class token and 64 patches, its few queries are attended to one by one, with vectors along keys
 * and widths. */

/* Queries of a strip: two vectors. */
enum { STRIP_VECTORS = 2, STRIP = STRIP_VECTORS * LANES };

/* ---- transposing ----------------------------------------------------------------------------- */

#if LANE_BYTES == 4 /* one lane, nothing to transpose */
#define FIRST_HALVES  0
#define SECOND_HALVES 1
#elif LANE_BYTES == 16 && defined(REAL_IS_DOUBLE)
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

/* to[wide][STRIP] = factor * from[tokens][wide]^T for `vectors` vectors of tokens, padded with 0 */
static void transpose_strip(real *to, size_t vectors, const real *from, size_t wide, size_t tokens,
                            real factor)
{
    for (size_t t = 0; t < vectors * LANES; t += LANES)
        for (size_t d = 0; d < wide; d += LANES) {
            vec r[LANES];
            for (int l = 0; l < LANES; l++)
                r[l] = t + (size_t)l < tokens ? load(from + (t + (size_t)l) * wide + d) * factor
                                              : (vec){0};
            transpose_block(r);
            for (int l = 0; l < LANES; l++) store(to + (d + (size_t)l) * STRIP + t, r[l]);
        }
}

/* to[tokens][wide] = from[wide][STRIP]^T * factor, an element for each token; wide tokens may be
 * written past the last one */
static void transpose_back(real *to, size_t vectors, const real *from, size_t wide,
                           const real *factor)
{
    for (size_t t = 0; t < vectors * LANES; t += LANES) {
        const vec f = load(factor + t);
        for (size_t d = 0; d < wide; d += LANES) {
            vec r[LANES];
            for (int l = 0; l < LANES; l++) r[l] = load(from + (d + (size_t)l) * STRIP + t) * f;
            transpose_block(r);
            for (int l = 0; l < LANES; l++) store(to + (t + (size_t)l) * wide + d, r[l]);
        }
    }
}

/* ---- tokens of a window ---------------------------------------------------------------------- */

/* to[tokens][wide] = from[order[t]][width], padded with 0; the next head's elements, which are
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

/* to[order[t]][width] (+)= factor * from[tokens][wide], for tokens [first, end) */
static void scatter_tokens(const attend_window_args *a, real *to, size_t row, const real *from,
                           size_t wide, size_t width, size_t first, size_t end, real factor,
                           int adds)
{
    for (size_t t = first; t < end; t++, from += wide)
        if (!a->order || a->order[t] >= 0)
            put(to + (a->order ? (size_t)a->order[t] : t) * row, 0, from, 0, 1, width, factor,
                adds);
}

typedef struct window_pieces {
    size_t wide, v_wide;
    real *q, *k, *v, *qt, *p, *transposed, *rows, *sums;
    real *dout, *doutt, *ds, *dk, *dv;
    size_t total;
} window_pieces;

static window_pieces cut_window(size_t tokens, size_t width, size_t v_width, int back,
                                real *scratch)
{
    window_pieces s = {.wide = padded(width), .v_wide = padded(v_width)};
    const size_t widest = s.wide > s.v_wide ? s.wide : s.v_wide;
    size_t at = 0;
#define PIECE(name, count) (s.name = scratch + at, at += (count))
    PIECE(q, tokens * s.wide);
    PIECE(k, tokens * s.wide);
    PIECE(v, tokens * s.v_wide);
    PIECE(qt, s.wide * STRIP);
    PIECE(p, tokens * STRIP);
    PIECE(transposed, widest * STRIP);
    PIECE(rows, STRIP * widest);
    PIECE(sums, STRIP);
    if (back) {
        PIECE(dout, tokens * s.v_wide);
        PIECE(doutt, s.v_wide * STRIP);
        PIECE(ds, tokens * STRIP);
        PIECE(dk, tokens * s.wide);
        PIECE(dv, tokens * s.v_wide);
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

/* A strip: queries from `first` on, `count` of them, in so many vectors. */
typedef struct strip {
    size_t first, count, vectors;
} strip;

static strip strip_at(const attend_window_args *a, size_t first)
{
    const size_t left = a->tokens - first;
    return (strip){first, left < STRIP ? left : STRIP, left > LANES ? STRIP_VECTORS : 1};
}

/* C[m][strip] (+)= A B, B and C being of STRIP columns. */
static void strip_product(real *c, const real *a, size_t a_row, size_t a_k, const real *b, size_t m,
                          size_t k, size_t vectors, int adds)
{
    product(c, STRIP, a, a_row, a_k, b, STRIP, m, vectors * LANES, k, adds);
}

/* Whether the queries of a strip are so few that they are better off one by one. */
INLINE int is_sparse(strip q) { return 4 * q.count <= LANES; }

/* ---- queries one by one ---------------------------------------------------------------------- */

/* p[t] = x . rows[t] for all tokens, both padded to whole vectors with 0 */
static void dots(real *p, const real *x, const real *rows, size_t wide, size_t tokens)
{
    for (size_t t = 0; t < tokens; t++, rows += wide) {
        vec sum = load(x) * load(rows);
        for (size_t d = LANES; d < wide; d += LANES)
            sum = mul_add(load(x + d), load(rows + d), sum);
        p[t] = sum_lanes(sum);
    }
}

/* The scores of query i. */
static void query_scores(const attend_window_args *a, const window_pieces *s, size_t i)
{
    const size_t row = attend_window_row(a->tokens);
    const real *bias = a->bias ? a->bias : a->mask, *more = a->bias ? a->mask : NULL;
    dots(s->p, s->q + i * s->wide, s->k, s->wide, a->tokens);
    for (size_t t = 0; t < a->tokens; t++) {
        s->p[t] = bias ? mul_add_1(s->p[t], a->scale, bias[t * row + i]) : s->p[t] * a->scale;
        if (more) s->p[t] += more[t * row + i];
    }
}

static void attend_query(const attend_window_args *a, const window_pieces *s, size_t i)
{
    real sum;
    query_scores(a, s, i);
    const real max = exponentials(s->p, a->tokens, &sum);
    if (a->lse) a->lse[i] = max + real_log(sum);
    product(s->rows, s->v_wide, s->p, 1, 1, s->v, s->v_wide, 1, s->v_wide, a->tokens, 0);
    scatter_tokens(a, a->out, a->out_row, s->rows, s->v_wide, a->v_width, i, i + 1, 1 / sum, 0);
}

/* P in the place of the scores, dS in that of dP. */
static void query_gradients(const attend_window_args *a, const window_pieces *s, real lse)
{
    real *p = s->p, *ds = s->ds;
    const size_t last = padded(a->tokens) - LANES;
    const mask there = first_lanes(a->tokens - last);
    vec sum = {0};
    for (size_t t = 0; t <= last; t += LANES) {
        vec score = load(p + t) - lse, dp = load(ds + t);
        if (t == last) score = keep(there, score), dp = keep(there, dp);
        const vec e = vec_exp(not_below(score, -FAR));
        store(p + t, e);
        store(ds + t, dp);
        sum = mul_add(e, dp, sum);
    }
    const real along = sum_lanes(sum);
    for (size_t t = 0; t <= last; t += LANES) store(ds + t, load(p + t) * (load(ds + t) - along));
}

static void attend_query_back(const attend_window_args *a, const window_pieces *s, size_t i)
{
    const size_t T = a->tokens, row = attend_window_row(T);
    const real *dout = s->dout + i * s->v_wide, *q = s->q + i * s->wide;
    query_scores(a, s, i);
    dots(s->ds, dout, s->v, s->v_wide, T);
    query_gradients(a, s, a->lse[i]);
    for (size_t t = 0; a->dbias && t < T; t++) a->dbias[t * row + i] += s->ds[t];
    if (a->dv) product(s->dv, s->v_wide, s->p, 1, 1, dout, s->v_wide, T, s->v_wide, 1, i > 0);
    if (a->dk) product(s->dk, s->wide, s->ds, 1, 1, q, s->wide, T, s->wide, 1, i > 0);
    if (!a->dq) return;
    product(s->rows, s->wide, s->ds, 1, 1, s->k, s->wide, 1, s->wide, T, 0);
    scatter_tokens(a, a->dq, a->q_row, s->rows, s->wide, a->width, i, i + 1, a->scale, a->dq_adds);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Rows of `transposed` past the widths are transposed with the others, but never filled. */
static void clear_padding(const attend_window_args *a, const window_pieces *s)
{
    const size_t narrowest = a->width < a->v_width ? a->width : a->v_width,
                 widest = s->wide > s->v_wide ? s->wide : s->v_wide;
    for (size_t at = narrowest * STRIP; at < widest * STRIP; at += LANES)
        store(s->transposed + at, (vec){0});
}

static void gather_qkv(const attend_window_args *a, const window_pieces *s)
{
    clear_padding(a, s);
    gather_tokens(a, s->q, s->wide, a->q, a->q_row, a->width);
    gather_tokens(a, s->k, s->wide, a->k, a->k_row, a->width);
    gather_tokens(a, s->v, s->v_wide, a->v, a->v_row, a->v_width);
}

/* S' of a strip. */
static void strip_scores(const attend_window_args *a, const window_pieces *s, strip q)
{
    const size_t T = a->tokens, row = attend_window_row(T);
    const real *bias = a->bias ? a->bias : a->mask, *more = a->bias ? a->mask : NULL;
    transpose_strip(s->qt, q.vectors, s->q + q.first * s->wide, s->wide, q.count, a->scale);
    for (size_t t = 0; bias && t < T; t++)
        for (size_t j = 0; j < q.vectors * LANES; j += LANES) {
            const size_t at = t * row + q.first + j;
            store(s->p + t * STRIP + j, more ? load(bias + at) + load(more + at) : load(bias + at));
        }
    strip_product(s->p, s->k, s->wide, 1, s->qt, T, a->width, q.vectors, bias != NULL);
}

/* Turns scores into exponentials relative to the largest of their query; sums gets one over their
 * sum for each query, lse its logarithm. */
static void strip_exponentials(const attend_window_args *a, const window_pieces *s, strip q)
{
    for (size_t j = 0; j < q.vectors * LANES; j += LANES) {
        real *p = s->p + j, logs[LANES];
        vec top = load(p), more = top, sum = {0}, second = {0};
        size_t t = 1;
        for (; t + 2 <= a->tokens; t += 2) {
            top = larger(load(p + t * STRIP), top);
            more = larger(load(p + (t + 1) * STRIP), more);
        }
        if (t < a->tokens) top = larger(load(p + t * STRIP), top);
        top = larger(top, more);
        for (t = 0; t + 2 <= a->tokens; t += 2) {
            vec e = vec_exp(not_below(load(p + t * STRIP) - top, -FAR));
            vec f = vec_exp(not_below(load(p + (t + 1) * STRIP) - top, -FAR));
            store(p + t * STRIP, e);
            store(p + (t + 1) * STRIP, f);
            sum += e;
            second += f;
        }
        if (t < a->tokens) {
            vec e = vec_exp(not_below(load(p + t * STRIP) - top, -FAR));
            store(p + t * STRIP, e);
            sum += e;
        }
        sum += second;
        store(s->sums + j, 1 / sum);
        if (!a->lse) continue;
        for (int l = 0; l < LANES; l++) logs[l] = real_log(sum[l]);
        store(a->lse + q.first + j, top + load(logs));
    }
}

static void attend_window(const attend_window_args *a)
{
    const window_pieces s = cut_window(a->tokens, a->width, a->v_width, 0, a->scratch);
    gather_qkv(a, &s);
    for (size_t first = 0; first < a->tokens; first += STRIP) {
        const strip q = strip_at(a, first);
        if (is_sparse(q)) {
            for (size_t i = first; i < first + q.count; i++) attend_query(a, &s, i);
            continue;
        }
        strip_scores(a, &s, q);
        strip_exponentials(a, &s, q);
        strip_product(s.transposed, s.v, 1, s.v_wide, s.p, a->v_width, a->tokens, q.vectors, 0);
        transpose_back(s.rows, q.vectors, s.transposed, s.v_wide, s.sums);
        scatter_tokens(a, a->out, a->out_row, s.rows, s.v_wide, a->v_width, first, first + q.count,
                       1, 0);
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* P' in the place of scores, dS' in that of dP'. */
static void strip_gradients(const attend_window_args *a, const window_pieces *s, strip q)
{
    for (size_t j = 0; j < q.vectors * LANES; j += LANES) {
        real *p = s->p + j, *ds = s->ds + j;
        const vec lse = load(a->lse + q.first + j);
        vec along = {0}, more = {0};
        size_t t = 0, end = a->tokens * STRIP;
        for (; t + 2 * STRIP <= end; t += 2 * STRIP) {
            vec e = vec_exp(not_below(load(p + t) - lse, -FAR));
            vec f = vec_exp(not_below(load(p + t + STRIP) - lse, -FAR));
            store(p + t, e);
            store(p + t + STRIP, f);
            along = mul_add(e, load(ds + t), along);
            more = mul_add(f, load(ds + t + STRIP), more);
        }
        if (t < end) {
            vec e = vec_exp(not_below(load(p + t) - lse, -FAR));
            store(p + t, e);
            along = mul_add(e, load(ds + t), along);
        }
        along += more;
        for (t = 0; t < end; t += STRIP) store(ds + t, load(p + t) * (load(ds + t) - along));
    }
}

static void add_bias_gradient(const attend_window_args *a, const window_pieces *s, strip q)
{
    const size_t row = attend_window_row(a->tokens);
    for (size_t t = 0; t < a->tokens; t++)
        for (size_t j = 0; j < q.vectors * LANES; j += LANES) {
            real *at = a->dbias + t * row + q.first + j;
            store(at, load(at) + load(s->ds + t * STRIP + j));
        }
}

static void attend_window_back(const attend_window_args *a)
{
    const window_pieces s = cut_window(a->tokens, a->width, a->v_width, 1, a->scratch);
    const size_t T = a->tokens;
    gather_qkv(a, &s);
    gather_tokens(a, s.dout, s.v_wide, a->dout, a->out_row, a->v_width);
    for (int l = 0; l < STRIP; l++) s.sums[l] = a->scale;
    for (size_t first = 0; first < T; first += STRIP) {
        const strip q = strip_at(a, first);
        const real *dout = s.dout + first * s.v_wide, *rows = s.q + first * s.wide;
        if (is_sparse(q)) {
            for (size_t i = first; i < first + q.count; i++) attend_query_back(a, &s, i);
            continue;
        }
        strip_scores(a, &s, q);
        transpose_strip(s.doutt, q.vectors, dout, s.v_wide, q.count, 1);
        strip_product(s.ds, s.v, s.v_wide, 1, s.doutt, T, a->v_width, q.vectors, 0);
        strip_gradients(a, &s, q);
        if (a->dbias) add_bias_gradient(a, &s, q);
        if (a->dv)
            product(s.dv, s.v_wide, s.p, STRIP, 1, dout, s.v_wide, T, s.v_wide, q.count, first > 0);
        if (a->dk)
            product(s.dk, s.wide, s.ds, STRIP, 1, rows, s.wide, T, s.wide, q.count, first > 0);
        if (!a->dq) continue;
        strip_product(s.transposed, s.k, 1, s.wide, s.ds, a->width, T, q.vectors, 0);
        transpose_back(s.rows, q.vectors, s.transposed, s.wide, s.sums);
        scatter_tokens(a, a->dq, a->q_row, s.rows, s.wide, a->width, first, first + q.count, 1,
                       a->dq_adds);
    }
    if (a->dk)
        scatter_tokens(a, a->dk, a->k_row, s.dk, s.wide, a->width, 0, T, a->scale, a->dk_adds);
    if (a->dv) scatter_tokens(a, a->dv, a->v_row, s.dv, s.v_wide, a->v_width, 0, T, 1, a->dv_adds);
}
