#include "io/short_names.h"

#include "core/context.h"

#include <string.h>

enum { MAX_PARTS = 8 };

/* The last `parts` components of a path. */
static const char *end_of(const char *folder, int parts)
{
    const char *at = folder + strlen(folder);
    while (at > folder && at[-1] == '/') at--;
    while (at > folder)
        if (*--at == '/' && --parts == 0) return at[1] ? at + 1 : folder;
    return folder;
}

static int is_unique(const char *const *folders, int count, int i, int parts)
{
    for (int k = 0; k < count; k++)
        if (k != i && !strcmp(end_of(folders[i], parts), end_of(folders[k], parts))) return 0;
    return 1;
}

static const char *unique_end(const char *const *folders, int count, int i)
{
    for (int parts = 1; parts < MAX_PARTS; parts++)
        if (is_unique(folders, count, i, parts)) return end_of(folders[i], parts);
    return folders[i];
}

/* Whether `name`, parts joined by '+', has this part. */
static int has_part(const char *name, const char *part, size_t length)
{
    for (;;) {
        const size_t own = strcspn(name, "+");
        if (own == length && !strncmp(name, part, length)) return 1;
        if (!name[own]) return 0;
        name += own + 1;
    }
}

static int all_have(char *const *ends, int count, const char *part, size_t length)
{
    int k = 0;
    while (k < count && has_part(ends[k], part, length)) k++;
    return k == count;
}

/* Writes the parts of `end` that not all ends have; returns the number of bytes. */
static size_t write_own_parts(char *const *ends, int count, const char *end, char *out)
{
    size_t used = 0;
    for (;;) {
        const size_t length = strcspn(end, "+");
        if (!all_have(ends, count, end, length)) {
            if (used) out[used++] = '+';
            memcpy(out + used, end, length);
            used += length;
        }
        out[used] = 0;
        if (!end[length]) return used;
        end += length + 1;
    }
}

/* Makes names without the common parts; returns 0 if they would not be unique. */
static int drop_common_parts(char *const *ends, int count, char **names, char *text)
{
    for (int i = 0; i < count; i++) {
        names[i] = text;
        const size_t used = write_own_parts(ends, count, ends[i], text);
        if (!used) return 0;
        text += used + 1;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(names[i], names[k]) && strcmp(ends[i], ends[k])) return 0;
    return 1;
}

char **short_names_make(const ssm2d_context *context, const char *const *folders, int count)
{
    const size_t n = (size_t)count;
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += strlen(folders[i]) + 1;
    char **names = mem_alloc(context, 2 * n * sizeof *names + 2 * bytes);
    if (!names) return NULL;
    char **ends = names + n, *text = (char *)(ends + n);
    for (int i = 0; i < count; i++) {
        const char *end = unique_end(folders, count, i);
        const size_t size = strlen(end) + 1;
        ends[i] = memcpy(text, end, size);
        text += size;
    }
    if (!drop_common_parts(ends, count, names, text)) memcpy(names, ends, n * sizeof *names);
    return names;
}
