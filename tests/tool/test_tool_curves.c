/* ssm2d curves: of one run, of several, and means over runs that differ in their seed only. */
#include "tool_run.h"

#include "../train/small_data.h"

#include <sys/stat.h>

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    if (mkdir(in_folder("data"), 0777) || !small_data(in_folder("data"), 80, 20)) return -1;
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--batch", "8",
         "--epochs", "2", "--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set",
         "mixer.d_state=3", "--log-every", "5", "--threads", "1");
    return tool.code;
}

static void test_curves_of_runs_are_drawn(void **state)
{
    (void)state;
    TOOL("curves", in_folder("run"), "-o", in_folder("c.svg"));
    assert_wrote("c.svg");
    TOOL("curves", in_folder("run"), "-o", in_folder("c.pdf"), "--no-title");
    assert_wrote("c.pdf");
    TOOL("curves", in_folder("none"), "-o", in_folder("d.png"));
    assert_refused(1, "curves", "none");
    TOOL("curves", in_folder("run"), "-o", in_folder("d.gif"));
    assert_refused(2, "curves", "d.gif");
    /* several runs, named by the ends of their paths; and quantities of one */
    copy_folder(in_folder("run"), in_folder("other"));
    TOOL("curves", in_folder("run/"), in_folder("other"), "-o", in_folder("two.svg"));
    assert_wrote("two.svg");
    TOOL("curves", in_folder("run"), "-o", in_folder("q.svg"), "--show",
         "loss,accuracy,test-loss,test-accuracy,lr,norm,mixer-norm,gain");
    assert_wrote("q.svg");
    shell_run("test $(stat -c %s $FOLDER/q.svg) -gt $(stat -c %s $FOLDER/c.svg)");
    assert_done();
    TOOL("curves", in_folder("run"), "-o", in_folder("q.svg"), "--show", "loss,lose");
    assert_refused(2, "curves", "--show", "lose");
    TOOL("curves", in_folder("run"), "-o", in_folder("q.svg"), "--show", "loss,");
    assert_refused(2, "curves", "--show");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("plain"), "--mixer", "none",
         "--epochs", "1", "--batch", "8", "--set", "dim=16", "--set", "depth=1", "--set",
         "heads=2");
    assert_wrote("plain/");
    TOOL("curves", in_folder("plain"), "-o", in_folder("g.svg"), "--show", "loss,gain");
    assert_refused(1, "curves", "--show gain");
    TOOL("curves", in_folder("run"), in_folder("none"), "-o", in_folder("q.svg"));
    assert_refused(1, "curves", "none");
    /* problems that a report would list in its page */
    shell_run("rm $FOLDER/other/metrics.jsonl && mkfifo $FOLDER/other/metrics.jsonl");
    TOOL("curves", in_folder("run"), in_folder("other"), "-o", in_folder("q.svg"));
    assert_refused(1, "curves", "other/metrics.jsonl");
    shell_run("rm $FOLDER/other/metrics.jsonl");
    TOOL("curves", in_folder("run"), in_folder("other"), "-o", in_folder("q.svg"));
    assert_refused(1, "curves", "other", "metrics.jsonl");
    put_text(in_folder("other/train.json"), "{\"lr\": true}");
    TOOL("curves", in_folder("run"), in_folder("other"), "-o", in_folder("q.svg"));
    assert_refused(1, "curves", "other/train.json");
}

/* The height of a picture, in pixels. */
static unsigned height_of(const char *name)
{
    size_t size;
    unsigned char *png = (unsigned char *)get_file(in_folder("%s", name), &size);
    assert_true(size > 24);
    const unsigned height =
        (unsigned)png[20] << 24 | (unsigned)png[21] << 16 | (unsigned)png[22] << 8 | png[23];
    free(png);
    return height;
}

/* A note below says what the training loss includes, if there is a training loss and settings such
 * as smoothing raise it. */
static void test_note_says_what_the_training_loss_includes(void **state)
{
    (void)state;
    copy_folder(in_folder("run"), in_folder("bare"));
    edit_file(in_folder("bare/train.json"), "\"smoothing\":\t0.1,", "\"smoothing\":\t0,");
#define CURVES(out, ...)                                                                           \
    TOOL("curves", "-o", in_folder(out), __VA_ARGS__);                                             \
    assert_done()
    CURVES("bare.png", in_folder("bare"));
    CURVES("run.png", in_folder("run"));
    assert_true(height_of("run.png") > height_of("bare.png"));
    CURVES("run-caption.png", in_folder("run"), "--no-title");
    CURVES("bare-caption.png", in_folder("bare"), "--no-title");
    assert_int_equal(height_of("run-caption.png"), height_of("bare-caption.png"));
    CURVES("two.png", in_folder("run"), in_folder("bare"), "--show", "loss");
    CURVES("two-test.png", in_folder("run"), in_folder("bare"), "--show", "test-loss");
    assert_true(height_of("two.png") > height_of("two-test.png"));
}

