#include "io/text.h"

#include <string.h>

enum { PATH_SHOWN = 120 };

const char *text_path(const char *path)
{
    size_t length = strlen(path);
    if (length <= PATH_SHOWN) return path;
    const char *tail = path + length - PATH_SHOWN;
    const char *slash = strchr(tail, '/');
    return slash && slash[1] ? slash + 1 : tail;
}

const char *text_show(const char *text, size_t length, char *out, size_t size)
{
    int cut = length >= size;
    if (cut) length = size - 1;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    out[length] = 0;
    if (cut && length >= 2) memcpy(out + length - 2, "..", 2);
    return out;
}
