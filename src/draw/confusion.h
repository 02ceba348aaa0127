/* confusion - a picture of a confusion matrix: true labels against predicted ones. */
#ifndef SSM2D_DRAW_CONFUSION_H
#define SSM2D_DRAW_CONFUSION_H

#include "draw/confusion_cells.h"
#include "ssm2d.h"

typedef struct confusion {
    const char *title; /* may be NULL */
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
