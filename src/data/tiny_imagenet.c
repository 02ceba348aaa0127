/* tiny_imagenet - Tiny-ImageNet as published: 64 x 64 JPEGs of 200 classes,
 *
 *     train/WNID/images/NAME.JPEG      val/images/NAME.JPEG      val/val_annotations.txt
 *
 * where a row of val_annotations.txt has the name of an image, its class, and a box, separated by
 * tabs. The published test images have no labels; val is used as the test split. Labels are the
 * subfolders of train, sorted; their names are WordNet identifiers (WNIDs). If there is a file
 * words.txt, whose rows are a WNID, a tab, and words separated by commas, the first word becomes
 * the label's name. */
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

enum { MAX_TEXT = 1 << 26, SIDE = 64 };
static const normalisation tiny_norm = {{.4802f, .4481f, .3975f}, {.2770f, .2691f, .2821f}};

static int found_tiny(const char *folder)
{
    return dataset_contains(folder, "val/val_annotations.txt");
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the label of a WNID, or -1. */
static int label_of(const dataset *d, const char *wnid)
{
    const char *const *ids = d->info.label_ids; /* sorted */
    const char *const *found =
        bsearch(&wnid, ids, (size_t)d->info.label_count, sizeof *ids, compare);
    return found ? (int)(found - ids) : -1;
}

/* ---- words.txt ------------------------------------------------------------------------------- */

/* Terminates the field at text, which ends with a tab; returns the next field, "" after the
 * last. */
static char *cut_field(char *text)
{
    char *rest = text + strcspn(text, "\t");
    if (*rest) *rest++ = 0;
    return rest;
}

/* Sets words[label_count] to pointers into text, which is split into lines; for a label without a
 * row to its WNID. */
static void find_words(const dataset *d, char *text, const char **words)
{
    for (int i = 0; i < d->info.label_count; i++) words[i] = d->info.label_ids[i];
    for (char *line; (line = text_next_line(&text));) {
        char *word = cut_field(line);
        const int label = label_of(d, line);
        word[strcspn(word, ",\t")] = 0;
        if (label >= 0 && *word) words[label] = word;
    }
}

/* Whether several labels have this word, such as crane, a bird and a machine. */
static int is_shared(const char *const *sorted, size_t count, const char *word)
{
    const char *const *found = bsearch(&word, sorted, count, sizeof *sorted, compare);
    return (found > sorted && !strcmp(found[-1], word))
           || (found + 1 < sorted + count && !strcmp(found[1], word));
}

/* Makes unique names: WORD, or WORD (WNID) if several labels have it. */
static ssm2d_status make_names(dataset *d, const char *path, const char *const *words,
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
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < count; i++) {
        names[i] = text;
        text += 1
                + (is_shared(sorted, count, words[i])
                       ? sprintf(text, "%s (%s)", words[i], d->info.label_ids[i])
                       : sprintf(text, "%s", words[i]));
    }
    status = dataset_name_labels(d, (int)count, names, error);
    mem_free(d->context, names);
    return status;
}

/* Names the labels by words.txt, if it exists. */
static ssm2d_status read_words(dataset *d, const char *folder, ssm2d_error *error)
{
    char path[PATH_MAX], *text = NULL;
    const char **words = NULL;
    size_t size;
    ssm2d_status status = dataset_path(path, sizeof path, folder, "words.txt", error);
    if (status || access(path, F_OK)) return status;
    status = file_read_regular(d->context, path, MAX_TEXT, &text, &size, error);
    if (status) return status;
    words = mem_alloc(d->context, (size_t)d->info.label_count * sizeof *words);
    if (words)
        find_words(d, text, words);
    else
        status = fail_memory(error, "%s: words", text_path(path));
    if (!status) status = make_names(d, path, words, error);
    mem_free(d->context, words);
    mem_free(d->context, text);
    return status;
}

