/* What a newcomer adds: a kind of layer and a family of models, each in one file that no other
 * refers to, work with configuration, graph, weights and files like the existing ones. */
#define _GNU_SOURCE /* mkdtemp */
#include "core/context.h"
#include "io/json.h"
#include "models/vit.h"
#include "models/weights.h"
#include "ops/ops.h"
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssm2d_context *context;
static ssm2d_error error;
static char folder[] = "/tmp/ssm2d-extending-XXXXXX", path[64];

#define good(call)                                                                                 \
    do {                                                                                           \
        if (call) fail_msg("%s", error.line);                                                      \
    } while (0)

/* ---- a kind of layer: y = strength * (gamma*u + beta), cell by cell -------------------------- */

typedef struct affine_config {
    int channels, taps;
    double strength;
    int mode;
} affine_config;

static const char *const mode_names[] = {"soft", "hard", NULL};
#define PLACE(name) offsetof(affine_config, name)
static const ssm2d_field affine_fields[] = {
    {"channels", "channels", SSM2D_KIND_INT, PLACE(channels), 1, 4096, NULL, NULL, NULL},
    {"taps", "a number", SSM2D_KIND_INT, PLACE(taps), 1, 9, "3", NULL, NULL},
    {"strength", "a factor", SSM2D_KIND_REAL, PLACE(strength), 0, 10, "0.5", NULL, NULL},
    {"mode", "a choice", SSM2D_KIND_CHOICE, PLACE(mode), 0, 1, "soft", mode_names, NULL},
    {0}};

typedef struct affine_plan {
    ssm2d_plan base;
    affine_config config;
    size_t kept; /* in a workspace: gamma and beta */
} affine_plan;

static const affine_plan *affine_of(const ssm2d_plan *plan) { return (const affine_plan *)plan; }

static int seen_rows, seen_cols; /* of the grid that the tokens carry */

static ssm2d_status affine_check(const void *config, ssm2d_error *e)
{
    const affine_config *c = config;
    if (c->channels % c->taps == 0) return SSM2D_OK;
    if (e) snprintf(e->line, sizeof e->line, "taps=%d: must divide the channels", c->taps);
    return SSM2D_ERROR_ARGUMENT;
}

enum { ONES, NORMAL };

static int affine_arrays(const void *config, layer_array *table)
{
    const size_t H = (size_t)((const affine_config *)config)->channels;
    table[0] = LAYER_ARRAY("gamma", ONES, H);
    table[0].param.decay = 1;
    table[1] = LAYER_ARRAY("beta", NORMAL, H);
    return 2;
}

static double affine_draw(const void *config, const layer_array *array, size_t k, rng *r)
{
    (void)config, (void)k;
    return array->draw == ONES ? 1 : 3 * rng_normal(r);
}

static void affine_begin(ssm2d_plan *plan, const void *config)
{
    ((affine_plan *)plan)->config = *(const affine_config *)config;
    seen_rows = plan->rows;
    seen_cols = plan->cols;
}

static const char *affine_algorithm(int i) { return i ? NULL : "plain"; }
static double affine_cost(const ssm2d_plan *p) { return p->channels; }

static ssm2d_status affine_make(ssm2d_plan *p, int i, ssm2d_error *e)
{
    (void)i, (void)e;
    ((affine_plan *)p)->kept = plan_reserve(p, 2 * (size_t)p->channels, p->functions->size);
    return SSM2D_OK;
}

/* The offset of element h of cell (b, i, j). */
static ptrdiff_t affine_at(const ssm2d_plan *p, plane_strides s, size_t cell, int h)
{
    const size_t rows = (size_t)p->rows, cols = (size_t)p->cols;
    return (ptrdiff_t)(cell / cols / rows) * s.batch + (ptrdiff_t)(cell / cols % rows) * s.row
           + (ptrdiff_t)(cell % cols) * s.col + h * s.channel;
}

static size_t affine_cells(const ssm2d_plan *p)
{
    return p->options.batch * (size_t)p->rows * (size_t)p->cols;
}

