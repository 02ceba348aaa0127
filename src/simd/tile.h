/* tile - copies channels between strided arrays and tiles of whole vectors.
 *
 * If channels are contiguous, all vectors of a cell are copied together, so that memory is accessed
 * in long runs. If cells are contiguous (channel-first arrays), squares of LANES channels x LANES
 * cells are transposed in registers. */

#define FIRST_HALVES_1   0
#define SECOND_HALVES_1  1
#define FIRST_HALVES_2   0, 2
#define SECOND_HALVES_2  1, 3
#define FIRST_HALVES_4   0, 4, 1, 5
#define SECOND_HALVES_4  2, 6, 3, 7
#define FIRST_HALVES_8   0, 8, 1, 9, 2, 10, 3, 11
#define SECOND_HALVES_8  4, 12, 5, 13, 6, 14, 7, 15
#define FIRST_HALVES_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SECOND_HALVES_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#ifndef REAL_IS_DOUBLE
#define LANES_OF_4  1
#define LANES_OF_16 4
#define LANES_OF_32 8
#define LANES_OF_64 16
#else
#define LANES_OF_8  1
#define LANES_OF_16 2
#define LANES_OF_32 4
#define LANES_OF_64 8
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define LANES_WORD  JOIN(LANES_OF_, LANE_BYTES)

/* gcc has __builtin_shufflevector from version 12 on, and clang has no __builtin_shuffle. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#if !defined(SHUFFLE)
#ifdef REAL_IS_DOUBLE
typedef long long shuffle_mask __attribute__((vector_size(LANE_BYTES)));
#else
typedef int shuffle_mask __attribute__((vector_size(LANE_BYTES)));
#endif
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (shuffle_mask){__VA_ARGS__})
#endif

/* Interleaving row i with row i + LANES/2 moves one bit of the row index into the column index;
 * after as many rounds as it has bits, rows are columns. */
INLINE void transpose(vec row[LANES])
{
    vec next[LANES];
    for (int round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            const vec a = row[i], b = row[i + LANES / 2];
            next[2 * i] = SHUFFLE(a, b, JOIN(FIRST_HALVES_, LANES_WORD));
            next[2 * i + 1] = SHUFFLE(a, b, JOIN(SECOND_HALVES_, LANES_WORD));
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) row[i] = next[i];
    }
}

/* The cells and channels of a channel-first array that whole squares cover. */
typedef struct covered {
    size_t cells;
    int channels;
} covered;

INLINE covered squares(size_t cells, ptrdiff_t cell_stride, int channels)
{
    if (cell_stride != 1) return (covered){0, 0};
    return (covered){cells / LANES * LANES, channels / LANES * LANES};
}

static void gather(real *tile, size_t vector_step, const real *src, size_t cells,
                   ptrdiff_t cell_stride, ptrdiff_t lane_stride, int channels)
{
    const int whole = lane_stride == 1 ? channels / LANES : 0;
    const covered done = whole ? (covered){0, 0} : squares(cells, cell_stride, channels);
    for (int h = 0; h < done.channels; h += LANES)
        for (size_t i = 0; i < done.cells; i += LANES) {
            vec row[LANES];
            for (int l = 0; l < LANES; l++)
                row[l] = load(src + (h + l) * lane_stride + (ptrdiff_t)i);
            transpose(row);
            for (int l = 0; l < LANES; l++)
                store(tile + (size_t)(h / LANES) * vector_step + (i + (size_t)l) * LANES, row[l]);
        }
    for (size_t i = 0; i < cells; i++) {
        const real *from = src + (ptrdiff_t)i * cell_stride;
        real *to = tile + i * LANES;
        for (int v = 0; v < whole; v++) store(to + (size_t)v * vector_step, load(from + v * LANES));
        for (int first = i < done.cells ? done.channels : whole * LANES; first < channels;
             first += LANES)
            for (int l = 0; l < LANES; l++)
                to[(size_t)(first / LANES) * vector_step + (size_t)l] =
                    first + l < channels ? from[(first + l) * lane_stride] : 0;
    }
}

static void scatter(real *dst, const real *tile, size_t vector_step, size_t cells,
                    ptrdiff_t cell_stride, ptrdiff_t lane_stride, int channels, int add)
{
    const int whole = lane_stride == 1 ? channels / LANES : 0;
    const covered done = whole ? (covered){0, 0} : squares(cells, cell_stride, channels);
    for (int h = 0; h < done.channels; h += LANES)
        for (size_t i = 0; i < done.cells; i += LANES) {
            vec row[LANES];
            for (int l = 0; l < LANES; l++)
                row[l] = load(tile + (size_t)(h / LANES) * vector_step + (i + (size_t)l) * LANES);
            transpose(row);
            for (int l = 0; l < LANES; l++) {
                real *to = dst + (h + l) * lane_stride + (ptrdiff_t)i;
                store(to, add ? load(to) + row[l] : row[l]);
            }
        }
    for (size_t i = 0; i < cells; i++) {
        real *to = dst + (ptrdiff_t)i * cell_stride;
        const real *from = tile + i * LANES;
        for (int v = 0; v < whole; v++) {
            vec out = load(from + (size_t)v * vector_step);
            store(to + v * LANES, add ? load(to + v * LANES) + out : out);
        }
        for (int h = i < done.cells ? done.channels : whole * LANES; h < channels; h++) {
            real out = from[(size_t)(h / LANES) * vector_step + (size_t)(h % LANES)];
            to[h * lane_stride] = add ? to[h * lane_stride] + out : out;
        }
    }
}
