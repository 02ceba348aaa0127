/* Training in a hostile environment: pipes and links in place of files, closed streams, ignored
 * signals, names with control characters, folders that belong to others. A hang is a failure too:
 * commands that might block run under `timeout`. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Options of a short run, for the shell. */
#define SHORT                                                                                      \
    " --batch 8 --epochs 1 --set dim=16 --set depth=1 --set heads=2 --set mixer.d_state=3 "
#define TRAIN "timeout 60 $SSM2D train --data $FOLDER/data --out $FOLDER/run" SHORT

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

/* ---- files that are not regular -------------------------------------------------------------- */

static void test_metrics_that_are_no_file_do_not_block(void **state)
{
    (void)state;
    size_t size;
    static const char precious[] = "something that must not be lost\n";
    put_text(in_folder("precious"), precious);
    shell_run(TRAIN);
    assert_done();
    /* a link to a file outside the folder */
    shell_run("ln -sf ../precious $FOLDER/run/metrics.jsonl && timeout 60 $SSM2D train --resume "
              "$FOLDER/run --epochs 2");
    char *text = get_file(in_folder("precious"), &size);
    assert_string_equal(text, precious);
    free(text);
    /* damaged or missing files that only describe the run do not prevent resuming */
    shell_run("cd $FOLDER/run && : > machines.json && cp config.json c && cp data.json d && rm "
              "config.json data.json && timeout 60 $SSM2D train --resume . --epochs 3 && cmp c "
              "config.json && cmp d data.json && test ! -s machines.json && $SSM2D eval . && "
              "rm machines.json c d");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.err, "machines.json: is empty; this start is not recorded there"));
    /* a pipe without a reader */
    shell_run("rm $FOLDER/run/metrics.jsonl && mkfifo $FOLDER/run/metrics.jsonl && "
              "timeout 60 $SSM2D train --resume $FOLDER/run --epochs 4");
    assert_ended(1, "train", "metrics.jsonl");
    shell_run("rm $FOLDER/run/model.safetensors && mkfifo $FOLDER/run/model.safetensors && "
              "timeout 60 $SSM2D eval $FOLDER/run");
    assert_ended(1, "eval", "model.safetensors");
    shell_run("rm $FOLDER/run/train.json && mkfifo $FOLDER/run/train.json && "
              "timeout 60 $SSM2D eval $FOLDER/run");
    assert_ended(1, "eval", "is not the folder of a run");
}

static void put_image_folder(void)
{
    static const char *const folders[] = {"images",         "images/train",   "images/val",
                                          "images/train/a", "images/train/b", "images/val/a",
                                          "images/val/b"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(in_folder("%s", folders[i]), 0777), 0);
    for (int i = 0; i < 8; i++) {
        put_picture(in_folder("images/train/%c/%d.png", i % 2 ? 'a' : 'b', i), 8, 8, 3);
        put_picture(in_folder("images/val/%c/%d.png", i % 2 ? 'a' : 'b', i), 8, 8, 3);
    }
}

static void test_data_that_are_no_file_are_refused(void **state)
{
    (void)state;
    put_image_folder();
    shell_run("cd $FOLDER && mkfifo f.npy && timeout 20 $SSM2D run --config c --weights w --input "
              "f.npy --out y; test $? != 124 && cp -r images latin && cd latin && for d in train "
              "val; do mv $d/b $d/$(printf 'c\\377'); done; timeout 60 $SSM2D train --data "
              "$FOLDER/latin --out $FOLDER/run --set image=8" SHORT);
    assert_int_equal(tool.code, 0);
    shell_run("grep -c 'c?' $FOLDER/run/data.json && $SSM2D eval $FOLDER/run && rm -r $FOLDER/run");
    assert_int_equal(tool.code, 0); /* names that are not UTF-8 are not in JSON either */
    /* pipes are skipped, links to images are images */
    shell_run("cd $FOLDER/images/train/a && mkfifo pipe.png && mv 1.png ../../one.png && "
              "ln -s ../../one.png 1.png && timeout 60 $SSM2D train --data $FOLDER/images --out "
              "$FOLDER/run --set image=8" SHORT);
    assert_ended(0, "train", "1 file in the data folder is ignored, such as ");
    assert_non_null(strstr(tool.err, "pipe.png"));
    assert_non_null(strstr(tool.out, "8 to train on, 8 to test"));
    shell_run("rm $FOLDER/data/train-images-idx3-ubyte && "
              "mkfifo $FOLDER/data/train-images-idx3-ubyte && " TRAIN " --overwrite");
    assert_ended(1, "train", "train-images-idx3-ubyte");
}

