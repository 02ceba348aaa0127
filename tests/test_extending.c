/* What a newcomer adds: a mixer and a family of models, each in one file and not known to anybody
 * else, go through configuration, graph, weights and files like those that there are. */
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

/* ---- a mixer: LayerNorm with its own weights, times a strength ------------------------------- */

typedef struct norm_mixer {
    int taps;
    double strength;
    int mode;
} norm_mixer;

static const char *const mode_names[] = {"soft", "hard", NULL};
static const ssm2d_field norm_fields[] = {
    {"taps", "a number", SSM2D_KIND_INT, offsetof(norm_mixer, taps), 1, 9, "3", NULL, NULL},
    {"strength", "a factor", SSM2D_KIND_REAL, offsetof(norm_mixer, strength), 0, 10, "0.5", NULL,
     NULL},
    {"mode", "a choice", SSM2D_KIND_CHOICE, offsetof(norm_mixer, mode), 0, 1, "soft", mode_names,
     NULL},
    {0}};
static const field_group norm_groups[] = {{norm_fields, 0}, {NULL, 0}};

static tensor *norm_params(graph *g, const mixer_config *m, int channels, token_grid grid,
                           const char *block)
{
    (void)m, (void)grid;
    const param_spec gamma = {
        .rank = 1, .shape = {(size_t)channels}, .part = PARAM_MIXER, .init = PARAM_ONES};
    const param_spec beta = {.rank = 1,
                             .shape = {(size_t)channels},
                             .part = PARAM_MIXER,
                             .group = PARAM_NO_DECAY,
                             .init = PARAM_NORMAL,
                             .scale = 3};
    tensor *first = graph_param(g, &gamma, "%s.mixer.gamma", block);
    return graph_param(g, &beta, "%s.mixer.beta", block) ? first : NULL;
}

static int seen_first, seen_rows, seen_cols; /* of the grid that the tokens brought along */

static tensor *norm_apply(graph *g, tensor *x, tensor *params, const mixer_config *m)
{
    const norm_mixer *own = (const norm_mixer *)(const void *)m->own;
    char name[96];
    seen_first = x->grid.first;
    seen_rows = x->grid.rows;
    seen_cols = x->grid.cols;
    snprintf(name, sizeof name, "%.*s.beta", (int)(strlen(params->name) - strlen(".gamma")),
             params->name);
    return scale(g, layer_norm(g, x, params, graph_find(g, name), 1e-5), own->strength);
}

static ssm2d_status norm_check(const void *own, int channels, ssm2d_error *e)
{
    const norm_mixer *n = own;
    if (channels % n->taps == 0) return SSM2D_OK;
    if (e) snprintf(e->line, sizeof e->line, "taps=%d: must divide the channels", n->taps);
    return SSM2D_ERROR_ARGUMENT;
}

static const mixer mixer_norm = {.name = "norm",
                                 .help = "a LayerNorm",
                                 .own_size = sizeof(norm_mixer),
                                 .fields = norm_groups,
                                 .check = norm_check,
                                 .params = norm_params,
                                 .apply = norm_apply};

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

static void test_mixer(void **state)
{
    (void)state;
    const field_source from = {.where = "--set"};
    char text[128];
    model_config c = small_vit();
    good(model_config_use_mixer(&c, &mixer_norm, &error));
    norm_mixer *own = (norm_mixer *)(void *)c.mixer.own;
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
    mixer_config_default(&mixer_norm, &back);
    good(mixer_config_from_json((field_source){.where = "m.json"}, object, &back, &error));
    assert_memory_equal(&back, &c.mixer, sizeof back);
    cJSON_free(printed);
    cJSON_Delete(root);
}

/* In every place of a ViT: its parameters are in the list, with initial values as declared, they
 * may be missing from a file, and the tokens tell where their grid is. */
static void test_mixer_in_a_model(void **state)
{
    (void)state;
    static const char *const places[] = {"attn", "block", "ffn"};
    for (int p = 0; p < 3; p++) {
        model_config c = small_vit(), plain = c;
        weights *w = NULL, *bare = NULL;
        weights_report report;
        good(model_config_use_mixer(&c, &mixer_norm, &error));
        good(model_config_set((field_source){.where = "test"}, "mixer.place", places[p], &c,
                              &error));
        good(model_config_finish(&c, &error) || model_config_finish(&plain, &error));
        good(weights_create(context, &c, &w, &error)
             || weights_create(context, &plain, &bare, &error));
        const size_t channels = p == 2 ? 24 : 12;
        assert_int_equal(w->total, bare->total + 2 * 2 * channels);
        assert_int_equal(w->count, bare->count + 4);
        assert_true(seen_first == 1 && seen_rows == 4 && seen_cols == 6);
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
    const size_t offsets = (size_t)((2 * grid.rows - 1) * (2 * grid.cols - 1));
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
                             .shape = {(size_t)c->classes, in},
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
     .classes = 4,
     .own = &(const stages_config){.patch = 4, .widths = {.count = 2, .at = {8, 12}}}},
    {0}};

static model_config stages(void)
{
    model_config c = {.model = stages_models, .image = {16, 16}, .channels = 3, .classes = 4};
    memcpy(c.own, stages_models->own, sizeof(stages_config));
    good(model_config_use_mixer(&c, &mixer_none, &error));
    return c;
}

static void test_family(void **state)
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
    back.classes++;
    assert_false(model_config_same(&c, &back));
    cJSON_free(printed);
    cJSON_Delete(root);
}

/* Runs, and goes to another image size: its table of relative positions is interpolated. */
static void test_family_weights(void **state)
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
        cmocka_unit_test(test_mixer),
        cmocka_unit_test(test_mixer_in_a_model),
        cmocka_unit_test(test_family),
        cmocka_unit_test(test_family_weights),
    };
    if (!mkdtemp(folder) || ssm2d_context_create(NULL, &context, &error)) return 1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    rmdir(folder);
    ssm2d_context_destroy(context);
    return failed;
}
