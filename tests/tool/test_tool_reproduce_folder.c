/* ssm2d reproduce: interruptions, several processes in one folder, results from other folders, and
 * damaged files. */
#include "reproduce_helpers.h"

/* ---- interruptions --------------------------------------------------------------------------- */

/* A table of an undisturbed folder, for comparison. */
#define WHOLE_TABLE(seeds)                                                                         \
    "$SSM2D " TABLE5 "--seeds " seeds " --out whole > /dev/null && cp whole/table5.csv one.csv"
/* Waits until some runs of a folder have results. */
#define WAIT_FOR_RESULTS(out)                                                                      \
    "for i in $(seq 600); do test $(ls " out "/runs/*/result.json 2> /dev/null | wc -l) -ge 3 && " \
    "break; "                                                                                      \
    "sleep 0.1; done; "

/* Killed, and stopped by a signal: the same command continues, and the tables are the same. */
static void test_interrupted_run_gives_the_same_tables(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("2"));
    shell("cd $FOLDER && { $SSM2D " TABLE5 "--seeds 2 --out o > log 2>&1 & } && " WAIT_FOR_RESULTS(
        "o") "kill -9 $! && { wait $! 2> /dev/null && exit 9 || test $? = 137; }");
    /* the table has the results so far */
    assert_file_says(in_folder("o/table5.md"), " of 20 runs are done.");
    shell("cd $FOLDER && $SSM2D " TABLE5
          "--seeds 2 --out o && cp o/table5.csv two.csv && " SAME_TABLES);
    assert_says(tool.out, "done\n"); /* runs of the plan */

    shell("cd $FOLDER && { $SSM2D " TABLE5
          "--seeds 2 --out p > log 2> err & } && " WAIT_FOR_RESULTS(
              "p") "kill -TERM $! && { wait $! && exit 9 || test $? = 143; }");
    assert_file_says(in_folder("err"), "ssm2d reproduce: stopped by a signal; everything is saved");
    shell(
        "cd $FOLDER && $SSM2D reproduce table5 --out p && cp p/table5.csv two.csv && " SAME_TABLES);
}

/* Each run is trained by one of the processes, and both write the whole table. */
static void test_two_processes_share_the_runs(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && { $SSM2D " TABLE5 "--seeds 1 --out o > first 2> err1 & } && $SSM2D " TABLE5
          "--seeds 1 --out o > second 2> err2 && wait $! && test ! -s err1 && test ! -s err2 && "
          "cp o/table5.csv two.csv && " SAME_TABLES);
    shell("cd $FOLDER && cat first second | grep -c '^run [0-9]*/10: ' | grep -qx 10");
    shell("cd $FOLDER && grep -q '10 of 10 runs are done' first && "
          "grep -q '10 of 10 runs are done' second");
    /* a run that another process has locked is not touched */
    shell("cd $FOLDER && rm o/runs/*/result.json && for c in o/claims/*; do "
          "flock -n $c sleep 20 & done; sleep 0.5; "
          "$SSM2D reproduce table5 --out o --no-wait; code=$?; kill $(jobs -p); exit $code");
    assert_says(tool.out, "10 runs of other processes are not finished");
    assert_null(strstr(tool.out, "run 1/10:"));
}

/* The commands that --dry-run prints train the same runs, for which the tables are then written.
 * Runs that have begun are resumed, and finished ones are comments. */
static void test_commands_of_dry_run_train_the_planned_runs(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out o --dry-run | sed 's/^ssm2d/$SSM2D/' > c "
          "&& sh -e c > /dev/null && $SSM2D " TABLE5 "--seeds 1 --out o > log && "
          "cp o/table5.csv two.csv && " SAME_TABLES);
    shell("cd $FOLDER && grep -q 'resuming after step 4 of 4' log && ! grep -q 'epoch 2/2' log");
    shell("cd $FOLDER && rm o/runs/*+ema*/result.json && $SSM2D " TABLE5 "--seeds 1 --out o "
          "--dry-run");
    assert_int_equal(count_of(tool.out, "# done: cifar10+vit-mini+"), 8);
    assert_int_equal(count_of(tool.out, "ssm2d train --resume o/runs/cifar10+vit-mini+ema+"), 2);
    assert_int_equal(count_of(tool.out, "\n"), 10);
}

