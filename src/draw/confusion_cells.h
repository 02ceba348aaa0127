/* confusion_cells - a sparse confusion matrix, a list of its nonzero cells: a dense one would take
 * gigabytes for many labels. */
#ifndef SSM2D_DRAW_CONFUSION_CELLS_H
#define SSM2D_DRAW_CONFUSION_CELLS_H

#include <stddef.h>

typedef struct confusion_cell {
    int truth, predicted;
    size_t count; /* of images */
} confusion_cell;

/* Sorts cells by true label, then by predicted label, and adds up those of the same pair. Returns
 * the number of cells left. */
size_t confusion_cells_merge(confusion_cell *cells, size_t count);
/* For merged cells: returns the number of images of the true label of cells[first], and sets *end
 * to the first cell of another label. */
size_t confusion_row_total(const confusion_cell *cells, size_t count, size_t first, size_t *end);

#endif
