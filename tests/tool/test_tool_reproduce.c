/* ssm2d reproduce: plans of every experiment, whole tables on data made here, interruptions, and
 * several processes in one folder. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"table1",  "table2",  "table3",          "table4",   "table5",
                                    "figure2", "figure3", "receptive-field", "ablations"};
static const char *const scales[] = {"full", "small", "tiny"};
enum { NAMES = sizeof names / sizeof *names, SCALES = sizeof scales / sizeof *scales };

/* Table 5 at scale tiny on the test's data: two columns of five rows. */
#define TABLE5 "reproduce table5 --scale tiny --data cifar10=idx:$FOLDER/data --threads 1 "
enum { CELLS = 10 };

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) text += strlen(part), n++;
    return n;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void assert_file_says(const char *path, const char *part)
{
    size_t size;
    char *text = get_file(path, &size);
    assert_says(text, part);
    free(text);
}

static cJSON *json_of(const char *path)
{
    size_t size;
    char *text = get_file(path, &size);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    free(text);
    return root;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(value)) fail_msg("%s is not a number", key);
    return value->valuedouble;
}

/* A picture is there in each of its three forms, in this folder's file without an ending. */
static void assert_pictures(const char *name)
{
    static const char *const endings[] = {"png", "svg", "pdf"};
    static const char *const beginnings[] = {"\x89PNG", "<?xml", "%PDF-"};
    for (int i = 0; i < 3; i++) {
        char file[128];
        size_t size;
        snprintf(file, sizeof file, "%s.%s", name, endings[i]);
        char *bytes = get_file(in_folder(file), &size);
        assert_true(size > 500 && !strncmp(bytes, beginnings[i], strlen(beginnings[i])));
        free(bytes);
    }
}

/* The shell's script has to succeed; standard error is part of the message. */
static void shell(const char *script)
{
    shell_run(script);
    if (tool.code) fail_msg("exit code %d: %s%s", tool.code, tool.out, tool.err);
}

/* The columns of a table that do not depend on time. */
#define SAME_TABLES "cut -d, -f1-12 one.csv > one && cut -d, -f1-12 two.csv > two && cmp one two"

/* ---- planning -------------------------------------------------------------------------------- */

static void test_list(void **state)
{
    (void)state;
    TOOL("reproduce");
    assert_done();
    for (int i = 0; i < NAMES; i++) assert_says(tool.out, names[i]);
}

/* Every line of every plan is a command that `ssm2d train` takes, and none is there twice. */
static void test_dry_run(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++)
        for (int k = 0; k < SCALES; k++) {
            TOOL("reproduce", names[i], "--scale", scales[k], "--seeds", "1", "--out",
                 in_folder("it's here"), "--dry-run");
            assert_done();
            put_text(in_folder("lines"), tool.out);
            if (!strcmp(names[i], "figure2")) {
                assert_says(tool.out, "ssm2d kernels --figure2 -o ");
                assert_null(strstr(tool.out, "ssm2d train"));
                continue;
            }
            assert_true(count_of(tool.out, "ssm2d train --data ") >= 3);
            shell("cd $FOLDER && grep -v '^#' lines > commands && sort commands | uniq -d > twice "
                  "&& test ! -s twice && sed 's/^ssm2d/$SSM2D/; s/$/ --print-settings/' commands "
                  "> all.sh && sh -e all.sh > settings");
            shell("cd $FOLDER && test $(grep -c ^seed=0 settings) = $(wc -l < commands)");
            assert_int_equal(access(in_folder("it's here"), F_OK), -1); /* nothing was made */
        }
}

/* The threads that were asked for are in the commands. */
static void test_dry_run_threads(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table3 --seeds 1 --out DIR --dry-run --threads $(($(nproc) + 1))");
    assert_true(count_of(tool.out, " --threads ") >= 3);
    assert_int_equal(count_of(tool.out, " --threads "), count_of(tool.out, "ssm2d train"));
    shell("$SSM2D reproduce table3 --seeds 1 --out DIR --dry-run");
    assert_null(strstr(tool.out, "--threads"));
}

