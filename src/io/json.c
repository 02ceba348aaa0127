#include "io/json.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 16 << 20, MAX_DEPTH = 64 };

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* Refuses what cJSON accepts: zero bytes, control characters in strings, deep nesting. cJSON checks
 * the rest of the syntax. */
static ssm2d_status scan(const char *name, const char *text, size_t size, ssm2d_error *error)
{
    int depth = 0, in_string = 0;
    for (const char *at = text, *end = text + size; at < end; at++) {
        const char *what = NULL;
        unsigned char c = (unsigned char)*at;
        if (c == 0 || (in_string && c < 0x20))
            what = c ? "has a control character in a string" : "has a zero byte";
        else if (in_string && c == '\\') {
            if (end - at >= 6 && !memcmp(at, "\\u0000", 6)) what = "has an escaped zero byte";
            at++;
        } else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '[') && ++depth > MAX_DEPTH)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: line %d is nested deeper than %d",
                        text_path(name), line_of(text, at), MAX_DEPTH);
        else if (!in_string && (c == '}' || c == ']'))
            depth--;
        if (what)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: line %d %s", text_path(name),
                        line_of(text, at), what);
    }
    return SSM2D_OK;
}

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The error for text that is not JSON from `at` on: shows what is there, and what precedes it. */
static ssm2d_status not_json(const char *name, const char *text, const char *at, const char *end,
                             ssm2d_error *error)
{
    char found[24], after[8] = "";
    while (at < end && is_space(*at)) at++;
    const char *before = at;
    while (before > text && is_space(before[-1])) before--;
    if (before > text) text_show(before - 1, 1, after, sizeof after);
    const int line = line_of(text, at);
    if (at == end)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: line %d: the JSON is not complete",
                    text_path(name), line);
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    text_show(at, (size_t)((stop ? stop : end) - at), found, sizeof found);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: line %d: not valid JSON: found %s%s%s",
                text_path(name), line, found, *after ? " after " : "", after);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Refuses an object that has a key twice. Sorts the keys, so that large objects stay cheap; the
 * memory is cJSON's, as the tree's is. */
static ssm2d_status check_keys(const char *name, const cJSON *object, ssm2d_error *error)
{
    size_t count = 0;
    for (const cJSON *item = object->child; item; item = item->next) count++;
    if (count < 2) return SSM2D_OK;
    const char **keys = cJSON_malloc(count * sizeof *keys);
    if (!keys) return fail_memory(error, "%s: %zu keys", text_path(name), count);
    count = 0;
    for (const cJSON *item = object->child; item; item = item->next) keys[count++] = item->string;
    qsort(keys, count, sizeof *keys, compare_keys);
    ssm2d_status status = SSM2D_OK;
    for (size_t i = 1; i < count && !status; i++) {
        char shown[48];
        if (!strcmp(keys[i], keys[i - 1]))
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is given twice", text_path(name),
                          text_show(keys[i], strlen(keys[i]), shown, sizeof shown));
    }
    cJSON_free(keys);
    return status;
}

static ssm2d_status check_tree(const char *name, const cJSON *value, ssm2d_error *error)
{
    ssm2d_status status = cJSON_IsObject(value) ? check_keys(name, value, error) : SSM2D_OK;
    for (const cJSON *item = value->child; item && !status; item = item->next)
        status = check_tree(name, item, error);
    return status;
}

ssm2d_status json_parse(const char *name, const char *text, size_t size, cJSON **root,
                        ssm2d_error *error)
{
    *root = NULL;
    if (!size) return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is empty", text_path(name));
    ssm2d_status status = scan(name, text, size, error);
    if (status) return status;
    const char *at = text, *end = text + size;
    char shown[32];
    errno = 0; /* cJSON does not say why it gave up, but malloc sets ENOMEM */
    cJSON *tree = cJSON_ParseWithLengthOpts(text, size, &at, 0);
    const int no_memory = !tree && errno == ENOMEM;
    if (at < text || at > end) at = end;
    if (tree)
        while (at < end && is_space(*at)) at++;
    if (no_memory)
        status = fail_memory(error, "reading %s", text_path(name));
    else if (!tree)
        status = not_json(name, text, at, end, error);
    else if (at != end)
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: line %d: unexpected text after the JSON: %s", text_path(name),
                      line_of(text, at), text_show(at, (size_t)(end - at), shown, sizeof shown));
    else
        status = check_tree(name, tree, error);
    if (status)
        cJSON_Delete(tree);
    else
        *root = tree;
    return status;
}

typedef ssm2d_status read_function(const ssm2d_context *context, const char *path, size_t max_bytes,
                                   char **bytes, size_t *size, ssm2d_error *error);

static ssm2d_status read_with(read_function *read, const ssm2d_context *context, const char *path,
                              cJSON **root, ssm2d_error *error)
{
    char *text;
    size_t size;
    *root = NULL;
    ssm2d_status status = read(context, path, MAX_FILE, &text, &size, error);
    if (status) return status;
    status = json_parse(path, text, size, root, error);
    mem_free(context, text);
    return status;
}

