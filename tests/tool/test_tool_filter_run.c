/* ssm2d filter --run: one channel, and the mean of all, against the whole layer of the block. */
#include "tool_run.h"

#include "../train/small_data.h"
#include "core/context.h"
#include "io/image.h"
#include "../layer_calls.h"
#include "train/run_folder.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 23, COLS = 31 };

/* The layer of a block of a run's model, with all its channels. */
typedef struct layer_of_run {
    ssm2d_config config;
    double *params;
} layer_of_run;

static layer_of_run layer_open(ssm2d_context *context, const char *folder, int block)
{
    layer_of_run l;
    run_model m;
    ssm2d_error error;
    if (run_model_open(context, folder, RUN_MODEL, NULL, &m, &error)) fail_msg("%s", error.line);
    const param_block *b = &m.weights->block[block];
    l.config = *ssm2d_config_of(&m.settings.model.mixer.values);
    l.config.channels = b->channels;
    l.config.layer_norm = 0; /* gamma and beta are at the end */
    l.params = malloc(b->count * sizeof *l.params);
    for (size_t i = 0; i < b->count; i++) l.params[i] = (double)m.params[b->offset + i];
    run_model_close(&m);
    return l;
}

#define MODEL "--set", "dim=16", "--set", "depth=2", "--set", "heads=2", "--batch", "8"

/* Trains a run of two blocks of 16 channels, with one more setting. */
static void put_run(const char *folder, const char *setting)
{
    TOOL("train", "--data", in_folder("data"), "--out", folder, MODEL, "--epochs", "1", "--set",
         "mixer.init=authors", "--set", "mixer.d_state=3", "--set", "mixer.n_ssm=3", "--set",
         setting);
    assert_done();
}

/* The expected samples of a picture: the block's layer with all its channels on one colour. */
static void expect(ssm2d_context *context, const layer_of_run *l, const double *colour, int channel,
                   double *out)
{
    const int H = l->config.channels;
    ssm2d_plan_options options = ssm2d_plan_options_default();
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    ssm2d_error error;
    double *u = malloc(sizeof *u * ROWS * COLS * (size_t)H);
    double *y = malloc(sizeof *y * ROWS * COLS * (size_t)H);
    options.grid = ssm2d_grid_2d(ROWS, COLS);
    options.type = SSM2D_DOUBLE;
    options.algorithm = "scan"; /* the recurrence itself */
    if (plan_create(context, &l->config, &options, &plan, &error)) fail_msg("%s", error.line);
    assert_int_equal(ssm2d_workspace_create(plan, &workspace, &error), SSM2D_OK);
    for (int i = 0; i < ROWS * COLS; i++)
        for (int h = 0; h < H; h++) u[i * H + h] = colour[i];
    plan_forward(plan, workspace, l->params, u, y);
    for (int i = 0; i < ROWS * COLS; i++) {
        double sum = 0;
        for (int h = 0; h < H; h++)
            if (channel < 0 || channel == h) sum += y[i * H + h];
        out[i] = channel < 0 ? sum / H : sum;
    }
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    free(u);
    free(y);
}

/* Reads a picture of 8 bits and 3 channels into colours[3][ROWS][COLS], from 0 to 1. */
static void read_colours(ssm2d_context *context, const char *path, double *colours)
{
    image_reader *reader;
    image_info info;
    ssm2d_error error;
    uint8_t row[3 * COLS];
    if (image_open(context, path, NULL, &reader, &info, &error)) fail_msg("%s", error.line);
    assert_true(info.rows == ROWS && info.cols == COLS && info.channels == 3);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(image_read_row(reader, row, &error), SSM2D_OK);
        for (size_t j = 0; j < 3 * COLS; j++)
            colours[(j % 3 * ROWS + i) * COLS + j / 3] = row[j] / 255.0;
    }
    image_close(reader);
}

static void check(ssm2d_context *context, const char *run, const layer_of_run *l, const char *block,
                  int channel)
{
    static double in[3 * ROWS * COLS], out[3 * ROWS * COLS], expected[ROWS * COLS];
    char number[16];
    snprintf(number, sizeof number, "%d", channel);
    if (channel < 0)
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", run, "--block",
             block);
    else
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", run, "--block",
             block, "--channel", number);
    assert_wrote("a.png");
    read_colours(context, in_folder("in.png"), in);
    read_colours(context, in_folder("a.png"), out);
    for (int c = 0; c < 3; c++) {
        expect(context, l, in + c * ROWS * COLS, channel, expected);
        for (int i = 0; i < ROWS * COLS; i++) {
            const double value = fmin(fmax(expected[i], 0), 1);
            if (fabs(out[c * ROWS * COLS + i] - value) > 0.51 / 255)
                fail_msg("channel %d, colour %d, cell %d: %g instead of %g", channel, c, i,
                         out[c * ROWS * COLS + i], value);
        }
    }
}

static void test_filter_equals_the_whole_layer(void **state)
{
    (void)state;
    /* real, complex in both forms; C for each channel; directions that share their systems */
    static const char *const settings[] = {
        "mixer.directions=4",       "mixer.values=polar",          "mixer.values=cartesian",
        "mixer.c_per_channel=true", "mixer.share_directions=true", "mixer.average=true"};
    ssm2d_context_options options = ssm2d_context_options_default();
    ssm2d_context *context;
    ssm2d_error error;
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    put_picture(in_folder("in.png"), ROWS, COLS, 3);
    for (int i = -1; i < 6; i++) {
        char run[512];
        snprintf(run, sizeof run, "%s", i < 0 ? GOLDEN_RUN : in_folder("run%d", i));
        for (int block = 0; block < 2; block++) {
            if (i >= 0 && !block) put_run(run, settings[i]);
            layer_of_run l = layer_open(context, run, block);
            check(context, run, &l, block ? "2" : "1", -1);
            check(context, run, &l, block ? "2" : "1", 0);
            check(context, run, &l, block ? "2" : "1", 5);
            free(l.params);
        }
    }
    ssm2d_context_destroy(context);
}

static void test_wrong_blocks_and_channels_are_refused(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 5, 6, 1);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", GOLDEN_RUN, "--block",
         "3");
    assert_refused(1, "filter", "--block=3");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", GOLDEN_RUN, "--channel",
         "16");
    assert_refused(1, "filter", "0 to 15");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", in_folder("none"));
    assert_refused(1, "filter", "none");
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("plain"), MODEL, "--epochs", "1",
         "--mixer", "none");
    assert_wrote("plain/");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--run", in_folder("plain"));
    assert_refused(1, "filter", "plain");
}

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 40, 8) ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_filter_equals_the_whole_layer),
                                       TEST(test_wrong_blocks_and_channels_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