/* The paper's settings, by a few of its rows. */
static void test_full_commands(void **state)
{
    (void)state;
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3 * 2 * 14);
    assert_says(tool.out, "ssm2d train --data cifar100:FOLDER --model swin --mixer ssm2d --recipe "
                          "small --set mixer.values=polar --set mixer.init=authors --set "
                          "mixer.assign=authors --set mixer.place=attn --seed 2 --out DIR/runs/");
    assert_says(tool.out, "--model vit --mixer s4nd --recipe small --set pos_scale=1 --set "
                          "mixer.init=authors --set mixer.place=attn --seed 0 --out DIR/runs/");
    TOOL("reproduce", "table5", "--out", "DIR", "--dry-run", "--seeds", "1");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3 * 8);
    assert_says(tool.out, "--model mega-lra --mixer ssm2d --recipe lra --set relative_bias=false");
    assert_says(tool.out, "--model deit-t --mixer none --recipe celeba --set pos_embed=false");
    assert_says(tool.out, "--model mega-lra --mixer ema --recipe lra --seed 0");
    /* a run of table 1 */
    assert_says(tool.out, "--set pos_scale=1 --seed 0 --out "
                          "DIR/runs/cifar100+vit+none+small+pos_scale=1+seed=0\n");
    TOOL("reproduce", "table4", "--out", "DIR", "--dry-run", "--rows", "2d*", "--epochs", "7");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3); /* top 1 and top 5 share them */
    assert_says(tool.out, "--data folder:FOLDER --model mega-t --mixer ssm2d --recipe deit "
                          "--set mixer.init=authors --set mixer.assign=authors --set "
                          "mixer.place=attn --epochs 7 --seed 1");
}

static void test_refused(void **state)
{
    (void)state;
    TOOL("reproduce", "table6", "--out", "DIR");
    assert_refused(2, "reproduce", "there is no table6; did you mean table");
    TOOL("reproduce", "table1");
    assert_refused(2, "reproduce", "--out is missing");
    TOOL("reproduce", "--scale", "tiny");
    assert_refused(2, "reproduce", "--scale needs the name of a table");
    TOOL("reproduce", "table1", "--out", "DIR", "--data", "cifar=x");
    assert_refused(2, "reproduce", "--data cifar=..: no experiment has data of this name");
    TOOL("reproduce", "table1", "--out", "DIR", "--data", "cifar100");
    assert_refused(2, "reproduce", "write it as key=value");
    TOOL("reproduce", "table1", "--out", "DIR", "--plan", "--dry-run");
    assert_refused(2, "reproduce", "cannot be combined");
    TOOL("reproduce", "table1", "--out", "DIR", "--no-wait", "--dry-run");
    assert_refused(2, "reproduce", "--no-wait is for running");
    TOOL("reproduce", "table1", "--out", "DIR", "--rows", "ResNet", "--dry-run");
    assert_refused(1, "reproduce", "--rows ResNet: no row of table1 is called so");
    TOOL("reproduce", "table1", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "table1 needs data that are not given: cifar100: \"CIFAR-100");
    TOOL("reproduce", "table1", "--out", in_folder("o"), "--data", "cifar100=cifar100:nowhere");
    assert_refused(1, "reproduce", "nowhere");
    assert_int_equal(access(in_folder("o"), F_OK), -1);
}

/* ---- whole tables ---------------------------------------------------------------------------- */

/* The cell's numbers are those of its runs. */
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

