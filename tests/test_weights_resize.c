/* Weights at another image size: position embeddings and tables of relative positions. */
#define _GNU_SOURCE /* mkdtemp */
#include "core/rng.h"
#include "weights_fixture.h"

/* The cubic convolution kernel of Keys with a = -0.75, in its textbook form. */
static double keys(double x)
{
    const double a = -0.75;
    x = fabs(x);
    if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
    return 0;
}

/* Samples a map that is extended by its edge cells: the weighted sum over all of its cells. */
static double sampled(const float *pos, int rows, int cols, size_t dim, size_t d, double y,
                      double x)
{
    double sum = 0;
    for (int i = -3; i < rows + 3; i++)
        for (int j = -3; j < cols + 3; j++) {
            int r = i < 0 ? 0 : i >= rows ? rows - 1 : i, c = j < 0 ? 0 : j >= cols ? cols - 1 : j;
            sum += keys(y - i) * keys(x - j) * (double)pos[((size_t)(r * cols + c) + 1) * dim + d];
        }
    return sum;
}

static void test_positions_are_resized_bicubically(void **state)
{
    (void)state;
    enum { DIM = 3, MOST = 1 + 16 * 16 };
    static const int grids[][2][2] = {{{4, 4}, {8, 8}}, {{14, 14}, {16, 16}}, {{8, 8}, {5, 5}},
                                      {{2, 5}, {7, 3}}, {{1, 1}, {4, 6}},     {{6, 4}, {1, 1}},
                                      {{3, 7}, {3, 7}}, {{1, 9}, {9, 1}}};
    float from[MOST * DIM], to[MOST * DIM];
    rng r = rng_seed(3);
    for (int i = 0; i < MOST * DIM; i++) from[i] = (float)rng_normal(&r);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        const int *old = grids[k][0], *new = grids[k][1];
        grid_resize(from, old, to, new, 1, DIM);
        assert_memory_equal(from, to, DIM * sizeof *to); /* CLS */
        for (int i = 0; i < new[0]; i++)
            for (int j = 0; j < new[1]; j++)
                for (size_t d = 0; d < DIM; d++) {
                    double y = (i + 0.5) * old[0] / new[0] - 0.5,
                           x = (j + 0.5) * old[1] / new[1] - 0.5;
                    double expected = sampled(from, old[0], old[1], DIM, d, y, x);
                    double got = (double)to[((size_t)(i * new[1] + j) + 1) * DIM + d];
                    if (fabs(got - expected) > 1e-6)
                        fail_msg("%zu: (%d, %d) is %g, not %g", k, i, j, got, expected);
                }
    }
    /* known values: 1 to 16 as 4 x 4, made twice as large; the cubic example of ONNX's Resize,
     * which follows torch */
    static const double known[] = {
        0.47265625, 0.76953125, 1.24609375, 1.875,  2.28125, 2.91015625, 3.38671875, 3.68359375,
        1.66015625, 1.95703125, 2.43359375, 3.0625, 3.46875, 4.09765625, 4.57421875, 4.87109375};
    for (int i = 0; i <= 16; i++) from[i] = (float)i; /* CLS is 0 */
    grid_resize(from, (const int[]){4, 4}, to, (const int[]){8, 8}, 1, 1);
    for (int i = 0; i < 16; i++)
        if (fabs((double)to[1 + i] - known[i]) > 1e-6)
            fail_msg("%d: %.9g, not %g", i, (double)to[1 + i], known[i]);
}

static void test_loading_resizes_positions(void **state)
{
    (void)state;
    static const char *const larger[][2] = {{"image", "48"}},
                             *const wide[][2] = {{"image", "[16, 64]"}},
                             *const tall[][2] = {{"image", "[64, 16]"}},
                             *const thin[][2] = {{"image", "[8, 40]"}};
    ssm2d_error error;
    weights_report report;
    weights *w = weights_of("vit-mini", NULL, 0), *big = weights_of("vit-mini", larger, 1),
            *flat = weights_of("vit-mini", wide, 1);
    weights *high = weights_of("vit-mini", tall, 1), *slim = weights_of("vit-mini", thin, 1);
    float *params = initial(w, 7), *bigger = initial(big, 8), *resized = initial(big, 8),
          *flats = initial(flat, 8);
    float *highs = initial(high, 8), *expected = initial(high, 8), *slims = initial(slim, 8);
    if (weights_save(w, path, params, &error)
        || weights_load(big, path, NULL, bigger, &report, &error)
        || weights_resize(w, params, big, resized, &error))
        fail_msg("%s", error.line);
    assert_true(report.resized && report.old_grid[0] == 8 && report.old_grid[1] == 8);
    assert_memory_equal(bigger, resized, big->total * sizeof *bigger);
    /* as many patches in another arrangement, which the file describes */
    if (weights_save(flat, path, flats, &error)
        || weights_load(high, path, NULL, highs, &report, &error)
        || weights_resize(flat, flats, high, expected, &error))
        fail_msg("%s", error.line);
    assert_true(report.resized && report.old_grid[0] == 4 && report.old_grid[1] == 16);
    assert_memory_equal(highs, expected, high->total * sizeof *highs);
    /* not a square */
    if (weights_save(slim, path, slims, &error)
        || weights_load(w, path, NULL, params, &report, &error))
        fail_msg("%s", error.line);
    assert_true(report.resized && report.old_grid[0] == 2 && report.old_grid[1] == 10);
    /* the caller's grid takes precedence over the file's */
    const weights_options wrong = {.old_grid = {3, 16}};
    assert_int_equal(weights_load(w, path, &wrong, params, &report, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "pos_embed has the shape (1, 21, 96), which is not a known "
                                       "grid: the model needs 8 x 8 patches"));
    free(params), free(bigger), free(resized), free(flats), free(highs), free(expected),
        free(slims);
    weights_destroy(w), weights_destroy(big), weights_destroy(flat), weights_destroy(high),
        weights_destroy(slim);
}

