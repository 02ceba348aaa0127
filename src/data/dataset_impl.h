/* dataset_impl - how a data set is stored, behind the functions of dataset.h.
 *
 * To add one: a file that ends with `const dataset_impl dataset_NAME` (fashion_mnist.c is the
 * shortest), a line in datasets.def, and the file's name in CMakeLists.txt. */
#ifndef SSM2D_DATA_DATASET_IMPL_H
#define SSM2D_DATA_DATASET_IMPL_H

#include "data/dataset.h"

typedef struct dataset_impl {
    const char *name, *help;
    const char *contents;       /* what a folder of it holds, for messages: "idx files" */
    const char *default_folder; /* used when none is given; NULL: one must be given */
    dataset_format format;      /* whether its name says which images they are */
    /* Whether the folder holds such data; NULL: it is only opened by name. */
    int (*found)(const char *folder);
    /* The splits that a folder has; NULL: training and test. */
    int (*splits)(const char *folder);
    /* Fills in info and state. On failure close is called as well. */
    ssm2d_status (*open)(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
    /* As dataset_fetch. */
    ssm2d_status (*fetch)(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                          ssm2d_error *error);
    /* As dataset_fetch_map; NULL: there are no maps. */
    ssm2d_status (*fetch_map)(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                              ssm2d_error *error);
    /* The label of image i, by info.labels: label returns its class; attributes sets
     * values[label_count] to 0 or 1. The other may be NULL. */
    int (*label)(const dataset *d, size_t i);
    void (*attributes)(const dataset *d, size_t i, float *values);
    /* The file of image i; says whether it fits. NULL: there is no file for each image. */
    int (*path)(const dataset *d, size_t i, char *path, size_t size);
    void (*close)(dataset *d);
} dataset_impl;

struct dataset {
    const ssm2d_context *context;
    const dataset_impl *impl;
    dataset_split split;
    dataset_info info;
    size_t max_pixels;  /* of an image file that is to be decoded */
    const char **names; /* info.label_names and their text, one block */
    const char **ids;   /* likewise info.label_ids */
    void *state;
    int users; /* subsets of it that are open, and who opened it */
};

#define DATASET(name) extern const dataset_impl dataset_##name;
#include "data/datasets.def"
#undef DATASET

/* Data sets of a test, which follow those of the table; the last element is NULL. NULL: none. Set
 * it while no other thread opens data sets. */
extern const dataset_impl *const *dataset_extra;

/* For the open of an implementation: sets label_count and label_names to copies of names, or to
 * "0", "1", .. when names is NULL. Bytes that are not UTF-8 are replaced; unless there are
 * label_ids, these become the names as they are. */
ssm2d_status dataset_name_labels(dataset *d, int count, const char *const *names,
                                 ssm2d_error *error);
/* Sets label_ids to copies; after dataset_name_labels. */
ssm2d_status dataset_identify_labels(dataset *d, const char *const *ids, ssm2d_error *error);
/* What tells a label from the others: its identifier, or else its name. */
const char *dataset_label_id(const dataset *d, int label);
/* folder/name into path; says whether it fits. */
int dataset_path(char *path, size_t size, const char *folder, const char *name);

/* For data sets that are idx files and more: the open and found of dataset_idx. */
ssm2d_status idx_open(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
int idx_found(const char *folder);

#endif
