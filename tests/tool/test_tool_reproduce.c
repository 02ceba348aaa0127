/* ssm2d reproduce: plans of every experiment, and whole tables on data made here. */
#include "reproduce_helpers.h"

#include <math.h>

static const char *const names[] = {"table1",          "table2",        "table3",   "table4",
                                    "table5",          "lattice-paths", "kernels",  "training-size",
                                    "receptive-field", "ablations",     "convnext", "arena"};
static const char *const scales[] = {"full", "medium", "small", "tiny"};
enum { NAMES = sizeof names / sizeof *names, SCALES = sizeof scales / sizeof *scales };

enum { CELLS = 10 };

static double number(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(value)) fail_msg("%s is not a number", key);
    return value->valuedouble;
}

/* ---- planning -------------------------------------------------------------------------------- */

static void test_without_a_name_all_are_listed(void **state)
{
    (void)state;
    TOOL("reproduce");
    assert_done();
    for (int i = 0; i < NAMES; i++) assert_says(tool.out, names[i]);
}

/* Every line of every plan is a command that `ssm2d train` takes, and none is there twice. */
static void test_dry_run_prints_commands_that_train_accepts(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++)
        for (int k = 0; k < SCALES; k++) {
            if (!strcmp(names[i], "kernels") || !strcmp(names[i], "lattice-paths")) continue;
            if (!strcmp(scales[k], "medium") && strstr("table2 table4 arena", names[i])) continue;
            if (short_tests() && k != SCALES - 1 && (i + k) % SCALES) continue;
            TOOL("reproduce", names[i], "--scale", scales[k], "--seeds", "1", "--out",
                 in_folder("it's here"), "--dry-run");
            assert_done();
            put_text(in_folder("lines"), tool.out);
            assert_true(count_of(tool.out, "ssm2d train --data ") >= 3);
            shell("cd $FOLDER && sed -n 's,^# ssm2d,ssm2d,; /^ssm2d/p' lines > commands && sort "
                  "commands | uniq -d > twice "
                  "&& test ! -s twice && sed 's/^ssm2d/$SSM2D/; s/$/ --print-settings/' commands "
                  "> all.sh && sh -e all.sh > settings");
            shell("cd $FOLDER && test $(grep -c ^seed=0 settings) = $(wc -l < commands)");
            assert_absent(in_folder("it's here")); /* nothing was made */
        }
}

/* The requested threads are in the commands. */
static void test_dry_run_keeps_threads(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table3 --seeds 1 --out DIR --dry-run --threads $(($(nproc) + 1))");
    assert_true(count_of(tool.out, " --threads ") >= 3);
    assert_int_equal(count_of(tool.out, " --threads "), count_of(tool.out, "ssm2d train"));
    shell("$SSM2D reproduce table3 --seeds 1 --out DIR --dry-run");
    assert_null(strstr(tool.out, "--threads"));
}

/* ConvNeXt follows the authors' code of 2024, and its layer that of each data set. */
static void test_convnext_has_settings_of_2024(void **state)
{
    (void)state;
    TOOL("reproduce", "convnext", "--out", "DIR", "--dry-run", "--seeds", "1");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 10);
    assert_says(tool.out, "--data cifar100:FOLDER --model convnext-small --mixer conv --recipe "
                          "small --seed 0");
    assert_says(tool.out, "--data tiny-imagenet:FOLDER --model convnext-small --mixer ssm2d "
                          "--recipe small --set mixer.directions=2 --set mixer.trunc_rows=13 --set "
                          "mixer.trunc_cols=13 --seed 0");
    assert_says(tool.out, "--data tiny-imagenet:FOLDER --model convnext-small --mixer ssm2d "
                          "--recipe small --set mixer.values=cartesian --set mixer.directions=2 "
                          "--set mixer.trunc_rows=7 --set mixer.trunc_cols=7 --seed 0");
    assert_says(tool.out, "--model convnext-small --mixer none");
    assert_says(tool.out, "--model convnext-small --mixer s4nd");
}

/* A run that several tables or variants have goes by one name, so that it is trained once; and a
 * name means one run. */