/* Pipes are still read where that is allowed. */
static void test_pipes_are_read_where_allowed(void **state)
{
    (void)state;
    shell_run("mkfifo $FOLDER/c.json && { echo '{\"dim\": 16, \"depth\": 1, \"heads\": 2, "
              "\"batch\": 8, \"epochs\": 1}' > $FOLDER/c.json & } && timeout 60 $SSM2D train "
              "--data $FOLDER/data --out $FOLDER/run --config $FOLDER/c.json");
    assert_done();
    put_picture(in_folder("one.png"), 8, 8, 1);
    shell_run("cat $FOLDER/one.png | timeout 60 $SSM2D predict $FOLDER/run /dev/stdin");
    assert_done();
}

/* ---- location of the data -------------------------------------------------------------------- */

static void test_run_finds_its_data_from_another_folder(void **state)
{
    (void)state;
    size_t size;
    shell_run("cd $FOLDER && $SSM2D train --data ./data --out run --save-every 1" SHORT);
    assert_done();
    char *text = get_file(in_folder("run/train.json"), &size);
    assert_non_null(strstr(text, in_folder("data\"")));
    free(text);
    shell_run("cd / && $SSM2D eval $FOLDER/run");
    assert_done();
    shell_run("cd / && $SSM2D train --resume $FOLDER/run --epochs 2");
    assert_done();
    /* a prefix stays, and so does the file of initial weights */
    shell_run("cd $FOLDER && $SSM2D train --data idx:data --start run/model.safetensors "
              "--out two" SHORT);
    assert_done();
    text = get_file(in_folder("two/train.json"), &size);
    assert_non_null(strstr(text, "\"idx:/"));
    assert_non_null(strstr(text, in_folder("run/model.safetensors\"")));
    free(text);
    shell_run("cd / && $SSM2D eval $FOLDER/two");
    assert_done();
    /* their new location may be relative to the current folder */
    shell_run("cd $FOLDER && mv data moved && $SSM2D train --resume run --epochs 3 --data moved");
    assert_done();
    shell_run("cd / && $SSM2D eval $FOLDER/run");
    assert_done();
    /* a run of an earlier version: its data are searched here, then beside the run's folder */
    edit_file(in_folder("two/train.json"), in_folder("data\""), "moved\"");
    shell_run("cd $FOLDER && $SSM2D eval two");
    assert_done();
    shell_run("cd / && $SSM2D eval $FOLDER/two");
    assert_done();
    shell_run("cd / && $SSM2D eval $FOLDER/two/");
    assert_done();
    edit_file(in_folder("two/train.json"), "idx:moved\"", "elsewhere\"");
    shell_run("cd / && $SSM2D eval $FOLDER/two");
    assert_refused(1, "eval", "elsewhere");
}

static void test_other_files_in_data_are_reported(void **state)
{
    (void)state;
    put_image_folder();
    put_text(in_folder("images/train/b/picture.psd"), "RIFF");
    put_text(in_folder("images/train/a/.hidden"), "");
    put_text(in_folder("images/val/b/z.tga"), "GIF8");
    put_text(in_folder("images/val/b/notes.txt"), "");
    TOOL("train", "--data", in_folder("images"), "--out", in_folder("run"), "--batch", "4",
         "--epochs", "1", "--set", "image=8", "--set", "dim=16", "--set", "depth=1", "--set",
         "heads=2");
    assert_ended(0, "train", "3 files in the data folder are ignored, such as ");
    assert_non_null(strstr(tool.err, "train/b/picture.psd"));
    TOOL("eval", in_folder("run"));
    assert_ended(0, "eval", "2 files in the data folder are ignored, such as ");
    assert_non_null(strstr(tool.err, "val/b/notes.txt"));
    TOOL("eval", in_folder("run"), "--split", "train");
    assert_ended(0, "eval", "1 file in the data folder is ignored, such as ");
}

/* ---- streams and signals --------------------------------------------------------------------- */

static void test_closed_streams_do_not_corrupt_files(void **state)
{
    (void)state;
    size_t size;
    shell_run(TRAIN "--log-every 1");
    assert_done();
    char *whole = get_file(in_folder("run/model.safetensors"), &size), *weights, *text;
    shell_run(TRAIN "--log-every 1 --overwrite <&- >&-");
    assert_ended(1, "", "standard output");
    weights = get_file(in_folder("run/model.safetensors"), &size);
    assert_memory_equal(weights, whole, size);
    free(weights);
    text = get_file(in_folder("run/metrics.jsonl"), &size);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        if (*line != '{') fail_msg("\"%s\" is in metrics.jsonl", line);
    free(text);
    shell_run(TRAIN "--log-every 1 --overwrite <&- >&- 2>&-");
    assert_int_equal(tool.code, 1);
    weights = get_file(in_folder("run/model.safetensors"), &size);
    assert_memory_equal(weights, whole, size);
    free(weights);
    free(whole);
}

/* Starts a long run with one signal ignored, and sends it that signal and then SIGTERM. The run
 * must have gone on after the first. */
