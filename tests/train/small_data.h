/* small_data - idx files made by a test: four classes, a bright square in one of the corners, with
 * noise. */
#ifndef SSM2D_TESTS_SMALL_DATA_H
#define SSM2D_TESTS_SMALL_DATA_H

#include "core/rng.h"

#include <stdint.h>
#include <stdio.h>

enum { SMALL_SIDE = 8, SMALL_CLASSES = 4 };

static inline void small_big_endian(FILE *f, unsigned value)
{
    for (int shift = 24; shift >= 0; shift -= 8) fputc((int)(value >> shift & 255), f);
}

/* Writes one split into folder, "train" or "t10k"; returns whether that succeeded. */
static inline int small_split(const char *folder, const char *split, unsigned count, uint64_t seed)
{
    char path[1024];
    rng r = rng_seed(seed);
    snprintf(path, sizeof path, "%s/%s-images-idx3-ubyte", folder, split);
    FILE *images = fopen(path, "wb");
    snprintf(path, sizeof path, "%s/%s-labels-idx1-ubyte", folder, split);
    FILE *labels = fopen(path, "wb");
    if (!images || !labels) return 0;
    small_big_endian(images, 0x803);
    small_big_endian(images, count);
    small_big_endian(images, SMALL_SIDE);
    small_big_endian(images, SMALL_SIDE);
    small_big_endian(labels, 0x801);
    small_big_endian(labels, count);
    for (unsigned i = 0; i < count; i++) {
        unsigned label = i < SMALL_CLASSES ? i : (unsigned)(rng_next(&r) % SMALL_CLASSES);
        fputc((int)label, labels);
        for (unsigned y = 0; y < SMALL_SIDE; y++)
            for (unsigned x = 0; x < SMALL_SIDE; x++) {
                int inside = y / 4 == label / 2 && x / 4 == label % 2;
                fputc((int)((inside ? 120 : 0) + rng_next(&r) % 130), images);
            }
    }
    int bad = ferror(images) || ferror(labels);
    bad |= fclose(images);
    bad |= fclose(labels);
    return !bad;
}

static inline int small_data(const char *folder, unsigned train, unsigned test)
{
    return small_split(folder, "train", train, 1) && small_split(folder, "t10k", test, 2);
}

#endif