/* What a newcomer puts into a separate file, which is compiled for both element types. */
#define AFFINE_FUNCTIONS(real, type)                                                               \
    static void affine_prepare_##type(const ssm2d_plan *p, ssm2d_workspace *ws,                    \
                                      const void *params)                                          \
    {                                                                                              \
        memcpy(REGION_AT(real, ws, affine_of(p)->kept), params,                                    \
               2 * (size_t)p->channels * sizeof(real));                                            \
    }                                                                                              \
    static void affine_apply_##type(const ssm2d_plan *p, ssm2d_workspace *ws, const void *u,       \
                                    void *y)                                                       \
    {                                                                                              \
        const real *kept = REGION_AT(real, ws, affine_of(p)->kept);                                \
        const real strength = (real)affine_of(p)->config.strength;                                 \
        for (size_t c = 0; c < affine_cells(p); c++)                                               \
            for (int h = 0; h < p->channels; h++)                                                  \
                ((real *)y)[affine_at(p, p->out, c, h)] =                                          \
                    strength                                                                       \
                    * (kept[h] * ((const real *)u)[affine_at(p, p->in, c, h)]                      \
                       + kept[p->channels + h]);                                                   \
    }                                                                                              \
    static void affine_backward_##type(const ssm2d_plan *p, ssm2d_workspace *ws,                   \
                                       const void *params, const void *u, const void *dy,          \
                                       void *du, void *dparams)                                    \
    {                                                                                              \
        (void)ws;                                                                                  \
        for (size_t c = 0; c < affine_cells(p); c++)                                               \
            for (int h = 0; h < p->channels; h++) {                                                \
                const real d = (real)affine_of(p)->config.strength                                 \
                               * ((const real *)dy)[affine_at(p, p->out, c, h)];                   \
                const ptrdiff_t in = affine_at(p, p->in, c, h);                                    \
                if (du) ((real *)du)[in] += d * ((const real *)params)[h];                         \
                if (!dparams) continue;                                                            \
                ((real *)dparams)[h] += d * ((const real *)u)[in];                                 \
                ((real *)dparams)[p->channels + h] += d;                                           \
            }                                                                                      \
    }                                                                                              \
    static const layer_functions affine_functions_##type = {.size = sizeof(real),                  \
                                                            .algorithm = affine_algorithm,         \
                                                            .plan = affine_make,                   \
                                                            .cost = affine_cost,                   \
                                                            .prepare = affine_prepare_##type,      \
                                                            .apply = affine_apply_##type,          \
                                                            .backward = affine_backward_##type};
AFFINE_FUNCTIONS(float, f32)
AFFINE_FUNCTIONS(double, f64)

/* Its line in kinds.def would be KIND(norm); here it is given to the functions that look there. */
static const layer_kind layer_norm_kind = {
    .name = "norm",
    .help = "an affine function",
    .config_size = sizeof(affine_config),
    .fields = affine_fields,
    .plan_size = sizeof(affine_plan),
    .axes = 1U << 2,
    .check = affine_check,
    .arrays = affine_arrays,
    .draw = affine_draw,
    .begin = affine_begin,
    .functions = {&affine_functions_f32, &affine_functions_f64}};

static model_config small_vit(void)
{
    static const char *const set[][2] = {{"image", "16x24"}, {"dim", "12"},    {"depth", "2"},
                                         {"heads", "2"},     {"classes", "5"}, {"channels", "1"}};
    model_config c;
    good(model_config_named("vit-mini", &c, &error));
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        good(model_config_set((field_source){.where = "test"}, set[i][0], set[i][1], &c, &error));
    return c;
}

