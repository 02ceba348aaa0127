/* scan_rows - runs a recurrence over rows, and its adjoint with the states of one block of rows in
 * memory: with blocks of sqrt(rows) rows that is 2*sqrt(rows) rows instead of all, for one more
 * forward pass. */
#include "layers/scan/scan_internal.h"

#include <string.h>

enum { CACHED_BYTES = 512 << 10 };

int scan_rows_block(int rows, size_t row_bytes)
{
    int block = 1;
    if (row_bytes <= (size_t)CACHED_BYTES / (size_t)rows) return rows;
    while (block * block < rows) block++;
    return block;
}

void scan_rows_forward(const scan_rows *r)
{
    memset(r->carry, 0, r->size * sizeof(real));
    for (int i = 0; i < r->rows; i++) r->forward(r->arg, i, -1);
}

void scan_rows_backward(const scan_rows *r)
{
    const int blocks = div_up(r->rows, r->block);
    memset(r->carry, 0, r->size * sizeof(real));
    for (int k = 0; k < blocks; k++) {
        memcpy(r->saved + (size_t)k * r->size, r->carry, r->size * sizeof(real));
        for (int i = k * r->block; k < blocks - 1 && i < (k + 1) * r->block; i++)
            r->forward(r->arg, i, -1);
    }
    for (int k = blocks; k--;) {
        const int first = k * r->block, end = min_int(r->rows, first + r->block);
        const real *before = r->saved + (size_t)k * r->size;
        memcpy(r->carry, before, r->size * sizeof(real));
        for (int i = first; i < end; i++) r->forward(r->arg, i, i - first);
        for (int i = end; i-- > first;) r->backward(r->arg, i, i - first, before);
    }
}