static void test_tables_share_equal_runs(void **state)
{
    (void)state;
    shell("cd $FOLDER && for s in full medium small tiny; do for v in code text count library; do "
          "for t in table1 table2 table3 table4 table5 training-size receptive-field ablations "
          "convnext; do $SSM2D reproduce $t --scale $s --variant $v --seeds 1 --out D --dry-run "
          "2> /dev/null; done; done; done > plans");
    shell("cd $FOLDER && sed -n 's/^# ssm2d train/ssm2d train/; /^ssm2d train/p' plans | sort -u | "
          "while read -r line; do printf '%s ' $(printf '%s\n' ${line%% --out *} | sort); "
          "echo \"${line##* --out }\"; done | sort -u > runs && test $(wc -l < runs) -gt 500");
    shell("cd $FOLDER && sed 's/ [^ ]*$//' runs | uniq -d");
    if (*tool.out) fail_msg("these settings have two names: %s", tool.out);
    shell("cd $FOLDER && sed 's/.* //' runs | sort | uniq -d");
    if (*tool.out) fail_msg("these names have two settings: %s", tool.out);
}

/* Runs whose data are missing are comments, not commands. */
static void test_dry_run_comments_out_missing_data(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table1 --seeds 1 --out D --dry-run | grep -c '^# ssm2d train'");
    assert_int_equal(atoi(tool.out), 2 * 14);
    shell("! $SSM2D reproduce table1 --seeds 1 --out D --dry-run | grep '^ssm2d'");
}

/* A label selects its own row; a part of a label, or a pattern, selects all rows that match. */
static void test_rows_selects_by_label_or_pattern(void **state)
{
    (void)state;
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--seeds", "1", "--rows", "vit");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 2);
    assert_int_equal(count_of(tool.out, "--mixer none"), 2);
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--seeds", "1", "--rows", "ViT*");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 2 * 4);
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--seeds", "1", "--rows", "S4ND");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 2 * 3);
    assert_int_equal(count_of(tool.out, "--mixer s4nd"), 2 * 3);
    /* of alternatives, each chooses what fits it best */
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--seeds", "1", "--rows", "ViT|S4ND");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 2 * (1 + 3));
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--rows", "ViT|ResNet");
    assert_refused(1, "reproduce", "--rows ResNet", "table1");
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--rows", "ViT|");
    assert_refused(1, "reproduce", "--rows", "table1");
}

