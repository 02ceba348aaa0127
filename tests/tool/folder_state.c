#define _GNU_SOURCE /* nftw */
#include "folder_state.h"

#include "tool_run.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct entry {
    char *path;     /* below the folder */
    uint64_t state; /* hash of kind, contents, inode and time, so that a rewritten file differs */
} entry;

typedef struct listing {
    entry *entries;
    size_t count;
} listing;

static listing before;
static const char *root = "";
static listing *filling; /* nftw passes no argument */

static uint64_t hash(uint64_t state, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) state = (state ^ bytes[i]) * 0x100000001b3;
    return state;
}

static uint64_t hash_file(const char *path, const struct stat *st)
{
    char bytes[1 << 16];
    uint64_t state = hash(0xcbf29ce484222325, &st->st_mode, sizeof st->st_mode);
    if (S_ISDIR(st->st_mode)) return state; /* what is in it has entries of its own */
    state = hash(state, &st->st_ino, sizeof st->st_ino);
    state = hash(state, &st->st_mtim, sizeof st->st_mtim);
    if (S_ISLNK(st->st_mode)) {
        const ssize_t length = readlink(path, bytes, sizeof bytes);
        return hash(state, bytes, length < 0 ? 0 : (size_t)length);
    }
    FILE *f = S_ISREG(st->st_mode) ? fopen(path, "rb") : NULL; /* a pipe would block */
    if (!f) return state;
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, f));) state = hash(state, bytes, got);
    fclose(f);
    return state;
}

static int add_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    const char *name = path + strlen(root);
    (void)where;
    if (kind == FTW_NS || !*name || !strncmp(name, "/.cache", 7)) return 0;
    entry *grown = realloc(filling->entries, (filling->count + 1) * sizeof *grown);
    if (!grown) return -1;
    filling->entries = grown;
    grown[filling->count++] = (entry){strdup(name + 1), hash_file(path, st)};
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

static listing list(void)
{
    listing l = {0};
    filling = &l;
    if (*root && !access(root, F_OK)) assert_int_equal(nftw(root, add_entry, 16, FTW_PHYS), 0);
    if (l.count) qsort(l.entries, l.count, sizeof *l.entries, by_path);
    return l;
}

static void clear(listing *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->entries[i].path);
    free(l->entries);
    *l = (listing){0};
}

void folder_remember(const char *folder)
{
    root = folder;
    clear(&before);
    before = list();
}

void folder_forget(void) { clear(&before); }

static const entry *find(const listing *l, const char *path)
{
    const entry key = {(char *)(uintptr_t)path, 0};
    return l->count ? bsearch(&key, l->entries, l->count, sizeof key, by_path) : NULL;
}

/* Whether a name stands for a path: the same, or a folder that the path is, or is in. */
static int covers(const char *name, const char *path)
{
    const size_t length = strlen(name);
    if (!length || name[length - 1] != '/') return !strcmp(name, path);
    return !strncmp(name, path, length - 1) && (!path[length - 1] || path[length - 1] == '/');
}

void assert_folder_change(const char *const *names)
{
    listing after = list();
    char wrong[512] = "";
    for (size_t i = 0; i < before.count; i++)
        if (!find(&after, before.entries[i].path))
            snprintf(wrong, sizeof wrong, "removed %s", before.entries[i].path);
    for (size_t i = 0; i < after.count; i++) {
        const entry *e = &after.entries[i], *old = find(&before, e->path);
        const char *const *name = names;
        while (*name && !covers(*name, e->path)) name++;
        if (!*name && (!old || old->state != e->state))
            snprintf(wrong, sizeof wrong, "wrote %s", e->path);
    }
    for (const char *const *name = names; *name; name++) {
        int written = 0;
        for (size_t i = 0; i < after.count; i++) {
            const entry *e = &after.entries[i], *old = find(&before, e->path);
            written |= covers(*name, e->path) && (!old || old->state != e->state);
        }
        if (!written) snprintf(wrong, sizeof wrong, "did not write %s", *name);
    }
    clear(&after);
    if (*wrong) fail_msg("the command %s", wrong);
}

void assert_no_temporary(void)
{
    listing l = list();
    char wrong[512] = "";
    for (size_t i = 0; i < l.count; i++) {
        const char *slash = strrchr(l.entries[i].path, '/');
        if (!strncmp(slash ? slash + 1 : l.entries[i].path, ".ssm2d-", 7))
            snprintf(wrong, sizeof wrong, "%s", l.entries[i].path);
    }
    clear(&l);
    if (*wrong) fail_msg("the command left the half-written file %s", wrong);
}
