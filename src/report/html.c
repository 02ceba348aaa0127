#define _GNU_SOURCE /* fopencookie */
#include "report/html.h"

#include "core/context.h"
#include "core/printable.h"
#include "core/status.h"
#include "io/image.h"
#include "io/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024 };

static void keep_failure(html *h, ssm2d_status status, const ssm2d_error *error)
{
    if (h->status) return;
    h->status = status;
    h->error = *error;
}

static void put_bytes(html *h, const char *bytes, size_t size)
{
    ssm2d_error error;
    if (h->status || !size) return;
    const ssm2d_status status = atomic_write(&h->file, bytes, size, &error);
    if (status) keep_failure(h, status, &error);
}

ssm2d_status html_open(const ssm2d_context *context, const char *path, html *h, ssm2d_error *error)
{
    *h = (html){.context = context};
    return atomic_open(context, path, &h->file, error);
}

ssm2d_status html_finish(html *h, ssm2d_error *error)
{
    if (!h->status) return atomic_commit(&h->file, error);
    atomic_cancel(&h->file);
    return fail(error, h->status, "%s", h->error.line);
}

void html_abandon(html *h) { atomic_cancel(&h->file); }

void html_put(html *h, const char *markup) { put_bytes(h, markup, strlen(markup)); }

void html_printf(html *h, const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length > 0) put_bytes(h, line, (size_t)length < sizeof line ? (size_t)length : LINE - 1);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes each character of text, or its replacement from `special`. */
static void put_text(html *h, const char *text, const char *(*special)(const char *at, int length))
{
    while (*text && !h->status) {
        const int control = control_length(text), length = control ? control : text_utf8(text);
        const char *other = control || !length ? replacement : special(text, length);
        if (other)
            html_put(h, other);
        else
            put_bytes(h, text, (size_t)length);
        text += length ? length : 1;
    }
}

static const char *html_special(const char *at, int length)
{
    (void)length;
    switch (*at) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void html_text(html *h, const char *text) { put_text(h, text, html_special); }

static const char *name_special(const char *at, int length)
{
    switch (*at) {
    case '+': return "+<wbr>";
    case '/': return "/<wbr>";
    case '_': return "_<wbr>";
    default: return html_special(at, length);
    }
}

void html_name(html *h, const char *name) { put_text(h, name, name_special); }

/* Escapes everything that could end the script element, and line separators. */
static const char *json_special(const char *at, int length)
{
    if (length == 3 && !memcmp(at, "\xe2\x80\xa8", 3)) return "\\u2028";
    if (length == 3 && !memcmp(at, "\xe2\x80\xa9", 3)) return "\\u2029";
    switch (*at) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: return NULL;
    }
}

void html_json_text(html *h, const char *text)
{
    html_put(h, "\"");
    put_text(h, text, json_special);
    html_put(h, "\"");
}

void html_json_number(html *h, double value, int digits)
{
    if (isfinite(value))
        html_printf(h, "%.*g", digits, value);
    else
        html_put(h, "null");
}

void html_seconds(html *h, double seconds)
{
    if (!(seconds >= 0 && seconds < 1e9)) {
        html_put(h, "–");
        return;
    }
    const long whole = (long)(seconds + 0.5);
    if (seconds < 59.95)
        html_printf(h, "%.1f s", seconds);
    else if (whole < 3600)
        html_printf(h, "%ld:%02ld", whole / 60, whole % 60);
    else
        html_printf(h, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
}

void html_count(html *h, double count)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%.0f", count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-') html_put(h, "\u202f");
        put_bytes(h, &digits[i], 1);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* A stream that writes its input to the page in base64. */
typedef struct base64 {
    html *h;
    unsigned char rest[3];
    int count; /* of bytes in rest */
} base64;

static void put_four(html *h, const unsigned char *bytes, int count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned all = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0)
                         | (count > 2 ? bytes[2] : 0U);
    const char four[4] = {digits[all >> 18], digits[all >> 12 & 63],
                          count > 1 ? digits[all >> 6 & 63] : '=',
                          count > 2 ? digits[all & 63] : '='};
    put_bytes(h, four, 4);
}

static ssize_t write_base64(void *cookie, const char *bytes, size_t size)
{
    base64 *b = cookie;
    for (size_t i = 0; i < size; i++) {
        b->rest[b->count++] = (unsigned char)bytes[i];
        if (b->count < 3) continue;
        put_four(b->h, b->rest, 3);
        b->count = 0;
    }
    return b->h->status ? 0 : (ssize_t)size;
}

static void no_memory(html *h)
{
    ssm2d_error error;
    keep_failure(h, fail_memory(&error, "picture in %s", text_path(h->file.path)), &error);
}

void html_png(html *h, size_t rows, size_t cols, int channels, const uint8_t *pixels)
{
    base64 to = {.h = h};
    const image_info info = {.rows = rows, .cols = cols, .channels = channels};
    image_writer *writer = NULL;
    ssm2d_error error;
    if (h->status) return;
    FILE *stream = fopencookie(&to, "w", (cookie_io_functions_t){.write = write_base64});
    if (!stream) {
        no_memory(h);
        return;
    }
    html_put(h, "data:image/png;base64,");
    const image_write_options options = {.stream = stream};
    ssm2d_status status = image_create(h->context, h->file.path, &info, &options, &writer, &error);
    for (size_t i = 0; i < rows && !status; i++)
        status = image_write_row(writer, pixels + i * cols * (size_t)channels, &error);
    if (!status)
        status = image_finish(writer, &error);
    else
        image_abandon(writer);
    if (fclose(stream) && !status)
        status = fail(&error, SSM2D_ERROR_SYSTEM, "%s: cannot be written", text_path(h->file.path));
    if (to.count) put_four(h, to.rest, to.count);
    if (status) keep_failure(h, status, &error);
}

void html_heat(html *h, size_t rows, size_t cols, const double *values, colour_map map, double high,
               int decades)
{
    if (h->status) return;
    uint8_t *pixels = mem_alloc(h->context, 3 * rows * cols);
    if (!pixels) {
        no_memory(h);
        return;
    }
    if (!(high > 0)) high = 1;
    for (size_t i = 0; i < rows * cols; i++) {
        const double x = values[i] / high;
        const colour c = colour_at(map, map == COLOUR_DIVERGING ? (x + 1) / 2
                                        : decades && x > 0      ? 1 + log10(x) / decades
                                                                : x);
        pixels[3 * i] = (uint8_t)lround(255 * c.red);
        pixels[3 * i + 1] = (uint8_t)lround(255 * c.green);
        pixels[3 * i + 2] = (uint8_t)lround(255 * c.blue);
    }
    html_png(h, rows, cols, 3, pixels);
    mem_free(h->context, pixels);
}
