/* gemm_rounding - rounds factors of matrix products to bfloat16, in pairs: two factors that follow
 * each other in a sum, in 32 bits, the first of them in the lower half. A row or column of odd
 * length ends with a pair whose second factor is 0. */

/* Pairs in k factors. */
INLINE size_t steps_of(size_t k) { return (k + 1) / 2; }

/* to_halves, by the instruction for it; it takes subnormals for 0, as products do. */
INLINE halves rounded(vec v)
{
#if defined(__AVX512BF16__)
    return (halves)_mm512_cvtneps_pbh((__m512)v);
#else
    return to_halves(v);
#endif
}

/* Pairs of elements of two rows. */
INLINE vec pairs_of(vec first, vec second)
{
#if defined(__AVX512BF16__)
    typedef uint16_t indices __attribute__((vector_size(64)));
    static const indices interleaved = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
    return (vec)_mm512_permutexvar_epi16((__m512i)interleaved, both);
#else
    return (vec)(__builtin_convertvector(to_halves(second), words) << 16
                 | __builtin_convertvector(to_halves(first), words));
#endif
}

/* The same for the first `count` elements of rows in memory, of which the second may be missing
 * (NULL); the rest are 0. */
INLINE vec pair_part(const real *first, const real *second, size_t count)
{
    if (count >= (size_t)LANES) return pairs_of(load(first), second ? load(second) : (vec){0});
    return pairs_of(load_part(first, count), second ? load_part(second, count) : (vec){0});
}

/* [pairs] = count elements, rounded */
static void round_row(real *to, const real *from, size_t count)
{
    bfloat16 *at = (bfloat16 *)to;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) *(halves_anywhere *)(at + i) = rounded(load(from + i));
    if (i == count) return;
    const halves last = rounded(load_part(from + i, count - i));
    for (size_t l = 0; l < steps_of(count - i) * 2; l++) at[i + l] = last[l];
}
