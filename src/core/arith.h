/* arith - integer arithmetic used everywhere. */
#ifndef SSM2D_CORE_ARITH_H
#define SSM2D_CORE_ARITH_H

#include <stddef.h>

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }
static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* a / b rounded up; a >= 0, b > 0. */
static inline int div_up(int a, int b) { return a / b + (a % b != 0); }
static inline size_t div_up_size(size_t a, size_t b) { return a / b + (a % b != 0); }

/* The index of an element of a matrix in memory, row by row; nothing is negative. Products of ints
 * would overflow for large images and many labels. */
static inline size_t row_major(int row, int cols, int col)
{
    return (size_t)row * (size_t)cols + (size_t)col;
}

enum { CACHE_LINE = 64 }; /* bytes */

/* Bytes rounded up to whole cache lines. */
static inline size_t line_bytes(size_t bytes)
{
    return div_up_size(bytes, CACHE_LINE) * CACHE_LINE;
}

/* A count of elements of 4 or 8 bytes, rounded up so that what follows them begins a cache line. */
static inline size_t whole_lines(size_t count) { return div_up_size(count, 16) * 16; }

#endif
