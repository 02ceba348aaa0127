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

enum { MAX_LABELS = 1 << 20 };

ssm2d_status listing_create(dataset *d, size_t size, const char *root, ssm2d_error *error)
{
    listing *l = d->state = mem_alloc(d->context, size);
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
    mem_free(l->context, l->text);
    mem_free(l->context, l->entries);
}

void listing_close(dataset *d)
{
    if (!d->state) return;
    listing_free(d->state);
    mem_free(d->context, d->state);
}

/* ---- entries --------------------------------------------------------------------------------- */

ssm2d_status listing_append(listing *l, const char *name, int label, ssm2d_error *error)
{
    const size_t length = strlen(name) + 1;
    char *text = mem_grow(l->context, l->text, 1, l->text_size, length, &l->text_capacity);
    if (text) l->text = text;
    listing_entry *entries =
        mem_grow(l->context, l->entries, sizeof *entries, l->count, 1, &l->capacity);
    if (entries) l->entries = entries;
    if (!text || !entries) return fail_memory(error, "data: list of %zu files", l->count + 1);
    memcpy(text + l->text_size, name, length);
    entries[l->count++] = (listing_entry){l->text_size, label};
    l->text_size += length;
    return SSM2D_OK;
}

const char *listing_name(const listing *l, size_t i) { return l->text + l->entries[i].name; }

int listing_label(const dataset *d, size_t i)
{
    return ((const listing *)d->state)->entries[i].label;
}

static int compare(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + ((const listing_entry *)a)->name,
                  (const char *)text + ((const listing_entry *)b)->name);
}

void listing_sort(listing *l, size_t first)
{
    if (l->count > first)
        qsort_r(l->entries + first, l->count - first, sizeof *l->entries, compare, l->text);
}

/* ---- folders --------------------------------------------------------------------------------- */

int is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

typedef enum found_kind { FOUND_FOLDER, FOUND_IMAGE, FOUND_OTHER } found_kind;

/* Follows links. A dangling link counts as an image by its name, so that reading it reports the
 * error. */
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
    const size_t first = l->count;
    DIR *dir = opendir(path);
    if (!dir) return fail_errno(error, path, "cannot be opened");
    while (!status) {
        char below[PATH_MAX];
        errno = 0;
        struct dirent *found = readdir(dir);
        if (!found) {
            if (errno) status = fail_errno(error, path, "cannot be read");
            break;
        }
        if (found->d_name[0] == '.') continue;
        if ((status = dataset_path(below, sizeof below, path, found->d_name, error))) break;
        if (kind_of(below, found) == (label == LISTING_FOLDERS ? FOUND_FOLDER : FOUND_IMAGE))
            status = listing_append(l, found->d_name, label, error);
        else
            status = listing_ignore(l, below, error);
    }
    closedir(dir);
    if (!status) listing_sort(l, first);
    return status;
}

/* ---- data sets ------------------------------------------------------------------------------- */

ssm2d_status listing_name_labels(dataset *d, const char *folder, ssm2d_error *error)
{
    listing folders = {.context = d->context};
    const char **names = NULL;
    ssm2d_status status = listing_read(&folders, folder, LISTING_FOLDERS, error);
    const size_t count = folders.count;
    if (!status && (!count || count > MAX_LABELS))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: contains %s folders: expected a folder with images for each class",
                      text_path(folder), count ? "too many" : "no");
    if (!status && !(names = mem_alloc(d->context, count * sizeof *names)))
        status = fail_memory(error, "%s: %zu labels", text_path(folder), count);
    for (size_t i = 0; !status && i < count; i++) names[i] = listing_name(&folders, i);
    if (!status) status = dataset_name_labels(d, (int)count, names, error);
    mem_free(d->context, names);
    listing_free(&folders);
    return status;
}

/* The hash of all labels and names. */
static uint64_t names_hash(const listing *l)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < l->count; i++) {
        hash_add(&hash, &l->entries[i].label, sizeof(int));
        hash_add(&hash, listing_name(l, i), strlen(listing_name(l, i)) + 1);
    }
    return hash;
}

void listing_describe(dataset *d)
{
    const listing *l = d->state;
    d->info.count = l->count;
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
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the path is too long", text_path(path));
    const image_read_options options = {.max_pixels = d->max_pixels, .regular = 1};
    return picture_read(d->context, path, &options, to, pixels, error);
}