/* Results of another folder count as done, unless the runs differ. */
static void test_results_of_another_folder_are_imported(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out o --results whole/table5.json && "
          "cmp o/table5.csv whole/table5.csv");
    assert_says(tool.out, "10 results imported from whole/table5.json");
    assert_says(tool.out, "10 of 10 runs are done.");
    assert_null(strstr(tool.out, "run 1/10:"));
    /* another seed is still to be trained; existing results stay */
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 2 --out o --results whole/table5.json "
          "--rows Baseline");
    assert_says(tool.out,
                "0 results imported from whole/table5.json; 10 more exist here already\n");
    assert_int_equal(count_of(tool.out, "/4: "), 2);
    /* the other rows are shown with their results */
    assert_says(tool.out, "12 of 20 runs are done.");
    shell(
        "cd $FOLDER && test $(grep -c '^| ' o/table5.md) = 6 && test $(wc -l < o/table5.csv) = 11");
    /* results imported without a run are continued with the same settings */
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 2 --out r --results whole/table5.json "
          "--tables-only && $SSM2D reproduce table5 --out r --tables-only");
    assert_says(tool.out, "10 of 20 runs are done.");
    /* all of a file, or nothing */
    shell("cd $FOLDER && awk '/\"accuracy\":/ && ++n == 5 { sub(/[0-9.]+/, \"500\") } { print }' "
          "whole/table5.json > t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out q --results t.json");
    assert_ended(1, "reproduce", "t.json", "\"accuracy\" is 500");
    shell("cd $FOLDER && test ! -e q/taken/*");
    /* a later version may have other defaults; a run of the same name is then another one */
    shell("cd $FOLDER && sed 's/\"place\":\t\"attn\"/\"place\":\t\"ffn\"/' whole/table5.json > "
          "t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out p --results t.json");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "mixer.place is \"ffn\" there and \"attn\" here");
    shell(
        "cd $FOLDER && sed 's/\"pos_scale\":\t0.02/\"pos_scale\":\t1/' whole/table5.json > t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out q --results t.json");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "pos_scale is 1 there and 0.02 here; leave this file out");
    shell("cd $FOLDER && sed 's/\"model\":/\"image\": [32, 32], \"model\":/' whole/table5.json > "
          "t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out q --results t.json");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "image is given there and not here");
    shell("cd $FOLDER && sed 's/\"count\":\t80/\"count\":\t81/' whole/table5.json > t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out q --results t.json");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "the number of training images is 81 there and 80 here");
    shell("cd $FOLDER && test ! -e q/taken/*");
}

/* A folder of another version with other defaults is not continued. */
static void test_runs_with_other_defaults_are_refused(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && sed -i 's/\"pos_scale\":\t0.02/\"pos_scale\":\t1/' "
          "whole/runs/*+s4nd*/result.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "pos_scale is 1 there and 0.02 here");
    shell("cd $FOLDER && rm whole/runs/*+s4nd*/result.json");
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole");
    shell("cd $FOLDER && rm whole/runs/*/result.json && "
          "sed -i 's/\"place\":\t\"attn\"/\"place\":\t\"ffn\"/' whole/runs/*+ema*/train.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole --tables-only");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "mixer.place is \"ffn\" there and \"attn\" here");
}

/* Nor is one whose runs had other data of the same name. */
static void test_runs_with_other_data_are_refused(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("mkdir $FOLDER/more && cp $FOLDER/data/t10k* $FOLDER/more");
    assert_true(small_split(in_folder("more"), "train", 96, 1));
    shell_run("cd $FOLDER && $SSM2D reproduce table5 --out whole --data cifar10=idx:more");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "the number of training images is 80 there and 96 here");
}