static void test_new_kind_is_configured_as_mixer(void **state)
{
    (void)state;
    const field_source from = {.where = "--set"};
    char text[128];
    model_config c = small_vit();
    good(model_config_use_mixer(&c, &layer_norm_kind, &error));
    affine_config *own = (affine_config *)(void *)&c.mixer.values;
    assert_int_equal(own->taps, 3);
    assert_true(own->strength == 0.5);
    good(model_config_set(from, "mixer.strength", "2", &c, &error));
    good(model_config_set(from, "mixer.mode", "hard", &c, &error));
    good(model_config_set(from, "mixer.place", "attn", &c, &error));
    assert_string_equal(mixer_config_text(&c.mixer, text, sizeof text),
                        "norm (taps 3, strength 2, hard)");
    static const char *const wrong[][3] = {
        {"mixer.strenght", "1", "did you mean \"mixer.strength\"?"},
        {"mixer.taps", "0", "--set: \"mixer.taps\" is 0: use a whole number from 1 to 9"},
        {"mixer.mode", "loud", "\"mixer.mode\" is \"loud\": use soft or hard"},
        {"mixer.directions", "2", "\"mixer.directions\" is not a known key"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(model_config_set(from, wrong[i][0], wrong[i][1], &c, &error),
                         SSM2D_ERROR_ARGUMENT);
        if (!strstr(error.line, wrong[i][2]))
            fail_msg("\"%s\" does not say \"%s\"", error.line, wrong[i][2]);
    }
    own->taps = 5;
    assert_int_equal(model_config_finish(&c, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "\"mixer\": taps=5"));
    own->taps = 4;
    good(model_config_finish(&c, &error));

    cJSON *root = model_config_to_json(&c);
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "mixer");
    char *printed = cJSON_PrintUnformatted(object);
    assert_string_equal(
        printed,
        "{\"kind\":\"norm\",\"place\":\"attn\",\"taps\":4,\"strength\":2,\"mode\":\"hard\"}");
    mixer_config back;
    mixer_config_default(&layer_norm_kind, &back);
    good(mixer_config_from_json((field_source){.where = "m.json"}, object, &back, &error));
    assert_memory_equal(&back, &c.mixer, sizeof back);
    cJSON_free(printed);
    cJSON_Delete(root);
}

/* In every place of a ViT: its parameters are listed and have the declared initial values, may be
 * missing from a file, and the tokens carry their grid. */
static void test_new_kind_works_in_every_place(void **state)
{
    (void)state;
    static const char *const places[] = {"attn", "block", "ffn"};
    for (int p = 0; p < 3; p++) {
        model_config c = small_vit(), plain = c;
        weights *w = NULL, *bare = NULL;
        weights_report report;
        good(model_config_use_mixer(&c, &layer_norm_kind, &error));
        good(model_config_set((field_source){.where = "test"}, "mixer.place", places[p], &c,
                              &error));
        good(model_config_finish(&c, &error) || model_config_finish(&plain, &error));
        good(weights_create(context, &c, &w, &error)
             || weights_create(context, &plain, &bare, &error));
        const size_t channels = p == 2 ? 24 : 12;
        assert_int_equal(w->total, bare->total + 2 * 2 * channels);
        assert_int_equal(w->count, bare->count + 4);
        float *params = malloc(w->total * sizeof *params);
        good(weights_init(bare, PARAM_ALL, 3, params, &error));
        good(weights_save(bare, path, params, &error));
        good(weights_load(w, path, NULL, params, &report, &error));
        assert_int_equal(report.new_mixer_arrays, 4);
        const param_array *gamma = weights_find(w, "blocks.1.mixer.gamma");
        const param_array *beta = weights_find(w, "blocks.1.mixer.beta");
        assert_true(gamma && beta && beta->spec.group == PARAM_NO_DECAY);
        double squares = 0;
        for (size_t i = 0; i < channels; i++) {
            assert_true(params[gamma->offset + i] == 1);
            squares += (double)(params[beta->offset + i] * params[beta->offset + i]);
        }
        assert_true(sqrt(squares / (double)channels) > 1.5); /* N(0, 3^2) */
        free(params);
        weights_destroy(w);
        weights_destroy(bare);
    }
}

/* Steps of training through the generic code: gradients reach its parameters, and the loss falls.
 * It has no kernel, which the functions for pictures report. */
static void test_new_kind_trains(void **state)
{
    (void)state;
    enum { BATCH = 2, CLASSES = 5, PIXELS = 16 * 24 };
    model_config c = small_vit();
    weights *w = NULL;
    graph *g;
    float images[BATCH * PIXELS], targets[BATCH * CLASSES] = {0};
    good(model_config_use_mixer(&c, &layer_norm_kind, &error));
    good(model_config_finish(&c, &error));
    assert_false(mixer_has_kernels(&c.mixer));
    good(weights_create(context, &c, &w, &error));
    float *params = malloc(w->total * sizeof *params), *grads = calloc(w->total, sizeof *grads);
    good(weights_init(w, PARAM_ALL, 3, params, &error));
    good(graph_create(context, 1, &g, &error));
    tensor *logits = model_build(g, &c, BATCH);
    const size_t shape[] = {BATCH, CLASSES};
    tensor *expected = graph_input(g, "targets", 2, shape);
    tensor *loss = cross_entropy(g, logits, expected);
    good(graph_finish(g, loss, &error));
    assert_true(seen_rows == 4 && seen_cols == 6);
    for (int i = 0; i < BATCH * PIXELS; i++) images[i] = sinf(0.1f * (float)i);
    for (int b = 0; b < BATCH; b++) targets[b * CLASSES + b] = 1;
    graph_bind(g, params, grads);
    graph_find(g, "images")->data = images;
    expected->data = targets;
    float last = INFINITY;
    for (int step = 0; step < 3; step++) {
        memset(grads, 0, w->total * sizeof *grads);
        g->step = (uint64_t)step;
        graph_forward(g);
        assert_true(*loss->data < last);
        last = *loss->data;
        loss->grad[0] = 1;
        graph_backward(g);
        for (size_t i = 0; i < w->total; i++) params[i] -= 0.01f * grads[i];
    }
    double norm = 0;
    const param_array *gamma = weights_find(w, "blocks.1.mixer.gamma");
    for (size_t i = 0; i < gamma->count; i++) norm += fabs((double)grads[gamma->offset + i]);
    assert_true(norm > 0);
    graph_destroy(g);
    weights_destroy(w);
    free(params), free(grads);
}

