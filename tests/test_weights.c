/* Weights: their names and groups, initial values, files, and position embeddings at another
 * size. */
#define _GNU_SOURCE /* mkdtemp */
#include "core/rng.h"
#include "io/safetensors.h"
#include "model_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssm2d_context *context;
static char folder[] = "/tmp/ssm2d-weights-XXXXXX", path[64];

static weights *weights_of(const char *name, const char *const (*set)[2], int count)
{
    model_config c;
    weights *w = NULL;
    ssm2d_error error;
    if (model_config_named(name, &c, &error)) fail_msg("%s", error.line);
    for (int i = 0; i < count; i++)
        if (model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error))
            fail_msg("%s", error.line);
    if (model_config_finish(&c, &error) || weights_create(context, &c, &w, &error))
        fail_msg("%s", error.line);
    return w;
}

static float *initial(const weights *w, uint64_t seed)
{
    ssm2d_error error;
    float *params = malloc(w->total * sizeof *params);
    for (size_t i = 0; i < w->total; i++) params[i] = NAN;
    if (weights_init(w, PARAM_ALL, seed, params, &error)) fail_msg("%s", error.line);
    return params;
}

static const param_array *find(const weights *w, const char *name)
{
    const param_array *a = weights_find(w, name);
    if (!a) fail_msg("there is no %s", name);
    return a;
}

static const char *const with_mixer[][2] = {{"mixer", "ssm2d"}, {"mixer.normalize", "true"}};

static void test_list(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int decay;
        param_part part;
    } expected[] = {
        {"cls_token", 1, PARAM_BODY},
        {"pos_embed", 1, PARAM_BODY},
        {"patch_embed.proj.weight", 1, PARAM_BODY},
        {"patch_embed.proj.bias", 0, PARAM_BODY},
        {"blocks.3.norm1.weight", 1, PARAM_BODY},
        {"blocks.3.norm1.bias", 0, PARAM_BODY},
        {"blocks.3.attn.qkv.weight", 1, PARAM_BODY},
        {"blocks.3.mlp.fc2.bias", 0, PARAM_BODY},
        {"blocks.3.mixer.A", 0, PARAM_MIXER},
        {"blocks.3.mixer.B", 0, PARAM_MIXER},
        {"blocks.3.mixer.C", 0, PARAM_MIXER},
        {"blocks.3.mixer.D", 1, PARAM_MIXER},
        {"blocks.3.mixer.gamma", 1, PARAM_MIXER},
        {"blocks.3.mixer.beta", 0, PARAM_MIXER},
        {"norm.weight", 1, PARAM_BODY},
        {"head.weight", 1, PARAM_HEAD},
        {"head.bias", 0, PARAM_HEAD},
    };
    weights *w = weights_of("vit-mini", with_mixer, 2);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const param_array *a = find(w, expected[i].name);
        const int decay = a->spec.group == PARAM_DECAY, is_system = a->spec.group == PARAM_SYSTEM;
        if (decay != expected[i].decay) fail_msg("%s: decay is %d", a->name, decay);
        assert_int_equal(a->spec.part, expected[i].part);
        assert_int_equal(is_system, strstr(a->name, "mixer.") && strpbrk(a->name, "ABC"));
    }
    assert_int_equal(w->count, 4 + 4 * (11 + 6) + 4);
    assert_null(weights_find(w, "blocks.0.mixer"));
    assert_null(weights_find(w, "blocks.0.attn.qkv.bias"));
    const param_array *patch = find(w, "patch_embed.proj.weight");
    assert_int_equal(patch->rank, 4);
    assert_true(patch->shape[0] == 96 && patch->shape[1] == 3 && patch->shape[2] == 4
                && patch->shape[3] == 4);
    weights_destroy(w);
}

/* ---- initial values -------------------------------------------------------------------------- */

