#include "core/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { LONGEST_NAME = 40 };

/* The edit distance: letters to insert, remove, change or swap with their neighbour. */
static int distance(const char *a, const char *b)
{
    int d[3][LONGEST_NAME + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) d[0][j] = j;
    int i = 0;
    for (; a[i]; i++) {
        int *two = d[(i + 2) % 3], *one = d[i % 3], *now = d[(i + 1) % 3];
        now[0] = i + 1;
        for (int j = 0; j < n; j++) {
            const int x = tolower((unsigned char)a[i]), y = tolower((unsigned char)b[j]);
            int best = one[j] + (x != y);
            if (best > one[j + 1] + 1) best = one[j + 1] + 1;
            if (best > now[j] + 1) best = now[j] + 1;
            if (i && j && x == tolower((unsigned char)b[j - 1])
                && y == tolower((unsigned char)a[i - 1]) && best > two[j - 1] + 1)
                best = two[j - 1] + 1;
            now[j + 1] = best;
        }
    }
    return d[i % 3][n];
}

/* The longest name that `wrong` continues after an underscore, as image_size continues image. */
static const char *continued_name(const char *wrong, const char *const *names)
{
    const char *found = NULL;
    for (; *names; names++) {
        const size_t n = strlen(*names);
        if (!strncmp(wrong, *names, n) && wrong[n] == '_' && (!found || n > strlen(found)))
            found = *names;
    }
    return found;
}

const char *closest_name(const char *wrong, const char *const *names)
{
    const char *found = NULL;
    size_t length = strlen(wrong);
    if (!length || length > LONGEST_NAME) return NULL;
    int best = (int)length / 3 + 1; /* beyond that it is a different word */
    if (best >= (int)length) best = (int)length - 1;
    for (const char *const *name = names; *name; name++) {
        if (strlen(*name) > LONGEST_NAME) continue;
        int d = distance(wrong, *name);
        if (d <= best && (!found || d < best)) {
            found = *name;
            best = d;
        }
    }
    return found ? found : continued_name(wrong, names);
}
