#define _GNU_SOURCE /* qsort_r */
#include "data/listing.h"

#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "data/picture.h"
#include "io/image.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

ssm2d_status listing_create(dataset *d, const char *root, listing **out, ssm2d_error *error)
{
    listing *l = *out = d->state = mem_alloc(d->context, sizeof *l);
    if (l) {
        l->context = d->context;
        l->root = mem_alloc(d->context, strlen(root) + 1);
    }
    if (!l || !l->root) return fail_memory(error, "opening %s", text_path(root));
    strcpy(l->root, root);
    return SSM2D_OK;
}

void listing_free(listing *l)
{
    mem_free(l->context, l->root);
    mem_free(l->context, l->first_ignored);
    mem_free(l->context, l->text.items);
    mem_free(l->context, l->entries.items);
}

void listing_close(dataset *d)
{
    if (!d->state) return;
    listing_free(d->state);
    mem_free(d->context, d->state);
}

/* ---- entries --------------------------------------------------------------------------------- */

ssm2d_status listing_grow(const ssm2d_context *context, growing *g, size_t more, size_t item,
                          ssm2d_error *error)
{
    if (g->count + more <= g->capacity) return SSM2D_OK;
    size_t capacity = 2 * (g->count + more);
    void *items = mem_alloc(context, capacity * item);
    if (!items) return fail_memory(error, "data: list of %zu bytes", capacity * item);
    if (g->count) memcpy(items, g->items, g->count * item);
    mem_free(context, g->items);
    g->items = items;
    g->capacity = capacity;
    return SSM2D_OK;
}

ssm2d_status listing_append(listing *l, const char *name, int label, ssm2d_error *error)
{
    size_t length = strlen(name) + 1;
    ssm2d_status status = listing_grow(l->context, &l->text, length, 1, error);
    if (!status) status = listing_grow(l->context, &l->entries, 1, sizeof(listing_entry), error);
    if (status) return status;
    memcpy((char *)l->text.items + l->text.count, name, length);
    ((listing_entry *)l->entries.items)[l->entries.count++] = (listing_entry){l->text.count, label};
    l->text.count += length;
    return SSM2D_OK;
}

const char *listing_name(const listing *l, size_t i)
{
    return (const char *)l->text.items + ((const listing_entry *)l->entries.items)[i].name;
}

int listing_label(const dataset *d, size_t i)
{
    const listing *l = d->state;
    return ((const listing_entry *)l->entries.items)[i].label;
}

static int compare(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + ((const listing_entry *)a)->name,
                  (const char *)text + ((const listing_entry *)b)->name);
}

void listing_sort(listing *l, size_t first)
{
    if (l->entries.count > first)
        qsort_r((listing_entry *)l->entries.items + first, l->entries.count - first,
                sizeof(listing_entry), compare, l->text.items);
}

/* ---- folders --------------------------------------------------------------------------------- */

int is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

typedef enum found_kind { FOUND_FOLDER, FOUND_IMAGE, FOUND_OTHER } found_kind;

/* A link is what it leads to; one that leads nowhere counts as an image by its name, so that
 * reading it says what is wrong. */
static found_kind kind_of(const char *path, const struct dirent *found)
{
    struct stat info;
    mode_t mode = S_IFREG;
    if (found->d_type != DT_REG && !stat(path, &info)) mode = info.st_mode;
    if (S_ISDIR(mode)) return FOUND_FOLDER;
    return S_ISREG(mode) && image_named(found->d_name) ? FOUND_IMAGE : FOUND_OTHER;
}

ssm2d_status listing_ignore(listing *l, const char *path, ssm2d_error *error)
{
    l->ignored++;
    if (l->first_ignored && strcmp(l->first_ignored, path) <= 0) return SSM2D_OK;
    char *copy = mem_alloc(l->context, strlen(path) + 1);
    if (!copy) return fail_memory(error, "%s", text_path(path));
    strcpy(copy, path);
    mem_free(l->context, l->first_ignored);
    l->first_ignored = copy;
    return SSM2D_OK;
}

ssm2d_status listing_read(listing *l, const char *path, int label, ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    size_t first = l->entries.count;
    DIR *dir = opendir(path);
    if (!dir)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be opened: %s", text_path(path),
                    strerror(errno));
    while (!status) {
        char below[PATH_MAX];
        errno = 0;
        struct dirent *found = readdir(dir);
        if (!found) {
            if (errno)
                status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be read: %s", text_path(path),
                              strerror(errno));
            break;
        }
        if (found->d_name[0] == '.') continue;
        if (!dataset_path(below, sizeof below, path, found->d_name)) {
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long",
                          text_path(path));
            break;
        }
        if (kind_of(below, found) == (label == LISTING_FOLDERS ? FOUND_FOLDER : FOUND_IMAGE))
            status = listing_append(l, found->d_name, label, error);
        else
            status = listing_ignore(l, below, error);
    }
    closedir(dir);
    if (!status) listing_sort(l, first);
    return status;
}

/* ---- the data set ---------------------------------------------------------------------------- */

/* The hash of all labels and names. */
static uint64_t names_hash(const listing *l)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < l->entries.count; i++) {
        hash_add(&hash, &((const listing_entry *)l->entries.items)[i].label, sizeof(int));
        hash_add(&hash, listing_name(l, i), strlen(listing_name(l, i)) + 1);
    }
    return hash;
}

void listing_describe(dataset *d)
{
    const listing *l = d->state;
    d->info.count = l->entries.count;
    d->info.names = names_hash(l);
    d->info.ignored = l->ignored;
    d->info.first_ignored = l->first_ignored;
    d->info.channels = 3;
    d->info.norm = (normalisation){{.485f, .456f, .406f}, {.229f, .224f, .225f}};
}

ssm2d_status listing_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error)
{
    char path[PATH_MAX];
    if (!d->impl->path(d, i, path, sizeof path))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long to be opened",
                    text_path(path));
    return picture_read_regular(d->context, path, d->max_pixels, to, pixels, error);
}