static void assert_moments(const weights *w, const float *params, const char *name, double mean,
                           double deviation)
{
    const param_array *a = find(w, name);
    double sum = 0, squares = 0, n = (double)a->count;
    for (size_t i = 0; i < a->count; i++) sum += (double)params[a->offset + i];
    for (size_t i = 0; i < a->count; i++)
        squares += pow((double)params[a->offset + i] - sum / n, 2);
    if (fabs(sum / n - mean) > 5 * deviation / sqrt(n)
        || fabs(sqrt(squares / n) - deviation) > 5 * deviation / sqrt(2 * n))
        fail_msg("%s: mean %g, deviation %g, not %g, %g", name, sum / n, sqrt(squares / n), mean,
                 deviation);
}

static void test_init(void **state)
{
    (void)state;
    weights *w = weights_of("vit", with_mixer, 2), *plain = weights_of("vit", NULL, 0),
            *deit = weights_of("deit-t", NULL, 0);
    float *params = initial(w, 7), *again = initial(w, 7), *other = initial(w, 8),
          *bare = initial(plain, 7), *deits = initial(deit, 7);
    assert_moments(w, params, "cls_token", 0, 1);
    assert_moments(w, params, "pos_embed", 0, 0.02);
    assert_moments(w, params, "patch_embed.proj.weight", 0, sqrt(2.0 / (48 + 192)));
    assert_moments(w, params, "blocks.2.attn.qkv.weight", 0, sqrt(2.0 / (192 + 576)));
    assert_moments(w, params, "blocks.2.mlp.fc2.weight", 0, sqrt(2.0 / (192 + 384)));
    assert_moments(w, params, "head.weight", 0, sqrt(2.0 / (192 + 100)));
    assert_moments(w, params, "blocks.2.attn.proj.bias", 0, 0);
    assert_moments(w, params, "blocks.2.norm1.weight", 1, 0);
    assert_moments(w, params, "norm.bias", 0, 0);
    assert_moments(w, params, "blocks.2.mixer.A", 0, 0.2);
    assert_moments(w, params, "blocks.2.mixer.C", 0, 0.1);
    assert_moments(w, params, "blocks.2.mixer.D", 1, 0);
    assert_moments(w, params, "blocks.2.mixer.gamma", 1, 0);
    assert_moments(deit, deits, "pos_embed", 0, 0.02);
    assert_moments(deit, deits, "cls_token", 0, 0.02);
    assert_moments(deit, deits, "blocks.2.attn.qkv.weight", 0, 0.02);
    assert_moments(deit, deits, "patch_embed.proj.weight", 0, 0.02);
    assert_moments(deit, deits, "blocks.2.attn.qkv.bias", 0, 0);
    assert_moments(deit, deits, "blocks.11.norm2.weight", 1, 0);
    /* the seed decides; a mixer does not change the rest; no two arrays are alike */
    assert_memory_equal(params, again, w->total * sizeof *params);
    assert_memory_not_equal(params, other, w->total * sizeof *params);
    for (int i = 0; i < plain->count; i++) {
        const param_array *a = &plain->arrays[i], *b = find(w, a->name);
        assert_memory_equal(bare + a->offset, params + b->offset, a->count * sizeof *params);
    }
    const param_array *a = find(w, "blocks.0.mixer.A"), *b = find(w, "blocks.1.mixer.A");
    assert_memory_not_equal(params + a->offset, params + b->offset, a->count * sizeof *params);
    a = find(w, "blocks.0.mlp.fc1.weight"), b = find(w, "blocks.1.mlp.fc1.weight");
    assert_memory_not_equal(params + a->offset, params + b->offset, a->count * sizeof *params);
    free(params), free(again), free(other), free(bare), free(deits);
    weights_destroy(w), weights_destroy(plain), weights_destroy(deit);
}

