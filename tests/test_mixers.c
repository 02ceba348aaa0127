/* Kernels for pictures of every mixer that has them: the value at an offset is the response of the
 * output to an impulse at that offset, at any position. */
#include "mixers/mixer.h"
#include "ops/ops.h"
#include "problem.h"

#include <math.h>
#include <string.h>

enum { ROWS = 3, COLS = 4, CELLS = ROWS * COLS, CHANNELS = 6, FIRST = 1 };
enum { FIELD = (2 * ROWS - 1) * (2 * COLS - 1) };

static double silu_of(double x) { return x / (1 + exp(-x)); }

/* The mixer's y for an impulse in all channels at a cell: [FIRST + CELLS][CHANNELS]. */
static void respond(ssm2d_context *context, const mixer_config *m, float *params, int cell,
                    float *y)
{
    graph *g;
    ssm2d_error error;
    float x[(FIRST + CELLS) * CHANNELS] = {0};
    assert_int_equal(graph_create(context, 0, &g, &error), SSM2D_OK);
    tensor *in = graph_input(g, "x", 3, (size_t[]){1, FIRST + CELLS, CHANNELS});
    in->grid = (token_grid){FIRST, ssm2d_grid_2d(ROWS, COLS)};
    tensor *out = mix(g, in, m, "blocks.0");
    if (graph_finish(g, out, &error)) fail_msg("%s: %s", m->kind->name, error.line);
    const param_block *b = &g->blocks[0];
    if (b->fill(b, 3, params, &error)) fail_msg("%s", error.line);
    graph_bind(g, params, NULL);
    for (int h = 0; h < CHANNELS; h++) x[(FIRST + cell) * CHANNELS + h] = 1;
    for (int h = 0; h < CHANNELS; h++) x[h] = (float)(h + 7); /* CLS */
    in->data = x;
    graph_forward(g);
    for (int h = 0; h < CHANNELS; h++) assert_true(out->data[h] == (float)(h + 7));
    memcpy(y, out->data, sizeof x);
    graph_destroy(g);
}

static void kernels_are_responses(void **state)
{
    (void)state;
    static float params[4096];
    ssm2d_context *context = context_of(1);
    int checked = 0;
    for (int k = 0; mixer_at(k); k++) {
        const layer_kind *kind = mixer_at(k);
        mixer_config m;
        ssm2d_error error;
        double kernel[CHANNELS * FIELD];
        float y[(FIRST + CELLS) * CHANNELS];
        mixer_config_default(kind, &m);
        if (!mixer_has_kernels(&m)) continue;
        checked++;
        assert_true(mixer_kernels(&m, CHANNELS) >= 1);
        for (int cell = 0; cell < CELLS; cell++) {
            respond(context, &m, params, cell, y);
            if (mixer_kernel(context, &m, CHANNELS, ROWS, COLS, params, CHANNELS, kernel, &error))
                fail_msg("%s", error.line);
            for (int to = 0; to < CELLS; to++)
                for (int h = 0; h < CHANNELS; h++) {
                    const int di = cell / COLS - to / COLS, dj = cell % COLS - to % COLS;
                    const double w =
                        kernel[h * FIELD + (di + ROWS - 1) * (2 * COLS - 1) + dj + COLS - 1];
                    const float *got = &y[(FIRST + to) * CHANNELS + h];
                    /* D and omega are not part of it, so the cell itself is left out */
                    const double want = kind == &layer_ema ? silu_of(w) : w;
                    if (to != cell && fabs((double)*got - want) > 1e-5 * (1 + fabs(want)))
                        fail_msg("%s: channel %d, from %d to %d: %g, not %g", kind->name, h, cell,
                                 to, (double)*got, want);
                }
        }
    }
    assert_int_equal(checked, 4); /* ssm2d, s4nd, ema, conv */
    ssm2d_context_destroy(context);
}

static void text_mentions_settings_that_are_off(void **state)
{
    (void)state;
    mixer_config m;
    ssm2d_error error;
    char text[128];
    mixer_config_default(&layer_ema, &m);
    assert_int_equal(mixer_config_preset("shift=false trunc=7", &m, &error), SSM2D_OK);
    assert_string_equal(mixer_config_text(&m, text, sizeof text),
                        "ema (d_state 16, no shift, trunc 7)");
    mixer_config_default(&layer_s4nd, &m);
    assert_int_equal(mixer_config_preset("rate=0.5 init=identity", &m, &error), SSM2D_OK);
    assert_string_equal(mixer_config_text(&m, text, sizeof text),
                        "s4nd (identity, d_state 16, n_ssm 8, rate 0.5)");
    assert_int_not_equal(mixer_config_preset("directions=2", &m, &error), SSM2D_OK);
}

static void grids_have_one_to_three_axes(void **state)
{
    (void)state;
    const ssm2d_grid line = {1, {7}}, map = ssm2d_grid_2d(3, 4), volume = {3, {2, 3, 4}},
                     none = {0};
    char text[GRID_TEXT];
    assert_string_equal(grid_text(line, text), "7");
    assert_string_equal(grid_text(map, text), "3x4");
    assert_string_equal(grid_text(volume, text), "2x3x4");
    assert_string_equal(grid_text(none, text), "none");
    assert_int_equal(grid_cells(line), 7);
    assert_int_equal(grid_cells(volume), 24);
    assert_int_equal(grid_cells(none), 0);
    assert_true(grid_equal(map, ssm2d_grid_2d(3, 4)) && grid_equal(none, none));
    assert_false(grid_equal(map, ssm2d_grid_2d(4, 3)) || grid_equal(map, volume));
}

/* Mixers of this version support two axes only, and say so. */
static void other_axes_are_refused(void **state)
{
    (void)state;
    const ssm2d_grid grids[] = {{0}, {1, {CELLS}}, {3, {1, ROWS, COLS}}};
    ssm2d_context *context = context_of(1);
    mixer_config m;
    mixer_config_default(mixer_find("ssm2d"), &m);
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        graph *g;
        char text[GRID_TEXT];
        assert_int_equal(graph_create(context, 0, &g, NULL), SSM2D_OK);
        tensor *in = graph_input(g, "x", 3, (size_t[]){1, CELLS, CHANNELS});
        in->grid.shape = grids[i];
        assert_null(mix(g, in, &m, "blocks.0"));
        assert_int_equal(g->status, SSM2D_ERROR_ARGUMENT);
        assert_non_null(strstr(g->error.line, "ssm2d"));
        assert_non_null(strstr(g->error.line, grid_text(grids[i], text)));
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_responses),
                                       cmocka_unit_test(text_mentions_settings_that_are_off),
                                       cmocka_unit_test(grids_have_one_to_three_axes),
                                       cmocka_unit_test(other_axes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
