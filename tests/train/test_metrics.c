/* metrics.jsonl is continued from a checkpoint, and the curves are drawn. */
#include "../io_helpers.h"

#include "io/file.h"
#include "train/loss_note.h"
#include "train/metrics.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static void add_lines(metrics *m, long first, long last)
{
    for (long step = first; step <= last; step++) {
        metric l = {.step = step,
                    .epoch = (double)step / 4,
                    .loss = 2.3 * exp(-0.1 * (double)step),
                    .lr = 0.001,
                    .norm = 1};
        assert_int_equal(metrics_add(m, &l, &error), SSM2D_OK);
        if (step % 4) continue;
        metric e = {.is_epoch = 1,
                    .step = step,
                    .epoch = (double)step / 4,
                    .loss = l.loss,
                    .score = 0.5 + 0.01 * (double)step,
                    .test_loss = l.loss * 0.9,
                    .test_score = 0.55 + 0.009 * (double)step,
                    .seconds = 3};
        assert_int_equal(metrics_add(m, &e, &error), SSM2D_OK);
    }
    assert_int_equal(metrics_sync(m, &error), SSM2D_OK);
}

static void test_truncated_metrics_are_continued(void **state)
{
    (void)state;
    metrics *m;
    size_t size, again;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    add_lines(m, 1, 20);
    metrics_close(m);
    unsigned char *whole = io_get(io_path("m"), &size);
    /* killed anywhere: continued at steps 0 to 20, with half a line at the end */
    for (long step = 0; step <= 20; step++) {
        io_put("m", whole, size);
        FILE *f = fopen(io_path("m"), "ab");
        fputs("{\"kind\": \"step\", \"st", f);
        fclose(f);
        assert_int_equal(
            metrics_open(context, io_path("m"), &task_classification, step, step / 4, &m, &error),
            SSM2D_OK);
        add_lines(m, step + 1, 20);
        assert_int_equal(metrics_draw(m, io_path("c.svg"), "curves", NULL, 5, &error), SSM2D_OK);
        metrics_close(m);
        unsigned char *now = io_get(io_path("m"), &again);
        assert_int_equal(size, again);
        assert_memory_equal(whole, now, size);
        free(now);
    }
    /* stopped while evaluating: the step is logged, the epoch is not */
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 8, 1, &m, &error),
                     SSM2D_OK);
    metrics_close(m);
    unsigned char *now = io_get(io_path("m"), &again);
    now[again] = 0;
    assert_non_null(strstr((char *)now, "\"step\": 8,"));
    assert_null(strstr((char *)now, "\"epoch\": 2, "));
    free(now);
    free(whole);
}

/* Pictures of a whole run, of one line, and of nothing. */
static void test_whole_and_empty_runs_are_drawn(void **state)
{
    (void)state;
    metrics *m;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("a.svg"), "nothing", NULL, 5, &error), SSM2D_OK);
    add_lines(m, 1, 1);
    assert_int_equal(metrics_draw(m, io_path("b.png"), "one", NULL, 5, &error), SSM2D_OK);
    add_lines(m, 2, 20);
    assert_int_equal(metrics_draw(m, io_path("c.png"), "all", NULL, 5, &error), SSM2D_OK);
    const char *keep = getenv("KEEP_CURVES"); /* a name to look at the picture */
    if (keep)
        assert_int_equal(metrics_draw(m, keep, "vit-mini on fashion-mnist", NULL, 5, &error),
                         SSM2D_OK);
    assert_int_not_equal(metrics_draw(m, io_path("c.gif"), "all", NULL, 5, &error), SSM2D_OK);
    assert_line(".png, .svg or .pdf");
    metrics_close(m);
    /* metrics that are read for drawing give the picture of the resumed run */
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 20, 5, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("written.png"), NULL, NULL, 5, &error), SSM2D_OK);
    metrics_close(m);
    assert_int_equal(metrics_read(context, io_path("m"), &task_classification, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("read.png"), NULL, NULL, 5, &error), SSM2D_OK);
    metrics_close(m);
    size_t size, other;
    unsigned char *a = io_get(io_path("written.png"), &size);
    unsigned char *b = io_get(io_path("read.png"), &other);
    assert_int_equal(size, other);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    assert_int_equal(metrics_read(context, io_path("none"), &task_classification, &m, &error),
                     SSM2D_ERROR_SYSTEM);
}

