#include "io/json_syntax.h"

#include <string.h>

enum { MAX_NUMBER = 63 }; /* characters of a number that cJSON reads */

/* Each of these moves *at behind what it is named after, and returns 0 when that is not there. */
static int value(const char **at, const char *end);

static void spaces(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n", **at) && **at) ++*at;
}

static int character(const char **at, const char *end, char c)
{
    if (*at == end || **at != c) return 0;
    ++*at;
    return 1;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int digits(const char **at, const char *end)
{
    const char *start = *at;
    while (*at < end && is_digit(**at)) ++*at;
    return *at > start;
}

static int number(const char **at, const char *end)
{
    const char *start = *at;
    character(at, end, '-');
    if (!character(at, end, '0') && !digits(at, end)) return 0;
    if (character(at, end, '.') && !digits(at, end)) return 0;
    if (character(at, end, 'e') || character(at, end, 'E')) {
        if (!character(at, end, '+')) character(at, end, '-');
        if (!digits(at, end)) return 0;
    }
    return *at - start <= MAX_NUMBER;
}

/* The four digits of \uXXXX, or -1. */
static int hexadecimal(const char **at, const char *end)
{
    static const char all[] = "0123456789abcdefABCDEF";
    int code = 0;
    for (int i = 0; i < 4; i++, ++*at) {
        const char *found = *at < end && **at ? strchr(all, **at) : NULL;
        if (!found) return -1;
        const int digit = (int)(found - all);
        code = 16 * code + (digit < 16 ? digit : digit - 6);
    }
    return code;
}

/* What follows a backslash. A character beyond 16 bits is a pair of them. */
static int escape(const char **at, const char *end)
{
    if (*at == end || !**at) return 0;
    if (**at != 'u') return !!strchr("\"\\/bfnrt", *(*at)++);
    ++*at;
    const int code = hexadecimal(at, end);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) return 0;
    if (code < 0xd800 || code > 0xdbff) return 1;
    if (!character(at, end, '\\') || !character(at, end, 'u')) return 0;
    const int second = hexadecimal(at, end);
    return second >= 0xdc00 && second <= 0xdfff;
}

static int string(const char **at, const char *end)
{
    if (!character(at, end, '"')) return 0;
    while (*at < end && **at != '"') {
        if (*(*at)++ == '\\' && !escape(at, end)) return 0;
    }
    return character(at, end, '"');
}

/* A list, or with keys an object. */
static int members(const char **at, const char *end, int keys)
{
    const char close = keys ? '}' : ']';
    ++*at;
    spaces(at, end);
    if (character(at, end, close)) return 1;
    do {
        spaces(at, end);
        if (keys) {
            if (!string(at, end)) return 0;
            spaces(at, end);
            if (!character(at, end, ':')) return 0;
        }
        if (!value(at, end)) return 0;
    } while (character(at, end, ','));
    return character(at, end, close);
}

static int value(const char **at, const char *end)
{
    static const char *const words[] = {"null", "true", "false"};
    int good = 0;
    spaces(at, end);
    if (*at == end) return 0;
    if (**at == '{' || **at == '[')
        good = members(at, end, **at == '{');
    else if (**at == '"')
        good = string(at, end);
    else if (**at == '-' || is_digit(**at))
        good = number(at, end);
    else
        for (int i = 0; i < 3 && !good; i++) {
            const size_t length = strlen(words[i]);
            good = (size_t)(end - *at) >= length && !memcmp(*at, words[i], length);
            if (good) *at += length;
        }
    spaces(at, end);
    return good;
}

int json_valid(const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    return value(&at, end) && at == end;
}
