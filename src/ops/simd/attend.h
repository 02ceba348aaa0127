/* attend - one head of attention, forward and backward, in tiles of queries.
 *
 * A tile of scores never leaves the cache. Forward keeps only the log of the sum of exponentials of
 * each row, from which backward makes the probabilities again:
 *     S = q k^T / sqrt(width), P = exp(S - lse), dP = dout v^T, dS = P (dP - rowsum(dout out)),
 *     dv = P^T dout, dk = dS^T q / sqrt(width), dq = dS k / sqrt(width).
 * What is read by vectors is copied first, with its last axis padded to whole vectors; k and v
 * transposed for the scores. */
#include "ops/simd/gemm_micro.h"

enum { TILE_NUMBERS = 5120, TILE_LEAST = 12 };

INLINE size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Queries in a tile: few enough for the first-level cache, and whole blocks of a product. */
static size_t tile_rows(size_t tokens)
{
    size_t rows = TILE_NUMBERS / padded(tokens) / TILE_LEAST * TILE_LEAST;
    if (rows < TILE_LEAST) rows = TILE_LEAST;
    return rows < tokens ? rows : tokens;
}

/* Pieces of the scratch; every row is whole vectors, so that all are aligned. */
typedef struct pieces {
    size_t M, across, wide; /* queries in a tile; padded tokens and width */
    real *kt, *vt, *p, *ds, *q, *k, *v, *dout, *rows, *sums, *dk, *dv;
    size_t total;
} pieces;

static pieces cut(size_t tokens, size_t width, int back, real *scratch)
{
    pieces s = {.M = tile_rows(tokens), .across = padded(tokens), .wide = padded(width)};
    const size_t transposed = width * s.across, tile = s.M * s.across, straight = tokens * s.wide;
    size_t at = 0;
#define PIECE(name, numbers) (s.name = scratch + at, at += (numbers))
    PIECE(kt, transposed);
    PIECE(p, tile);
    PIECE(rows, s.M * s.wide);
    if (!back) {
        PIECE(v, straight);
        PIECE(sums, padded(s.M));
    } else {
        PIECE(vt, transposed);
        PIECE(ds, tile);
        PIECE(q, straight);
        PIECE(k, straight);
        PIECE(dout, straight);
        PIECE(dk, straight);
        PIECE(dv, straight);
    }
#undef PIECE
    s.total = at;
    return s;
}

static size_t attend_scratch_size(size_t tokens, size_t width, int back)
{
    static real nothing[1];
    return cut(tokens, width, back, nothing).total;
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
            vec x = load(from + d) * factor;
            store(to + d, adds ? load(to + d) + x : x);
        }
        for (size_t d = whole; d < width; d++) to[d] = from[d] * factor + (adds ? to[d] : 0);
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

/* A row of scores to exponentials relative to the largest, which it returns with their sum. */
static real exponentials(real *s, size_t tokens, real *sum)
{
    const size_t last = padded(tokens) - LANES;
    const mask there = first_lanes(tokens - last);
    const real most = largest(s, last, there);
    for (size_t t = 0; t < last; t += LANES)
        store(s + t, vec_exp(not_below(load(s + t) - most, -FAR)));
    store(s + last, keep(there, vec_exp(not_below(keep(there, load(s + last) - most), -FAR))));
    *sum = total(s, last); /* apart: registers do not live through the calls */
    return most;
}

/* The next head's numbers stand beside this one's, too far from row to row for the processor to
 * guess. */
INLINE void fetch_ahead(const attend_args *a, size_t token)
{
    for (size_t d = 0; d < a->width; d += 64 / sizeof(real)) {
        __builtin_prefetch(a->q + token * a->row + a->width + d);
        __builtin_prefetch(a->k + token * a->row + a->width + d);
        __builtin_prefetch(a->v + token * a->row + a->width + d);
        __builtin_prefetch(a->out + token * a->out_row + a->width + d);
        if (a->dout) __builtin_prefetch(a->dout + token * a->out_row + a->width + d);
    }
}

static void attend(const attend_args *a)
{
    const pieces s = cut(a->tokens, a->width, 0, a->scratch);
    const size_t T = a->tokens, d = a->width;
    transpose(s.kt, s.across, a->k, a->row, T, d, 1 / real_sqrt((real)d));
    copy(s.v, s.wide, a->v, a->row, T, d);
    for (size_t first = a->first; first < a->end; first += s.M) {
        const size_t m = a->end - first < s.M ? a->end - first : s.M;
        product(s.p, s.across, a->q + first * a->row, a->row, 1, s.kt, s.across, m, s.across, d, 0);
        for (size_t i = 0; i < m; i++) {
            fetch_ahead(a, first + i);
            real most = exponentials(s.p + i * s.across, T, &s.sums[i]);
            if (a->lse) a->lse[first + i] = most + real_log(s.sums[i]);
        }
        product(s.rows, s.wide, s.p, s.across, 1, s.v, s.wide, m, s.wide, T, 0);
        for (size_t i = 0; i < m; i++)
            put(a->out + (first + i) * a->out_row, 0, s.rows + i * s.wide, 0, 1, d, 1 / s.sums[i],
                0);
    }
}

/* Rows of P and dS: p holds scores, ds dP. */
static void score_gradients(real *p, real *ds, size_t tokens, real lse, real along)
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
    for (size_t i = 0; i < whole; i += LANES) sum += load(x + i) * load(y + i);
    if (whole < n) sum += load_part(x + whole, n - whole) * load_part(y + whole, n - whole);
    return sum_lanes(sum);
}

static void attend_back(const attend_args *a)
{
    const pieces s = cut(a->tokens, a->width, 1, a->scratch);
    const size_t T = a->tokens, d = a->width;
    const real factor = 1 / real_sqrt((real)d);
    transpose(s.kt, s.across, a->k, a->row, T, d, factor);
    transpose(s.vt, s.across, a->v, a->row, T, d, 1);
    copy(s.q, s.wide, a->q, a->row, T, d);
    copy(s.k, s.wide, a->k, a->row, T, d);
    copy(s.dout, s.wide, a->dout, a->out_row, T, d);
    for (size_t first = 0; first < T; first += s.M) {
        const size_t m = T - first < s.M ? T - first : s.M;
        const real *q = s.q + first * s.wide, *dout = s.dout + first * s.wide;
        product(s.p, s.across, q, s.wide, 1, s.kt, s.across, m, s.across, d, 0);
        product(s.ds, s.across, dout, s.wide, 1, s.vt, s.across, m, s.across, d, 0);
        for (size_t i = 0; i < m; i++) {
            fetch_ahead(a, first + i);
            score_gradients(s.p + i * s.across, s.ds + i * s.across, T, a->lse[first + i],
                            dot(dout + i * s.wide, a->out + (first + i) * a->out_row, d));
        }
        product(s.dv, s.wide, s.p, 1, s.across, dout, s.wide, T, s.wide, m, first != 0);
        product(s.dk, s.wide, s.ds, 1, s.across, q, s.wide, T, s.wide, m, first != 0);
        product(s.rows, s.wide, s.ds, s.across, 1, s.k, s.wide, m, s.wide, T, 0);
        put(a->dq + first * a->row, a->row, s.rows, s.wide, m, d, factor, a->adds);
    }
    put(a->dk, a->row, s.dk, s.wide, T, d, factor, a->adds);
    put(a->dv, a->row, s.dv, s.wide, T, d, 1, a->adds);
}
