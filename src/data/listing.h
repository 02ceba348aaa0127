/* listing - a list of image files and their labels, for data sets that are folders of images. Files
 * are decoded when they are fetched. */
#ifndef SSM2D_DATA_LISTING_H
#define SSM2D_DATA_LISTING_H

#include "data/dataset_impl.h"

typedef struct listing_entry {
    size_t name; /* offset in the text */
    int label;
} listing_entry;

typedef struct listing {
    const ssm2d_context *context;
    char *root; /* the data set's folder */
    char *text; /* all names, each terminated by NUL */
    size_t text_size, text_capacity;
    listing_entry *entries;
    size_t count, capacity;
    size_t ignored;      /* non-image files that were skipped */
    char *first_ignored; /* path of the first of them in the order of names, or NULL */
} listing;

/* Allocates `size` bytes at d->state that begin with an empty listing. An implementation's `open`
 * calls it and fills in the listing; it must have `path`, and the functions below are its fetch,
 * label and close. */
ssm2d_status listing_create(dataset *d, size_t size, const char *root, ssm2d_error *error);
ssm2d_status listing_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error);
int listing_label(const dataset *d, size_t i);
void listing_close(dataset *d);

ssm2d_status listing_append(listing *l, const char *name, int label, ssm2d_error *error);
const char *listing_name(const listing *l, size_t i);
/* Sorts the entries from `first` on by the bytes of their names, independently of the locale. */
void listing_sort(listing *l, size_t first);
void listing_free(listing *l); /* frees its members, not the struct */

enum { LISTING_FOLDERS = -1 };
/* Counts a skipped file, and keeps the first path in the order of names, because folders are read
 * in any order. */
ssm2d_status listing_ignore(listing *l, const char *path, ssm2d_error *error);
/* Appends the sorted names of a folder's subfolders if label is LISTING_FOLDERS, otherwise of its
 * images, with this label. Hidden files are skipped. Everything else is counted as ignored. */
ssm2d_status listing_read(listing *l, const char *path, int label, ssm2d_error *error);
/* Names the data set's labels after the subfolders of a folder. */
ssm2d_status listing_name_labels(dataset *d, const char *folder, ssm2d_error *error);

/* Sets the info's count, names, ignored and channels, and ImageNet's normalisation. */
void listing_describe(dataset *d);

int is_folder(const char *path);

#endif
