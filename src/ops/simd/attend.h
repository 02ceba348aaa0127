/* attend - one head of attention, forward and backward, in tiles of queries.
 *
 * A tile of scores never leaves the cache, so that memory does not grow with tokens * tokens.
 * Backward computes the scores S = scale * q k^T + bias + mask anew:
 *     softmax: P = exp(S - lse), dS = P (dP - rowsum(dout out)); forward keeps lse, the log of the
 *              sum of exponentials of each row;
 *     laplace: P = (1 + erf(z))/2 with z = (S - mu)/(sigma sqrt 2),
 *              dS = dP exp(-z^2)/(sigma sqrt(2 pi));
 *     dP = dout v^T, dv = P^T dout, dk = scale * dS^T q, dq = scale * dS k, dbias = dS.
 * What is read by vectors is copied first, with its last axis padded to whole vectors; k and v are
 * transposed for the scores. Of P and dS only the first `tokens` of a row count. */

enum { TILE_NUMBERS = 5120, TILE_MIN = 12 };

INLINE size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Queries in a tile: few enough for the first-level cache, and whole blocks of a product. */
static size_t tile_rows(size_t tokens)
{
    size_t rows = TILE_NUMBERS / padded(tokens) / TILE_MIN * TILE_MIN;
    if (rows < TILE_MIN) rows = TILE_MIN;
    return rows < tokens ? rows : tokens;
}

/* Pieces of the scratch; every row is whole vectors, so that all are aligned. */
typedef struct pieces {
    size_t M, across;    /* queries in a tile; padded tokens */
    size_t wide, v_wide; /* padded widths */
    real *kt, *vt, *p, *ds, *q, *k, *v, *dout, *rows, *sums, *dk, *dv;
    size_t total;
} pieces;

static pieces cut(size_t tokens, size_t width, size_t v_width, int back, real *scratch)
{
    pieces s = {.M = tile_rows(tokens),
                .across = padded(tokens),
                .wide = padded(width),
                .v_wide = padded(v_width)};
    const size_t tile = s.M * s.across;
    size_t at = 0;
#define PIECE(name, count) (s.name = scratch + at, at += (count))
    PIECE(kt, width * s.across);
    PIECE(p, tile);
    PIECE(rows, s.M * (s.wide > s.v_wide ? s.wide : s.v_wide));
    if (!back) {
        PIECE(v, tokens * s.v_wide);
        PIECE(sums, padded(s.M));
    } else {
        PIECE(vt, v_width * s.across);
        PIECE(ds, tile);
        PIECE(q, tokens * s.wide);
        PIECE(k, tokens * s.wide);
        PIECE(dout, tokens * s.v_wide);
        PIECE(dk, tokens * s.wide);
        PIECE(dv, tokens * s.v_wide);
    }
#undef PIECE
    s.total = at;
    return s;
}

static size_t attend_scratch_size(size_t tokens, size_t width, size_t v_width, int back)
{
    static real nothing[1];
    return cut(tokens, width, v_width, back, nothing).total;
}

/* to[width][across] = factor * from[tokens][width]^T, padded with 0. A vector's worth of tokens at
 * a time: their rows stay in the cache, which a whole column at this stride would not. */
static void transpose(real *to, size_t across, const real *from, size_t row, size_t tokens,
                      size_t width, real factor)
{
    size_t t = 0;
    for (; t + LANES <= tokens; t += LANES)
        for (size_t d = 0; d < width; d++)
            for (size_t l = 0; l < LANES; l++)
                to[d * across + t + l] = factor * from[(t + l) * row + d];
    for (size_t d = 0; t < across && d < width; d++)
        for (size_t l = t; l < across; l++)
            to[d * across + l] = l < tokens ? factor * from[l * row + d] : 0;
}

/* to[tokens][wide] = from[tokens][width], padded with 0 */
static void copy(real *to, size_t wide, const real *from, size_t row, size_t tokens, size_t width)
{
    const size_t whole = width / LANES * LANES;
    for (size_t t = 0; t < tokens; t++, to += wide, from += row) {
        for (size_t d = 0; d < whole; d += LANES) store(to + d, load(from + d));
        if (whole < width) store(to + whole, load_part(from + whole, width - whole));
    }
}

/* to[tokens][width] (+)= factor * from[tokens][wide] */
static void put(real *to, size_t row, const real *from, size_t wide, size_t tokens, size_t width,
                real factor, int adds)
{
    const size_t whole = width / LANES * LANES;
    for (size_t t = 0; t < tokens; t++, to += row, from += wide) {
        for (size_t d = 0; d < whole; d += LANES) {
            vec x = load(from + d);
            store(to + d, adds ? mul_add(x, all(factor), load(to + d)) : x * factor);
        }
        for (size_t d = whole; d < width; d++) to[d] = mul_add_1(from[d], factor, adds ? to[d] : 0);
    }
}