/* ---- means ----------------------------------------------------------------------------------- */

/* A run like the first except for its seed, with these accuracies after its two epochs; of one
 * epoch when the second is below 0. */
static void make_run(const char *name, const char *seed, double first, double second)
{
    char text[512], line[32];
    int length = snprintf(text, sizeof text,
                          "{\"kind\": \"step\", \"step\": %s, \"epoch\": 0.5, \"loss\": 1, \"lr\": "
                          "0.1, \"norm\": 1, \"images_per_s\": 1, \"wait\": 0}\n",
                          seed);
    for (int e = 0; e < 2 && (!e || second >= 0); e++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "{\"kind\": \"epoch\", \"step\": %d, \"epoch\": %d, \"loss\": 1, "
                           "\"accuracy\": 0.5, \"test_loss\": 1, \"test_accuracy\": %.17g, \"lr\": "
                           "0.1, \"images_per_s\": 1, \"wait\": 0, \"seconds\": 1}\n",
                           10 * (e + 1), e + 1, e ? second : first);
    copy_folder(in_folder("run"), in_folder("%s", name));
    snprintf(line, sizeof line, "\"seed\":\t%s,", seed);
    edit_file(in_folder("%s/train.json", name), "\"seed\":\t0,", line);
    put_text(in_folder("%s/metrics.jsonl", name), text);
}

#define MEAN(out, ...)                                                                             \
    TOOL("curves", "--mean", "--show", "test-accuracy", "-o", in_folder(out), __VA_ARGS__);        \
    assert_done()

static int same_picture(const char *one, const char *two)
{
    size_t a_size, b_size;
    char *a = get_file(in_folder("%s", one), &a_size), *b = get_file(in_folder("%s", two), &b_size);
    const int same = a_size == b_size && !memcmp(a, b, a_size);
    free(a);
    free(b);
    return same;
}

/* 0.2 and 0.4 have the mean and the standard deviation of 0.3 - e, 0.3 and 0.3 + e, where e is the
 * root of 0.02. Were the deviation that over n, it would be 0.1 and not e. */
static void test_bands_are_sample_deviations(void **state)
{
    (void)state;
    const double e = 0.1414213562373095;
    make_run("a", "1", 0.2, 0.4);
    make_run("b", "2", 0.4, 0.2);
    make_run("c", "1", 0.3, 0.3 + e);
    make_run("d", "2", 0.3 - e, 0.3 - e);
    make_run("e", "3", 0.3 + e, 0.3);
    make_run("f", "3", 0.3 + e, 0.31);
    MEAN("two.svg", in_folder("a"), in_folder("b"));
    MEAN("three.svg", in_folder("e"), in_folder("c"), in_folder("d"));
    assert_true(same_picture("two.svg", "three.svg"));
    /* a run that is given twice counts once */
    MEAN("three.svg", in_folder("a"), in_folder("b"), in_folder("b/../a"));
    assert_true(same_picture("two.svg", "three.svg"));
    MEAN("three.svg", in_folder("f"), in_folder("c"), in_folder("d"));
    assert_false(same_picture("two.svg", "three.svg"));
    /* a shorter run counts in the epochs that it has */
    make_run("g", "1", 0.3, -1);
    make_run("h", "3", 0.3 + e, 0.4);
    make_run("i", "2", 0.3 - e, 0.2);
    MEAN("two.svg", in_folder("a"), in_folder("b"));
    MEAN("three.svg", in_folder("g"), in_folder("h"), in_folder("i"));
    assert_true(same_picture("two.svg", "three.svg"));
    /* lines of steps that no two runs share */
    TOOL("curves", "--mean", "--show", "loss", "-o", in_folder("n.svg"), in_folder("a"),
         in_folder("b"));
    assert_refused(1, "curves", "loss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_curves_of_runs_are_drawn, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_note_says_what_the_training_loss_includes, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_bands_are_sample_deviations, setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
