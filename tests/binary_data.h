/* binary_data - a data set with binary labels, to be set as dataset_extra: grey images of 8 x 8
 * with noise, each of whose four corners is bright or not. */
#ifndef SSM2D_TESTS_BINARY_DATA_H
#define SSM2D_TESTS_BINARY_DATA_H

#include "core/rng.h"
#include "data/dataset_impl.h"

enum { CORNERS = 4, CORNERS_SIDE = 8, CORNERS_SIZE = CORNERS_SIDE * CORNERS_SIDE };
enum { CORNERS_TRAIN = 64, CORNERS_TEST = 21 };

static const char *const corner_names[] = {"top left", "top right", "bottom left", "bottom right"};

/* Where the square of a corner begins. */
static inline int corner_pixel(int c) { return c / 2 * 4 * CORNERS_SIDE + c % 2 * 4; }

static ssm2d_status corners_open(dataset *d, const char *place, dataset_split split,
                                 ssm2d_error *why)
{
    (void)place;
    d->info = (dataset_info){.count = split == DATASET_TRAIN ? CORNERS_TRAIN : CORNERS_TEST,
                             .labels = LABEL_BINARY,
                             .channels = 1,
                             .rows = CORNERS_SIDE,
                             .cols = CORNERS_SIDE,
                             .norm = {{.5f, .5f, .5f}, {.5f, .5f, .5f}}};
    return dataset_name_labels(d, CORNERS, corner_names, why);
}

/* The random numbers of an image: first its attributes, then its noise. */
static inline rng corners_random(const dataset *d, size_t i)
{
    return rng_seed(i + 1000 * d->info.count);
}

static void corners_attributes(const dataset *d, size_t i, float *values)
{
    rng r = corners_random(d, i);
    const uint64_t bits = rng_next(&r);
    for (int c = 0; c < CORNERS; c++) values[c] = (float)(bits >> c & 1);
}

static ssm2d_status corners_fetch(const dataset *d, size_t i, resize *to, uint8_t *pixels,
                                  ssm2d_error *why)
{
    rng r = corners_random(d, i);
    const uint64_t bits = rng_next(&r);
    uint8_t row[CORNERS_SIDE];
    ssm2d_status status = resize_start(to, "corners", CORNERS_SIDE, CORNERS_SIDE, 1, pixels, why);
    for (int y = 0; y < CORNERS_SIDE && !status; y++) {
        for (int x = 0; x < CORNERS_SIDE; x++) {
            const int bright = bits >> (y / 4 * 2 + x / 4) & 1;
            row[x] = (uint8_t)((bright ? 135 : 0) + rng_next(&r) % 120);
        }
        resize_row(to, row);
    }
    return status;
}

static void corners_close(dataset *d) { (void)d; }

static const dataset_impl dataset_corners = {
    .name = "corners",
    .help = "bright and dark corners, made by the test",
    .contents = "nothing",
    .default_folder = "nowhere",
    .open = corners_open,
    .fetch = corners_fetch,
    .attributes = corners_attributes,
    .close = corners_close,
};
static const dataset_impl *const corners_only[] = {&dataset_corners, NULL};

#endif