/* ---- train ----------------------------------------------------------------------------------- */

static ssm2d_status open_train(dataset *d, listing *l, ssm2d_error *error)
{
    char path[PATH_MAX], name[NAME_MAX + 16];
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < d->info.label_count && !status; i++) {
        const size_t before = l->count;
        snprintf(name, sizeof name, "%s/images", d->info.label_ids[i]);
        status = dataset_path(path, sizeof path, l->root, name, error);
        if (!status) status = listing_read(l, path, i, error);
        if (!status && l->count == before)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no images: expected *.JPEG",
                          text_path(path));
    }
    return status;
}

/* ---- val ------------------------------------------------------------------------------------- */

/* Reads the rows of val_annotations.txt, sorted by the names of images. */
static ssm2d_status read_rows(const dataset *d, const char *path, listing *rows, ssm2d_error *error)
{
    char *text = NULL, *rest, *line, shown[48];
    size_t size, row = 0;
    ssm2d_status status = file_read_regular(d->context, path, MAX_TEXT, &text, &size, error);
    rest = text;
    while (!status && (line = text_next_line(&rest))) {
        row++;
        if (!*line) continue;
        char *class = cut_field(line);
        cut_field(class);
        const int label = label_of(d, class);
        if (!*line || label < 0)
            status =
                fail(error, SSM2D_ERROR_ARGUMENT,
                     "%s: line %zu has the class \"%s\", which is not in train", text_path(path),
                     row, text_show(class, strlen(class), shown, sizeof shown));
        else
            status = listing_append(rows, line, label, error);
    }
    mem_free(d->context, text);
    if (!status) listing_sort(rows, 0);
    return status;
}

/* Labels the images. Images and rows are sorted by name, and must have the same names. */
static ssm2d_status label_images(listing *l, const listing *rows, const char *path,
                                 ssm2d_error *error)
{
    const size_t count = l->count, row_count = rows->count;
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
                        "%s: has an extra row for %s: the image is missing, or has two rows",
                        text_path(path), text_show(row, strlen(row), shown, sizeof shown));
        l->entries[i].label = rows->entries[i].label;
    }
    return SSM2D_OK;
}

static ssm2d_status open_val(dataset *d, listing *l, ssm2d_error *error)
{
    char path[PATH_MAX];
    listing rows = {.context = d->context};
    ssm2d_status status = dataset_path(path, sizeof path, l->root, "images", error);
    if (!status) status = listing_read(l, path, 0, error);
    if (!status) status = dataset_path(path, sizeof path, l->root, "val_annotations.txt", error);
    if (!status) status = read_rows(d, path, &rows, error);
    if (!status) status = label_images(l, &rows, path, error);
    listing_free(&rows);
    return status;
}

/* ---- data set -------------------------------------------------------------------------------- */

static ssm2d_status open_tiny(dataset *d, const char *folder, dataset_split split,
                              ssm2d_error *error)
{
    char train[PATH_MAX], root[PATH_MAX];
    ssm2d_status status = dataset_path(train, sizeof train, folder, "train", error);
    if (!status)
        status = dataset_path(root, sizeof root, folder, split == DATASET_TRAIN ? "train" : "val",
                              error);
    if (!status) status = listing_create(d, sizeof(listing), root, error);
    if (!status) status = listing_name_labels(d, train, error);
    if (!status && !d->info.label_ids)
        status = dataset_identify_labels(d, d->info.label_names, error);
    if (!status) status = read_words(d, folder, error);
    if (!status) status = (split == DATASET_TRAIN ? open_train : open_val)(d, d->state, error);
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
            "val/val_annotations.txt; labels are named by words.txt, if it exists",
    .contents = "Tiny-ImageNet's val/val_annotations.txt",
    .found = found_tiny,
    .open = open_tiny,
    .fetch = listing_fetch,
    .label = listing_label,
    .path = path_of,
    .close = listing_close,
};