static void test_table(void **state)
{
    (void)state;
    shell("$SSM2D " TABLE5 "--seeds 2 --out $FOLDER/o");
    assert_says(tool.out, "20 runs, about ");
    assert_says(tool.out, "run 20/20, epoch 2/2: loss ");
    assert_says(tool.out, "20 of 20 runs are done.");
    assert_file_says(in_folder("o/table5.md"), "| Baseline | ");
    assert_file_says(in_folder("o/table5.md"), " (n = 2) | ");
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
        assert_true(number(row, "train_time") > 0);
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
    assert_done();
    cJSON *evaluated = cJSON_Parse(tool.out);
    assert_float_equal(number(first, "accuracy"), 100 * number(evaluated, "accuracy"), 1e-6);
    cJSON_Delete(evaluated);
    cJSON_Delete(root);
    shell("cp $FOLDER/o/table5.csv $FOLDER/one.csv");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --seeds 1 --tables-only");
    assert_says(tool.out, "10 of 10 runs are done.");
    /* again: all is done; and the options are remembered, but for those of that mere look */
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
    assert_refused(1, "reproduce", "--tables-only writes the tables without these data");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --seeds 3 --tables-only");
    assert_says(tool.out, "20 of 30 runs are done.");
    shell("mv $FOLDER/away $FOLDER/data");
    /* receptive fields have runs in common with the table, and know where the data are */
    shell("$SSM2D reproduce receptive-field --scale tiny --seeds 1 --threads 1 --out $FOLDER/o");
    assert_null(strstr(tool.out, "run 1/4:"));
    assert_says(tool.out, "half of the derivatives' squares are within");
    assert_pictures("o/receptive-field");
}

static void test_figures(void **state)
{
    (void)state;
    TOOL("reproduce", "figure2", "--out", in_folder("o"));
    assert_done();
    assert_pictures("o/figure2");
    shell("cd $FOLDER && mkdir more && cp data/t10k* more");
    assert_true(small_split(in_folder("more"), "train", 800, 1));
    shell("$SSM2D reproduce figure3 --scale tiny --data cifar10=idx:$FOLDER/more --seeds 1 "
          "--threads 1 --epochs 1 --out $FOLDER/o");
    assert_says(tool.out, "All runs have 1 epoch, as --epochs says");
    assert_pictures("o/figure3");
    assert_file_says(in_folder("o/figure3.csv"), "\"figure3\",\"tiny\",\"ViT w/ SSM-r\",\"100 %\"");
}

/* Data that stand in, columns that are left out, and the five likeliest. */
static void test_missing_data(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table1 --scale tiny --seeds 1 --rows Swin --epochs 1 --threads 1 "
          "--data cifar10=idx:$FOLDER/data --out $FOLDER/o");
    assert_says(tool.out, "these are cifar10, which stand in for cifar100");
    assert_says(tool.out, "Data tiny-imagenet are not given, and their cells are left out");
    assert_file_says(in_folder("o/table1.md"), "stand in for cifar100");
    assert_file_says(in_folder("o/table1.md"), "| - | - | 61.29 | 1.00x | 1x |");
    assert_file_says(in_folder("o/table1.md"), "Only the rows that match Swin");
    shell("$SSM2D reproduce table4 --scale tiny --seeds 1 --rows EMA --epochs 1 --threads 1 "
          "--data cifar10=idx:$FOLDER/data --out $FOLDER/o");
    assert_file_says(in_folder("o/table4.md"), "| 100.00 (n = 1) | 89.76 |"); /* of four classes */
}

/* ---- interruptions --------------------------------------------------------------------------- */

/* A table on a folder that nothing happens to, for comparing. */
#define WHOLE_TABLE(seeds)                                                                         \
    "$SSM2D " TABLE5 "--seeds " seeds " --out whole > /dev/null && cp whole/table5.csv one.csv"
/* Waits until some runs have results. */
#define WAIT_FOR_RESULTS                                                                           \
    "for i in $(seq 600); do test $(ls o/runs/*/result.json 2> /dev/null | wc -l) -ge 3 && "       \
    "break; "                                                                                      \
    "sleep 0.1; done; "

