/* resize_params - adapts parameters of the cells of a grid to another grid, by PyTorch's bicubic
 * interpolation, and tables of offsets in raster order. */
#include "models/weights.h"

#include <math.h>
#include <string.h>

enum { TAPS = 4 };

/* The four taps of output cell `at` of `size` among `old` cells, and their weights. */
static void taps_of(int at, int size, int old, int index[TAPS], double weight[TAPS])
{
    const double a = -0.75, where = (at + 0.5) * old / size - 0.5, t = where - floor(where);
    for (int k = 0; k < TAPS; k++) {
        const int i = (int)floor(where) - 1 + k;
        const double d = fabs(t + 1 - k);
        index[k] = i < 0 ? 0 : i >= old ? old - 1 : i;
        weight[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                           : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

void grid_resize(const float *from, const int old_grid[2], float *to, const int grid[2], int prefix,
                 size_t dim)
{
    memcpy(to, from, (size_t)prefix * dim * sizeof *to);
    from += (size_t)prefix * dim;
    to += (size_t)prefix * dim;
    for (int i = 0; i < grid[0]; i++) {
        int row[TAPS], col[TAPS];
        double down[TAPS], across[TAPS];
        taps_of(i, grid[0], old_grid[0], row, down);
        for (int j = 0; j < grid[1]; j++, to += dim) {
            taps_of(j, grid[1], old_grid[1], col, across);
            for (size_t d = 0; d < dim; d++) {
                double sum = 0;
                for (int r = 0; r < TAPS; r++)
                    for (int c = 0; c < TAPS; c++)
                        sum +=
                            down[r] * across[c]
                            * (double)
                                from[((size_t)row[r] * (size_t)old_grid[1] + (size_t)col[c]) * dim
                                     + d];
                to[d] = (float)sum;
            }
        }
    }
}

/* The entry for two tokens `offset` apart; beyond the table, its last entry. */
static double entry_at(const float *table, int positions, long offset)
{
    const long last = positions - 1;
    const long o = offset < -last ? -last : offset > last ? last : offset;
    return (double)table[last + o];
}

void offsets_resize(const float *from, int old_positions, const int old_grid[2], float *to,
                    int positions, const int grid[2])
{
    const double per_row = (double)old_grid[0] / grid[0], per_col = (double)old_grid[1] / grid[1];
    for (long o = 1 - (long)positions; o < positions; o++, to++) {
        const long i = lround((double)o / grid[1]), j = o - i * grid[1];
        const double down = (double)i * per_row, across = (double)j * per_col;
        const double part_down = down - floor(down), part_across = across - floor(across);
        const long at = (long)floor(down) * old_grid[1] + (long)floor(across);
        double sum = 0;
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                sum += (r ? part_down : 1 - part_down) * (c ? part_across : 1 - part_across)
                       * entry_at(from, old_positions, at + (long)r * old_grid[1] + c);
        *to = (float)sum;
    }
}
