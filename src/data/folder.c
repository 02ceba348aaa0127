/* folder - images as files, a folder per class: FOLDER/train/CLASS/NAME.jpg, and the same below val
 * or test. With both val and test, val is for choosing the best epoch; else the one that is there
 * is the test. A folder of class folders without train has training images alone.
 *
 * Classes are the folders below train in the order of their names (of bytes, whatever the locale);
 * images follow classes, and names within a class. */
#include "core/context.h"
#include "core/status.h"
#include "data/listing.h"
#include "io/image.h"
#include "io/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CLASSES = 1 << 20 };

static int has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return dataset_path(path, sizeof path, folder, name) && is_folder(path);
}

/* Whether one of the folders below has an image: a folder of class folders. */
static int is_flat(const char *folder)
{
    int found = 0;
    if (has(folder, "train") || has(folder, "val") || has(folder, "test")) return 0;
    DIR *dir = opendir(folder);
    for (struct dirent *one; dir && !found && (one = readdir(dir));) {
        char path[PATH_MAX];
        if (one->d_name[0] == '.' || !dataset_path(path, sizeof path, folder, one->d_name)
            || !is_folder(path))
            continue;
        DIR *below = opendir(path);
        for (struct dirent *image; below && !found && (image = readdir(below));)
            found = image->d_name[0] != '.' && image_named(image->d_name);
        if (below) closedir(below);
    }
    if (dir) closedir(dir);
    return found;
}

static int splits(const char *folder)
{
    const int val = has(folder, "val"), test = has(folder, "test");
    if (is_flat(folder)) return DATASET_HAS(TRAIN);
    return (has(folder, "train") ? DATASET_HAS(TRAIN) : 0) | (val && test ? DATASET_HAS(VAL) : 0)
           | (val || test ? DATASET_HAS(TEST) : 0);
}

/* The folder of a split into path; says whether there is one. */
static int split_folder(const char *folder, dataset_split split, char *path, size_t size)
{
    static const char *const names[] = {"train", "val", "test"}; /* by split */
    if (!(splits(folder) & 1 << split)) return 0;
    if (split == DATASET_TRAIN && !has(folder, "train"))
        return snprintf(path, size, "%s", folder) < (int)size;
    return dataset_path(path, size, folder, has(folder, names[split]) ? names[split] : "val");
}

static int found_folder(const char *folder) { return splits(folder) != 0; }

/* The folders below train, or below the split itself when there is no train, are the classes. */
static ssm2d_status find_classes(dataset *d, const char *folder, const char *root,
                                 ssm2d_error *error)
{
    char path[PATH_MAX];
    listing classes = {.context = d->context};
    const char **names = NULL;
    if (!split_folder(folder, DATASET_TRAIN, path, sizeof path))
        snprintf(path, sizeof path, "%s", root);
    ssm2d_status status = listing_read(&classes, path, LISTING_FOLDERS, error);
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
        status = fail_memory(error, "%s: %zu classes", text_path(path), count);
        goto done;
    }
    for (size_t i = 0; i < count; i++) names[i] = listing_name(&classes, i);
    status = dataset_name_labels(d, (int)count, names, error);
done:
    mem_free(d->context, names);
    listing_free(&classes);
    return status;
}

/* Refuses a class of this split that training does not have: it would get the number of another
 * class, or none. Counts what is beside the folders of classes. */
static ssm2d_status check_classes(dataset *d, listing *l, ssm2d_error *error)
{
    listing here = {.context = d->context};
    ssm2d_status status = listing_read(&here, l->root, LISTING_FOLDERS, error);
    for (size_t i = 0, k = 0; i < here.entries.count && !status; i++) { /* both are sorted */
        const char *name = listing_name(&here, i);
        while (k < (size_t)d->info.label_count && strcmp(dataset_label_id(d, (int)k), name) < 0)
            k++;
        char shown[64];
        if (k == (size_t)d->info.label_count || strcmp(dataset_label_id(d, (int)k), name))
            status =
                fail(error, SSM2D_ERROR_ARGUMENT, "%s: has the class \"%s\", which is not in train",
                     text_path(l->root), text_show(name, strlen(name), shown, sizeof shown));
    }
    l->ignored = here.ignored;
    l->first_ignored = here.first_ignored;
    here.first_ignored = NULL;
    listing_free(&here);
    return status;
}

static ssm2d_status open_folder(dataset *d, const char *folder, dataset_split split,
                                ssm2d_error *error)
{
    char path[PATH_MAX];
    listing *l;
    if (!split_folder(folder, split, path, sizeof path))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: has no %s", text_path(folder),
                    split == DATASET_TRAIN  ? "folder train, nor folders with images"
                    : split == DATASET_TEST ? "folder val or test"
                                            : "folders val and test");
    ssm2d_status status = listing_create(d, path, &l, error);
    if (!status) status = find_classes(d, folder, l->root, error);
    if (!status) status = check_classes(d, l, error);
    for (int i = 0; !status && i < d->info.label_count; i++) {
        size_t before = l->entries.count;
        if (!dataset_path(path, sizeof path, l->root, dataset_label_id(d, i)))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long",
                        text_path(l->root));
        /* there may be nothing to test of this class */
        if (split != DATASET_TRAIN && !is_folder(path)) continue;
        status = listing_read(l, path, i, error);
        if (!status && split == DATASET_TRAIN && l->entries.count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected %s",
                          text_path(path), image_endings((char[IMAGE_LIST]){0}));
    }
    if (!status) listing_describe(d);
    return status;
}

static int path_of(const dataset *d, size_t i, char *path, size_t size)
{
    const listing *l = d->state;
    int length = snprintf(path, size, "%s/%s/%s", l->root, dataset_label_id(d, listing_label(d, i)),
                          listing_name(l, i));
    return length > 0 && (size_t)length < size;
}

const dataset_impl dataset_folder = {
    .name = "folder",
    .format = FORMAT_PHOTOS,
    .help = "folder:FOLDER: train/CLASS/*.jpg and val/CLASS/.. (or test), or CLASS/*.jpg alone, "
            "of which a tenth is held out unless val-fraction says otherwise",
    .contents = "train/CLASS/*.png|jpg",
    .found = found_folder,
    .splits = splits,
    .open = open_folder,
    .fetch = listing_fetch,
    .label = listing_label,
    .path = path_of,
    .close = listing_close,
};
