/* fuzz_tiny_imagenet - Tiny-ImageNet's val_annotations.txt, and then its words.txt, which are the
 * input, beside two classes and three images. */
#include "fuzz.h"

#include "data/dataset.h"
#include "fuzz_files.h"

#include <string.h>
#include <sys/stat.h>

static void make_folders(void)
{
    static int made;
    static const char *const folders[] = {"train",     "train/n01",        "train/n01/images",
                                          "train/n02", "train/n02/images", "val",
                                          "val/images"};
    static const char *const images[] = {"train/n01/images/a.JPEG", "train/n02/images/b.JPEG",
                                         "val/images/val_0.JPEG", "val/images/val_1.JPEG",
                                         "val/images/val_10.JPEG"};
    if (made) return;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(fuzz_path(folders[i]), 0777); /* those of another target may be there */
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) fuzz_put(images[i], "", 0);
    made = 1;
}

static void fuzz_annotations(const char *where, const uint8_t *data, size_t size)
{
    dataset *d;
    ssm2d_error error = {{0}};
    fuzz_put("val/val_annotations.txt", data, size);
    ssm2d_status status = dataset_open(fuzz_context(), where, DATASET_TEST, &d, &error);
    if (status) {
        REQUIRE(!d);
        fuzz_check_refusal(status, &error, fuzz_folder());
        return;
    }
    const dataset_info *info = dataset_about(d);
    REQUIRE(info->count == 3 && info->label_count == 2 && info->labels == LABEL_CLASS);
    for (size_t i = 0; i < 3; i++) REQUIRE(dataset_label(d, i) == 0 || dataset_label(d, i) == 1);
    dataset_close(d);
}

/* Any bytes are valid words, or are ignored. */
static void fuzz_words(const char *where, const uint8_t *data, size_t size)
{
    dataset *d;
    ssm2d_error error = {{0}};
    fuzz_put("words.txt", data, size);
    const ssm2d_status status = dataset_open(fuzz_context(), where, DATASET_TRAIN, &d, &error);
    fuzz_remove("words.txt");
    if (status) {
        REQUIRE(status == SSM2D_ERROR_MEMORY && !d);
        fuzz_check_refusal(status, &error, fuzz_folder());
        return;
    }
    const dataset_info *info = dataset_about(d);
    REQUIRE(info->count == 2 && info->label_count == 2);
    for (int i = 0; i < 2; i++) {
        REQUIRE(*info->label_names[i] && strlen(info->label_names[i]) < size + sizeof "n01 (n01)");
        REQUIRE(!strcmp(info->label_ids[i], i ? "n02" : "n01"));
    }
    dataset_close(d);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    char where[512];
    make_folders();
    snprintf(where, sizeof where, "tiny-imagenet:%s", fuzz_folder());
    fuzz_annotations(where, data, size);
    fuzz_words(where, data, size);
}