/* The largest of a row of scores, and the sum of a row of exponentials; in two chains each. */
INLINE real largest(const real *s, size_t last, mask there)
{
    vec top = choose(there, load(s + last), all(s[0])), more = top;
    size_t t = 0;
    for (; t + 2 * LANES <= last; t += 2 * LANES) {
        top = larger(load(s + t), top);
        more = larger(load(s + t + LANES), more);
    }
    if (t < last) top = larger(load(s + t), top);
    return largest_lane(larger(top, more));
}

INLINE real total(const real *s, size_t last)
{
    vec sum = load(s + last), more = {0};
    size_t t = 0;
    for (; t + 2 * LANES <= last; t += 2 * LANES) {
        sum += load(s + t);
        more += load(s + t + LANES);
    }
    if (t < last) sum += load(s + t);
    return sum_lanes(sum + more);
}

/* Turns a row of scores into exponentials relative to the largest score; returns that, and their
 * sum. */
static real exponentials(real *s, size_t tokens, real *sum)
{
    const size_t last = padded(tokens) - LANES;
    const mask there = first_lanes(tokens - last);
    const real max = largest(s, last, there);
    for (size_t t = 0; t < last; t += LANES)
        store(s + t, vec_exp(not_below(load(s + t) - max, -FAR)));
    store(s + last, keep(there, vec_exp(not_below(keep(there, load(s + last) - max), -FAR))));
    *sum = total(s, last); /* in a pass of its own: sums in registers would not survive calls */
    return max;
}

/* ---- bias and mask --------------------------------------------------------------------------- */

/* to[t] += from[t] */
static void add_row(real *to, const real *from, size_t n)
{
    size_t t = 0;
    for (; t + LANES <= n; t += LANES) store(to + t, load(to + t) + load(from + t));
    for (; t < n; t++) to[t] += from[t];
}

/* Adds bias and mask to the scores of m queries from `first` on. */
static void shift_scores(const attend_args *a, real *s, size_t across, size_t first, size_t m)
{
    const size_t T = a->tokens;
    for (size_t i = first; i < first + m; i++, s += across) {
        if (a->bias && a->position) {
            const real *middle = a->bias + a->center + a->position[i];
            for (size_t t = 0; t < T; t++) s[t] += middle[-a->position[t]];
        } else if (a->bias) {
            add_row(s, a->bias + (ptrdiff_t)i * a->bias_row, T);
        }
        if (a->mask) add_row(s, a->mask + i * T, T);
    }
}

static void collect_bias_gradient(const attend_args *a, const real *ds, size_t across, size_t first,
                                  size_t m)
{
    for (size_t i = first; i < first + m; i++, ds += across)
        if (a->position) {
            real *middle = a->dbias + a->center + a->position[i];
            for (size_t t = 0; t < a->tokens; t++) middle[-a->position[t]] += ds[t];
        } else {
            add_row(a->dbias + (ptrdiff_t)i * a->bias_row, ds, a->tokens);
        }
}

/* ---- laplace --------------------------------------------------------------------------------- */

/* z = (s - mu)/(sigma sqrt 2), with mu and sigma rounded to six digits as published. */
#define LAPLACE_MU    ((real)0.707107)
#define LAPLACE_SCALE ((real)(1 / (0.282095 * 1.41421356237309504880)))
#define LAPLACE_TOP   ((real)(0.39894228040143267794 / 0.282095)) /* 1/(sigma sqrt(2 pi)) */

static void laplace(real *s, size_t across)
{
    for (size_t t = 0; t < across; t += LANES) {
        vec z = (load(s + t) - LAPLACE_MU) * LAPLACE_SCALE;
        store(s + t, mul_add(vec_erf(z), all((real)0.5), all((real)0.5)));
    }
}

