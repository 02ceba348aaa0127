/* celeba - CelebA: 202,599 faces of 178 x 218 pixels with 40 binary attributes.
 *
 *     img_align_celeba/NNNNNN.jpg     (or Img/img_align_celeba)
 *     list_attr_celeba.txt            (or Anno/..)   a count; 40 names; rows: NAME, 40 of 1 or -1
 *     list_eval_partition.txt         (or Eval/..)   rows: NAME and 0, 1 or 2: train, val, test
 *
 * Images have the order of list_attr_celeba.txt. */
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "data/listing.h"
#include "io/file.h"
#include "io/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTRIBUTES = 40, MAX_FILE = 1 << 27 };

typedef struct celeba {
    listing list;   /* first: the functions of listing.h use it; its labels are not used */
    uint64_t *bits; /* [images]: bit a is attribute a */
    size_t bits_capacity;
} celeba;

/* Writes the path of a file or folder to path: FOLDER/BELOW/NAME if it exists, otherwise
 * FOLDER/NAME. Returns whether it exists. */
static int find(const char *folder, const char *below, const char *name, char path[PATH_MAX])
{
    char other[64];
    snprintf(other, sizeof other, "%s/%s", below, name);
    if (!dataset_path(path, PATH_MAX, folder, other, NULL) && !access(path, F_OK)) return 1;
    return !dataset_path(path, PATH_MAX, folder, name, NULL) && !access(path, F_OK);
}

static int found_celeba(const char *folder)
{
    char path[PATH_MAX];
    return find(folder, "Anno", "list_attr_celeba.txt", path);
}

static int splits(const char *folder)
{
    (void)folder;
    return DATASET_HAS(TRAIN) | DATASET_HAS(VAL) | DATASET_HAS(TEST);
}

/* ---- reading text ---------------------------------------------------------------------------- */

typedef struct reader {
    const char *path;
    char *rest; /* of the text */
    size_t line;
} reader;

/* Returns the next line that is not empty, without its newline; NULL after the last. */
static char *next_line(reader *r)
{
    for (char *line; (line = text_next_line(&r->rest));) {
        r->line++;
        line += strspn(line, " \t");
        if (*line) return line;
    }
    return NULL;
}

/* Returns the next word of a line, or NULL. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    if (!*word) return NULL;
    *line = word + strcspn(word, " \t");
    if (**line) *(*line)++ = 0;
    return word;
}

static ssm2d_status bad_line(const reader *r, const char *what, ssm2d_error *error)
{
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: line %zu %s", text_path(r->path), r->line, what);
}

/* ---- list_eval_partition.txt ----------------------------------------------------------------- */

/* Reads the rows, sorted by name, with the part, 0, 1 or 2, as label. */
static ssm2d_status read_partition(const char *path, listing *parts, ssm2d_error *error)
{
    char *text = NULL, *line;
    size_t size;
    ssm2d_status status = file_read_regular(parts->context, path, MAX_FILE, &text, &size, error);
    reader r = {path, text, 0};
    while (!status && (line = next_line(&r))) {
        const char *name = next_word(&line), *part = next_word(&line);
        if (!part || strlen(part) != 1 || *part < '0' || *part > '2' || next_word(&line))
            status = bad_line(&r, "is not a name and 0, 1 or 2", error);
        else
            status = listing_append(parts, name, *part - '0', error);
    }
    mem_free(parts->context, text);
    if (!status) listing_sort(parts, 0);
    return status;
}

