/* arith - the integer arithmetic that everybody needs. */
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

/* So many numbers of 4 or 8 bytes in whole lines of the cache, so that what follows them begins a
 * new one. */
static inline size_t whole_lines(size_t numbers) { return div_up_size(numbers, 16) * 16; }

#endif
