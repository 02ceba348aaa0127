/* gemm_int8_bodies - a gemm_int8_table, compiled for the instruction set of the including file.
 * QUADS: it multiplies four pairs of bytes at once; otherwise factors are widened to 16 bits, two
 * of which are multiplied at once: the instruction for bytes without VNNI saturates.
 *
 * Factors that follow each other in a sum are a group, in 32 bits. A panel is two vectors of
 * columns of W, padded with 0: [panels][groups of k][PANEL]. Rows of x, as many as a block has, are
 * quantised on the stack while the panels pass by, as many of them as the second cache holds. */
#include "ops/simd/gemm_int8_table.h"

#if !defined(REAL_IS_DOUBLE)

#include "core/real.h"
#include "simd/vector.h"

#include "simd/vecmath.h"
#include "simd/narrow.h"

typedef int32_t sums __attribute__((vector_size(LANE_BYTES)));
typedef int32_t sums_anywhere __attribute__((vector_size(LANE_BYTES), aligned(4), may_alias));

enum { PANEL = 2 * LANES };
#ifdef MANY_REGISTERS
enum { BLOCK_MAX = 12 };
#else
enum { BLOCK_MAX = 6 };
#endif

#ifdef QUADS
enum { GROUP = 4 };
typedef uint8_t x_element;
typedef int8_t w_element;
#else
enum { GROUP = 2 };
typedef int16_t x_element;
typedef int16_t w_element;
#endif
typedef x_element x_elements __attribute__((vector_size(sizeof(x_element) * LANES)));
typedef x_element x_anywhere
    __attribute__((vector_size(sizeof(x_element) * LANES), aligned(1), may_alias));

/* Groups of x that are quantised at once. Rows are a line longer, so that they fall on different
 * sets of the cache. */
enum { CHUNK = 512, CHUNK_ROW = CHUNK + 16, PANELS_BYTES = 256 * 1024 };

INLINE size_t groups_of(size_t k) { return (k + GROUP - 1) / GROUP; }

/* sum + x w of groups; x: that of a row */
INLINE sums accumulate(sums sum, int32_t x, sums w)
{
    const sums left = x - (sums){0};
#if defined(QUADS) && LANE_BYTES == 64
    return (sums)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)left, (__m512i)w);
#elif defined(QUADS)
    return (sums)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)left, (__m256i)w);
#elif LANE_BYTES == 64 && defined(__AVX512BW__)
    return sum + (sums)_mm512_madd_epi16((__m512i)left, (__m512i)w);
#elif LANE_BYTES == 32 && defined(__AVX2__)
    return sum + (sums)_mm256_madd_epi16((__m256i)left, (__m256i)w);
#elif LANE_BYTES == 16 && defined(__SSE2__)
    return sum + (sums)_mm_madd_epi16((__m128i)left, (__m128i)w);
#else
    sum += (left >> 16) * (w >> 16);
    return sum + (left << 16 >> 16) * (w << 16 >> 16);
#endif
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* In memory: what belongs to columns, [columns], then the panels. */
typedef struct packed {
    int32_t *start; /* what sums begin with: -zero times the sum of the column */
    float *scale, *bias;
    int32_t *panels;
} packed;

INLINE size_t columns_of(size_t n) { return (n + PANEL - 1) / PANEL * PANEL; }

INLINE packed packed_at(const void *memory, size_t n)
{
    const size_t columns = columns_of(n);
    int32_t *at = (int32_t *)memory;
    return (packed){at, (float *)(at + columns), (float *)(at + 2 * columns), at + 3 * columns};
}

static size_t size(size_t n, size_t k)
{
    return columns_of(n) * (3 + groups_of(k)) * sizeof(int32_t);
}

/* The weight as an integer, -127 to 127: the nearest, halves to the even one. */
INLINE int quantized_weight(float w, float scale)
{
    const float q = scale > 0 ? w / scale : 0;
    const float near = q > 127 ? 127 : q > -127 ? q : q == q ? -127 : 0;
    return (int)((near + WHOLE_ROUNDER) - WHOLE_ROUNDER);
}

