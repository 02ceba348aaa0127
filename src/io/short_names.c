#include "io/short_names.h"

#include <string.h>

enum { MOST_PARTS = 8 };

/* The end of a folder's name that has so many parts. */
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

const char *short_name_of(const char *const *folders, int count, int i)
{
    for (int parts = 1; parts < MOST_PARTS; parts++)
        if (is_unique(folders, count, i, parts)) return end_of(folders[i], parts);
    return folders[i];
}