/* Values per block are read back; infinite ones as NaN, and lists of another length as none. */
static void test_values_per_block_read_back(void **state)
{
    (void)state;
    static const double norms[2] = {0.25, INFINITY}, gains[2] = {3, 4.5};
    metrics *m;
    metric l = {.step = 1, .loss = 2, .blocks = 2, .mixer_norms = norms, .kernel_gains = gains};
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_add(m, &l, &error), SSM2D_OK);
    assert_null(metrics_line(m, 0)->mixer_norms);
    metrics_close(m);
    FILE *f = fopen(io_path("m"), "a");
    assert_non_null(f);
    fputs("{\"kind\": \"step\", \"step\": 2, \"mixer_norms\": [1, 2], \"kernel_gains\": [1]}\n", f);
    fclose(f);
    assert_int_equal(metrics_read(context, io_path("m"), &task_classification, &m, &error),
                     SSM2D_OK);
    const metric *one = metrics_line(m, 0), *two = metrics_line(m, 1);
    assert_int_equal(one->blocks, 2);
    assert_true(one->mixer_norms[0] == 0.25 && isnan(one->mixer_norms[1]));
    assert_true(one->kernel_gains[0] == 3 && one->kernel_gains[1] == 4.5);
    assert_int_equal(two->blocks, 0);
    assert_null(two->mixer_norms);
    metrics_close(m);
}

/* How many strokes in blue, the colour of training, a picture has. */
static int blue_strokes(const char *path)
{
    static const char blue[] = "42%"; /* of green, which no other colour has */
    size_t size;
    int count = 0;
    char *text = (char *)io_get(path, &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = 0;
    for (const char *at = text; (at = strstr(at, blue)); at += sizeof blue) count++;
    free(text);
    return count;
}

/* Even a run too short for a line of steps has a training loss, in the legend and in the panel,
 * like the accuracy. */
static void test_short_runs_have_a_training_loss(void **state)
{
    (void)state;
    metrics *m;
    metric end = {.is_epoch = 1, .step = 7, .epoch = 1, .loss = 2, .score = .5, .test_loss = 3};
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("none.svg"), NULL, NULL, 2, &error), SSM2D_OK);
    const int legend = blue_strokes(io_path("none.svg"));
    assert_int_equal(metrics_add(m, &end, &error), SSM2D_OK);
    end.step = 14, end.epoch = 2, end.loss = 1;
    assert_int_equal(metrics_add(m, &end, &error), SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("short.svg"), NULL, NULL, 2, &error), SSM2D_OK);
    /* in both panels a line and two dots */
    assert_int_equal(blue_strokes(io_path("short.svg")), legend + 2 * 3);
    metrics_close(m);
}

/* The last epoch determines the names of lines, not a step of the next one, which has neither test
 * nor validation images. */
static void test_legend_names_validation_by_last_epoch(void **state)
{
    (void)state;
    metrics *m;
    const metric end = {.is_epoch = 1, .step = 7, .epoch = 1, .loss = 2, .validation = 1};
    const metric step = {.step = 8, .epoch = 1.1, .loss = 2};
    size_t one_size, two_size;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_add(m, &end, &error), SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("one.png"), NULL, NULL, 2, &error), SSM2D_OK);
    assert_int_equal(metrics_add(m, &step, &error), SSM2D_OK);
    assert_int_equal(metrics_draw(m, io_path("two.png"), NULL, NULL, 2, &error), SSM2D_OK);
    unsigned char *one = io_get(io_path("one.png"), &one_size),
                  *two = io_get(io_path("two.png"), &two_size);
    assert_int_equal(one_size, two_size);
    assert_memory_equal(one, two, one_size); /* one step is not drawn */
    free(one);
    free(two);
    metrics_close(m);
}

static ssm2d_status attempt(void)
{
    metrics *m;
    ssm2d_status status =
        metrics_open(context, io_path("m"), &task_classification, 20, 5, &m, &error);
    if (status) return status;
    metric l = {.step = 21};
    status = metrics_add(m, &l, &error);
    if (!status) status = metrics_draw(m, io_path("c.svg"), "curves", NULL, 6, &error);
    metrics_close(m);
    return status;
}

/* The median over epochs: of an even number the mean of the middle two. */
static void test_speed_is_the_median_over_epochs(void **state)
{
    (void)state;
    static const double speeds[] = {300, 100, 500, 200};
    static const double medians[] = {300, 200, 300, 250};
    metrics *m;
    double speed;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_speed(m, &speed, &error), SSM2D_OK);
    assert_true(isnan(speed));
    for (int i = 0; i < 4; i++) {
        const metric step = {.step = 2 * i + 1, .epoch = i + 0.5, .images_per_s = 1e6};
        const metric epoch = {
            .is_epoch = 1, .step = 2 * i + 2, .epoch = i + 1, .images_per_s = speeds[i]};
        assert_int_equal(metrics_add(m, &step, &error), SSM2D_OK);
        assert_int_equal(metrics_add(m, &epoch, &error), SSM2D_OK);
        assert_int_equal(metrics_speed(m, &speed, &error), SSM2D_OK);
        assert_true(fabs(speed - medians[i]) < 1e-9);
    }
    metrics_close(m);
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    metrics *m;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    add_lines(m, 1, 20);
    metrics_close(m);
    assert_true(io_fail_everywhere(attempt) > 3);
}