/* Two tokens at the same relative distance in the image keep their bias. */
static void test_relative_positions_keep_their_bias(void **state)
{
    (void)state;
    enum { P = 8, OLD = 2 * P - 1, NEW = 2 * 24 - 1 }; /* 2 x 3 with more positions, 4 x 6 */
    const int small[2] = {2, 3}, large[2] = {4, 6};
    float from[OLD], same[OLD], to[NEW];
    for (int i = 0; i < OLD; i++) from[i] = (float)((i - P) * (i - P) + 0.25 * i);
    offsets_resize(from, P, small, same, P, small);
    assert_memory_equal(from, same, sizeof from);
    offsets_resize(from, P, small, to, 24, large);
    const float *old = from + P - 1, *new = to + 23; /* the entries of offset 0 */
    assert_true(new[0] == old[0]);
    assert_true(new[2] == old[1] && new[-2] == old[-1]);   /* two columns of six: one of three */
    assert_true(new[1] == (old[0] + old[1]) / 2);          /* half a column */
    assert_true(new[12] == old[3] && new[-12] == old[-3]); /* two rows of four: one of two */
    assert_true(new[6] == (old[0] + old[3]) / 2);          /* half a row */
    assert_true(new[12 + 2] == old[3 + 1] && new[12 - 2] == old[3 - 1]);
    assert_true(new[23] == (old[5] + old[6]) / 2); /* four rows less a column */
    offsets_resize(from, 6, small, to, 24, large); /* a table that ends there */
    assert_true(new[23] == from[10]);
}

static void test_mega_positions_are_resized(void **state)
{
    (void)state;
    static const char *const small[][2] = {{"depth", "1"}, {"image", "[8, 12]"}},
                             *const large[][2] = {{"depth", "1"}, {"image", "[16, 24]"}},
                             *const more[][2] = {
                                 {"depth", "1"}, {"image", "[8, 12]"}, {"max_positions", "30"}};
    ssm2d_error error;
    weights_report report;
    for (int pos = 0; pos < 2; pos++) {
        model_config c[3];
        weights *w[3];
        float *params[3], *loaded;
        const char *const(*const sets[])[2] = {small, more, large};
        for (int i = 0; i < 3; i++) {
            if (model_config_named("mega-mini", &c[i], &error)) fail_msg("%s", error.line);
            for (int k = 0; k < (i == 1 ? 3 : 2); k++)
                if (model_config_set((field_source){.where = "test"}, sets[i][k][0], sets[i][k][1],
                                     &c[i], &error))
                    fail_msg("%s", error.line);
            if (model_config_set((field_source){.where = "test"}, "pos_embed",
                                 pos ? "true" : "false", &c[i], &error)
                || model_config_finish(&c[i], &error)
                || weights_create(context, &c[i], &w[i], &error))
                fail_msg("%s", error.line);
            params[i] = initial(w[i], (uint64_t)i);
        }
        loaded = initial(w[2], 9);
        for (int i = 0; i < 2; i++) {
            if (weights_save(w[i], path, params[i], &error)
                || weights_load(w[2], path, NULL, loaded, &report, &error)
                || weights_resize(w[i], params[i], w[2], params[2], &error))
                fail_msg("%s", error.line);
            assert_true(report.resized && report.old_grid[0] == 2 && report.old_grid[1] == 3);
            assert_memory_equal(loaded, params[2], w[2]->total * sizeof *loaded);
            const float *from =
                            params[i]
                            + find(w[i], "blocks.0.mega_layer.rel_pos_bias.rel_pos_bias")->offset,
                        *to = params[2]
                              + find(w[2], "blocks.0.mega_layer.rel_pos_bias.rel_pos_bias")->offset;
            assert_true(to[23 + 12] == from[(i ? 29 : 5) + 3]); /* one row of two: two of four */
        }
        /* a model whose table is too small for new images gets a larger one */
        assert_int_equal(model_config_resize(&c[1], (int[]){32, 32}, &error), SSM2D_OK);
        weights *bigger;
        assert_int_equal(weights_create(context, &c[1], &bigger, &error), SSM2D_OK);
        assert_int_equal(find(bigger, "blocks.0.mega_layer.rel_pos_bias.rel_pos_bias")->count,
                         2 * 64 - 1);
        weights_destroy(bigger);
        for (int i = 0; i < 3; i++) weights_destroy(w[i]), free(params[i]);
        free(loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_resized_bicubically),
        cmocka_unit_test(test_loading_resizes_positions),
        cmocka_unit_test(test_relative_positions_keep_their_bias),
        cmocka_unit_test(test_mega_positions_are_resized),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