/* Returns the part of an image, or -1. */
static int part_of(const listing *parts, const char *name)
{
    size_t low = 0, high = parts->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(listing_name(parts, middle), name);
        if (!order) return parts->entries[middle].label;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- list_attr_celeba.txt -------------------------------------------------------------------- */

static ssm2d_status read_names(dataset *d, reader *r, ssm2d_error *error)
{
    const char *names[ATTRIBUTES], *word;
    int count = 0;
    char *line = next_line(r);
    while (line && (word = next_word(&line))) {
        if (count < ATTRIBUTES) names[count] = word;
        count++;
    }
    if (count != ATTRIBUTES) return bad_line(r, "does not have the names of 40 attributes", error);
    return dataset_name_labels(d, count, names, error);
}

/* Reads the attributes in the rest of a row. */
static ssm2d_status read_row(const reader *r, char *line, uint64_t *bits, ssm2d_error *error)
{
    int count = 0;
    *bits = 0;
    for (const char *word; (word = next_word(&line)); count++) {
        const int has = !strcmp(word, "1");
        if (!has && strcmp(word, "-1"))
            return bad_line(r, "has an attribute that is neither 1 nor -1", error);
        if (count < ATTRIBUTES) *bits |= (uint64_t)has << count;
    }
    if (count != ATTRIBUTES) return bad_line(r, "does not have 40 attributes", error);
    return SSM2D_OK;
}

static ssm2d_status add_image(celeba *c, const char *name, uint64_t bits, ssm2d_error *error)
{
    const size_t i = c->list.count;
    uint64_t *all = mem_grow(c->list.context, c->bits, sizeof bits, i, 1, &c->bits_capacity);
    if (!all) return fail_memory(error, "attributes of %zu images", i + 1);
    c->bits = all;
    all[i] = bits;
    return listing_append(&c->list, name, 0, error);
}

static ssm2d_status read_attributes(dataset *d, const char *path, const char *partition,
                                    const listing *parts, dataset_split split, ssm2d_error *error)
{
    celeba *c = d->state;
    char *text = NULL, *line, *end = NULL, shown[48];
    size_t size, rows = 0;
    ssm2d_status status = file_read_regular(d->context, path, MAX_FILE, &text, &size, error);
    if (status) return status;
    reader r = {path, text, 0};
    line = next_line(&r);
    /* strtoul accepts a sign too */
    const unsigned long expected =
        line && *line >= '0' && *line <= '9' ? strtoul(line, &end, 10) : 0;
    if (!expected || *(end + strspn(end, " \t")))
        status = bad_line(&r, "is not a positive number of images", error);
    if (!status) status = read_names(d, &r, error);
    while (!status && (line = next_line(&r))) {
        uint64_t bits;
        const char *name = next_word(&line);
        const int part = part_of(parts, name);
        status = read_row(&r, line, &bits, error);
        rows++;
        if (!status && strchr(name, '/'))
            status = bad_line(&r, "has a name with a slash", error);
        else if (!status && part < 0)
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no row for %s",
                          text_path(partition), text_show(name, strlen(name), shown, sizeof shown));
        if (!status && part == (int)split) status = add_image(c, name, bits, error);
    }
    if (!status && rows != expected)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: states %lu images but has %zu rows",
                      text_path(path), expected, rows);
    mem_free(d->context, text);
    return status;
}

/* ---- data set -------------------------------------------------------------------------------- */

static ssm2d_status open_celeba(dataset *d, const char *folder, dataset_split split,
                                ssm2d_error *error)
{
    _Static_assert(DATASET_TRAIN == 0 && DATASET_VAL == 1 && DATASET_TEST == 2, "CelebA's codes");
    char root[PATH_MAX], attributes[PATH_MAX], partition[PATH_MAX];
    listing parts = {.context = d->context};
    find(folder, "Img", "img_align_celeba", root);
    find(folder, "Anno", "list_attr_celeba.txt", attributes);
    find(folder, "Eval", "list_eval_partition.txt", partition);
    ssm2d_status status = listing_create(d, sizeof(celeba), root, error);
    const celeba *c = d->state;
    if (!status) status = read_partition(partition, &parts, error);
    if (!status) status = read_attributes(d, attributes, partition, &parts, split, error);
    listing_free(&parts);
    if (!status && !c->list.count) {
        static const char *const names[] = {"training", "validation", "test"};
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no %s images: no row ends in %d",
                      text_path(partition), names[split], (int)split);
    }
    if (status) return status;
    listing_describe(d);
    hash_add(&d->info.names, c->bits, c->list.count * sizeof *c->bits);
    d->info.labels = LABEL_BINARY;
    return SSM2D_OK;
}

static void attributes_of(const dataset *d, size_t i, float *values)
{
    const celeba *c = d->state;
    const uint64_t bits = c->bits[i];
    for (int a = 0; a < ATTRIBUTES; a++) values[a] = (float)(bits >> a & 1);
}

static int path_of(const dataset *d, size_t i, char *path, size_t size)
{
    const celeba *c = d->state;
    return !dataset_path(path, size, c->list.root, listing_name(&c->list, i), NULL);
}

static void close_celeba(dataset *d)
{
    celeba *c = d->state;
    if (c) mem_free(d->context, c->bits);
    listing_close(d);
}

const dataset_impl dataset_celeba = {
    .name = "celeba",
    .help = "celeba:FOLDER: img_align_celeba/*.jpg, list_attr_celeba.txt and "
            "list_eval_partition.txt; 40 attributes for each image",
    .contents = "CelebA's list_attr_celeba.txt",
    .found = found_celeba,
    .splits = splits,
    .open = open_celeba,
    .fetch = listing_fetch,
    .attributes = attributes_of,
    .path = path_of,
    .close = close_celeba,
};