/* Columns are chosen in the same way, also by the data of their cells. */
static void test_columns_selects_by_label_or_data(void **state)
{
    static const struct {
        const char *options;
        int runs;
    } cases[] = {{"table1 --columns C100", 14},
                 {"table1 --columns cifar100", 14},
                 {"table1 --columns 'tiny*' --rows 'ViT*'", 4},
                 {"convnext --columns cifar100", 5},
                 {"table5 --columns cifar100", 6},
                 {"table5 --scale small --columns 'w/o PE'", 15},
                 {"table5 --scale small --columns '*PE' --rows 'Swin*'", 10},
                 {"table5 --scale small --columns neither", 10},
                 {"table3 --columns lra-image", 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[256];
        snprintf(script, sizeof script, "$SSM2D reproduce %s --seeds 1 --out D --dry-run",
                 cases[i].options);
        shell(script);
        assert_int_equal(count_of(tool.out, "ssm2d train"), cases[i].runs);
    }
    TOOL("reproduce", "table1", "--out", "DIR", "--columns", "C1000", "--dry-run");
    assert_refused(1, "reproduce", "--columns C1000", "table1");
    TOOL("reproduce", "table1", "--out", "DIR", "--columns", "C1000", "--dry-run");
    assert_refused(1, "reproduce", "C100, T-IN", "cifar100, tiny-imagenet");
    /* the table has no others, unless they have results */
    shell("$SSM2D " TABLE5 "--seeds 1 --epochs 1 --rows Baseline --columns 'w/o PE' --out "
          "$FOLDER/o");
    assert_says(tool.out, "1 of 1 runs are done");
    assert_says(tool.out, "| model | w/o PE | best epoch | paper | delta |\n");
    assert_says(tool.out, "Only the columns that match `w/o PE` are run");
    shell("test $(wc -l < $FOLDER/o/table5.csv) = 2 && ! grep -q 'with PE' $FOLDER/o/table5.json");
    shell("$SSM2D " TABLE5 "--seeds 1 --epochs 1 --rows +EMA --columns 'with PE' --out "
          "$FOLDER/o");
    assert_says(tool.out, "| model | with PE | best epoch | paper | w/o PE | best epoch | paper |");
    assert_says(tool.out, "2 of 4 runs are done");
    /* data of columns that are not run may be missing */
    shell("$SSM2D reproduce table1 --scale small --columns C100 --tables-only --data "
          "cifar100=idx:$FOLDER/data --out $FOLDER/s");
    assert_null(strstr(tool.out, "tiny-imagenet are not given"));
    assert_null(strstr(tool.out, "| T-IN"));
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    TOOL("reproduce", "table6", "--out", "DIR");
    assert_refused(2, "reproduce", "table6");
    TOOL("reproduce", "table1");
    assert_refused(2, "reproduce", "--out");
    TOOL("reproduce", "--scale", "tiny");
    assert_refused(2, "reproduce", "--scale");
    TOOL("reproduce", "table1", "--out", "DIR", "--data", "cifar=x");
    assert_refused(2, "reproduce", "--data cifar=");
    TOOL("reproduce", "table1", "--out", "DIR", "--data", "cifar100");
    assert_refused(2, "reproduce", "cifar100", "NAME=DATA");
    TOOL("reproduce", "figure2", "--out", "DIR", "--seeds", "4");
    assert_refused(2, "reproduce", "--seeds", "lattice-paths");
    TOOL("reproduce", "kernels", "--out", "DIR", "--data", "cifar10=nowhere");
    assert_refused(2, "reproduce", "--data", "kernels");
    TOOL("reproduce", "kernels", "--out", "DIR", "--columns", "C100");
    assert_refused(2, "reproduce", "--columns", "kernels");
    TOOL("reproduce", "table1", "--out", "DIR", "--plan", "--dry-run");
    assert_refused(2, "reproduce", "--plan", "--dry-run");
    TOOL("reproduce", "table1", "--out", "DIR", "--no-wait", "--dry-run");
    assert_refused(2, "reproduce", "--no-wait");
    TOOL("reproduce", "table1", "--out", "DIR", "--rows", "ResNet", "--dry-run");
    assert_refused(1, "reproduce", "--rows ResNet", "table1");
    TOOL("reproduce", "table1", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "table1", "cifar100, tiny-imagenet");
    TOOL("reproduce", "table1", "--out", in_folder("o"), "--data", "cifar100=cifar100:nowhere");
    assert_refused(1, "reproduce", "nowhere");
}

/* ---- whole tables ---------------------------------------------------------------------------- */

/* The values of a cell are those of its runs. */
static void check_cell(const cJSON *cell, int n)
{
    const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(cell, "runs");
    double sum = 0, squares = 0;
    assert_int_equal(number(cell, "n"), n);
    assert_int_equal(cJSON_GetArraySize(runs), n);
    cJSON_ArrayForEach(run, runs)
    {
        assert_string_equal(cJSON_GetObjectItem(run, "state")->valuestring, "done");
        sum += number(run, "accuracy");
        squares += pow(number(run, "accuracy"), 2);
        assert_true(number(run, "best") >= number(run, "accuracy"));
        assert_true(number(run, "parameters") > 1000);
        assert_true(number(run, "images_per_s") > 0);
    }
    assert_float_equal(number(cell, "mean"), sum / n, 1e-6);
    assert_float_equal(number(cell, "std"), sqrt(fmax(0, squares - sum * sum / n) / (n - 1)), 1e-4);
}

static void test_table_has_means_beside_the_paper(void **state)
{
    (void)state;
    shell("$SSM2D " TABLE5 "--seeds 2 --out $FOLDER/o");
    assert_says(tool.out, "20 runs, about ");
    assert_says(tool.out, "run 20/20, epoch 2/2: loss ");
    assert_says(tool.out, "20 of 20 runs are done.");
    assert_file_says(in_folder("o/table5.md"), "| Baseline | ");
    shell("grep -q '^| Baseline | [0-9.]* ± [0-9.]* ([0-9.]*, [0-9.]*) | [0-9.]* | 73.26 | ' "
          "$FOLDER/o/table5.md");
    assert_file_says(in_folder("o/table5.md"), "Scale tiny, smaller than in the paper: ");
    cJSON *root = json_of(in_folder("o/table5.json"));
    const cJSON *row, *cell;
    int cells = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(root, "rows"))
    {
        cJSON_ArrayForEach(cell, cJSON_GetObjectItem(row, "cells"))
        {
            check_cell(cell, 2);
            cells++;
        }
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "train_time"))); /* at scale tiny */
        const cJSON *pair = cJSON_GetObjectItem(row, "cells");
        assert_true(number(cJSON_GetArrayItem(pair, 0), "parameters")
                    > number(cJSON_GetArrayItem(pair, 1), "parameters"));
        assert_float_equal(number(row, "delta"),
                           number(cJSON_GetArrayItem(pair, 1), "mean")
                               - number(cJSON_GetArrayItem(pair, 0), "mean"),
                           1e-6);
    }
    assert_int_equal(cells, CELLS);
    /* the accuracy is what `ssm2d eval` says of the run */
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "rows"), 0);
    first = cJSON_GetArrayItem(cJSON_GetObjectItem(first, "cells"), 0);
    first = cJSON_GetArrayItem(cJSON_GetObjectItem(first, "runs"), 0);
    TOOL("eval", in_folder("o/runs/%s", cJSON_GetObjectItem(first, "name")->valuestring), "--json");
    assert_wrote_nothing();
    cJSON *evaluated = cJSON_Parse(tool.out);
    assert_float_equal(number(first, "accuracy"), 100 * number(evaluated, "accuracy"), 1e-6);
    cJSON_Delete(evaluated);
    cJSON_Delete(root);
    shell("cp $FOLDER/o/table5.csv $FOLDER/one.csv");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --seeds 1 --tables-only");
    assert_int_equal(count_of(tool.out, "smaller than in the paper"), 1); /* the notes */
    assert_says(tool.out, "10 of 10 runs are done.");
    /* a second call has nothing to do; the options are remembered, except those of --tables-only */
    shell("$SSM2D reproduce table5 --out $FOLDER/o");
    assert_null(strstr(tool.out, "run 1/20:"));
    assert_says(tool.out, "20 runs, about 0:00 to go");
    shell("cd $FOLDER/o && rm table5.md table5.csv table5.json && $SSM2D " TABLE5
          "--seeds 2 --out $FOLDER/o --tables-only");
    shell("cd $FOLDER && cmp o/table5.csv one.csv");
    /* finished runs do not need their data any more, and others do */
    shell("mv $FOLDER/data $FOLDER/away && $SSM2D reproduce table5 --out $FOLDER/o");
    assert_says(tool.out, "20 of 20 runs are done.");
    shell("rm $FOLDER/o/table5.csv && $SSM2D reproduce table5 --out $FOLDER/o --tables-only "
          "&& cmp $FOLDER/o/table5.csv $FOLDER/one.csv");
    shell_run("$SSM2D reproduce table5 --out $FOLDER/o --seeds 3");
    assert_refused(1, "reproduce", "--tables-only");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --seeds 3 --tables-only");
    assert_says(tool.out, "20 of 30 runs are done.");
    shell("grep -q '^| Baseline | [0-9.]* ± [0-9.]* ([0-9.]*, [0-9.]*, -) | ' $FOLDER/o/table5.md");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --seeds 6 --tables-only"); /* too many to list */
    shell("grep -q '^| Baseline | [0-9.]* ± [0-9.]* (n = 2) | ' $FOLDER/o/table5.md");
    shell("mv $FOLDER/away $FOLDER/data");
    /* receptive fields share runs with the table, and find the data */
    shell("$SSM2D reproduce receptive-field --scale tiny --seeds 1 --threads 1 --out $FOLDER/o");
    assert_null(strstr(tool.out, "run 1/4:"));
    assert_says(tool.out, "half of the derivatives' squares are within");
    assert_pictures("o/receptive-field");
}

