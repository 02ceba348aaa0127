/* convert - rows of real from and to other types (simd/narrow.h). */

INLINE vec load_bfloat16(const bfloat16 *p) { return from_halves(*(const halves_anywhere *)p); }
INLINE void store_bfloat16(bfloat16 *p, vec v) { *(halves_anywhere *)p = to_halves(v); }

static void real_to_bfloat16(bfloat16 *y, const real *x, size_t n)
{
    bfloat16 last[LANES];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) store_bfloat16(y + i, load(x + i));
    if (i == n) return;
    store_bfloat16(last, load_part(x + i, n - i));
    for (size_t l = 0; i < n; i++, l++) y[i] = last[l];
}

static void bfloat16_to_real(real *y, const bfloat16 *x, size_t n)
{
    bfloat16 last[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) store(y + i, load_bfloat16(x + i));
    if (i == n) return;
    for (size_t l = 0; i + l < n; l++) last[l] = x[i + l];
    store_part(y + i, load_bfloat16(last), n - i);
}

static void real_to_int8(int8_t *y, const real *x, size_t n, real factor)
{
    int8_t last[LANES];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) *(bytes_anywhere *)(y + i) = to_bytes(load(x + i) * factor);
    if (i == n) return;
    *(bytes_anywhere *)last = to_bytes(load_part(x + i, n - i) * factor);
    for (size_t l = 0; i < n; i++, l++) y[i] = last[l];
}

static void int8_to_real(real *y, const int8_t *x, size_t n, real scale)
{
    int8_t last[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, from_bytes(*(const bytes_anywhere *)(x + i)) * scale);
    if (i == n) return;
    for (size_t l = 0; i + l < n; l++) last[l] = x[i + l];
    store_part(y + i, from_bytes(*(const bytes_anywhere *)last) * scale, n - i);
}

static real largest_size(const real *x, size_t n)
{
    vec top = {0}, v;
    mask is_nan = top != top;
    for (size_t i = 0; i < n; i += LANES) {
        v = i + LANES <= n ? load(x + i) : load_part(x + i, n - i);
        is_nan |= v != v;
        top = larger(larger(-v, v), top);
    }
    return largest_lane(top) + sum_lanes(keep(is_nan, all((real)NAN)));
}
