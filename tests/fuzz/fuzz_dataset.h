/* fuzz_dataset - checks of a data set that was opened. */
#ifndef SSM2D_TESTS_FUZZ_DATASET_H
#define SSM2D_TESTS_FUZZ_DATASET_H

#include "data/dataset.h"
#include "fuzz.h"
#include "fuzz_files.h"

/* Opens KIND:FOLDER, checks the result and reads some of its images. */
static inline void fuzz_open_dataset(const char *kind, dataset_split split)
{
    enum { ROWS = 5, COLS = 7, IMAGES = 5 };
    char where[512];
    dataset *d;
    ssm2d_error error = {{0}};
    snprintf(where, sizeof where, "%s:%s", kind, fuzz_folder());
    ssm2d_status status = dataset_open(fuzz_context(), where, split, &d, &error);
    if (status) {
        REQUIRE(!d);
        fuzz_check_refusal(status, &error, fuzz_folder());
        return;
    }
    const dataset_info *info = dataset_about(d);
    REQUIRE(info->count >= 1 && info->labels == LABEL_CLASS);
    REQUIRE(info->label_count >= 1 && info->label_count <= 256);
    REQUIRE(info->channels == 1 || info->channels == 3);
    REQUIRE(info->rows >= 1 && info->rows <= 4096 && info->cols >= 1 && info->cols <= 4096);
    for (int i = 0; i < info->label_count; i++) REQUIRE(info->label_names[i][0]);
    for (int i = 0; i < 3; i++) REQUIRE(info->norm.std[i] > 0);
    float target[256];
    for (size_t i = 0; i < info->count; i++)
        REQUIRE(dataset_label(d, i) >= 0 && dataset_label(d, i) < info->label_count);
    resize *to;
    status = resize_create(fuzz_context(), ROWS, COLS, info->channels, &to, &error);
    for (size_t i = 0; !status && i < info->count && i < IMAGES; i++) {
        uint8_t pixels[ROWS * COLS * 3];
        const size_t which = i ? info->count - i : 0;
        status = dataset_fetch(d, which, to, pixels, &error);
        dataset_target(d, which, target);
    }
    REQUIRE(status == SSM2D_OK || status == SSM2D_ERROR_MEMORY);
    resize_destroy(to);
    dataset_close(d);
}

#endif