/* A table takes the options that the others in its folder have in common. */
static void test_table_takes_options_of_others_in_its_folder(void **state)
{
    (void)state;
    shell("$SSM2D " TABLE5 "--seeds 2 --epochs 1 --rows Baseline --out $FOLDER/o");
    shell("$SSM2D reproduce training-size --out $FOLDER/o --dry-run");
    assert_int_equal(count_of(tool.out, "--model vit-mini"), 2 * 8 - 2); /* table5 has two */
    assert_int_equal(count_of(tool.out, "--epochs 1 --seed"), 2 * 8 - 2);
    shell("$SSM2D reproduce training-size --out $FOLDER/o --scale small --dry-run");
    assert_int_equal(count_of(tool.out, "--epochs 15 --seed"), 3 * 24);
    /* from tables with different epochs only the seeds are taken */
    shell("cd $FOLDER/o && sed 's/\"epochs\":.*/\"epochs\": 4,/' table5.options.json > "
          "training-size.options.json && $SSM2D reproduce ablations --out . --dry-run");
    assert_true(count_of(tool.out, "--epochs 2 --seed 1 ") > 10);
    assert_null(strstr(tool.out, "--seed 2 "));
    shell("sed -i s/tiny/small/ $FOLDER/o/training-size.options.json");
    TOOL("reproduce", "table3", "--out", in_folder("o"), "--dry-run");
    assert_refused(1, "reproduce", "table5", "tiny", "training-size", "small");
}

