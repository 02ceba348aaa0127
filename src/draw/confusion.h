/* confusion - a sparse confusion matrix, true labels against predicted ones, and a picture of it.
 * The matrix is a list of its nonzero cells: a dense one would take gigabytes for many labels. */
#ifndef SSM2D_DRAW_CONFUSION_H
#define SSM2D_DRAW_CONFUSION_H

#include "ssm2d.h"

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

typedef struct confusion {
    const char *title;      /* may be NULL */
    const char *one, *many; /* the task's words for a label and labels */
    int label_count;
    const char *const *names;
    const confusion_cell *cells; /* merged */
    size_t cell_count;
} confusion;

/* Draws to a .png, .svg or .pdf, which appears complete or not at all. Colours are shares of the
 * row; few labels have counts and names, and with many a square covers several labels. */
ssm2d_status confusion_draw(const ssm2d_context *context, const char *path, const confusion *m,
                            ssm2d_error *error);

#endif
