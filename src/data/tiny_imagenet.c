/* tiny_imagenet - Tiny-ImageNet as it is published: 64 x 64 JPEGs of 200 classes,
 *
 *     train/WNID/images/NAME.JPEG      val/images/NAME.JPEG      val/val_annotations.txt
 *
 * where a row of val_annotations.txt is the name of an image, its class, and a box, separated by
 * tabs. The test images have no labels; those of val are the test. Classes are the folders below
 * train in the order of their names, WordNet's identifiers (WNIDs). Where there is a words.txt,
 * whose rows are a WNID, a tab, and words for it separated by commas, they are called by the first
 * of their words. */
#include "core/context.h"
#include "core/status.h"
#include "data/listing.h"
#include "io/file.h"
#include "io/image.h"
#include "io/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CLASSES = 1 << 16, MAX_ROWS_BYTES = 1 << 26, SIDE = 64 };
static const normalisation tiny_norm = {{.4802f, .4481f, .3975f}, {.2770f, .2691f, .2821f}};

static int found_tiny(const char *folder)
{
    char path[PATH_MAX];
    return dataset_path(path, sizeof path, folder, "val/val_annotations.txt")
           && !access(path, F_OK);
}

static ssm2d_status join(char path[PATH_MAX], const char *folder, const char *name,
                         ssm2d_error *error)
{
    if (dataset_path(path, PATH_MAX, folder, name)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the names in it are too long", text_path(folder));
}

/* The class of a WNID, or -1. */
static int class_of(const dataset *d, const char *wnid)
{
    int low = 0, high = d->info.label_count - 1; /* they are sorted */
    while (low <= high) {
        const int middle = (low + high) / 2, order = strcmp(d->info.label_ids[middle], wnid);
        if (!order) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

/* ---- words.txt ------------------------------------------------------------------------------- */

/* Ends the line at text; returns the next one. */
static char *cut_line(char *text)
{
    char *rest = text + strcspn(text, "\n");
    if (*rest) *rest++ = 0;
    text[strcspn(text, "\r")] = 0;
    return rest;
}

/* Ends the field at text by its tab; returns the next field, "" after the last. */
static char *cut_field(char *text)
{
    char *rest = text + strcspn(text, "\t");
    if (*rest) *rest++ = 0;
    return rest;
}

/* words[classes]: pointers into text, whose lines are cut for it; of a class without a row its
 * WNID. */
static void find_words(const dataset *d, char *text, const char **words)
{
    char *rest;
    for (int i = 0; i < d->info.label_count; i++) words[i] = d->info.label_ids[i];
    for (char *line = text; *line; line = rest) {
        rest = cut_line(line);
        char *word = cut_field(line);
        const int label = class_of(d, line);
        word[strcspn(word, ",\t")] = 0;
        if (label >= 0 && *word) words[label] = word;
    }
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether the sorted words have this one more than once, as for a crane that is a bird and one that
 * is a machine. */
static int is_shared(const char *const *sorted, int count, const char *word)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (strcmp(sorted[middle], word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1 < count && !strcmp(sorted[low + 1], word);
}

/* Names that are told apart: WORD, or WORD (WNID) where classes share it. */
static ssm2d_status write_names(dataset *d, const char *path, const char *const *words,
                                ssm2d_error *error)
{
    const size_t count = (size_t)d->info.label_count;
    ssm2d_status status = SSM2D_OK;
    size_t bytes = 2 * count * sizeof *words;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(words[i]) + strlen(d->info.label_ids[i]) + sizeof " ()";
    const char **names = mem_alloc(d->context, bytes);
    if (!names) return fail_memory(error, "%s: words", text_path(path));
    const char **sorted = names + count;
    char *text = (char *)(sorted + count);
    memcpy(sorted, words, count * sizeof *words);
    qsort(sorted, count, sizeof *sorted, compare_words);
    for (size_t i = 0; i < count; i++) {
        names[i] = text;
        text += 1
                + (is_shared(sorted, (int)count, words[i])
                       ? sprintf(text, "%s (%s)", words[i], d->info.label_ids[i])
                       : sprintf(text, "%s", words[i]));
    }
    status = dataset_name_labels(d, (int)count, names, error);
    mem_free(d->context, names);
    return status;
}

/* Calls the classes by their words, if there are any. */
static ssm2d_status read_words(dataset *d, const char *folder, ssm2d_error *error)
{
    char path[PATH_MAX], *text = NULL;
    const char **words = NULL;
    size_t size;
    ssm2d_status status = join(path, folder, "words.txt", error);
    if (status || access(path, F_OK)) return status;
    status = file_read_regular(d->context, path, MAX_ROWS_BYTES, &text, &size, error);
    if (status) return status;
    words = mem_alloc(d->context, (size_t)d->info.label_count * sizeof *words);
    if (words)
        find_words(d, text, words);
    else
        status = fail_memory(error, "%s: words", text_path(path));
    if (!status) status = write_names(d, path, words, error);
    mem_free(d->context, words);
    mem_free(d->context, text);
    return status;
}

/* ---- train ----------------------------------------------------------------------------------- */

static ssm2d_status find_classes(dataset *d, const char *train, ssm2d_error *error)
{
    listing classes = {.context = d->context};
    const char **names = NULL;
    ssm2d_status status = listing_read(&classes, train, LISTING_FOLDERS, error);
    const size_t count = classes.entries.count;
    if (!status && (!count || count > MAX_CLASSES))
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: holds %zu folders: expected WNID/images",
                      text_path(train), count);
    if (!status && !(names = mem_alloc(d->context, count * sizeof *names)))
        status = fail_memory(error, "%s: classes", text_path(train));
    for (size_t i = 0; !status && i < count; i++) names[i] = listing_name(&classes, i);
    if (!status) status = dataset_name_labels(d, (int)count, names, error);
    if (!status) status = dataset_identify_labels(d, names, error);
    mem_free(d->context, names);
    listing_free(&classes);
    return status;
}

static ssm2d_status open_train(dataset *d, listing *l, ssm2d_error *error)
{
    char path[PATH_MAX], name[NAME_MAX + 16];
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < d->info.label_count && !status; i++) {
        const size_t before = l->entries.count;
        snprintf(name, sizeof name, "%s/images", d->info.label_ids[i]);
        status = join(path, l->root, name, error);
        if (!status) status = listing_read(l, path, i, error);
        if (!status && l->entries.count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected *.JPEG",
                          text_path(path));
    }
    return status;
}

/* ---- val ------------------------------------------------------------------------------------- */

/* The rows of val_annotations.txt, sorted by the names of images. */
static ssm2d_status read_rows(const dataset *d, const char *path, listing *rows, ssm2d_error *error)
{
    char *text = NULL, *rest, shown[48];
    size_t size, number = 0;
    ssm2d_status status = file_read_regular(d->context, path, MAX_ROWS_BYTES, &text, &size, error);
    for (char *line = text; !status && line && *line; line = rest) {
        number++;
        rest = cut_line(line);
        if (!*line) continue;
        char *class = cut_field(line);
        cut_field(class);
        const int label = class_of(d, class);
        if (!*line || label < 0)
            status =
                fail(error, SSM2D_ERROR_ARGUMENT,
                     "%s: line %zu has the class \"%s\", which is not in train", text_path(path),
                     number, text_show(class, strlen(class), shown, sizeof shown));
        else
            status = listing_append(rows, line, label, error);
    }
    mem_free(d->context, text);
    if (!status) listing_sort(rows, 0);
    return status;
}

/* Images and rows are both sorted by name, and are to be the same names. */
static ssm2d_status label_images(listing *l, const listing *rows, const char *path,
                                 ssm2d_error *error)
{
    listing_entry *images = l->entries.items;
    const listing_entry *labels = rows->entries.items;
    const size_t count = l->entries.count, row_count = rows->entries.count;
    char shown[64];
    for (size_t i = 0; i < count || i < row_count; i++) {
        const char *image = i < count ? listing_name(l, i) : NULL;
        const char *row = i < row_count ? listing_name(rows, i) : NULL;
        const int order = !row ? -1 : !image ? 1 : strcmp(image, row);
        if (order < 0)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no row for the image %s",
                        text_path(path), text_show(image, strlen(image), shown, sizeof shown));
        if (order > 0)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: has a row too many for %s: there is no such image, or two rows",
                        text_path(path), text_show(row, strlen(row), shown, sizeof shown));
        images[i].label = labels[i].label;
    }
    return SSM2D_OK;
}

static ssm2d_status open_val(dataset *d, listing *l, ssm2d_error *error)
{
    char path[PATH_MAX];
    listing rows = {.context = d->context};
    ssm2d_status status = join(path, l->root, "images", error);
    if (!status) status = listing_read(l, path, 0, error);
    if (!status) status = join(path, l->root, "val_annotations.txt", error);
    if (!status) status = read_rows(d, path, &rows, error);
    if (!status) status = label_images(l, &rows, path, error);
    listing_free(&rows);
    return status;
}

/* ---- the data set ---------------------------------------------------------------------------- */

static ssm2d_status open_tiny(dataset *d, const char *folder, dataset_split split,
                              ssm2d_error *error)
{
    char train[PATH_MAX], root[PATH_MAX];
    listing *l;
    ssm2d_status status = join(train, folder, "train", error);
    if (!status) status = join(root, folder, split == DATASET_TRAIN ? "train" : "val", error);
    if (!status) status = listing_create(d, root, &l, error);
    if (!status) status = find_classes(d, train, error);
    if (!status) status = read_words(d, folder, error);
    if (!status) status = (split == DATASET_TRAIN ? open_train : open_val)(d, l, error);
    if (status) return status;
    listing_describe(d);
    d->info.rows = d->info.cols = SIDE;
    d->info.norm = tiny_norm;
    return SSM2D_OK;
}

static int path_of(const dataset *d, size_t i, char *path, size_t size)
{
    const listing *l = d->state;
    const char *name = listing_name(l, i);
    const int length = d->split == DATASET_TEST
                           ? snprintf(path, size, "%s/images/%s", l->root, name)
                           : snprintf(path, size, "%s/%s/images/%s", l->root,
                                      d->info.label_ids[listing_label(d, i)], name);
    return length > 0 && (size_t)length < size;
}

const dataset_impl dataset_tiny_imagenet = {
    .name = "tiny-imagenet",
    .help = "tiny-imagenet:FOLDER: as published: train/WNID/images/*.JPEG, val/images/*.JPEG and "
            "val/val_annotations.txt; classes are called by words.txt, if it is there",
    .contents = "Tiny-ImageNet's val/val_annotations.txt",
    .found = found_tiny,
    .open = open_tiny,
    .fetch = listing_fetch,
    .label = listing_label,
    .path = path_of,
    .close = listing_close,
};
