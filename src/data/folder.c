/* folder - images as files, a folder per class: FOLDER/train/CLASS/NAME.png|jpg|jpeg, and the same
 * below val (or test).
 *
 * Classes are the folders below train in the order of their names (of bytes, whatever the locale);
 * images follow classes, and names within a class. Files are decoded when they are asked for. What
 * begins with a dot is passed over. Files with another ending, and pipes, sockets and devices, are
 * passed over and counted. */
#define _GNU_SOURCE /* qsort_r */
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "data/dataset_impl.h"
#include "data/picture.h"
#include "io/image.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_CLASSES = 1 << 20 };

/* An array that grows by doubling. */
typedef struct growing {
    void *items;
    size_t count, capacity;
} growing;

typedef struct entry {
    size_t name; /* offset in the text, which holds the names one after another, each ended by 0 */
    int label;
} entry;

typedef struct listing {
    const ssm2d_context *context;
    char *root; /* FOLDER/train or FOLDER/val */
    growing text, entries;
    size_t ignored;      /* files of classes that are no images */
    char *first_ignored; /* the path of one, or NULL */
} listing;

static ssm2d_status grow(const ssm2d_context *context, growing *g, size_t more, size_t item,
                         ssm2d_error *error)
{
    if (g->count + more <= g->capacity) return SSM2D_OK;
    size_t capacity = 2 * (g->count + more);
    void *items = mem_alloc(context, capacity * item);
    if (!items)
        return fail(error, SSM2D_ERROR_MEMORY, "data: no memory for a list of %zu bytes",
                    capacity * item);
    if (g->count) memcpy(items, g->items, g->count * item);
    mem_free(context, g->items);
    g->items = items;
    g->capacity = capacity;
    return SSM2D_OK;
}

static ssm2d_status append(listing *l, const char *name, int label, ssm2d_error *error)
{
    size_t length = strlen(name) + 1;
    ssm2d_status status = grow(l->context, &l->text, length, 1, error);
    if (!status) status = grow(l->context, &l->entries, 1, sizeof(entry), error);
    if (status) return status;
    memcpy((char *)l->text.items + l->text.count, name, length);
    ((entry *)l->entries.items)[l->entries.count++] = (entry){l->text.count, label};
    l->text.count += length;
    return SSM2D_OK;
}

static const char *name_of(const listing *l, size_t i)
{
    return (const char *)l->text.items + ((const entry *)l->entries.items)[i].name;
}

static int compare(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + ((const entry *)a)->name,
                  (const char *)text + ((const entry *)b)->name);
}

static int is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static int is_image(const char *name) { return image_named(name); }

typedef enum found_kind { FOUND_FOLDER, FOUND_IMAGE, FOUND_OTHER } found_kind;

/* A link is what it leads to; one that leads nowhere counts as an image by its name, so that
 * reading it says what is wrong. */
static found_kind kind_of(const char *path, const struct dirent *found)
{
    struct stat info;
    mode_t mode = S_IFREG;
    if (found->d_type != DT_REG && !stat(path, &info)) mode = info.st_mode;
    if (S_ISDIR(mode)) return FOUND_FOLDER;
    return S_ISREG(mode) && is_image(found->d_name) ? FOUND_IMAGE : FOUND_OTHER;
}

/* Counts a file that is no image, and keeps the path that comes first in the order of names, so
 * that every listing names the same. */
static ssm2d_status ignore(listing *l, const char *path, ssm2d_error *error)
{
    l->ignored++;
    if (l->first_ignored && strcmp(l->first_ignored, path) <= 0) return SSM2D_OK;
    char *copy = mem_alloc(l->context, strlen(path) + 1);
    if (!copy) return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory", text_path(path));
    strcpy(copy, path);
    mem_free(l->context, l->first_ignored);
    l->first_ignored = copy;
    return SSM2D_OK;
}

/* Appends what is in the folder, sorted: its folders when label is -1, else its images. */
static ssm2d_status list_folder(listing *l, const char *path, int label, ssm2d_error *error)
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
        const found_kind kind = kind_of(below, found);
        if (kind == (label >= 0 ? FOUND_IMAGE : FOUND_FOLDER))
            status = append(l, found->d_name, label, error);
        else if (label >= 0 && kind == FOUND_OTHER)
            status = ignore(l, below, error);
    }
    closedir(dir);
    if (!status && l->entries.count > first)
        qsort_r((entry *)l->entries.items + first, l->entries.count - first, sizeof(entry), compare,
                l->text.items);
    return status;
}

static void listing_free(listing *l)
{
    mem_free(l->context, l->root);
    mem_free(l->context, l->first_ignored);
    mem_free(l->context, l->text.items);
    mem_free(l->context, l->entries.items);
}

/* FOLDER/train; for the other split FOLDER/val, or FOLDER/test where there is no val. */
static int split_folder(const char *folder, dataset_split split, char *path, size_t size)
{
    if (split == DATASET_TRAIN) return dataset_path(path, size, folder, "train") && is_folder(path);
    return (dataset_path(path, size, folder, "val") && is_folder(path))
           || (dataset_path(path, size, folder, "test") && is_folder(path));
}