/* ---- a family: patches in stages of growing width, and a table of relative positions --------- */

typedef struct stages_config {
    int patch;
    ssm2d_list widths;
} stages_config;

static const ssm2d_field stages_fields[] = {
    {"patch", "side of a patch", SSM2D_KIND_INT, offsetof(stages_config, patch), 1, 64, NULL, NULL,
     NULL},
    {"widths", "width of each stage", SSM2D_KIND_LIST, offsetof(stages_config, widths), 1, 4096,
     NULL, NULL, NULL},
    {0}};

static const stages_config *stages_of(const model_config *c) { return (const void *)c->own; }

static int stages_fits(const model_config *c, int rows, int cols)
{
    return rows % stages_of(c)->patch == 0 && cols % stages_of(c)->patch == 0;
}

static ssm2d_status stages_check(const model_config *c, ssm2d_error *e)
{
    if (stages_fits(c, c->image[0], c->image[1])) return SSM2D_OK;
    if (e) snprintf(e->line, sizeof e->line, "\"patch\" does not divide the image");
    return SSM2D_ERROR_ARGUMENT;
}

static tensor *stages_build(graph *g, const model_config *c, tensor *images)
{
    const stages_config *s = stages_of(c);
    tensor *x = patches(g, images, s->patch);
    if (g->status) return NULL;
    const token_grid grid = x->grid;
    const int rows = grid_rows(grid.shape), cols = grid_cols(grid.shape);
    const size_t offsets = (size_t)((2 * rows - 1) * (2 * cols - 1));
    const param_spec table = {.rank = 2,
                              .shape = {offsets, 3},
                              .group = PARAM_NO_DECAY,
                              .part = PARAM_BODY,
                              .init = PARAM_TRUNC_NORMAL,
                              .scale = 0.02,
                              .resize = PARAM_RELATIVE,
                              .grid = grid};
    graph_param(g, &table, "relative_table");
    size_t in = x->shape[2];
    for (int i = 0; i < s->widths.count; i++) {
        const size_t out = (size_t)s->widths.at[i];
        const param_spec w = {
            .rank = 2, .shape = {out, in}, .part = PARAM_BODY, .init = PARAM_XAVIER_NORMAL};
        x = silu(g, linear(g, x, graph_param(g, &w, "stages.%d.weight", i), NULL));
        in = out;
    }
    const param_spec head = {.rank = 2,
                             .shape = {(size_t)c->outputs, in},
                             .part = PARAM_HEAD,
                             .init = PARAM_XAVIER_NORMAL};
    return linear(g, mean_tokens(g, x), graph_param(g, &head, "head.weight"), NULL);
}

static const model stages_models[];
static const model_family family_stages = {"stages",      sizeof(stages_config), stages_fields,
                                           stages_models, stages_fits,           NULL,
                                           stages_check,  stages_build};
static const model stages_models[] = {
    {.name = "stages",
     .family = &family_stages,
     .image = 16,
     .channels = 3,
     .outputs = 4,
     .own = &(const stages_config){.patch = 4, .widths = {.count = 2, .at = {8, 12}}}},
    {0}};

static model_config stages(void)
{
    model_config c = {.model = stages_models, .image = {16, 16}, .channels = 3, .outputs = 4};
    memcpy(c.own, stages_models->own, sizeof(stages_config));
    good(model_config_use_mixer(&c, &mixer_none, &error));
    return c;
}