/* Rows of P and dS: p holds scores, ds dP. */
static void laplace_gradients(real *p, real *ds, size_t across)
{
    for (size_t t = 0; t < across; t += LANES) {
        vec z = (load(p + t) - LAPLACE_MU) * LAPLACE_SCALE;
        vec slope = vec_exp(not_below(-z * z, -FAR)) * LAPLACE_TOP;
        store(ds + t, load(ds + t) * slope);
        store(p + t, mul_add(vec_erf(z), all((real)0.5), all((real)0.5)));
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Prefetches the next head's elements, which are beside this one's: rows are too far apart for the
 * processor to guess. */
INLINE void fetch_ahead(const attend_args *a, size_t token)
{
    for (size_t d = a->width; d < 2 * a->width; d += 64 / sizeof(real)) {
        __builtin_prefetch(a->q + token * a->q_row + d);
        __builtin_prefetch(a->k + token * a->k_row + d);
    }
    for (size_t d = a->v_width; d < 2 * a->v_width; d += 64 / sizeof(real)) {
        __builtin_prefetch(a->v + token * a->v_row + d);
        __builtin_prefetch(a->out + token * a->out_row + d);
        if (a->dout) __builtin_prefetch(a->dout + token * a->out_row + d);
    }
}

static void attend(const attend_args *a)
{
    const pieces s = cut(a->tokens, a->width, a->v_width, 0, a->scratch);
    const size_t T = a->tokens, d = a->width, dv = a->v_width;
    transpose(s.kt, s.across, a->k, a->k_row, T, d, a->scale);
    copy(s.v, s.v_wide, a->v, a->v_row, T, dv);
    for (size_t first = a->first; first < a->end; first += s.M) {
        const size_t m = a->end - first < s.M ? a->end - first : s.M;
        product(s.p, s.across, a->q + first * a->q_row, a->q_row, 1, s.kt, s.across, m, s.across, d,
                0);
        if (a->bias || a->mask) shift_scores(a, s.p, s.across, first, m);
        for (size_t i = 0; i < m; i++) {
            fetch_ahead(a, first + i);
            if (a->laplace) {
                laplace(s.p + i * s.across, s.across);
                s.sums[i] = 1; /* rows are not normalised */
                continue;
            }
            real max = exponentials(s.p + i * s.across, T, &s.sums[i]);
            if (a->lse) a->lse[first + i] = max + real_log(s.sums[i]);
        }
        product(s.rows, s.v_wide, s.p, s.across, 1, s.v, s.v_wide, m, s.v_wide, T, 0);
        for (size_t i = 0; i < m; i++)
            put(a->out + (first + i) * a->out_row, 0, s.rows + i * s.v_wide, 0, 1, dv,
                1 / s.sums[i], 0);
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Rows of P and dS: p holds scores, ds dP. */
static void softmax_gradients(real *p, real *ds, size_t tokens, real lse, real along)
{
    const size_t last = padded(tokens) - LANES;
    const mask there = first_lanes(tokens - last);
    for (size_t t = 0; t < last; t += LANES) {
        vec e = vec_exp(not_below(load(p + t) - lse, -FAR));
        store(p + t, e);
        store(ds + t, e * (load(ds + t) - along));
    }
    vec e = keep(there, vec_exp(not_below(keep(there, load(p + last) - lse), -FAR)));
    store(p + last, e);
    store(ds + last, e * (load(ds + last) - along));
}

static real dot(const real *x, const real *y, size_t n)
{
    const size_t whole = n / LANES * LANES;
    vec sum = {0};
    for (size_t i = 0; i < whole; i += LANES) sum = mul_add(load(x + i), load(y + i), sum);
    if (whole < n)
        sum = mul_add(load_part(x + whole, n - whole), load_part(y + whole, n - whole), sum);
    return sum_lanes(sum);
}

static void attend_back(const attend_args *a)
{
    const pieces s = cut(a->tokens, a->width, a->v_width, 1, a->scratch);
    const size_t T = a->tokens, d = a->width, dv = a->v_width;
    transpose(s.kt, s.across, a->k, a->k_row, T, d, a->scale);
    transpose(s.vt, s.across, a->v, a->v_row, T, dv, 1);
    copy(s.q, s.wide, a->q, a->q_row, T, d);
    copy(s.k, s.wide, a->k, a->k_row, T, d);
    copy(s.dout, s.v_wide, a->dout, a->out_row, T, dv);
    for (size_t first = 0; first < T; first += s.M) {
        const size_t m = T - first < s.M ? T - first : s.M;
        const real *q = s.q + first * s.wide, *dout = s.dout + first * s.v_wide;
        product(s.p, s.across, q, s.wide, 1, s.kt, s.across, m, s.across, d, 0);
        product(s.ds, s.across, dout, s.v_wide, 1, s.vt, s.across, m, s.across, dv, 0);
        if (a->bias || a->mask) shift_scores(a, s.p, s.across, first, m);
        for (size_t i = 0; i < m; i++) {
            real *p = s.p + i * s.across, *ds = s.ds + i * s.across;
            fetch_ahead(a, first + i);
            if (a->laplace)
                laplace_gradients(p, ds, s.across);
            else
                softmax_gradients(p, ds, T, a->lse[first + i],
                                  dot(dout + i * s.v_wide, a->out + (first + i) * a->out_row, dv));
        }
        if (a->dbias) collect_bias_gradient(a, s.ds, s.across, first, m);
        product(s.dv, s.v_wide, s.p, 1, s.across, dout, s.v_wide, T, s.v_wide, m, first != 0);
        product(s.dk, s.wide, s.ds, 1, s.across, q, s.wide, T, s.wide, m, first != 0);
        if (!a->dq) continue;
        product(s.rows, s.wide, s.ds, s.across, 1, s.k, s.wide, m, s.wide, T, 0);
        put(a->dq + first * a->q_row, a->q_row, s.rows, s.wide, m, d, a->scale, a->dq_adds);
    }
    if (a->dk) put(a->dk, a->k_row, s.dk, s.wide, T, d, a->scale, a->dk_adds);
    if (a->dv) put(a->dv, a->v_row, s.dv, s.v_wide, T, dv, 1, a->dv_adds);
}
