#include "io/text.h"

#include "core/printable.h"
#include "core/status.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { PATH_SHOWN = 120 };

const char *text_path(const char *path)
{
    size_t length = strlen(path);
    if (length <= PATH_SHOWN) return path;
    const char *tail = path + length - PATH_SHOWN;
    const char *slash = strchr(tail, '/');
    return slash && slash[1] ? slash + 1 : tail;
}

ssm2d_status fail_errno(ssm2d_error *error, const char *path, const char *what)
{
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: %s: %s", text_path(path), what, strerror(errno));
}

const char *text_show(const char *text, size_t length, char *out, size_t size)
{
    int cut = length >= size;
    if (cut) length = size - 1;
    for (size_t i = 0; i < length; i++) out[i] = text[i] ? text[i] : '?';
    out[length] = 0;
    if (cut && length >= 2) memcpy(out + length - 2, "..", 2);
    return printable(out);
}

int text_utf8(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;
    const int n = t[0] < 0x80                    ? 1
                  : t[0] >= 0xc2 && t[0] <= 0xdf ? 2
                  : (t[0] & 0xf0) == 0xe0        ? 3
                  : t[0] >= 0xf0 && t[0] <= 0xf4 ? 4
                                                 : 0;
    for (int i = 1; i < n; i++)
        if ((t[i] & 0xc0) != 0x80) return 0;
    if (n < 3) return n;
    /* overlong forms, surrogates, and code points above U+10FFFF */
    const int bad = (t[0] == 0xe0 && t[1] < 0xa0) || (t[0] == 0xed && t[1] > 0x9f)
                    || (t[0] == 0xf0 && t[1] < 0x90) || (t[0] == 0xf4 && t[1] > 0x8f);
    return bad ? 0 : n;
}

int text_make_utf8(char *text)
{
    int replaced = 0;
    while (*text) {
        const int n = text_utf8(text);
        if (!n) {
            *text = '?';
            replaced = 1;
        }
        text += n ? n : 1;
    }
    return replaced;
}

const char *text_valid(const char *text, char *out, size_t size)
{
    text_show(text, strlen(text), out, size);
    text_make_utf8(out);
    return out;
}

char *text_next_line(char **rest)
{
    char *line = *rest;
    if (!*line) return NULL;
    *rest = line + strcspn(line, "\n");
    if (**rest) *(*rest)++ = 0;
    line[strcspn(line, "\r")] = 0;
    return line;
}

void text_print(FILE *out, const char *text)
{
    while (*text) {
        const int control = control_length(text);
        for (int i = 0; i < control; i++) putc('?', out);
        if (!control) putc(*text, out);
        text += control ? control : 1;
    }
}

int text_has_extension(const char *path, const char *extension)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot, extension);
}