static void pack_column(const gemm_int8_pack_args *p, size_t c)
{
    const packed to = packed_at(p->packed, p->n);
    const size_t groups = groups_of(p->k);
    int32_t *at = to.panels + c / PANEL * PANEL * groups + c % PANEL;
    const int is_one = c < p->n; /* else it only fills the last panel */
    const float *w = is_one ? p->weights + c * p->k : NULL, scale = is_one ? p->scales[c] : 0;
    int32_t sum = 0;
    for (size_t g = 0; g < groups; g++, at += PANEL) {
        w_element group[GROUP] = {0};
        for (size_t i = 0; is_one && i < GROUP && g * GROUP + i < p->k; i++) {
            group[i] = (w_element)quantized_weight(w[g * GROUP + i], scale);
            sum += group[i];
        }
        __builtin_memcpy(at, group, sizeof group);
    }
    to.start[c] = -p->zero * sum;
    to.scale[c] = p->x_scale * scale;
    to.bias[c] = is_one && p->bias ? p->bias[c] : 0;
}

static void pack(const gemm_int8_pack_args *p, size_t first, size_t end)
{
    if (end == p->n) end = columns_of(end);
    for (size_t c = first; c < end; c++) pack_column(p, c);
}

/* ---- x --------------------------------------------------------------------------------------- */

/* q of so many elements of x, and anything after them up to a whole vector. */
INLINE void quantize_row(x_element *to, const float *x, size_t count, float factor, int zero)
{
    const vec low = all((float)-zero), high = all((float)(255 - zero));
    for (size_t i = 0; i < count; i += LANES) {
        const vec v = (i + LANES <= count ? load(x + i) : load_part(x + i, count - i)) * factor;
        const vec near = smaller(high, larger(low, keep(v == v, v)));
        const vec whole = (near + WHOLE_ROUNDER) - WHOLE_ROUNDER;
        const sums q = __builtin_convertvector(whole, sums) + zero;
        *(x_anywhere *)(to + i) = __builtin_convertvector(q, x_elements);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Some rows of y, for one panel. */
typedef struct block_args {
    float *y;
    const int32_t *x; /* [rows][CHUNK_ROW] groups */
    const int32_t *panel;
    const int32_t *start;
    const float *scale, *bias;
    size_t y_row, groups;
    int first, last; /* whether these are the first, the last groups of the sums */
} block_args;

/* Between chunks, y holds the sums. */
INLINE void block(int rows, int vectors, const block_args *p)
{
    sums sum[BLOCK_MAX][2];
    const int32_t *x = p->x, *panel = p->panel;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++)
            sum[i][j] =
                *(const sums_anywhere *)(p->first ? (const void *)(p->start + j * LANES)
                                                  : p->y + (size_t)i * p->y_row + j * LANES);
#pragma GCC unroll 4
    for (size_t g = 0; g < p->groups; g++, x++, panel += PANEL) {
        sums w[2];
        for (int j = 0; j < vectors; j++) w[j] = *(const sums_anywhere *)(panel + j * LANES);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vectors; j++)
                sum[i][j] = accumulate(sum[i][j], x[i * CHUNK_ROW], w[j]);
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) {
            float *y = p->y + (size_t)i * p->y_row + j * LANES;
            const vec v = __builtin_convertvector(sum[i][j], vec);
            if (p->last)
                store(y, v * load(p->scale + j * LANES) + load(p->bias + j * LANES));
            else
                *(sums_anywhere *)(void *)y = sum[i][j];
        }
}

#define BLOCK(rows)                                                                                \
    static void block_##rows(const block_args *p, int vectors)                                     \
    {                                                                                              \
        if (vectors == 2)                                                                          \
            block(rows, 2, p);                                                                     \
        else                                                                                       \
            block(rows, 1, p);                                                                     \
    }