ssm2d_status json_read(const ssm2d_context *context, const char *path, cJSON **root,
                       ssm2d_error *error)
{
    return read_with(file_read, context, path, root, error);
}

ssm2d_status json_read_regular(const ssm2d_context *context, const char *path, cJSON **root,
                               ssm2d_error *error)
{
    return read_with(file_read_regular, context, path, root, error);
}

ssm2d_status json_write(const ssm2d_context *context, const char *path, cJSON *root,
                        ssm2d_error *error)
{
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text) return fail_memory(error, "writing %s", text_path(path));
    const ssm2d_status status = file_write_text(context, path, text, error);
    cJSON_free(text);
    return status;
}

const char *json_show(const cJSON *value, char *text, size_t size)
{
    char string[40];
    if (cJSON_IsNumber(value))
        snprintf(text, size, "%.15g", value->valuedouble);
    else if (cJSON_IsString(value))
        snprintf(text, size, "\"%s\"",
                 text_show(value->valuestring, strlen(value->valuestring), string, sizeof string));
    else
        snprintf(text, size, "%s",
                 cJSON_IsTrue(value)     ? "true"
                 : cJSON_IsFalse(value)  ? "false"
                 : cJSON_IsNull(value)   ? "null"
                 : cJSON_IsArray(value)  ? "a list"
                 : cJSON_IsObject(value) ? "an object"
                                         : "no value");
    return text;
}

/* As json_difference, for the keys of the object named `prefix`. */
static int difference(const cJSON *one, const cJSON *two, const char *prefix, const char *a,
                      const char *b, char *what, size_t size)
{
    char x[48], y[48];
    for (const cJSON *item = one->child; item; item = item->next) {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(two, item->string);
        if (cJSON_Compare(item, other, 1)) continue;
        if (cJSON_IsObject(item) && cJSON_IsObject(other) && !*prefix)
            return difference(item, other, item->string, a, b, what, size);
        snprintf(what, size, "%s%s%s is %s in %s and %s in %s", prefix, *prefix ? "." : "",
                 item->string, json_show(item, x, sizeof x), a,
                 other ? json_show(other, y, sizeof y) : "missing", b);
        return 1;
    }
    for (const cJSON *item = two->child; item; item = item->next) {
        if (cJSON_GetObjectItemCaseSensitive(one, item->string)) continue;
        snprintf(what, size, "%s%s%s is %s in %s and missing in %s", prefix, *prefix ? "." : "",
                 item->string, json_show(item, x, sizeof x), b, a);
        return 1;
    }
    return 0;
}

int json_difference(const cJSON *one, const cJSON *two, const char *a, const char *b, char *what,
                    size_t size)
{
    return difference(one, two, "", a, b, what, size);
}

int json_add(cJSON *object, const char *key, cJSON *value)
{
    if (value
        && (key ? cJSON_AddItemToObject(object, key, value) : cJSON_AddItemToArray(object, value)))
        return 1;
    cJSON_Delete(value);
    return 0;
}

/* Finds the member `key`; *item is NULL when an optional one is missing. */
static ssm2d_status find(const char *file, const cJSON *object, const char *key, json_need need,
                         const cJSON **item, ssm2d_error *error)
{
    char shown[64];
    *item = NULL;
    if (!cJSON_IsObject(object))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" must be in an object {..}, not in %s",
                    text_path(file), key, json_show(object, shown, sizeof shown));
    *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!*item && need == JSON_REQUIRED)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is missing", text_path(file), key);
    return SSM2D_OK;
}

static ssm2d_status refuse(const char *file, const char *key, const cJSON *item, const char *use,
                           ssm2d_error *error)
{
    char shown[64];
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", text_path(file), key,
                json_show(item, shown, sizeof shown), use);
}

ssm2d_status json_get_int(const char *file, const cJSON *object, const char *key, json_need need,
                          int low, int high, int *value, ssm2d_error *error)
{
    const cJSON *item;
    ssm2d_status status = find(file, object, key, need, &item, error);
    if (status || !item) return status;
    double d = cJSON_IsNumber(item) ? item->valuedouble : 0;
    if (cJSON_IsNumber(item) && d >= low && d <= high && d == (int)d) {
        *value = (int)d;
        return SSM2D_OK;
    }
    char use[64];
    snprintf(use, sizeof use, "a whole number from %d to %d", low, high);
    return refuse(file, key, item, use, error);
}

ssm2d_status json_get_string(const char *file, const cJSON *object, const char *key, json_need need,
                             const char **value, ssm2d_error *error)
{
    const cJSON *item;
    ssm2d_status status = find(file, object, key, need, &item, error);
    if (status || !item) return status;
    if (!cJSON_IsString(item)) return refuse(file, key, item, "a string", error);
    *value = item->valuestring;
    return SSM2D_OK;
}