static void test_init_authors(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"mixer", "ssm2d"}, {"mixer.init", "authors"}};
    weights *w = weights_of("vit", set, 2);
    float *params = initial(w, 7);
    assert_moments(w, params, "blocks.2.mixer.C", 0, 1);
    assert_moments(w, params, "blocks.2.mixer.D", 0, 1);
    free(params);
    weights_destroy(w);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    ssm2d_error error;
    weights_report report;
    weights *w = weights_of("vit-mini", with_mixer, 2);
    float *params = initial(w, 7), *again = initial(w, 8);
    if (weights_save(w, path, params, &error)
        || weights_load(w, path, NULL, again, &report, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);
    assert_true(!report.new_mixer_arrays && !report.new_head && !report.resized);
    double *arrays = read_arrays(w, path); /* names and shapes */
    free(arrays), free(params), free(again);
    weights_destroy(w);
    assert_int_not_equal(access(path, F_OK), -1);
}

/* A plain model's file into one with mixers; and the other way round, which would lose
 * something. */
static void test_new_mixers(void **state)
{
    (void)state;
    ssm2d_error error;
    weights_report report;
    weights *w = weights_of("vit-mini", with_mixer, 2), *plain = weights_of("vit-mini", NULL, 0);
    float *bare = initial(plain, 7), *params = initial(w, 8), *expected = initial(w, 5);
    const weights_options options = {.seed = 5};
    if (weights_save(plain, path, bare, &error)
        || weights_load(w, path, &options, params, &report, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_mixer_arrays, 4 * 6);
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        const float *from = a->spec.part == PARAM_MIXER ? expected + a->offset
                                                        : bare + find(plain, a->name)->offset;
        assert_memory_equal(params + a->offset, from, a->count * sizeof *params);
    }
    if (weights_save(w, path, params, &error)) fail_msg("%s", error.line);
    assert_int_equal(weights_load(plain, path, NULL, bare, &report, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "has the array blocks.0.mixer."));
    free(bare), free(params), free(expected);
    weights_destroy(w), weights_destroy(plain);
}

/* Writes all arrays of w but `without`; `changed` gets another first axis, of `axis`. */
static void save_changed(const weights *w, float *params, const char *without, const char *changed,
                         size_t axis)
{
    safetensors_item items[128];
    ssm2d_error error;
    size_t count = 0;
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        if (without && !strcmp(a->name, without)) continue;
        safetensors_item *item = &items[count++];
        *item = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = params + a->offset};
        memcpy(item->shape, a->shape, sizeof a->shape);
        if (changed && !strcmp(a->name, changed)) item->shape[0] = axis;
    }
    if (safetensors_write(context, path, count, items, 0, NULL, &error)) fail_msg("%s", error.line);
}

static void assert_load_refused(const weights *w, float *params, const char *part)
{
    ssm2d_error error = {""};
    assert_int_equal(weights_load(w, path, NULL, params, NULL, &error), SSM2D_ERROR_ARGUMENT);
    if (!strstr(error.line, part) || !strstr(error.line, "w.safetensors: "))
        fail_msg("\"%s\" does not say \"%s\"", error.line, part);
}

static void test_bad_files(void **state)
{
    (void)state;
    weights *w = weights_of("vit-mini", with_mixer, 2);
    float *params = initial(w, 7);
    save_changed(w, params, "blocks.1.attn.proj.bias", NULL, 0);
    assert_load_refused(w, params, "the array blocks.1.attn.proj.bias is missing");
    save_changed(w, params, "cls_token", NULL, 0);
    assert_load_refused(w, params, "the array cls_token is missing");
    save_changed(w, params, "blocks.1.mixer.B", NULL, 0);
    assert_load_refused(w, params,
                        "the array blocks.1.mixer.B is missing, other arrays of mixers are there");
    save_changed(w, params, NULL, "blocks.1.mlp.fc1.weight", 191);
    assert_load_refused(
        w, params, "blocks.1.mlp.fc1.weight has the shape (191, 96), the model needs (192, 96)");
    save_changed(w, params, NULL, "blocks.1.mixer.D", 95);
    assert_load_refused(w, params, "blocks.1.mixer.D has the shape (95,), the model needs (96,)");
    save_changed(w, params, NULL, "head.weight", 9);
    assert_load_refused(w, params, "head.weight is for 9 classes, the model has 10");
    params[find(w, "norm.weight")->offset + 3] = INFINITY;
    save_changed(w, params, NULL, NULL, 0);
    assert_load_refused(w, params, "norm.weight[3] is inf: weights must be finite");
    FILE *f = fopen(path, "w");
    fputs("this is no such file at all, not even nearly", f);
    fclose(f);
    assert_load_refused(w, params, "");
    free(params);
    weights_destroy(w);
}

