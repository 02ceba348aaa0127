/* folder - image files with a folder per class: FOLDER/train/CLASS/NAME.jpg, and the same in val
 * and test. If both val and test exist, val is for choosing the best epoch; otherwise the one that
 * exists is the test split. A folder of class folders without train has only training images.
 *
 * Labels are the subfolders of train, sorted by the bytes of their names; images are sorted by
 * label, then by name. */
#include "core/context.h"
#include "core/status.h"
#include "data/listing.h"
#include "io/image.h"
#include "io/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return !dataset_path(path, sizeof path, folder, name, NULL) && is_folder(path);
}

/* Whether the folder has class folders and no splits: one of its subfolders contains an image. */
static int is_flat(const char *folder)
{
    int found = 0;
    if (has(folder, "train") || has(folder, "val") || has(folder, "test")) return 0;
    DIR *dir = opendir(folder);
    for (struct dirent *one; dir && !found && (one = readdir(dir));) {
        char path[PATH_MAX];
        if (one->d_name[0] == '.' || dataset_path(path, sizeof path, folder, one->d_name, NULL)
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

/* Writes the folder of a split to path; returns whether there is one. */
static int split_folder(const char *folder, dataset_split split, char *path, size_t size)
{
    static const char *const names[] = {"train", "val", "test"}; /* by split */
    if (!(splits(folder) & 1 << split)) return 0;
    if (split == DATASET_TRAIN && !has(folder, "train"))
        return snprintf(path, size, "%s", folder) < (int)size;
    return !dataset_path(path, size, folder, has(folder, names[split]) ? names[split] : "val",
                         NULL);
}

static int found_folder(const char *folder) { return splits(folder) != 0; }

/* Refuses a class that the training split does not have: it has no label. Also counts the ignored
 * files beside the class folders. */
static ssm2d_status check_classes(dataset *d, listing *l, ssm2d_error *error)
{
    listing here = {.context = d->context};
    ssm2d_status status = listing_read(&here, l->root, LISTING_FOLDERS, error);
    for (size_t i = 0, k = 0; i < here.count && !status; i++) { /* both lists are sorted */
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
    char path[PATH_MAX], train[PATH_MAX];
    if (!split_folder(folder, split, path, sizeof path))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: has no %s", text_path(folder),
                    split == DATASET_TRAIN  ? "folder train, and no folders with images"
                    : split == DATASET_TEST ? "folder val or test"
                                            : "folders val and test");
    ssm2d_status status = listing_create(d, sizeof(listing), path, error);
    listing *l = d->state;
    if (!status) {
        const int trains = split_folder(folder, DATASET_TRAIN, train, sizeof train);
        status = listing_name_labels(d, trains ? train : path, error);
    }
    if (!status) status = check_classes(d, l, error);
    for (int i = 0; !status && i < d->info.label_count; i++) {
        const size_t before = l->count;
        status = dataset_path(path, sizeof path, l->root, dataset_label_id(d, i), error);
        /* a class may have no images in val or test */
        if (status || (split != DATASET_TRAIN && !is_folder(path))) continue;
        status = listing_read(l, path, i, error);
        if (!status && split == DATASET_TRAIN && l->count == before)
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
    .help = "folder:FOLDER: train/CLASS/*.jpg and val/CLASS/.. (or test), or only CLASS/*.jpg, of "
            "which a tenth is held out unless val-fraction is set",
    .contents = "train/CLASS/*.png|jpg",
    .found = found_folder,
    .splits = splits,
    .open = open_folder,
    .fetch = listing_fetch,
    .label = listing_label,
    .path = path_of,
    .close = listing_close,
};
