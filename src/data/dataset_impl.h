/* dataset_impl - the interface of a kind of data set, behind the functions of dataset.h.
 *
 * To add one: a file that ends with `const dataset_impl dataset_NAME` (mnist.c is the shortest), a
 * line in datasets.def, and the file's name in CMakeLists.txt. */
#ifndef SSM2D_DATA_DATASET_IMPL_H
#define SSM2D_DATA_DATASET_IMPL_H

#include "data/dataset.h"

typedef struct dataset_impl {
    const char *name, *help;
    const char *contents;       /* what its folder contains, for messages: "idx files" */
    const char *default_folder; /* NULL: the user must give a folder */
    dataset_format format;
    /* Whether the folder contains such data; NULL: it is only opened by name. */
    int (*found)(const char *folder);
    /* The splits that a folder has, as flags DATASET_HAS; NULL: training and test. */
    int (*splits)(const char *folder);
    /* Fills in info and state. close is called after a failure too. */
    ssm2d_status (*open)(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
    /* As dataset_fetch. */
    ssm2d_status (*fetch)(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                          ssm2d_error *error);
    /* As dataset_fetch_map; NULL: there are no maps. */
    ssm2d_status (*fetch_map)(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                              ssm2d_error *error);
    /* The labels of image i: `label` with LABEL_CLASS; `attributes`, which sets
     * values[label_count] to 0 or 1, with LABEL_BINARY. The other may be NULL. */
    int (*label)(const dataset *d, size_t i);
    void (*attributes)(const dataset *d, size_t i, float *values);
    /* As dataset_file; NULL: images are not single files. */
    int (*path)(const dataset *d, size_t i, char *path, size_t size);
    void (*close)(dataset *d);
} dataset_impl;

struct dataset {
    const ssm2d_context *context;
    const dataset_impl *impl;
    dataset_split split;
    dataset_info info;
    size_t max_pixels;  /* limit for image files */
    const char **names; /* info.label_names and their text, one block */
    const char **ids;   /* likewise info.label_ids */
    void *state;
    dataset *whole;  /* of a subset: the data set that contains its images; else NULL */
    uint32_t *index; /* [count]: of the subset's images in it */
    int users;       /* open subsets, and the caller of dataset_open */
};

#define DATASET(name) extern const dataset_impl dataset_##name;
#include "data/datasets.def"
#undef DATASET

/* Additional kinds for tests, as a NULL-terminated list; they follow those of the table. Set it
 * while no other thread opens data sets. */
extern const dataset_impl *const *dataset_extra;

/* For `open`: sets label_count, and label_names to copies of names, or to "0", "1", .. if names is
 * NULL. Bytes that are not UTF-8 are replaced; label_ids, if there are none, then become the
 * original names. */
ssm2d_status dataset_name_labels(dataset *d, int count, const char *const *names,
                                 ssm2d_error *error);
/* Sets label_ids to copies; after dataset_name_labels. */
ssm2d_status dataset_identify_labels(dataset *d, const char *const *ids, ssm2d_error *error);
/* The unique identifier of a label: its id, or its name if there are no ids. */
const char *dataset_label_id(const dataset *d, int label);
/* Writes FOLDER/NAME to path; refuses a path that does not fit. */
ssm2d_status dataset_path(char *path, size_t size, const char *folder, const char *name,
                          ssm2d_error *error);
/* Whether the folder contains a file or folder of this name. */
int dataset_contains(const char *folder, const char *name);

/* The functions of dataset_idx, for data sets in idx files. */
ssm2d_status idx_open(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
int idx_found(const char *folder);

#endif
