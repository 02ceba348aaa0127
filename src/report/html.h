/* html - writing one HTML page that appears whole or not at all: text of any origin is escaped,
 * pictures are embedded.
 *
 * The first failure is kept and everything after it does nothing, so that sections write on
 * without asking; html_finish returns it. */
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

/* Starts the file that is to become path; the caller ends it with html_finish or html_abandon. */
ssm2d_status html_open(const ssm2d_context *context, const char *path, html *h, ssm2d_error *error);
ssm2d_status html_finish(html *h, ssm2d_error *error);
void html_abandon(html *h);

/* Write as it is: markup and words of our own, never what comes from a file or a user. */
void html_put(html *h, const char *markup);
void html_printf(html *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes text of any origin, within an element or a quoted attribute. What is not UTF-8, and
 * control characters, become U+FFFD. */
void html_text(html *h, const char *text);
/* The same of a run's name or a path, within an element alone: lines may end after its parts. */
void html_name(html *h, const char *name);

/* Write a value within a script element of JSON: text in its quotes, so that nothing in it ends the
 * element; a number with so many digits, null when it is not finite. */
void html_json_text(html *h, const char *text);
void html_json_number(html *h, double value, int digits);

/* Writes a PNG of pixels[rows][cols][channels] as the URL of an image. */
void html_png(html *h, size_t rows, size_t cols, int channels, const uint8_t *pixels);
/* The same of values[rows][cols]: with COLOUR_DIVERGING from -high to high, with COLOUR_SEQUENTIAL
 * from 0 to high, or when `decades` is not 0 logarithmically so many decades below high. */
void html_heat(html *h, size_t rows, size_t cols, const double *values, colour_map map, double high,
               int decades);

/* Writes a duration: "1:02:03", "4:05", "12.3 s". */
void html_seconds(html *h, double seconds);
/* Writes a count with its thousands apart. */
void html_count(html *h, double count);

#endif