static void test_new_head(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"classes", "7"}};
    ssm2d_error error;
    weights_report report;
    weights *ten = weights_of("vit-mini", NULL, 0), *seven = weights_of("vit-mini", set, 1);
    float *params = initial(ten, 7), *new = initial(seven, 8), *expected = initial(seven, 5);
    const weights_options options = {.new_head = 1, .seed = 5};
    if (weights_save(ten, path, params, &error)
        || weights_load(seven, path, &options, new, &report, &error))
        fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 1);
    const param_array *a = find(seven, "head.weight");
    assert_memory_equal(new + a->offset, expected + a->offset, a->count * sizeof *new);
    a = find(seven, "head.bias");
    assert_memory_equal(new + a->offset, expected + a->offset, a->count * sizeof *new);
    a = find(seven, "norm.weight");
    /* all that comes before the head */
    assert_memory_equal(new, params, (a->offset + a->count) * sizeof *new);
    free(params), free(new), free(expected);
    weights_destroy(ten), weights_destroy(seven);
}

/* ---- position embeddings --------------------------------------------------------------------- */

/* The cubic convolution kernel of Keys with a = -0.75, as it is written in books. */
static double keys(double x)
{
    const double a = -0.75;
    x = fabs(x);
    if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
    return 0;
}

/* Every cell of an image continued by its edges counts as far as its distance says. */
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

static void test_bicubic(void **state)
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

static void test_load_resized(void **state)
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
    /* as many patches otherwise arranged: the file says how */
    if (weights_save(flat, path, flats, &error)
        || weights_load(high, path, NULL, highs, &report, &error)
        || weights_resize(flat, flats, high, expected, &error))
        fail_msg("%s", error.line);
    assert_true(report.resized && report.old_grid[0] == 4 && report.old_grid[1] == 16);
    assert_memory_equal(highs, expected, high->total * sizeof *highs);
    /* no square */
    if (weights_save(slim, path, slims, &error)
        || weights_load(w, path, NULL, params, &report, &error))
        fail_msg("%s", error.line);
    assert_true(report.resized && report.old_grid[0] == 2 && report.old_grid[1] == 10);
    /* what the caller says goes before what the file does */
    const weights_options wrong = {.old_grid = {3, 16}};
    assert_int_equal(weights_load(w, path, &wrong, params, &report, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "pos_embed has (1, 21, 96), which is no grid that is known: "
                                       "the model needs 8 x 8 patches"));
    free(params), free(bigger), free(resized), free(flats), free(highs), free(expected),
        free(slims);
    weights_destroy(w), weights_destroy(big), weights_destroy(flat), weights_destroy(high),
        weights_destroy(slim);
}

/* Two tokens a part of the image apart have the bias that they had before. */
static void test_offsets_resized(void **state)
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

static void test_mega_resized(void **state)
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

