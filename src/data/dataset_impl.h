/* kind - what registry.c needs from a kind of data set: one file and one line of its table per
 * kind. */
#ifndef SSM2D_DATA_KIND_H
#define SSM2D_DATA_KIND_H

#include "data/dataset.h"

typedef struct dataset_kind {
    const char *name, *help;
    const char *place;                /* the folder, when none is given; NULL: it must be */
    int (*found)(const char *folder); /* whether the folder holds one; NULL: only by name */
    /* Fills in info and state. On failure close is called as well. */
    ssm2d_status (*open)(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
    ssm2d_status (*fetch)(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                          ssm2d_error *error);
    int (*label)(const dataset *d, size_t i);
    void (*close)(dataset *d);
} dataset_kind;

struct dataset {
    const ssm2d_context *context;
    const dataset_kind *kind;
    dataset_info info;
    const char **names; /* info.class_names and their text, one block */
    void *state;
};

/* Sets classes and class_names to copies of names, or to "0", "1", .. when names is NULL. */
ssm2d_status dataset_name_classes(dataset *d, int classes, const char *const *names,
                                  ssm2d_error *error);
/* folder/name into path; says whether it fits. */
int dataset_path(char *path, size_t size, const char *folder, const char *name);

extern const dataset_kind dataset_cifar10, dataset_cifar100, dataset_fashion_mnist, dataset_folder,
    dataset_idx;

/* For kinds that are idx files with more to say. */
ssm2d_status idx_open(dataset *d, const char *folder, dataset_split split, ssm2d_error *error);
int idx_found(const char *folder);

#endif