static void test_new_family_is_configured(void **state)
{
    (void)state;
    const field_source from = {.where = "--set"};
    model_config c = stages(), back = stages();
    good(model_config_set(from, "widths", "6,10,20", &c, &error));
    good(model_config_set(from, "image", "8x16", &c, &error));
    good(model_config_finish(&c, &error));
    assert_int_equal(stages_of(&c)->widths.count, 3);
    assert_int_equal(stages_of(&c)->widths.at[2], 20);
    assert_int_equal(model_config_set(from, "widths", "6,,20", &c, &error), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(model_config_set(from, "widths", "1,2,3,4,5,6,7,8,9", &c, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "a list of 1 to 8 whole numbers, each from 1 to 4096"));
    assert_int_equal(model_config_set(from, "heads", "2", &c, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line, "\"heads\" is not a known key"));

    cJSON *root = model_config_to_json(&c);
    char *printed = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(root, "widths"));
    assert_string_equal(printed, "[6,10,20]");
    cJSON_DeleteItemFromObjectCaseSensitive(root, "model"); /* the registry does not know it */
    good(model_config_from_json("m.json", root, NULL, &back, &error));
    assert_true(model_config_same(&c, &back));
    back.outputs++;
    assert_false(model_config_same(&c, &back));
    cJSON_free(printed);
    cJSON_Delete(root);
}

/* Runs, and goes to another image size: its table of relative positions is interpolated. */
static void test_new_family_runs_at_any_size(void **state)
{
    (void)state;
    model_config c = stages(), other = stages();
    weights *w = NULL, *v = NULL;
    graph *g;
    weights_report report;
    other.image[0] = other.image[1] = 32;
    good(model_config_finish(&c, &error) || model_config_finish(&other, &error));
    good(weights_create(context, &c, &w, &error) || weights_create(context, &other, &v, &error));
    assert_int_equal(w->total, 7 * 7 * 3 + 8 * 48 + 12 * 8 + 4 * 12);
    assert_int_equal(v->total, 15 * 15 * 3 + 8 * 48 + 12 * 8 + 4 * 12);
    float *small = malloc(w->total * sizeof *small), *large = malloc(v->total * sizeof *large);
    float *loaded = malloc(v->total * sizeof *loaded),
          *images = calloc(3 * 32 * 32, sizeof *images);
    good(weights_init(w, PARAM_ALL, 1, small, &error));
    for (int i = 0; i < 7 * 7 * 3; i++) small[i] = 0.25f; /* a constant stays one */
    good(weights_resize(w, small, v, large, &error));
    for (int i = 0; i < 15 * 15 * 3; i++) assert_true(fabsf(large[i] - 0.25f) < 1e-6f);
    assert_memory_equal(large + 15 * 15 * 3, small + 7 * 7 * 3, (8 * 48 + 12 * 8 + 4 * 12) * 4);
    good(weights_save(w, path, small, &error));
    good(weights_load(v, path, NULL, loaded, &report, &error));
    assert_int_equal(report.resized, 0);
    assert_int_equal(report.resized_tables, 1);
    assert_memory_equal(loaded, large, v->total * sizeof *loaded);

    good(graph_create(context, 0, &g, &error));
    tensor *logits = model_build(g, &other, 1);
    good(graph_finish(g, logits, &error));
    for (int i = 0; i < 3 * 32 * 32; i++) images[i] = sinf(0.1f * (float)i);
    graph_bind(g, large, NULL);
    graph_find(g, "images")->data = images;
    graph_forward(g);
    for (int i = 0; i < 4; i++) assert_true(isfinite(logits->data[i]) && logits->data[i] != 0);
    graph_destroy(g);
    free(small), free(large), free(loaded), free(images);
    weights_destroy(w);
    weights_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kind_is_configured_as_mixer),
        cmocka_unit_test(test_new_kind_works_in_every_place),
        cmocka_unit_test(test_new_kind_trains),
        cmocka_unit_test(test_new_family_is_configured),
        cmocka_unit_test(test_new_family_runs_at_any_size),
    };
    if (!mkdtemp(folder) || ssm2d_context_create(NULL, &context, &error)) return 1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    rmdir(folder);
    ssm2d_context_destroy(context);
    return failed;
}