static void test_bad_results_are_refused(void **state)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"sed 's/\"accuracy\":\t/\"accuracy\":\t1/'", "which is not a valid result"},
        {"sed 's/\"accuracy\":.*/\"accuracy\": -1,/'",
         "\"accuracy\" is -1, which is not a valid result"},
        {"sed 's/\"seconds\":.*/\"seconds\": null,/'", "\"seconds\" is null"},
        {"sed 's/\"best_chosen_by\":.*/\"best_chosen_by\": \"dice\"/'",
         "\"best_chosen_by\" of run "},
        {"sed 's/\"settings\"/\"setting\"/'", "has no \"settings\" of run "},
        {"sed 's/\"lr\":/\"learning\":/'", "learning"},
        {"sed 's/\"rows\"/\"row\"/'", "has no list \"rows\""},
        {"head -c 3000", "t.json"},
    };
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "cd $FOLDER && rm -rf o && %s whole/table5.json > t.json && $SSM2D " TABLE5
                 "--seeds 1 --out o --rows Baseline --results t.json",
                 cases[i].script);
        shell_run(script);
        assert_int_equal(tool.code, 1);
        assert_says(tool.err, cases[i].says);
    }
    shell_run("cd $FOLDER && mkfifo pipe && $SSM2D " TABLE5 "--seeds 1 --out o --results pipe");
    assert_int_equal(tool.code, 1);
    TOOL("reproduce", "table5", "--out", in_folder("o"), "--plan", "--results", "t.json");
    assert_refused(2, "reproduce", "--results", "--plan");
    TOOL("reproduce", "receptive-field", "--out", in_folder("o"), "--results", "t.json");
    assert_refused(2, "reproduce", "--results", "receptive-field");
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void test_damaged_results_are_recreated(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1") " && cp -r whole o");
    shell("cd $FOLDER && for f in o/runs/*+none*/result.json; do echo '{\"accuracy\": 7}' > $f; "
          "done; for f in o/runs/*+ema*/result.json; do : > $f; done; echo '[' > o/estimates.json; "
          "echo x > o/table5.json; $SSM2D reproduce table5 --out o 2> err && "
          "cp o/table5.csv two.csv && " SAME_TABLES);
    assert_file_says(in_folder("err"), "\"accuracy\" is 7, ");
    /* without metrics the weights are evaluated, which gives the same accuracies */
    shell("cd $FOLDER && rm o/runs/*+s4nd*/result.json o/runs/*+s4nd*/metrics.jsonl && "
          "$SSM2D reproduce table5 --out o && cp o/table5.csv two.csv && " SAME_TABLES);
    assert_says(tool.out, "10 of 10 runs are done.");
    /* a table has no values from damaged results */
    shell("cd $FOLDER && for f in o/runs/*/result.json; do echo '{}' > $f; done; "
          "$SSM2D reproduce table5 --out o --tables-only");
    assert_says(tool.out, "0 of 10 runs are done.");
    assert_int_equal(count_of(tool.err, "; a call without --tables-only recreates it\n"), 10);
    shell("cd $FOLDER/o && rm runs/*/result.json && for d in runs/*/; do mkfifo $d/result.json; "
          "done; $SSM2D reproduce table5 --out . --tables-only"); /* a pipe does not block */
    assert_says(tool.out, "0 of 10 runs are done.");
    shell("echo '{\"scale\": \"huge\"}' > $FOLDER/o/table5.options.json");
    TOOL("reproduce", "table5", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "table5.options.json", "\"scale\"");
    shell("echo '{\"scale\": \"tiny\", \"seeds\": 1, \"epochs\": 0, \"data\": \"cifar10\"}' "
          "> $FOLDER/o/table5.options.json");
    TOOL("reproduce", "table5", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "table5.options.json", "\"data\"");
    shell("echo '{' > $FOLDER/o/table5.options.json");
    TOOL("reproduce", "training-size", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "table5.options.json");
}

/* A run that cannot be trained is recorded, the others go on, and it is tried again later. */
static void test_failed_run_is_recorded_and_tried_again(void **state)
{
    (void)state;
    shell("cd $FOLDER && $SSM2D " TABLE5
          "--seeds 1 --out o --dry-run | sed -n '2s/.*--out \\([^ ]*\\).*/\\1/p' > f "
          "&& mkdir -p $(cat f) && echo mine > $(cat f)/config.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out o");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "run 2/10 failed: ");
    assert_says(tool.err, "1 run failed; the same command tries again");
    assert_file_says(in_folder("o/table5.md"), "9 of 10 runs are done, 1 failed.");
    assert_file_says(in_folder("o/table5.md"), "| failed |");
    assert_file_says(in_folder("o/table5.md"), "has a file config.json");
    assert_file_says(in_folder("o/table5.json"), "\"message\"");
    shell("cd $FOLDER && rm $(cat f)/config.json && $SSM2D " TABLE5 "--seeds 1 --out o");
    assert_says(tool.out, "10 of 10 runs are done.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_interrupted_run_gives_the_same_tables, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_processes_share_the_runs, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_commands_of_dry_run_train_the_planned_runs, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_results_of_another_folder_are_imported, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_runs_with_other_defaults_are_refused, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_runs_with_other_data_are_refused, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_bad_results_are_refused, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_results_are_recreated, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_failed_run_is_recorded_and_tried_again, setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
