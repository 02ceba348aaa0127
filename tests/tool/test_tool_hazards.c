/* Training in surroundings that are not friendly: pipes and links in the place of files, closed
 * streams, signals that are ignored, names with control characters, folders of somebody else. A
 * hang is a failure too: whatever may wait for ever runs under `timeout`. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Words for a short run, for the shell. */
#define SHORT                                                                                      \
    " --batch 8 --epochs 1 --set dim=16 --set depth=1 --set heads=2 --set mixer.d_state=3 "
#define TRAIN "timeout 60 $SSM2D train --data $FOLDER/data --out $FOLDER/run" SHORT

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 20) ? 0 : -1;
}

/* ---- files that are none --------------------------------------------------------------------- */

static void test_metrics_elsewhere(void **state)
{
    (void)state;
    size_t size;
    static const char precious[] = "something that must not be lost\n";
    put_text(in_folder("precious"), precious);
    shell_run(TRAIN);
    assert_done();
    /* a link that leads out of the folder */
    shell_run("ln -sf ../precious $FOLDER/run/metrics.jsonl && timeout 60 $SSM2D train --resume "
              "$FOLDER/run --epochs 2");
    char *text = get_file(in_folder("precious"), &size);
    assert_string_equal(text, precious);
    free(text);
    /* a pipe without a reader */
    shell_run("rm $FOLDER/run/metrics.jsonl && mkfifo $FOLDER/run/metrics.jsonl && "
              "timeout 60 $SSM2D train --resume $FOLDER/run --epochs 3");
    assert_refused(1, "train", "metrics.jsonl: is not a regular file");
    shell_run("rm $FOLDER/run/model.safetensors && mkfifo $FOLDER/run/model.safetensors && "
              "timeout 60 $SSM2D eval $FOLDER/run");
    assert_refused(1, "eval", "model.safetensors: is not a regular file");
    shell_run("rm $FOLDER/run/train.json && mkfifo $FOLDER/run/train.json && "
              "timeout 60 $SSM2D eval $FOLDER/run");
    assert_refused(1, "eval", "is not the folder of a run");
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

static void test_data_that_are_none(void **state)
{
    (void)state;
    put_image_folder();
    /* pipes are passed over, links to images are images */
    shell_run("cd $FOLDER/images/train/a && mkfifo pipe.png && mv 1.png ../../one.png && "
              "ln -s ../../one.png 1.png && timeout 60 $SSM2D train --data $FOLDER/images --out "
              "$FOLDER/run --set image=8" SHORT);
    if (tool.code) fail_msg("%s", tool.err);
    assert_non_null(strstr(tool.out, "8 to train on, 8 to test"));
    shell_run("rm $FOLDER/data/train-images-idx3-ubyte && "
              "mkfifo $FOLDER/data/train-images-idx3-ubyte && " TRAIN " --overwrite");
    assert_refused(1, "train", "train-images-idx3-ubyte: is not a regular file");
}

/* What works with a pipe goes on to do so. */
static void test_pipes(void **state)
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

/* ---- streams and signals --------------------------------------------------------------------- */

static void test_closed_streams(void **state)
{
    (void)state;
    size_t size;
    shell_run(TRAIN "--log-every 1");
    assert_done();
    char *whole = get_file(in_folder("run/model.safetensors"), &size), *weights, *text;
    shell_run(TRAIN "--log-every 1 --overwrite <&- >&-");
    assert_refused(1, "", "standard output");
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
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    fclose(err);
}

static void test_ignored_signals(void **state)
{
    (void)state;
    ignore_and_send(SIGHUP, "hangup");
    ignore_and_send(SIGINT, "interrupt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics_elsewhere, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_data_that_are_none, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_pipes, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_closed_streams, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_ignored_signals, setup, folder_teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
