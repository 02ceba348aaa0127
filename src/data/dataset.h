/* dataset - labelled images in any supported storage. Several threads may read a data set at once,
 * each with its own resize. */
#ifndef SSM2D_DATA_DATASET_H
#define SSM2D_DATA_DATASET_H

#include "data/resize.h"

/* VAL: images for choosing the best epoch, in data sets that have such a split. */
typedef enum dataset_split { DATASET_TRAIN, DATASET_VAL, DATASET_TEST } dataset_split;
/* A bit for dataset_splits: DATASET_HAS(VAL). */
#define DATASET_HAS(split) (1 << DATASET_##split)

/* Mean and standard deviation per channel of pixels scaled to [0, 1]. Grey images have three equal
 * values. */
typedef struct normalisation {
    float mean[3], std[3];
} normalisation;

/* How images are labelled. */
typedef enum label_kind {
    LABEL_CLASS, /* each image has exactly one of the labels */
    LABEL_BINARY /* each image has any number of the labels */
} label_kind;

/* Whether the name of a data set determines its images. */
typedef enum dataset_format {
    FORMAT_NAMED,  /* it does: cifar10, fashion-mnist */
    FORMAT_ARRAYS, /* no: any images of one size, as idx files */
    FORMAT_PHOTOS  /* no: any image files of any size, in a folder */
} dataset_format;

typedef struct dataset_info {
    size_t count; /* of images, at least one */
    dataset_format format;
    label_kind labels;
    int label_count; /* the same in all splits */
    const char *const *label_names;
    /* Unique identifiers of the labels, such as WordNet's, if their names are not; or NULL. */
    const char *const *label_ids;
    int maps;           /* each image has a map with a label for each pixel */
    int channels;       /* 1 grey or 3 RGB */
    size_t rows, cols;  /* 0: sizes vary */
    normalisation norm; /* of the training split, or the customary values */
    /* For image files a hash of their names in order, which detects a changed folder; else 0. */
    uint64_t names;
    /* Skipped files: those with unknown extensions, and those that are not regular files. */
    size_t ignored;
    const char *first_ignored; /* path of the first, owned by the data set; NULL: none */
} dataset_info;

typedef struct dataset dataset;

/* where: a name (fashion-mnist), NAME:FOLDER (idx:FOLDER, cifar10:FOLDER ..), or a folder, whose
 * contents determine the kind. */
ssm2d_status dataset_open(const ssm2d_context *context, const char *where, dataset_split split,
                          dataset **out, ssm2d_error *error);
void dataset_close(dataset *d);
/* The splits that `where` has, as flags DATASET_HAS. */
ssm2d_status dataset_splits(const char *where, int *splits, ssm2d_error *error);
/* Makes a data set of some images of another, in this order; index[count] is copied. The other may
 * be closed first. */
ssm2d_status dataset_subset(dataset *d, const uint32_t *index, size_t count, dataset **out,
                            ssm2d_error *error);
/* Sets the limit above which fetching refuses an image file; the default is IMAGE_MAX_PIXELS. Call
 * it before other threads fetch. */
void dataset_limit_pixels(dataset *d, size_t max_pixels);
/* Writes `where` to out with a relative folder resolved against base: idx:FOLDER becomes
 * idx:BASE/FOLDER. Returns 0 and writes nothing if there is no folder, if it is absolute, or if the
 * result does not fit. */
int dataset_rebase(const char *where, const char *base, char *out, size_t size);
/* The name of the kind of data set at `where`, given or recognised by contents; NULL: none. */
const char *dataset_kind(const char *where);
/* Its format; FORMAT_NAMED if there is no data set. */
dataset_format dataset_format_of(const char *where);
/* Writes a short name for titles: the data set's name, or the last part of the folder. */
void dataset_title(const char *where, char *title, size_t size);
/* Whether the folder of `where` exists; 1 if there is only a name. */
int dataset_present(const char *where);
const dataset_info *dataset_about(const dataset *d);
const ssm2d_context *dataset_context(const dataset *d);

/* Reads image i, resized by `to`, into pixels[rows][cols][channels]. */
ssm2d_status dataset_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error);
/* Reads the map of image i, a grey image of the same size whose values are labels, into
 * pixels[rows][cols]. Only for data sets with maps. */
ssm2d_status dataset_fetch_map(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                               ssm2d_error *error);
/* The label of image i, 0 .. label_count - 1; only with LABEL_CLASS. */
int dataset_label(const dataset *d, size_t i);
/* Sets target[label_count] to 1 for each label of image i, else 0. */
void dataset_target(const dataset *d, size_t i, float *target);

/* Writes the file of image i to path. Returns 0 if images are not single files, or if the path does
 * not fit. */
int dataset_file(const dataset *d, size_t i, char *path, size_t size);

/* The normalisation for a model of 1 or 3 channels. */
normalisation dataset_norm(const dataset_info *info, int channels);

/* Gets the name and a line of help of the i-th kind of data set, from 0. Returns 0 past the
 * last. */
int dataset_get(int i, const char **name, const char **help);

#endif
