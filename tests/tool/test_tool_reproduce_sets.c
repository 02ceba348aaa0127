/* ssm2d reproduce, Tables 2 and 3, on data of their kinds: CelebA's attributes, and CIFAR-10 in
 * grey as in the Long Range Arena; from files to the table. */
#include "tool_run.h"

#include <cjson/cJSON.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FACES = 40, ATTRIBUTES = 40, RECORDS = 12, RECORD = 1 + 3 * 32 * 32 };

static cJSON *table_of(const char *name)
{
    size_t size;
    char *text = get_file(in_folder("o/%s.json", name), &size);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    free(text);
    return root;
}

/* The only cell of a row; checks its label and the number of its runs. */
static const cJSON *cell_of(const cJSON *root, int row, const char *label, int runs)
{
    const cJSON *r = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "rows"), row);
    const cJSON *cell = cJSON_GetArrayItem(cJSON_GetObjectItem(r, "cells"), 0);
    assert_non_null(cell);
    assert_string_equal(cJSON_GetObjectItem(r, "label")->valuestring, label);
    assert_int_equal(cJSON_GetObjectItem(cell, "n")->valueint, runs);
    return cell;
}

static double setting(const cJSON *cell, const char *key)
{
    const cJSON *found = cJSON_GetObjectItem(cJSON_GetObjectItem(cell, "settings"), key);
    assert_non_null(found);
    return found->valuedouble;
}

static void put_faces(void)
{
    static char text[16384], parts[2048];
    size_t n = (size_t)sprintf(text, "%d\n", FACES), m = 0;
    assert_int_equal(mkdir(in_folder("celeba"), 0777), 0);
    assert_int_equal(mkdir(in_folder("celeba/img_align_celeba"), 0777), 0);
    for (int a = 0; a < ATTRIBUTES; a++) n += (size_t)sprintf(text + n, "Attribute_%d ", a);
    for (int i = 0; i < FACES; i++) {
        put_picture(in_folder("celeba/img_align_celeba/%06d.jpg", i + 1), 218, 178, 3);
        n += (size_t)sprintf(text + n, "\n%06d.jpg", i + 1);
        for (int a = 0; a < ATTRIBUTES; a++)
            n += (size_t)sprintf(text + n, a % 4 ? "  1" : " -1"); /* of every face */
        m += (size_t)sprintf(parts + m, "%06d.jpg %d\n", i + 1, i < 32 ? 0 : i < 36 ? 1 : 2);
    }
    put_text(in_folder("celeba/list_attr_celeba.txt"), text);
    put_text(in_folder("celeba/list_eval_partition.txt"), parts);
}

/* The accuracy is the mean over attributes, which are learned from the first step on, as they are
 * the same in every face. The paper's models have 40 outputs by default. */
static void test_accuracy_of_attributes_is_their_mean(void **state)
{
    (void)state;
    put_faces();
    shell_run("cd $FOLDER && $SSM2D reproduce table2 --scale tiny --seeds 2 --epochs 8 --threads 1 "
              "--rows '*-T*' --data celeba=celeba:celeba --out o");
    if (tool.code) fail_msg("%s%s", tool.out, tool.err);
    assert_non_null(strstr(tool.out, "12 of 12 runs are done."));
    assert_non_null(strstr(tool.out, "| 88.43 |"));
    cJSON *root = table_of("table2");
    static const char *const labels[] = {"DeiT-T", "DeiT-T w. SSM-r", "DeiT-T w. SSM-c",
                                         "Swin-T", "Swin-T w. SSM-r", "Swin-T w. SSM-c"};
    for (int r = 0; r < 6; r++) {
        const cJSON *cell = cell_of(root, r, labels[r], 2);
        assert_true(cJSON_GetObjectItem(cell, "mean")->valuedouble > 75);
        const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(cell, "runs"), 0);
        /* CelebA has validation images, by which the best epoch is chosen */
        assert_string_equal(cJSON_GetObjectItem(run, "best_chosen_by")->valuestring, "validation");
    }
    cJSON_Delete(root);
}

/* Files in CIFAR-10's format: images of class c have brightness 20 c. */
static void put_cifar(void)
{
    static uint8_t bytes[RECORDS][RECORD];
    assert_int_equal(mkdir(in_folder("cifar"), 0777), 0);
    for (int file = 0; file < 6; file++) {
        for (int i = 0; i < RECORDS; i++) {
            const int class = (file + i) % 10;
            memset(bytes[i], 20 * class + file, RECORD);
            bytes[i][0] = (uint8_t) class;
        }
        if (file < 5)
            put_file(in_folder("cifar/data_batch_%d.bin", file + 1), bytes, sizeof bytes);
        else
            put_file(in_folder("cifar/test_batch.bin"), bytes, sizeof bytes);
    }
    put_text(in_folder("cifar/batches.meta.txt"),
             "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n");
}

static void test_grey_data_train_grey_models(void **state)
{
    (void)state;
    put_cifar();
    shell_run("cd $FOLDER && $SSM2D reproduce table3 --scale tiny --seeds 1 --threads 1 "
              "--data lra-image=lra-image:cifar --out o");
    if (tool.code) fail_msg("%s%s", tool.out, tool.err);
    assert_non_null(strstr(tool.out, "3 of 3 runs are done."));
    cJSON *root = table_of("table3");
    assert_int_equal((int)setting(cell_of(root, 0, "Mega Ablate", 1), "channels"), 1);
    cell_of(root, 1, "Mega", 1);
    cell_of(root, 2, "Mega 2-D SSM", 1);
    cJSON_Delete(root);
    assert_non_null(strstr(tool.out, "| Image - LRA |"));
    /* other data used under this name are reported */
    shell_run("cd $FOLDER && $SSM2D reproduce table3 --scale tiny --seeds 1 --tables-only "
              "--data lra-image=cifar10:cifar --out other");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.out, "| Image - LRA (cifar10) |"));
    assert_non_null(strstr(tool.out, "these are cifar10, which stand in for lra-image"));
    /* the paper's model and recipe are planned on the same files */
    shell_run("cd $FOLDER && $SSM2D reproduce table3 --seeds 1 --data lra-image=lra-image:cifar "
              "--rows '*SSM' --out p --dry-run");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.out, "--data lra-image:cifar --model mega-lra --mixer ssm2d "
                                     "--recipe lra"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_accuracy_of_attributes_is_their_mean, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_grey_data_train_grey_models, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