static void ignore_and_send(int number, const char *name)
{
    char run[512], data[512];
    int status;
    snprintf(run, sizeof run, "%s", in_folder("%s", name));
    snprintf(data, sizeof data, "%s", in_folder("data"));
    FILE *err = tmpfile();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(number, SIG_IGN);
        dup2(fileno(err), STDERR_FILENO);
        if (!freopen("/dev/null", "w", stdout)) _exit(126);
        execl(TOOL_PATH, "ssm2d", "train", "--data", data, "--out", run, "--batch", "8", "--set",
              "dim=16", "--set", "depth=1", "--set", "heads=2", "--epochs", "100000", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 60000 && access(in_folder("%s/model.safetensors", name), F_OK); i++)
        usleep(1000);
    kill(child, number);
    usleep(300000);
    const pid_t ended = waitpid(child, &status, WNOHANG);
    kill(child, SIGTERM);
    if (!ended) assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(ended, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    fclose(err);
}

static void test_ignored_signals_stay_ignored(void **state)
{
    (void)state;
    ignore_and_send(SIGHUP, "hangup");
    ignore_and_send(SIGINT, "interrupt");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void assert_plain(const char *text)
{
    for (const char *at = text; *at; at++) {
        const unsigned char c = (unsigned char)at[0], next = (unsigned char)at[1];
        if ((c < 0x20 && c != '\n') || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
            fail_msg("byte %02x in \"%s\"", c, text);
    }
}

/* Classes, files and folders with names that try to control the terminal: an escape, a newline, a
 * bell, DEL, a C1 control; and bytes that are not UTF-8, which may pass. */
#define EVIL "e\x1b[31m\nl\a\x7f\xc2\x9bm\xff"

static void test_control_characters_in_names_are_escaped(void **state)
{
    (void)state;
    put_image_folder();
    assert_int_equal(rename(in_folder("images/train/a"), in_folder("images/train/" EVIL)), 0);
    assert_int_equal(rename(in_folder("images/val/a"), in_folder("images/val/" EVIL)), 0);
    assert_int_equal(rename(in_folder("images"), in_folder(EVIL)), 0);
    put_picture(in_folder("p" EVIL ".png"), 8, 8, 3);
    TOOL("train", "--data", in_folder(EVIL), "--out", in_folder("run" EVIL), "--batch", "4",
         "--epochs", "1", "--set", "image=8", "--set", "dim=16", "--set", "depth=1", "--set",
         "heads=2");
    assert_done();
    assert_plain(tool.out);
    TOOL("predict", in_folder("run" EVIL), in_folder("p" EVIL ".png"));
    assert_wrote_nothing();
    assert_plain(tool.out);
    assert_non_null(strstr(tool.out, "pe?[31m?l????m"));
    assert_non_null(strstr(tool.out, " e?[31m?l????m"));
    TOOL("predict", in_folder("run" EVIL), in_folder("p" EVIL ".png"), "--json");
    assert_wrote_nothing();
    assert_null(strchr(tool.out, 0x1b));
    TOOL("kernels", in_folder("run" EVIL), "-o", in_folder("k.svg"));
    assert_wrote("k.svg");
    TOOL("eval", in_folder("run" EVIL));
    assert_wrote_nothing();
    /* every message is one line */
    TOOL("predict", in_folder("run" EVIL), in_folder("none" EVIL ".png"));
    assert_refused(1, "predict", "nonee");
    assert_plain(tool.err);
    TOOL("eval", in_folder("run" EVIL), "--data", in_folder("none" EVIL));
    assert_refused(1, "eval", "nonee");
    assert_plain(tool.err);
    TOOL("eval", EVIL);
    assert_refused(1, "eval", "is not the folder of a run");
    assert_plain(tool.err);
    TOOL("train", "--resume", EVIL);
    assert_refused(1, "train", "is not the folder of a run");
    assert_plain(tool.err);
    TOOL("train", "--data", in_folder(EVIL), "--out", in_folder("run" EVIL));
    assert_refused(1, "train", "run");
    assert_plain(tool.err);
    assert_int_equal(rename(in_folder(EVIL "/val/" EVIL), in_folder(EVIL "/val/x" EVIL)), 0);
    TOOL("eval", in_folder("run" EVIL));
    assert_refused(1, "eval", "which is not in train");
    assert_plain(tool.err);
    TOOL("layer", in_folder("case" EVIL), "--check");
    assert_refused(1, "layer", "case");
    assert_plain(tool.err);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void test_too_many_threads_are_warned_of(void **state)
{
    (void)state;
    shell_run(TRAIN " --threads 1024");
    assert_ended(0, "train", "--threads=1024");
    assert_non_null(strstr(tool.out, "1024 threads"));
    TOOL("eval", in_folder("run"), "--threads", "4");
    assert_wrote_nothing();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics_that_are_no_file_do_not_block, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_data_that_are_no_file_are_refused, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_pipes_are_read_where_allowed, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_run_finds_its_data_from_another_folder, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_other_files_in_data_are_reported, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_closed_streams_do_not_corrupt_files, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_ignored_signals_stay_ignored, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_control_characters_in_names_are_escaped, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_too_many_threads_are_warned_of, setup,
                                        folder_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