static void test_full_disk_is_an_error(void **state)
{
    (void)state;
    metrics *m;
    metric l = {.step = 1};
    struct rlimit was, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = was;
    small.rlim_cur = 10;
    assert_int_equal(metrics_open(context, io_path("full"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ssm2d_status status = metrics_add(m, &l, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(status, SSM2D_ERROR_SYSTEM);
    assert_line("full: cannot be written: File too large");
    metrics_close(m);
    /* devices, and links that lead elsewhere */
    assert_int_not_equal(metrics_open(context, "/dev/null", &task_classification, 0, 0, &m, &error),
                         SSM2D_OK);
    assert_line("/dev/null: is not a regular file");
    assert_int_equal(symlink("full", io_path("link")), 0);
    assert_int_not_equal(
        metrics_open(context, io_path("link"), &task_classification, 0, 0, &m, &error), SSM2D_OK);
    assert_line("link: is not a regular file");
    assert_int_not_equal(
        metrics_open(context, io_path("no/such"), &task_classification, 0, 0, &m, &error),
        SSM2D_OK);
    assert_line("no/such");
}

/* Values of each block's mixer; infinite values are null in JSON. */
static void test_infinite_values_are_null_in_json(void **state)
{
    (void)state;
    const double norms[] = {0.5, 2}, gains[] = {INFINITY, 0.25};
    const metric line = {
        .step = 1, .epoch = 1, .blocks = 2, .mixer_norms = norms, .kernel_gains = gains};
    metrics *m;
    size_t size;
    char *text;
    assert_int_equal(metrics_open(context, io_path("m"), &task_classification, 0, 0, &m, &error),
                     SSM2D_OK);
    assert_int_equal(metrics_add(m, &line, &error), SSM2D_OK);
    metrics_close(m);
    assert_int_equal(file_read(context, io_path("m"), 1 << 20, &text, &size, &error), SSM2D_OK);
    assert_non_null(strstr(
        text, "\"mixer_norms\": [0.5, 2], \"kernel_gains\": [null, 0.25], \"images_per_s\""));
    mem_free(context, text);
    assert_int_equal(metrics_read(context, io_path("m"), &task_classification, &m, &error),
                     SSM2D_OK);
    metrics_close(m);
}

/* ---- what the training loss includes --------------------------------------------------------- */

static void check_loss_note(const char *settings, const task *t, const char *expected)
{
    char text[128], parts[LOSS_PARTS], note[LOSS_NOTE], *rest = text;
    train_settings s;
    assert_int_equal(train_settings_default(&s, &error), SSM2D_OK);
    snprintf(text, sizeof text, "%s", settings);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = 0;
        if (train_settings_set(&s, "test", word, value, &error)) fail_msg("%s", error.line);
    }
    const char *said = loss_note(loss_parts(&s, t, parts), "test", note);
    if (expected)
        assert_string_equal(said, expected);
    else
        assert_null(said);
}

static void test_loss_note_names_what_raises_the_loss(void **state)
{
    (void)state;
#define NOTE(parts, raise) "Training loss: with " parts ", which " raise " it; test loss: without."
    check_loss_note("smoothing=0", &task_classification, NULL);
    check_loss_note("smoothing=0.2", &task_classification, NOTE("label smoothing (0.2)", "raises"));
    check_loss_note("smoothing=0.2", &task_attributes, NULL);
    check_loss_note("binary_smoothing=0.3", &task_attributes,
                    NOTE("label smoothing (0.3)", "raises"));
    check_loss_note("smoothing=0 mixup=0.8", &task_classification, NOTE("Mixup", "raises"));
    check_loss_note("smoothing=0.1 cutmix=1", &task_classification,
                    NOTE("label smoothing (0.1) and CutMix", "raise"));
    check_loss_note("smoothing=0.1 mixup=0.8 cutmix=1", &task_classification,
                    NOTE("label smoothing (0.1), Mixup and CutMix", "raise"));
    check_loss_note("smoothing=0 mixup=0.8 cutmix=1 mix_switch=0", &task_classification,
                    NOTE("Mixup", "raises"));
    check_loss_note("smoothing=0 mixup=0.8 cutmix=1 mix_switch=1", &task_classification,
                    NOTE("CutMix", "raises"));
    check_loss_note("smoothing=0 mixup=0.8 mix_probability=0", &task_classification, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_truncated_metrics_are_continued, io_begin),
        cmocka_unit_test_setup(test_whole_and_empty_runs_are_drawn, io_begin),
        cmocka_unit_test_setup(test_speed_is_the_median_over_epochs, io_begin),
        cmocka_unit_test_setup(test_any_allocation_may_fail, io_begin),
        cmocka_unit_test_setup(test_full_disk_is_an_error, io_begin),
        cmocka_unit_test_setup(test_infinite_values_are_null_in_json, io_begin),
        cmocka_unit_test_setup(test_values_per_block_read_back, io_begin),
        cmocka_unit_test_setup(test_short_runs_have_a_training_loss, io_begin),
        cmocka_unit_test_setup(test_legend_names_validation_by_last_epoch, io_begin),
        cmocka_unit_test(test_loss_note_names_what_raises_the_loss),
    };
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
