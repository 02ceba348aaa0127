/* fuzz_celeba - CelebA's two lists.
 *
 * Input: a byte (modulo 3: the split), a part that is list_attr_celeba.txt, and the rest, which is
 * list_eval_partition.txt. There are no images: reading one is refused. */
#include "fuzz.h"

#include "data/dataset.h"
#include "fuzz_files.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned split = fuzz_byte(&in) % 3;
    size_t length;
    const uint8_t *attributes = fuzz_part(&in, &length);
    char where[512];
    dataset *d;
    ssm2d_error error = {{0}};
    fuzz_put("list_attr_celeba.txt", attributes, length);
    fuzz_put("list_eval_partition.txt", in.at, in.left);
    snprintf(where, sizeof where, "celeba:%s", fuzz_folder());
    ssm2d_status status = dataset_open(fuzz_context(), where, (dataset_split)split, &d, &error);
    if (status) {
        REQUIRE(!d);
        fuzz_check_refusal(status, &error, fuzz_folder());
        return;
    }
    const dataset_info *info = dataset_about(d);
    REQUIRE(info->count >= 1 && info->labels == LABEL_BINARY && info->label_count == 40);
    for (size_t i = 0; i < info->count; i++) {
        float target[40];
        char path[4096];
        dataset_target(d, i, target);
        for (int a = 0; a < 40; a++) REQUIRE(target[a] >= 0 && target[a] <= 1);
        if (!dataset_file(d, i, path, sizeof path)) continue; /* a name that is too long */
        /* below the folder of images, and nowhere else */
        REQUIRE(!strncmp(path, fuzz_folder(), strlen(fuzz_folder())));
        REQUIRE(strlen(strrchr(path, '/')) > 1);
    }
    dataset_close(d);
}
