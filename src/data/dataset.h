/* dataset - labelled images, whatever they are stored as. A data set may be read by several threads
 * at once, each with a resize of its own. */
#ifndef SSM2D_DATA_DATASET_H
#define SSM2D_DATA_DATASET_H

#include "data/resize.h"

/* VAL: images for choosing the best epoch, of data sets that come with such a part. */
typedef enum dataset_split { DATASET_TRAIN, DATASET_VAL, DATASET_TEST } dataset_split;
/* A bit for dataset_splits: DATASET_HAS(VAL). */
#define DATASET_HAS(split) (1 << DATASET_##split)

/* Mean and standard deviation of pixels scaled to [0, 1], per channel. All three are the same for
 * grey images. */
typedef struct normalisation {
    float mean[3], std[3];
} normalisation;

/* What is known of each image. */
typedef enum label_kind {
    LABEL_CLASS, /* the one label of all that applies to it: its class */
    LABEL_BINARY /* whether each label applies to it: its attributes */
} label_kind;

/* Whether the name of a data set says which images they are. */
typedef enum dataset_format {
    FORMAT_NAMED,  /* it does: cifar10, fashion-mnist */
    FORMAT_ARRAYS, /* any images of one size: idx files */
    FORMAT_PHOTOS  /* any image files of any size: a folder */
} dataset_format;

typedef struct dataset_info {
    size_t count; /* images, at least one */
    dataset_format format;
    label_kind labels;
    int label_count; /* the same in both splits */
    const char *const *label_names;
    /* What tells a label from others where its name is meant for people, such as WordNet's
     * identifiers; NULL: the names do. */
    const char *const *label_ids;
    int maps;           /* each image has a map with a label for each of its pixels */
    int channels;       /* 1 grey or 3 RGB */
    size_t rows, cols;  /* 0: every image has its own */
    normalisation norm; /* of the training split, or the values that are customary */
    /* Of image files a hash of their names in their order, which shows that a folder has changed;
     * else 0. */
    uint64_t names;
    /* Files among the images that are passed over: with endings that are not known, and what is no
     * regular file. The first of them, which lives as long as the data set; NULL: none. */
    size_t ignored;
    const char *first_ignored;
} dataset_info;

typedef struct dataset dataset;

/* where: a name (fashion-mnist), NAME:FOLDER (idx:FOLDER, cifar10:FOLDER ..), or a folder whose
 * contents tell what it is. */
ssm2d_status dataset_open(const ssm2d_context *context, const char *where, dataset_split split,
                          dataset **out, ssm2d_error *error);
void dataset_close(dataset *d);
/* Which splits `where` has, a sum of DATASET_HAS. */
ssm2d_status dataset_splits(const char *where, int *splits, ssm2d_error *error);
/* A data set of some images of another, in this order; index[count] is copied. The other may be
 * closed before it. */
ssm2d_status dataset_subset(dataset *d, const uint32_t *index, size_t count, dataset **out,
                            ssm2d_error *error);
/* Image files of more pixels are refused when they are fetched; IMAGE_MAX_PIXELS before. Only
 * before other threads fetch. */
void dataset_limit_pixels(dataset *d, size_t max_pixels);
/* Writes `where` to out, with its folder below base when it is relative: idx:FOLDER becomes
 * idx:BASE/FOLDER. Returns 0, and writes nothing, for a name without a folder, for a folder from
 * the root, and when it does not fit. */
int dataset_rebase(const char *where, const char *base, char *out, size_t size);
/* The name of the data set that `where` is, by itself or by its folder's contents; NULL: none. */
const char *dataset_kind(const char *where);
/* Its format; FORMAT_NAMED when there is none. */
dataset_format dataset_format_of(const char *where);
/* A short name of `where` for titles: that of the data set, or else the last part of the folder. */
void dataset_title(const char *where, char *title, size_t size);
/* Whether the folder of `where` exists; 1 for a name without a folder. */
int dataset_present(const char *where);
const dataset_info *dataset_about(const dataset *d);
const ssm2d_context *dataset_context(const dataset *d);

/* Image i in the size and channels of `to`, into pixels[rows][cols][channels]. */
ssm2d_status dataset_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                           ssm2d_error *error);
/* The map of image i, of the image's own size, as a grey image whose values are labels: as
 * dataset_fetch, into pixels[rows][cols]. Only of data sets that have maps. */
ssm2d_status dataset_fetch_map(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                               ssm2d_error *error);
/* The label of image i, 0 .. label_count - 1; only with LABEL_CLASS. */
int dataset_label(const dataset *d, size_t i);
/* target[label_count]: 1 for each label that applies to image i, else 0. */
void dataset_target(const dataset *d, size_t i, float *target);

/* The file of image i into path; 0 when the data set has no file for each image, or the path does
 * not fit. */
int dataset_file(const dataset *d, size_t i, char *path, size_t size);

/* The normalisation for a model of 1 or 3 channels. */
normalisation dataset_norm(const dataset_info *info, int channels);

/* The i-th data set that can be opened, from 0: its name and a line of help. Returns 0 past the
 * last. */
int dataset_get(int i, const char **name, const char **help);

#endif
