/* confusion - a picture of a confusion matrix: true classes against predicted ones. */
#ifndef SSM2D_DRAW_CONFUSION_H
#define SSM2D_DRAW_CONFUSION_H

#include "ssm2d.h"

typedef struct confusion {
    const char *title; /* may be NULL */
    int classes;
    const char *const *names;
    const size_t *counts; /* [classes][classes]: true, predicted */
} confusion;

/* Draws to a .png, .svg or .pdf, which appears complete or not at all. Colours are shares of the
 * row; with few classes, the numbers and names are written out. */
ssm2d_status confusion_draw(const ssm2d_context *context, const char *path, const confusion *m,
                            ssm2d_error *error);

#endif