static void test_killed(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("3"));
    shell("cd $FOLDER && { $SSM2D " TABLE5 "--seeds 3 --out o > log 2>&1 & } && " WAIT_FOR_RESULTS
          "kill -9 $! && { wait $! 2> /dev/null || true; }");
    /* the table has what was done */
    assert_file_says(in_folder("o/table5.md"), " of 30 runs are done.");
    shell("cd $FOLDER && $SSM2D " TABLE5
          "--seeds 3 --out o && cp o/table5.csv two.csv && " SAME_TABLES);
    assert_says(tool.out, "done\n"); /* runs of the plan */
}

static void test_stopped(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("3"));
    shell("cd $FOLDER && { $SSM2D " TABLE5 "--seeds 3 --out o > log 2> err & } && " WAIT_FOR_RESULTS
          "kill -TERM $! && { wait $! && exit 9 || test $? = 1; }");
    assert_file_says(in_folder("err"), "ssm2d reproduce: stopped by a signal; all is saved");
    shell(
        "cd $FOLDER && $SSM2D reproduce table5 --out o && cp o/table5.csv two.csv && " SAME_TABLES);
}

/* Each run is trained by one of the processes, and both write the whole table. */
static void test_two_processes(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && { $SSM2D " TABLE5 "--seeds 1 --out o > first 2> err1 & } && $SSM2D " TABLE5
          "--seeds 1 --out o > second 2> err2 && wait $! && test ! -s err1 && test ! -s err2 && "
          "cp o/table5.csv two.csv && " SAME_TABLES);
    shell("cd $FOLDER && cat first second | grep -c '^run [0-9]*/10: ' | grep -qx 10");
    shell("cd $FOLDER && grep -q '10 of 10 runs are done' first && "
          "grep -q '10 of 10 runs are done' second");
    /* a run that another process holds is left alone */
    shell("cd $FOLDER && rm o/runs/*/result.json && for c in o/claims/*; do "
          "flock -n $c sleep 20 & done; sleep 0.5; "
          "$SSM2D reproduce table5 --out o --no-wait; code=$?; kill $(jobs -p); exit $code");
    assert_says(tool.out, "10 runs of other processes are not done yet");
    assert_null(strstr(tool.out, "run 1/10:"));
}

/* What --dry-run prints trains the very runs, for which the tables are then written. Runs that have
 * begun are resumed, and those that are done are comments. */
static void test_commands(void **state)
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

/* Results of another folder count as done, unless the runs were others. */
static void test_results(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out o --results whole/table5.json && "
          "cmp o/table5.csv whole/table5.csv");
    assert_says(tool.out, "10 results taken over from whole/table5.json");
    assert_says(tool.out, "10 of 10 runs are done.");
    assert_null(strstr(tool.out, "run 1/10:"));
    /* another seed is still to be trained; what is there stays */
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 2 --out o --results whole/table5.json "
          "--rows Baseline");
    assert_says(tool.out, "0 results taken over from whole/table5.json; 2 more are here already; "
                          "8 are of runs that are not planned here");
    assert_says(tool.out, "4 of 4 runs are done.");
    assert_int_equal(count_of(tool.out, "/4: "), 2);
    /* a later version may have other defaults; a run by the same name is then another one */
    shell("cd $FOLDER && sed 's/\"place\":\t\"attn\"/\"place\":\t\"ffn\"/' whole/table5.json > "
          "t.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out p --results t.json");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err,
                "had other settings there: mixer.place is \"ffn\" there and \"attn\" here");
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
    assert_says(tool.err, "had other data there: the number of training images is 81 there and 80 "
                          "here; leave this file out");
    shell("cd $FOLDER && test ! -e q/taken/*");
}

/* A folder of another version, whose defaults were others, is not gone on with. */
static void test_other_version(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("cd $FOLDER && sed -i 's/\"pos_scale\":\t0.02/\"pos_scale\":\t1/' "
          "whole/runs/*+s4nd*/result.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "was begun with other settings or data: pos_scale is 1 there and 0.02 "
                          "here; give another --out, or remove this folder");
    shell("cd $FOLDER && rm whole/runs/*+s4nd*/result.json");
    shell("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole");
    shell("cd $FOLDER && rm whole/runs/*/result.json && "
          "sed -i 's/\"place\":\t\"attn\"/\"place\":\t\"ffn\"/' whole/runs/*+ema*/train.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out whole --tables-only");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "mixer.place is \"ffn\" there and \"attn\" here");
}

