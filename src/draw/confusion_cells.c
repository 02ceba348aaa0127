#include "draw/confusion_cells.h"

#include <stdlib.h>

static int by_pair(const void *a, const void *b)
{
    const confusion_cell *x = a, *y = b;
    if (x->truth != y->truth) return x->truth < y->truth ? -1 : 1;
    return (x->predicted > y->predicted) - (x->predicted < y->predicted);
}

size_t confusion_cells_merge(confusion_cell *cells, size_t count)
{
    size_t left = 0;
    if (count) qsort(cells, count, sizeof *cells, by_pair);
    for (size_t i = 0; i < count; i++) {
        if (left && !by_pair(&cells[left - 1], &cells[i]))
            cells[left - 1].count += cells[i].count;
        else
            cells[left++] = cells[i];
    }
    return left;
}

size_t confusion_row_total(const confusion_cell *cells, size_t count, size_t first, size_t *end)
{
    size_t total = 0;
    for (*end = first; *end < count && cells[*end].truth == cells[first].truth; ++*end)
        total += cells[*end].count;
    return total;
}
