/* html - writes one HTML page, which appears complete or not at all: text from outside is escaped,
 * images are embedded.
 *
 * The first failure is kept, and later calls do nothing, so that sections need not check;
 * html_finish returns it. */
#ifndef SSM2D_REPORT_HTML_H
#define SSM2D_REPORT_HTML_H

#include "draw/colour.h"
#include "io/file.h"

typedef struct html {
    const ssm2d_context *context;
    atomic_file file;
    ssm2d_status status;
    ssm2d_error error; /* of the first failure */
} html;

/* Starts the file for path; the caller ends it with html_finish or html_abandon. */
ssm2d_status html_open(const ssm2d_context *context, const char *path, html *h, ssm2d_error *error);
ssm2d_status html_finish(html *h, ssm2d_error *error);
void html_abandon(html *h);

/* Write without escaping: our own markup and text, never input from a file or a user. */
void html_put(html *h, const char *markup);
void html_printf(html *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes escaped text, within an element or a quoted attribute. Control characters, and bytes that
 * are not UTF-8, become U+FFFD. */
void html_text(html *h, const char *text);
/* The same for a run's name or a path, within an element only: lines may break after its parts. */
void html_name(html *h, const char *name);

/* Write a value within a script element of JSON: quoted text, in which nothing can end the element;
 * a number with `digits` digits, null if it is not finite. */
void html_json_text(html *h, const char *text);
void html_json_number(html *h, double value, int digits);

/* Writes a PNG of pixels[rows][cols][channels] as the URL of an image. */
void html_png(html *h, size_t rows, size_t cols, int channels, const uint8_t *pixels);
/* The same for values[rows][cols]: COLOUR_DIVERGING from -high to high, COLOUR_SEQUENTIAL from 0 to
 * high or, if `decades` is not 0, logarithmically over that many decades below high. */
void html_heat(html *h, size_t rows, size_t cols, const double *values, colour_map map, double high,
               int decades);

/* Writes a duration: "1:02:03", "4:05", "12.3 s". */
void html_seconds(html *h, double seconds);
/* Writes a count with thousands separated. */
void html_count(html *h, double count);

#endif