/* Nor is one whose runs had other data by the same name. */
static void test_other_data(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1"));
    shell("mkdir $FOLDER/more && cp $FOLDER/data/t10k* $FOLDER/more");
    assert_true(small_split(in_folder("more"), "train", 96, 1));
    shell_run("cd $FOLDER && $SSM2D reproduce table5 --out whole --data cifar10=idx:more");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "was begun with other settings or data: the number of training images is "
                          "80 there and 96 here");
}

static void test_bad_results(void **state)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"sed 's/\"accuracy\":\t/\"accuracy\":\t1/'", "which is no result"},
        {"sed 's/\"accuracy\":.*/\"accuracy\": -1,/'", "\"accuracy\" is -1, which is no result"},
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
    assert_refused(2, "reproduce", "--results changes DIR, and --plan does not");
    TOOL("reproduce", "receptive-field", "--out", in_folder("o"), "--results", "t.json");
    assert_refused(2, "reproduce", "--results: receptive-field draws what the weights");
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void test_damaged(void **state)
{
    (void)state;
    shell("cd $FOLDER && " WHOLE_TABLE("1") " && cp -r whole o");
    shell("cd $FOLDER && for f in o/runs/*+none*/result.json; do echo '{\"accuracy\": 7}' > $f; "
          "done; for f in o/runs/*+ema*/result.json; do : > $f; done; echo '[' > o/estimates.json; "
          "echo x > o/table5.json; $SSM2D reproduce table5 --out o 2> err && "
          "cp o/table5.csv two.csv && " SAME_TABLES);
    assert_file_says(in_folder("err"), "\"accuracy\" is 7, which is no result; it is made again");
    /* without metrics the weights are evaluated, which gives the same accuracies */
    shell("cd $FOLDER && rm o/runs/*+s4nd*/result.json o/runs/*+s4nd*/metrics.jsonl && "
          "$SSM2D reproduce table5 --out o && cp o/table5.csv two.csv && " SAME_TABLES);
    assert_says(tool.out, "10 of 10 runs are done.");
    /* a table of damaged results has no numbers from them */
    shell("cd $FOLDER && for f in o/runs/*/result.json; do echo '{}' > $f; done; "
          "$SSM2D reproduce table5 --out o --tables-only");
    assert_says(tool.out, "0 of 10 runs are done.");
    shell("cd $FOLDER/o && rm runs/*/result.json && for d in runs/*/; do mkfifo $d/result.json; "
          "done; $SSM2D reproduce table5 --out . --tables-only"); /* nobody waits for a pipe */
    assert_says(tool.out, "0 of 10 runs are done.");
    shell("echo '{\"scale\": \"huge\"}' > $FOLDER/o/table5.options.json");
    TOOL("reproduce", "table5", "--out", in_folder("o"));
    assert_refused(1, "reproduce", "\"scale\" is not full, small or tiny: remove the file");
}

/* A run that cannot be trained is recorded, the others go on, and it is tried again later. */
static void test_failed_run(void **state)
{
    (void)state;
    shell("cd $FOLDER && $SSM2D " TABLE5
          "--seeds 1 --out o --dry-run | sed -n '2s/.*--out \\([^ ]*\\).*/\\1/p' > f "
          "&& mkdir -p $(cat f) && echo mine > $(cat f)/config.json");
    shell_run("cd $FOLDER && $SSM2D " TABLE5 "--seeds 1 --out o");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "run 2/10 failed: ");
    assert_says(tool.err, "1 run failed, the first with: ");
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
        cmocka_unit_test_setup_teardown(test_list, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_dry_run, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_dry_run_threads, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_full_commands, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_table, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_figures, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_missing_data, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_stopped, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_two_processes, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_commands, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_results, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_other_version, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_other_data, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_bad_results, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_failed_run, setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