static void test_figures_are_drawn_in_three_formats(void **state)
{
    (void)state;
    TOOL("reproduce", "figure2", "--out", in_folder("o"), "--dry-run");
    assert_done();
    assert_says(tool.out, "ssm2d theory paths -o ");
    assert_null(strstr(tool.out, "ssm2d train"));
    /* somebody else's file with the name of one of ours */
    shell("mkdir $FOLDER/o && echo mine > $FOLDER/o/lattice-paths.csv");
    TOOL("reproduce", "figure2", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "lattice-paths.csv");
    shell("grep -q mine $FOLDER/o/lattice-paths.csv && test $(ls $FOLDER/o | wc -l) = 1 && "
          "rm $FOLDER/o/lattice-paths.csv");
    TOOL("reproduce", "figure2", "--out", in_folder("o"));
    assert_done();
    shell("cd $FOLDER && rm o/lattice-paths.options.json"); /* the table names its own runs */
    TOOL("reproduce", "figure2", "--out", in_folder("o"));
    assert_done();
    assert_pictures("o/lattice-paths");
    TOOL("reproduce", "kernels", "--out", in_folder("o"));
    assert_done();
    assert_pictures("o/kernels");
    shell("cd $FOLDER && mkdir more && cp data/t10k* more");
    assert_true(small_split(in_folder("more"), "train", 800, 1));
    shell("$SSM2D reproduce training-size --scale tiny --data cifar10=idx:$FOLDER/more --seeds 1 "
          "--threads 1 --epochs 1 --out $FOLDER/o");
    assert_says(tool.out, "All runs have 1 epoch (--epochs)");
    assert_pictures("o/training-size");
    assert_file_says(in_folder("o/training-size.csv"),
                     "\"training-size\",\"tiny\",\"ViT w/ SSM-r\",\"100 %\"");
}

/* Data that replace missing ones, columns that are left out, and the top five. */
static void test_missing_data_are_replaced_or_omitted(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table1 --scale tiny --seeds 1 --rows Swin --epochs 1 --threads 1 "
          "--data cifar10=idx:$FOLDER/data --out $FOLDER/o");
    assert_says(tool.out, "these are cifar10, which stand in for cifar100");
    assert_says(tool.out, "Data tiny-imagenet are not given, and their cells are left out");
    assert_file_says(in_folder("o/table1.md"), "stand in for cifar100");
    assert_file_says(in_folder("o/table1.md"),
                     "| model | C100 (cifar10) | best epoch | paper | T-IN ");
    assert_file_says(in_folder("o/table1.md"), "| - | - | 61.29 |");
    /* times of such small models have no meaning */
    shell("! grep -q 'train time\\|1.00x\\|Train time' $FOLDER/o/table1.md");
    shell("$SSM2D reproduce table1 --scale small --tables-only --data cifar10=idx:$FOLDER/data "
          "--out $FOLDER/s");
    assert_says(tool.out, "| train time | paper |");
    shell("$SSM2D reproduce training-size --scale tiny --tables-only --data "
          "cifar100=idx:$FOLDER/data "
          "--out $FOLDER/s3");
    assert_says(tool.out, "| ViT w/ SSM-r (cifar100) |");
    assert_file_says(in_folder("o/table1.md"), "Only the rows that match `Swin` are run");
    shell("$SSM2D reproduce table4 --scale tiny --seeds 1 --rows EMA --epochs 1 --threads 1 "
          "--data cifar10=idx:$FOLDER/data --out $FOLDER/o");
    assert_file_says(in_folder("o/table4.md"), "| 100.00 (n = 1) | 89.76 |"); /* of four classes */
    shell("$SSM2D reproduce table2 --scale tiny --tables-only --data cifar10=idx:$FOLDER/data "
          "--out $FOLDER/o");
    assert_says(tool.out, "these are cifar10, which stand in for celeba");
    assert_says(tool.out, "| Top 1 (cifar10) |");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_a_name_all_are_listed, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_dry_run_prints_commands_that_train_accepts, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_dry_run_keeps_threads, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_convnext_has_settings_of_2024, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_dry_run_comments_out_missing_data, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_tables_share_equal_runs, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_rows_selects_by_label_or_pattern, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_columns_selects_by_label_or_data, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_options_are_refused, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_table_has_means_beside_the_paper, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_table_takes_options_of_others_in_its_folder, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_figures_are_drawn_in_three_formats, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_missing_data_are_replaced_or_omitted, setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
