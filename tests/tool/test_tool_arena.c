/* ssm2d arena: every mixer under one recipe, models of equal size, test images of other sizes. */
#include "reproduce_helpers.h"

#include <math.h>

#define ARENA                                                                                      \
    "arena --scale tiny --data idx:$FOLDER/data --models vit-mini --seeds 1 --epochs 1 "           \
    "--threads 1 "

/* Every kind of layer is in the plan of every scale, as it is and matched. */
static void plans_have_every_mixer(void **state)
{
    (void)state;
    static const char *const kinds[] = {"none",           "conv",    "ema",    "s4nd",    "ssm2d",
                                        "ss2d",           "mamba2d", "scan2d", "chimera", "roesser",
                                        "ssm2d_selective"};
    static const char *const scales[] = {"full", "small", "tiny"};
    for (int k = 0; k < 3; k++) {
        const int columns = k == 2 ? 2 : 3;
        TOOL("arena", "--scale", scales[k], "--seeds", "1", "--out", in_folder("plan"),
             "--dry-run");
        assert_done();
        /* 13 rows, and matched ones but for the largest model, which is its own match */
        assert_int_equal(count_of(tool.out, "ssm2d train "), (2 * 13 - 1) * columns);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char word[64];
            snprintf(word, sizeof word, " --mixer %s ", kinds[i]);
            assert_true(count_of(tool.out, word) >= columns);
        }
    }
    /* the usual scale is small */
    shell("$SSM2D arena --data idx:$FOLDER/data --out $FOLDER/plan --dry-run");
    assert_says(tool.out, "--epochs 15");
}

/* The models of a matched row and of the largest row have as many parameters, to 1 %. */
static void matched_models_have_the_same_size(void **state)
{
    (void)state;
    double largest = 0;
    int matched = 0;
    shell("cd $FOLDER && $SSM2D " ARENA "--mixers 'none,Roesser,S4ND (matched),none (matched)' "
          "--out o");
    cJSON *root = json_of(in_folder("o/arena.json"));
    const cJSON *row, *rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    for (int pass = 0; pass < 2; pass++) cJSON_ArrayForEach(row, rows)
        {
            const char *label =
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "label"));
            const double count = cJSON_GetObjectItemCaseSensitive(row, "parameters")->valuedouble;
            if (!pass) largest = fmax(largest, strstr(label, "matched") ? 0 : count);
            if (!pass || !strstr(label, "matched")) continue;
            matched++;
            if (fabs(count - largest) > 0.01 * largest)
                fail_msg("%s has %g parameters, the largest %g", label, count, largest);
        }
    assert_int_equal(matched, 3); /* the largest one shares its runs with its matched row */
    cJSON_Delete(root);
    assert_pictures("o/arena");
    assert_file_says(in_folder("o/arena.md"), " MB |");
}

static void sizes_are_those_of_eval_and_can_be_added_later(void **state)
{
    (void)state;
    shell("cd $FOLDER && $SSM2D " ARENA "--mixers none,SS2D --test-sizes 20,36 --out o");
    assert_says(tool.out, "| model | vit-mini, 20 px | vit-mini, 36 px |");
    shell("cd $FOLDER && for run in o/runs/*/; do for size in 20 36; do "
          "$SSM2D eval $run --image-size $size --json --threads 1 | "
          "sed -n 's/.*\"accuracy\": *\\([0-9.e-]*\\).*/\\1/p' | head -n 1; "
          "sed -n \"s/.*\\\"$size\\\":[[:space:]]*\\([0-9.e-]*\\).*/\\1/p\" $run/result.json; "
          "done; done > values && test $(wc -l < values) = 8 && "
          "awk 'NR % 2 { first = $1; next } { d = $1 - first; if (d > 1e-6 || d < -1e-6) exit 1 }' "
          "values");
    /* a further size is measured with the weights that are there */
    shell("cd $FOLDER && cat o/runs/*/model.safetensors | cksum > before && "
          "$SSM2D arena --out o --mixers none,SS2D --models vit-mini --test-sizes 24 --threads 1 "
          "> text && cat o/runs/*/model.safetensors | cksum | cmp - before && "
          "grep -c '\"24\"' o/runs/*/result.json");
    shell("cd $FOLDER && $SSM2D arena --out o --mixers none,SS2D --models vit-mini --threads 1 && "
          "grep -q ', 24 px' o/arena.md"); /* stored */
    shell("cd $FOLDER && $SSM2D arena --out o --mixers none,SS2D --models vit-mini --test-sizes "
          "none --threads 1 && ! grep -q ' px' o/arena.md");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const char *const sizes[] = {"0", "x", "24;40", "-1", "9999999999", "1,2,3,4,5,6,7,8,9"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        TOOL("arena", "--out", in_folder("o"), "--test-sizes", sizes[i]);
        assert_refused(2, "arena", "--test-sizes");
    }
    TOOL("arena");
    assert_refused(2, "arena", "--out");
    TOOL("arena", "--out", in_folder("o"), "--data", in_folder("nothing"));
    assert_refused(1, "arena", "nothing");
    shell_run("$SSM2D " ARENA "--mixers wrong --out $FOLDER/o");
    assert_refused(1, "arena", "--mixers wrong");
    shell_run("$SSM2D " ARENA "--models wrong --out $FOLDER/o");
    assert_refused(1, "arena", "--models wrong");
    assert_true(access(in_folder("o"), F_OK));
}

int main(void)
{
#define TEST_OF(f) cmocka_unit_test_setup_teardown(f, setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST_OF(plans_have_every_mixer),
        TEST_OF(matched_models_have_the_same_size),
        TEST_OF(sizes_are_those_of_eval_and_can_be_added_later),
        TEST_OF(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