BLOCK(1)
BLOCK(2)
BLOCK(4)
BLOCK(6)
#ifdef MANY_REGISTERS
BLOCK(12)
#endif

INLINE size_t block_rows(size_t m)
{
    return m >= BLOCK_MAX ? BLOCK_MAX : m >= 6 ? 6 : m >= 4 ? 4 : m >= 2 ? 2 : 1;
}

INLINE void run_block(size_t rows, const block_args *p, int vectors)
{
    switch (rows) {
#ifdef MANY_REGISTERS
    case 12: block_12(p, vectors); break;
#endif
    case 6: block_6(p, vectors); break;
    case 4: block_4(p, vectors); break;
    case 2: block_2(p, vectors); break;
    default: block_1(p, vectors); break;
    }
}

/* Where y has fewer columns than the block's vectors, they are computed beside it. */
static void run_columns(size_t rows, const block_args *p, size_t columns)
{
    if (columns == (size_t)PANEL || columns == (size_t)LANES) {
        run_block(rows, p, (int)(columns / LANES));
        return;
    }
    _Alignas(64) float here[BLOCK_MAX * PANEL];
    block_args b = *p;
    b.y = here;
    b.y_row = PANEL;
    for (size_t i = 0; !p->first && i < rows; i++)
        __builtin_memcpy(here + i * PANEL, p->y + i * p->y_row, columns * sizeof(float));
    run_block(rows, &b, 2);
    for (size_t i = 0; i < rows; i++)
        __builtin_memcpy(p->y + i * p->y_row, here + i * PANEL, columns * sizeof(float));
}

/* ---- the product ----------------------------------------------------------------------------- */

/* Rows i.. of y, columns [first, end), for groups [g, g + groups) of its sums. */
static void multiply_chunk(const gemm_int8_args *p, size_t i, size_t rows, size_t first, size_t end,
                           size_t g, size_t groups)
{
    _Alignas(64) int32_t scratch[BLOCK_MAX * CHUNK_ROW];
    const packed w = packed_at(p->packed, p->n);
    const size_t all_groups = groups_of(p->k), from = g * GROUP, left = p->k - from,
                 count = left < groups * GROUP ? left : groups * GROUP;
    for (size_t r = 0; r < rows; r++)
        quantize_row((x_element *)(void *)(scratch + r * CHUNK_ROW),
                     p->x + (i + r) * p->x_row + from, count, 1 / p->x_scale, p->zero);
    for (size_t c = first; c < end; c += PANEL) {
        const block_args b = {.y = p->y + i * p->y_row + c,
                              .x = scratch,
                              .panel = w.panels + c * all_groups + g * PANEL,
                              .start = w.start + c,
                              .scale = w.scale + c,
                              .bias = w.bias + c,
                              .y_row = p->y_row,
                              .groups = groups,
                              .first = g == 0,
                              .last = g + groups == all_groups};
        run_columns(rows, &b, p->n - c < PANEL ? p->n - c : PANEL);
    }
}

static void multiply_columns(const gemm_int8_args *p, size_t first, size_t end)
{
    const size_t groups = groups_of(p->k);
    for (size_t i = 0, rows; i < p->m; i += rows) {
        rows = block_rows(p->m - i);
        for (size_t g = 0; g < groups; g += CHUNK)
            multiply_chunk(p, i, rows, first, end, g, groups - g < CHUNK ? groups - g : CHUNK);
    }
}

static void multiply(const gemm_int8_args *p, size_t first, size_t end)
{
    const size_t fit = PANELS_BYTES / sizeof(int32_t) / PANEL / groups_of(p->k),
                 width = (fit ? fit : 1) * PANEL;
    for (size_t c = first; c < end; c += width)
        multiply_columns(p, c, end - c < width ? end : c + width);
}

extern const gemm_int8_table TABLE;

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

const gemm_int8_table TABLE = {
    .name = NAME_OF(TABLE), .panel = PANEL, .size = size, .pack = pack, .multiply = multiply};

#endif
