/* listing - image files and their labels, for data sets that are folders of images. Files are
 * decoded when they are asked for. */
#ifndef SSM2D_DATA_LISTING_H
#define SSM2D_DATA_LISTING_H

#include "data/dataset_impl.h"

/* An array that grows by doubling. */
typedef struct growing {
    void *items;
    size_t count, capacity;
} growing;

typedef struct listing_entry {
    size_t name; /* offset in the text, which holds the names one after another, each ended by 0 */
    int label;
} listing_entry;

typedef struct listing {
    const ssm2d_context *context;
    char *root; /* the folder that the implementation's `path` begins with */
    growing text, entries;
    size_t ignored;      /* what is among the images and is none */
    char *first_ignored; /* the path of one, or NULL */
} listing;

/* Makes d->state an empty listing, which the implementation's open then fills in; the functions
 * below are its fetch, label and close. Its `path` must be there. */
ssm2d_status listing_create(dataset *d, const char *root, listing **out, ssm2d_error *error);
ssm2d_status listing_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error);
int listing_label(const dataset *d, size_t i);
void listing_close(dataset *d);

/* Makes room for `more` items of `item` bytes at the end of g. */
ssm2d_status listing_grow(const ssm2d_context *context, growing *g, size_t more, size_t item,
                          ssm2d_error *error);
ssm2d_status listing_append(listing *l, const char *name, int label, ssm2d_error *error);
const char *listing_name(const listing *l, size_t i);
/* Sorts the entries from `first` on by the bytes of their names, whatever the locale. */
void listing_sort(listing *l, size_t first);
void listing_free(listing *l); /* what it holds */

enum { LISTING_FOLDERS = -1 };
/* Counts what is no image, and keeps the path that comes first in the order of names, so that every
 * listing names the same. */
ssm2d_status listing_ignore(listing *l, const char *path, ssm2d_error *error);
/* Appends the names in a folder, sorted by their bytes whatever the locale: of its folders when
 * label is LISTING_FOLDERS, else of its images, which get this label. What begins with a dot is
 * passed over. The rest is counted: files that are no images, or not regular, and folders among
 * images. */
ssm2d_status listing_read(listing *l, const char *path, int label, ssm2d_error *error);

/* Sets count, names, ignored and channels, and the normalisation to ImageNet's. */
void listing_describe(dataset *d);

int is_folder(const char *path);

#endif
