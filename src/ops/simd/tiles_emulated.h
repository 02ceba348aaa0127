/* tiles_emulated - the instructions of AMX on tiles of bfloat16 pairs, to the bit, for every other
 * machine; tiles_amx.h has the same functions.
 *
 * tile_multiply is TDPBF16PS, as Intel's manual defines it. For each element of the sums it adds,
 * from 0, the products of the 16 first factors of the pairs in their order, and by themselves those
 * of the second factors, each fused: product and sum are rounded once, to nearest even. The second
 * sum is added to the first, and the result to the element. Subnormal factors, sums and results are
 * taken for zero; the library's float mode does that (core/float_mode.h). */

enum { TILE_SIDE_WORDS = 16 };

typedef real tile_words[TILE_SIDE_WORDS][TILE_SIDE_WORDS];

typedef struct tile_file {
    _Alignas(64) tile_words tile[8];
} tile_file;

#define tile_fence() ((void)0)

INLINE void tile_start(tile_file *t) { (void)t; }
INLINE void tile_end(tile_file *t) { (void)t; }

INLINE void tile_zero(tile_file *t, int number)
{
    for (int i = 0; i < TILE_SIDE_WORDS; i++)
        for (int j = 0; j < TILE_SIDE_WORDS; j += LANES) store(&t->tile[number][i][j], (vec){0});
}

INLINE void tile_load(tile_file *t, int number, const void *from, size_t stride)
{
    for (size_t i = 0; i < TILE_SIDE_WORDS; i++)
        __builtin_memcpy(t->tile[number][i], (const char *)from + i * stride, 64);
}

INLINE void tile_store(const tile_file *t, int number, void *to, size_t stride)
{
    for (size_t i = 0; i < TILE_SIDE_WORDS; i++)
        __builtin_memcpy((char *)to + i * stride, t->tile[number][i], 64);
}

/* a*b + c rounded once. A product of two bfloat16 is exact in double, and so is the sum but for
 * bits that a second rounding does not see. */
INLINE vec tile_mul_add(vec a, vec b, vec c)
{
#if FUSED
    return mul_add(a, b, c);
#else
    typedef double wide __attribute__((vector_size(2 * LANE_BYTES)));
    return __builtin_convertvector(__builtin_convertvector(a, wide)
                                           * __builtin_convertvector(b, wide)
                                       + __builtin_convertvector(c, wide),
                                   vec);
#endif
}

/* TILE_STEP rows of the sums. */
enum { TILE_STEP = 4 };

INLINE void tile_multiply_rows(tile_words sums, const tile_words left, const tile_words right,
                               int j)
{
    vec even[TILE_STEP] = {{0}}, odd[TILE_STEP] = {{0}};
    for (int k = 0; k < TILE_SIDE_WORDS; k++) {
        const words r = (words)load(&right[k][j]);
        for (int i = 0; i < TILE_STEP; i++) {
            uint32_t pair;
            __builtin_memcpy(&pair, &left[i][k], sizeof pair);
            const words l = pair - (words){0};
            even[i] = tile_mul_add((vec)(l << 16), (vec)(r << 16), even[i]);
            odd[i] = tile_mul_add((vec)(l & 0xffff0000), (vec)(r & 0xffff0000), odd[i]);
        }
    }
    for (int i = 0; i < TILE_STEP; i++) {
        real *at = &sums[i][j];
        store(at, load(at) + (even[i] + odd[i]));
    }
}

static void tile_multiply(tile_file *t, int sums, int left, int right)
{
    for (int i = 0; i < TILE_SIDE_WORDS; i += TILE_STEP)
        for (int j = 0; j < TILE_SIDE_WORDS; j += LANES)
            tile_multiply_rows(&t->tile[sums][i], &t->tile[left][i], t->tile[right], j);
}