/* State is saved and read with the weights, but is no parameter and has no gradient. */
static void test_state(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"depth", "1"}, {"dim", "8"}, {"norm", "batch"}};
    static const char counter[] = "final_norm.norm.num_batches_tracked";
    ssm2d_error error;
    weights *w = weights_of("mega-mini", set, 3), *plain = weights_of("mega-mini", set, 2);
    float *params = initial(w, 7), *again = initial(w, 8);
    const param_array *mean = find(w, "blocks.0.nffn.norm.norm.running_mean"),
                      *variance = find(w, "final_norm.norm.running_var");
    assert_int_equal(w->learned, plain->learned);
    assert_int_equal(plain->total, plain->learned);
    assert_int_equal(w->total, w->learned + 3 * 2 * 8);
    assert_int_equal(mean->spec.group, PARAM_STATE);
    assert_true(params[mean->offset] == 0 && params[variance->offset] == 1);
    for (size_t i = 0; i < w->total; i++) params[i] += (float)i;
    if (weights_save(w, path, params, &error) || weights_load(w, path, NULL, again, NULL, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);

    safetensors *file = NULL;
    if (weights_save_gradients(w, path, params, &error)
        || safetensors_open(context, path, &file, &error))
        fail_msg("%s", error.line);
    assert_int_equal(safetensors_count(file), w->count - 6);
    assert_null(safetensors_find(file, mean->name));
    safetensors_close(file);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "running_mean is missing"));

    params[variance->offset + 3] = -1;
    if (weights_save(w, path, params, &error)) fail_msg("%s", error.line);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "final_norm.norm.running_var[3] is -1: it cannot be"));
    params[variance->offset + 3] = 1;

    /* PyTorch's counter of batches may be there, of a norm that is */
    safetensors_item items[64] = {0};
    const float one = 1;
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        items[i] = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = params + a->offset};
        memcpy(items[i].shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    }
    safetensors_item *last = &items[w->count];
    *last = (safetensors_item){.name = counter, .type = SAFETENSORS_F32, .rank = 0, .data = &one};
    if (safetensors_write(context, path, (size_t)w->count + 1, items, 0, NULL, &error)
        || weights_load(w, path, NULL, again, NULL, &error))
        fail_msg("%s", error.line);
    assert_memory_equal(params, again, w->total * sizeof *params);
    last->name = "nobody.num_batches_tracked";
    if (safetensors_write(context, path, (size_t)w->count + 1, items, 0, NULL, &error))
        fail_msg("%s", error.line);
    assert_int_equal(weights_load(w, path, NULL, again, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "has the array nobody.num_batches_tracked"));
    free(params), free(again);
    weights_destroy(w), weights_destroy(plain);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static int left; /* allocations that succeed */

static void *take(size_t bytes, void *user)
{
    (void)user;
    return left-- > 0 ? malloc(bytes) : NULL;
}

static void give(void *memory, void *user)
{
    (void)user;
    free(memory);
}

/* Whichever allocation fails, the answer is an error and nothing is lost (a sanitizer looks) or
 * written. */
static void test_no_memory(void **state)
{
    (void)state;
    ssm2d_context *poor;
    ssm2d_context_options options = {
        .size = sizeof options, .threads = 1, .allocate = take, .release = give};
    ssm2d_error error;
    model_config c;
    assert_int_equal(model_config_named("vit-mini", &c, &error), SSM2D_OK);
    assert_int_equal(model_config_use_mixer(&c, &mixer_ssm2d, &error), SSM2D_OK);
    assert_int_equal(model_config_finish(&c, &error), SSM2D_OK);
    left = 1000;
    assert_int_equal(ssm2d_context_create(&options, &poor, &error), SSM2D_OK);
    int failed = 0, done = 0;
    for (int allowed = 0; !done && allowed < 2000; allowed++) {
        weights *w = NULL;
        float *params = NULL;
        left = allowed;
        ssm2d_status status = weights_create(poor, &c, &w, &error);
        if (!status) params = initial(w, 1);
        if (!status) status = weights_save(w, path, params, &error);
        if (!status) status = weights_load(w, path, NULL, params, NULL, &error);
        assert_true(status == SSM2D_OK || status == SSM2D_ERROR_MEMORY);
        failed += status != SSM2D_OK;
        done = status == SSM2D_OK;
        left = 0;
        free(params);
        weights_destroy(w);
    }
    assert_true(done && failed > 50);
    ssm2d_context_destroy(poor);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    return ssm2d_context_create(NULL, &context, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    remove(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),         cmocka_unit_test(test_init),
        cmocka_unit_test(test_init_authors), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_new_mixers),   cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_new_head),     cmocka_unit_test(test_bicubic),
        cmocka_unit_test(test_load_resized), cmocka_unit_test(test_offsets_resized),
        cmocka_unit_test(test_mega_resized), cmocka_unit_test(test_state),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
