#include "data/checked_files.h"

#include "core/context.h"
#include "core/hash.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_KEYS = 1 << 23 }; /* 64 MiB */

static const char magic[16] = "ssm2d images 1\n";

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

checked_files checked_files_read(const ssm2d_context *context, const char *path)
{
    checked_files c = {.context = context};
    char *bytes = NULL;
    size_t size = 0;
    const size_t max = sizeof magic + (size_t)MAX_KEYS * sizeof *c.keys;
    if (!path || file_read_regular(context, path, max, &bytes, &size, NULL)) return c;
    const size_t count = size < sizeof magic ? 0 : (size - sizeof magic) / sizeof *c.keys;
    if (count && !memcmp(bytes, magic, sizeof magic))
        c.keys = mem_alloc(context, count * sizeof *c.keys);
    if (c.keys) {
        memcpy(c.keys, bytes + sizeof magic, count * sizeof *c.keys);
        qsort(c.keys, count, sizeof *c.keys, compare); /* anybody may have written it */
        c.count = c.sorted = c.capacity = count;
    }
    mem_free(context, bytes);
    return c;
}

uint64_t checked_files_key(const char *path, size_t max_pixels)
{
    struct stat info;
    uint64_t hash = HASH_START;
    if (stat(path, &info) || !S_ISREG(info.st_mode)) return 0;
    const uint64_t numbers[] = {(uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                                (uint64_t)info.st_mtim.tv_nsec, max_pixels};
    hash_add(&hash, path, strlen(path));
    hash_add(&hash, numbers, sizeof numbers);
    return hash ? hash : 1;
}

int checked_files_has(const checked_files *c, uint64_t key)
{
    return key && c->sorted && bsearch(&key, c->keys, c->sorted, sizeof key, compare);
}

void checked_files_add(checked_files *c, uint64_t key)
{
    if (!key || c->count >= MAX_KEYS) return;
    uint64_t *keys = mem_grow(c->context, c->keys, sizeof *keys, c->count, 1, &c->capacity);
    if (!keys) return;
    c->keys = keys;
    c->keys[c->count++] = key;
}

int checked_files_write(checked_files *c, const char *path)
{
    atomic_file file;
    if (!path || c->count == c->sorted) return 0;
    qsort(c->keys, c->count, sizeof *c->keys, compare);
    c->sorted = c->count;
    if (atomic_open(c->context, path, &file, NULL)) return 0;
    if (atomic_write(&file, magic, sizeof magic, NULL)
        || atomic_write(&file, c->keys, c->count * sizeof *c->keys, NULL)) {
        atomic_cancel(&file);
        return 0;
    }
    return !atomic_commit(&file, NULL);
}

void checked_files_free(checked_files *c)
{
    mem_free(c->context, c->keys);
    *c = (checked_files){0};
}
