/* contact_sheet - a grid of small images with text below each. */
#ifndef SSM2D_DRAW_CONTACT_SHEET_H
#define SSM2D_DRAW_CONTACT_SHEET_H

#include "ssm2d.h"

typedef struct contact_sheet {
    const char *title; /* may be NULL */
    int count, columns;
    size_t rows, cols; /* of every image */
    int channels;      /* 1 or 3 */
    int lines;         /* of text below each image */
    /* Return image i, [rows][cols][channels] bytes that are valid until the next call; and line k
     * of its text, which is cut when it is too wide. */
    const uint8_t *(*image)(void *user, int i);
    const char *(*text)(void *user, int i, int k);
    void *user;
} contact_sheet;

/* Draws to a .png, .svg or .pdf, which appears complete or not at all. */
ssm2d_status contact_sheet_draw(const ssm2d_context *context, const char *path,
                                const contact_sheet *sheet, ssm2d_error *error);

#endif