static int found_folder(const char *folder)
{
    char path[PATH_MAX];
    return split_folder(folder, DATASET_TRAIN, path, sizeof path)
           || split_folder(folder, DATASET_TEST, path, sizeof path);
}

/* The folders below train, or below the split itself when there is no train, are the classes. */
static ssm2d_status find_classes(dataset *d, const char *folder, const char *root,
                                 ssm2d_error *error)
{
    char path[PATH_MAX];
    listing classes = {.context = d->context};
    const char **names = NULL;
    if (!split_folder(folder, DATASET_TRAIN, path, sizeof path))
        snprintf(path, sizeof path, "%s", root);
    ssm2d_status status = list_folder(&classes, path, -1, error);
    size_t count = classes.entries.count;
    if (status) goto done;
    if (!count || count > MAX_CLASSES) {
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: holds %s: expected a folder with images for each class", text_path(path),
                      count ? "too many folders" : "no folders");
        goto done;
    }
    names = mem_alloc(d->context, count * sizeof *names);
    if (!names) {
        status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for its %zu classes",
                      text_path(path), count);
        goto done;
    }
    for (size_t i = 0; i < count; i++) names[i] = name_of(&classes, i);
    status = dataset_name_classes(d, (int)count, names, error);
done:
    mem_free(d->context, names);
    listing_free(&classes);
    return status;
}

/* Refuses a class of this split that training does not have: it would get the number of another
 * class, or none. */
static ssm2d_status check_classes(dataset *d, const char *root, ssm2d_error *error)
{
    listing here = {.context = d->context};
    ssm2d_status status = list_folder(&here, root, -1, error);
    for (size_t i = 0, k = 0; i < here.entries.count && !status; i++) { /* both are sorted */
        const char *name = name_of(&here, i);
        while (k < (size_t)d->info.classes && strcmp(d->info.class_names[k], name) < 0) k++;
        char shown[64];
        if (k == (size_t)d->info.classes || strcmp(d->info.class_names[k], name))
            status =
                fail(error, SSM2D_ERROR_ARGUMENT, "%s: has the class \"%s\", which is not in train",
                     text_path(root), text_show(name, strlen(name), shown, sizeof shown));
    }
    listing_free(&here);
    return status;
}

/* The hash of all labels and names. */
static uint64_t names_hash(const listing *l)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < l->entries.count; i++) {
        hash_add(&hash, &((const entry *)l->entries.items)[i].label, sizeof(int));
        hash_add(&hash, name_of(l, i), strlen(name_of(l, i)) + 1);
    }
    return hash;
}

static ssm2d_status open_folder(dataset *d, const char *folder, dataset_split split,
                                ssm2d_error *error)
{
    char path[PATH_MAX];
    listing *l = d->state = mem_alloc(d->context, sizeof *l);
    if (!l) return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to open it", text_path(folder));
    l->context = d->context;
    if (!split_folder(folder, split, path, sizeof path))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: has no folder %s", text_path(folder),
                    split == DATASET_TRAIN ? "train" : "val or test");
    l->root = mem_alloc(d->context, strlen(path) + 1);
    if (!l->root)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to open it", text_path(folder));
    strcpy(l->root, path);
    ssm2d_status status = find_classes(d, folder, l->root, error);
    if (!status) status = check_classes(d, l->root, error);
    for (int i = 0; i < d->info.classes && !status; i++) {
        size_t before = l->entries.count;
        if (!dataset_path(path, sizeof path, l->root, d->info.class_names[i]))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long",
                        text_path(l->root));
        if (split == DATASET_TEST && !is_folder(path)) continue; /* nothing to test of this class */
        status = list_folder(l, path, i, error);
        if (!status && split == DATASET_TRAIN && l->entries.count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected %s",
                          text_path(path), image_endings());
    }
    d->info.count = l->entries.count;
    d->info.names = names_hash(l);
    d->info.ignored = l->ignored;
    d->info.first_ignored = l->first_ignored;
    d->info.channels = 3;
    d->info.norm = (normalisation){{.485f, .456f, .406f}, {.229f, .224f, .225f}};
    return status;
}

static int label_of(const dataset *d, size_t i)
{
    const listing *l = d->state;
    return ((const entry *)l->entries.items)[i].label;
}

static ssm2d_status fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                          ssm2d_error *error)
{
    const listing *l = d->state;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s/%s", l->root,
                          d->info.class_names[label_of(d, i)], name_of(l, i));
    if (length < 0 || (size_t)length >= sizeof path)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long to be opened",
                    text_path(path));
    return picture_read_regular(d->context, path, d->max_pixels, to, pixels, error);
}

static void close_folder(dataset *d)
{
    if (!d->state) return;
    listing_free(d->state);
    mem_free(d->context, d->state);
}

const dataset_impl dataset_folder = {
    .name = "folder",
    .help = "folder:FOLDER: train/CLASS/*.png|jpg and val/CLASS/.. (or test)",
    .contents = "train/CLASS/*.png|jpg",
    .found = found_folder,
    .open = open_folder,
    .fetch = fetch,
    .label = label_of,
    .close = close_folder,
};
