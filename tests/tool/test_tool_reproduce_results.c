/* ssm2d reproduce --results: the committed results, bench/results, are still those of the runs that
 * this version plans. Their data are replaced by files of zeros of the same size. */
#include "reproduce_helpers.h"

#include <cjson/cJSON.h>
#include <glob.h>

enum { RECORD_10 = 1 + 3 * 32 * 32, RECORD_100 = 2 + 3 * 32 * 32, TEST_IMAGES = 10 };

static cJSON *read_table(const char *path)
{
    size_t size;
    char *text = get_file(path, &size);
    cJSON *root = cJSON_Parse(text);
    if (!root) fail_msg("%s is not JSON", path);
    free(text);
    return root;
}

static const char *text_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* A file without content but with a size, which takes no space on disk. */
static void put_zeros(const char *folder, const char *name, long images, long record)
{
    const char *path = in_folder("%s/%s", folder, name);
    put_text(path, "");
    assert_int_equal(truncate(path, images * record), 0);
}

static void put_cifar(long images, long of_hundred)
{
    shell("rm -rf $FOLDER/c10 $FOLDER/c100 $FOLDER/o && mkdir $FOLDER/c10 $FOLDER/c100");
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        put_zeros("c10", name, images / 5, RECORD_10);
    }
    put_zeros("c10", "test_batch.bin", TEST_IMAGES, RECORD_10);
    put_zeros("c100", "train.bin", of_hundred, RECORD_100);
    put_zeros("c100", "test.bin", TEST_IMAGES, RECORD_100);
}

/* The number of images that the table's runs had of these data, or another if they had none. */
static long images_of(const cJSON *root, const char *taken, long otherwise)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "data"))
    {
        const char *name = text_of(item, "taken");
        if (name && !strcmp(name, taken))
            return (long)cJSON_GetObjectItemCaseSensitive(item, "images")->valuedouble;
    }
    return otherwise;
}

/* Counts the results of data that are put here, and finds the epochs in their names. */
static int count_results(const cJSON *root, long *epochs, long *seeds)
{
    const cJSON *row, *cell, *run;
    int count = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(root, "rows"))
    {
        cJSON_ArrayForEach(cell, cJSON_GetObjectItemCaseSensitive(row, "cells"))
        {
            cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(cell, "runs"))
            {
                const char *name = text_of(run, "name"), *part;
                const long seed = (long)cJSON_GetObjectItem(run, "seed")->valuedouble;
                if (strcmp(text_of(run, "state"), "done")) continue;
                if (strncmp(name, "cifar", 5) && strncmp(name, "lra-image", 9)) continue;
                if ((part = strstr(name, "+epochs="))) *epochs = atol(part + strlen("+epochs="));
                if (seed >= *seeds) *seeds = seed + 1;
                count++;
            }
        }
    }
    return count;
}

static void check_table(const char *path)
{
    cJSON *root = read_table(path);
    const char *name = text_of(root, "experiment"), *variant = text_of(root, "variant");
    char script[2048], expected[64];
    long epochs = 0, seeds = 1;
    if (!strcmp(name, "figure3")) name = "training-size"; /* before there were names */
    const int count = count_results(root, &epochs, &seeds);
    assert_true(count > 0);
    put_cifar(images_of(root, "cifar10", images_of(root, "lra-image", 50000)),
              images_of(root, "cifar100", 50000));
    snprintf(script, sizeof script,
             "cd $FOLDER && $SSM2D reproduce %s --scale %s%s%s --epochs %ld --seeds %ld --data "
             "cifar10=cifar10:c10 --data cifar100=cifar100:c100 --data lra-image=lra-image:c10 "
             "--tables-only --out o --results '%s'",
             name, text_of(root, "scale"), variant ? " --variant " : "", variant ? variant : "",
             epochs, seeds, path);
    shell(script);
    snprintf(expected, sizeof expected, "%d results imported from ", count);
    assert_says(tool.out, expected);
    cJSON_Delete(root);
}

static void test_committed_results_are_imported(void **state)
{
    glob_t found;
    (void)state;
    assert_int_equal(glob(BENCH_RESULTS "/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) check_table(found.gl_pathv[i]);
    assert_true(found.gl_pathc > 2);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_committed_results_are_imported, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
