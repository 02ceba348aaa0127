/* Files that are not what their names suggest: pipes, on which nothing may block, and links,
 * through which nothing may be written; and a limit on the size of files, which gives a one-line
 * error. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <sys/stat.h>
#include <unistd.h>

#define SHORT                                                                                      \
    " --batch 8 --epochs 1 --set dim=16 --set depth=1 --set heads=2 --set mixer.d_state=3 "        \
    "--threads 1 "
#define TABLE5 "reproduce table5 --scale tiny --data cifar10=idx:$FOLDER/data --threads 1 "

/* Data, a run on them and a picture. */
static int setup(void **state)
{
    if (folder_setup(state) || mkdir(in_folder("data"), 0777)
        || !small_data(in_folder("data"), 80, 20))
        return -1;
    put_picture(in_folder("one.png"), 8, 8, 1);
    shell_run("$SSM2D train --data $FOLDER/data --out $FOLDER/run" SHORT);
    return tool.code;
}

/* Runs a script in which $TOOL is the tool under a time limit, after which it is killed. */
static void run_limited(const char *script)
{
    char whole[2048];
    snprintf(whole, sizeof whole, "TOOL=\"timeout -k 1 60 $SSM2D\"; cd $FOLDER && { %s; }", script);
    shell_run(whole);
    if (tool.code == 124 || tool.code == 137) fail_msg("hangs: %s", script);
}

/* ---- pipes ----------------------------------------------------------------------------------- */

static void pipes_in_a_run_do_not_block(void **state)
{
    (void)state;
    static const char *const files[] = {"train.json",       "config.json",      "data.json",
                                        "metrics.jsonl",    "last.safetensors", "model.safetensors",
                                        "best.safetensors", "machines.json"};
    static const char *const commands[] = {"eval r",
                                           "predict r one.png",
                                           "report r -o r.html --no-measure",
                                           "curves r -o c.svg",
                                           "kernels r -o k.svg",
                                           "export r -o m.onnx",
                                           "train --resume r --epochs 2",
                                           "train --data data --out r --overwrite" SHORT};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
            char script[512];
            snprintf(script, sizeof script,
                     "rm -rf r; cp -r run r; rm -f r/%s; mkfifo r/%s; $TOOL %s", files[f], files[f],
                     commands[c]);
            run_limited(script);
            if (tool.code < 0 || tool.code > 2) fail_msg("exit code %d: %s", tool.code, script);
        }
}

static void pipes_elsewhere_do_not_block(void **state)
{
    (void)state;
    run_limited("$TOOL " TABLE5 "--seeds 1 --out o --dry-run > commands");
    /* the name of the first run */
    run_limited("mkdir -p o/claims; for n in $(grep -o \"o/runs/[^ ]*\" commands); do mkfifo "
                "o/claims/${n##*/}; done; $TOOL " TABLE5 "--seeds 1 --out o");
    assert_ended(1, "reproduce", "o/claims/");
    run_limited("rm -r o/claims; mkdir o/claims; for n in $(grep -o \"o/runs/[^ ]*\" commands); do "
                "ln -s ../../one.png o/claims/${n##*/}; done; $TOOL " TABLE5 "--seeds 1 --out o");
    assert_ended(1, "reproduce", "o/claims/");
    run_limited("mkdir case; mkfifo case/case.json; $TOOL layer case --check");
    assert_ended(1, "layer", "case.json");
    run_limited("mkdir man; mkfifo man/ssm2d.1; $TOOL --generate man man");
    assert_non_null(strstr(tool.err, "ssm2d.1: is not a regular file"));
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Paths that a user gives may be links; so may the files of a run that are only read. */
static void reads_through_links(void **state)
{
    (void)state;
    run_limited("ln -s run by-name; ln -s data images; ln -s one.png link.png; "
                "$TOOL predict by-name link.png");
    assert_done();
    run_limited("$TOOL eval by-name --data images");
    assert_done();
    run_limited("cp -r run r; mv r/best.safetensors kept; mv r/model.safetensors kept2; "
                "ln -s ../kept r/best.safetensors; ln -s ../kept2 r/model.safetensors; "
                "$TOOL eval r");
    assert_done();
    run_limited("mv data/t10k-images-idx3-ubyte there; "
                "ln -s ../there data/t10k-images-idx3-ubyte; $TOOL eval run");
    assert_done();
}

/* A copy of a run made of hard links does not change when the other is continued. */
static void keeps_other_names(void **state)
{
    (void)state;
    run_limited("cp -al run copy && md5sum copy/* > sums && $TOOL train --resume run --epochs 2 && "
                "md5sum --status -c sums");
    assert_done();
}

/* ---- a limit on the size of files ------------------------------------------------------------ */

/* Every command that writes: with a limit of no bytes the first write fails. Printed output goes
 * through pipes, which have no limit. */
static void file_size_limits_are_errors(void **state)
{
    (void)state;
    static const char *const commands[][2] = {
        {"report", "report run -o r.html --no-measure"},
        {"export", "export run -o m.onnx"},
        {"curves", "curves run -o c.svg"},
        {"kernels", "kernels run -o k.png"},
        {"eval", "eval run --confusion c.png"},
        {"data show", "data show data -o d.png"},
        {"filter", "filter one.png -o f.png"},
        {"layer", "layer " GOLDEN "/05_real_5x3_d2_half --out y"},
        {"reproduce", TABLE5 "--seeds 1 --out o"},
        {"train", "train --data data --out new" SHORT},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char script[512], start[64];
        snprintf(start, sizeof start, "ssm2d %s: ", commands[i][0]);
        snprintf(script, sizeof script,
                 "{ ( ulimit -f 0; $SSM2D %s ) 2>&1 >/dev/null; echo code $?; } | cat",
                 commands[i][1]);
        run_limited(script);
        if (strncmp(tool.out, start, strlen(start)) || !strstr(tool.out, "File too large")
            || !strstr(tool.out, "code 1\n"))
            fail_msg("%s: %s%s", script, tool.out, tool.err);
    }
    run_limited("{ ( ulimit -f 0; $SSM2D models 2>&1 > text ); echo code $?; } | cat");
    assert_string_equal(tool.out,
                        "ssm2d: standard output: could not be written completely\ncode 1\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pipes_in_a_run_do_not_block, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(pipes_elsewhere_do_not_block, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(reads_through_links, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(keeps_other_names, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(file_size_limits_are_errors, setup, folder_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("tool_files", tests, NULL, NULL);
}
