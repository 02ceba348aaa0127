/* Weight files of Swin: published names, and tables of relative positions at other sizes. */
#define _GNU_SOURCE /* mkstemp */
#include "core/context.h"
#include "io/safetensors.h"
#include "model_case.h"
#include "models/swin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssm2d_context *context;
static char path[] = "/tmp/ssm2d-swin-XXXXXX";

static int open_file(void **state)
{
    (void)state;
    ssm2d_error error;
    int file = mkstemp(path);
    return file < 0 || close(file) || ssm2d_context_create(NULL, &context, &error) ? -1 : 0;
}

static int close_file(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return unlink(path);
}

/* ---- published names ------------------------------------------------------------------------- */

enum { MAX_ITEMS = 128, NAME = 112 };

/* The arrays of a golden case, to be renamed and written. */
typedef struct renamed {
    model_case c;
    int count;
    char names[MAX_ITEMS][NAME];
    safetensors_item items[MAX_ITEMS];
} renamed;

static void add_item(renamed *r, const char *name, safetensors_type type, int rank,
                     const size_t *shape, const void *data)
{
    safetensors_item *item = &r->items[r->count];
    snprintf(r->names[r->count], NAME, "%s", name);
    *item =
        (safetensors_item){.name = r->names[r->count++], .type = type, .rank = rank, .data = data};
    memcpy(item->shape, shape, (size_t)rank * sizeof *shape);
}

static renamed *renamed_make(void)
{
    renamed *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->c = model_case_read(context, "11_swin");
    for (int i = 0; i < r->c.weights->count; i++) {
        const param_array *a = &r->c.weights->arrays[i];
        add_item(r, a->name, SAFETENSORS_F32, a->rank, a->shape, r->c.params + a->offset);
    }
    return r;
}

static void renamed_free(renamed *r)
{
    model_case_free(&r->c);
    free(r);
}

static void rename_item(renamed *r, const char *from, const char *to)
{
    int i = 0;
    while (i < r->count && strcmp(r->names[i], from)) i++;
    if (i == r->count) fail_msg("there is no %s", from);
    snprintf(r->names[i], NAME, "%s", to);
}

/* As Swin's authors name them, and timm did before 0.9. */
static void rename_all(renamed *r)
{
    rename_item(r, "layers.1.downsample.norm.weight", "layers.0.downsample.norm.weight");
    rename_item(r, "layers.1.downsample.norm.bias", "layers.0.downsample.norm.bias");
    rename_item(r, "layers.1.downsample.reduction.weight", "layers.0.downsample.reduction.weight");
    rename_item(r, "head.fc.weight", "head.weight");
    rename_item(r, "head.fc.bias", "head.bias");
}

static void write_items(const renamed *r)
{
    ssm2d_error error;
    if (safetensors_write(context, path, (size_t)r->count, r->items, 0, NULL, &error))
        fail_msg("%s", error.line);
}

static void assert_loads(const renamed *r)
{
    const weights *w = r->c.weights;
    ssm2d_error error;
    float *params = calloc(w->total, sizeof *params);
    write_items(r);
    if (weights_load(w, path, NULL, params, NULL, &error)) fail_msg("%s", error.line);
    assert_memory_equal(params, r->c.params, w->total * sizeof *params);
    free(params);
}

static void assert_refused(const renamed *r, const char *part)
{
    ssm2d_error error = {""};
    float *params = calloc(r->c.weights->total, sizeof *params);
    write_items(r);
    assert_int_equal(weights_load(r->c.weights, path, NULL, params, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);
    free(params);
}

static void test_published_names_are_accepted(void **state)
{
    (void)state;
    static const size_t square[] = {16, 16}, cube[] = {4, 16, 16};
    static int64_t index[256];
    static float mask[1024];
    renamed *r = renamed_make();
    assert_loads(r);
    rename_item(r, "head.fc.weight", "head.weight"); /* each by itself */
    assert_loads(r);
    rename_item(r, "head.weight", "head.fc.weight");
    rename_all(r);
    assert_loads(r);
    /* arrays that are not parameters are ignored */
    add_item(r, "layers.0.blocks.0.attn.relative_position_index", SAFETENSORS_I64, 2, square,
             index);
    add_item(r, "layers.0.blocks.1.attn_mask", SAFETENSORS_F32, 3, cube, mask);
    assert_loads(r);
    renamed_free(r);
}

static void test_unknown_names_are_refused(void **state)
{
    (void)state;
    static const size_t one[] = {1};
    static const float zero[1];
    static const char *const unknown[] = {"layers.0.blocks.0.attn.relative_coords_table",
                                          "relative_position_index",
                                          "layers.9.downsample.norm.weight",
                                          "layers.-1.downsample.norm.weight",
                                          "layers.+0.downsample.norm.weight",
                                          "layers.0.downsample.norm.weigh",
                                          "layers.00.downsample.norm.weight",
                                          "head.fc.fc.weight",
                                          "head."};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char part[160];
        renamed *r = renamed_make();
        if (i % 2) rename_all(r);
        add_item(r, unknown[i], SAFETENSORS_F32, 1, one, zero);
        snprintf(part, sizeof part, "has the array %s, which the model does not have", unknown[i]);
        assert_refused(r, part);
        renamed_free(r);
    }
    renamed *r = renamed_make();
    add_item(r, "head.bias", SAFETENSORS_F32, 1, one, zero);
    assert_refused(r, "which are the same array of the model");
    renamed_free(r);
    r = renamed_make();
    rename_item(r, "layers.1.downsample.norm.bias", "layers.0.downsample.norm.bias");
    assert_refused(r, "layers.0.downsample.norm.bias, ");
    renamed_free(r);
    r = renamed_make();
    rename_all(r);
    rename_item(r, "layers.0.downsample.norm.bias", "layers.2.blocks.0.attn_mask");
    assert_refused(r, "the array layers.1.downsample.norm.bias is missing");
    renamed_free(r);
}

/* ---- other sizes ----------------------------------------------------------------------------- */

static weights *weights_at(const char *image, const char *pos_embed)
{
    static const char *const settings[][2] = {{"patch", "2"},     {"dim", "8,16,32"},
                                              {"depth", "2,1,2"}, {"heads", "1,2,4"},
                                              {"window", "4"},    {"classes", "3"}};
    model_config c;
    weights *w = NULL;
    ssm2d_error error;
    const field_source test = {.where = "test"};
    if (model_config_named("swin", &c, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (model_config_set(test, settings[i][0], settings[i][1], &c, &error))
            fail_msg("%s", error.line);
    if (model_config_set(test, "image", image, &c, &error)
        || model_config_set(test, "pos_embed", pos_embed, &c, &error)
        || model_config_finish(&c, &error) || weights_create(context, &c, &w, &error))
        fail_msg("%s", error.line);
    return w;
}

static float *initial(const weights *w, uint64_t seed)
{
    ssm2d_error error;
    float *params = malloc(w->total * sizeof *params);
    assert_non_null(params);
    if (weights_init(w, PARAM_ALL, seed, params, &error)) fail_msg("%s", error.line);
    return params;
}

static const param_array *table_of(const weights *w, int stage)
{
    char name[80];
    snprintf(name, sizeof name, "layers.%d.blocks.0.attn.relative_position_bias_table", stage);
    return weights_find(w, name);
}

/* Clipped windows of the stages at both sizes. Tables are copied where they are the same. */
static void check_sizes(const char *from, const char *to, const int old[3][2], const int new[3][2])
{
    ssm2d_error error;
    weights_report report;
    int changed = 0;
    weights *a = weights_at(from, "true"), *b = weights_at(to, "true");
    float *params = initial(a, 1), *resized = initial(b, 2), *loaded = initial(b, 3);
    if (weights_resize(a, params, b, resized, &error) || weights_save(a, path, params, &error)
        || weights_load(b, path, NULL, loaded, &report, &error))
        fail_msg("%s", error.line);
    for (int s = 0; s < 3; s++) {
        const param_array *x = table_of(a, s), *y = table_of(b, s);
        const int cells[] = {2 * old[s][0] - 1, 2 * old[s][1] - 1},
                  wanted[] = {2 * new[s][0] - 1, 2 * new[s][1] - 1};
        const size_t heads = y->shape[1];
        assert_int_equal(x->shape[0], cells[0] * cells[1]);
        assert_int_equal(y->shape[0], wanted[0] * wanted[1]);
        float *expected = malloc(y->count * sizeof *expected);
        if (memcmp(cells, wanted, sizeof cells))
            grid_resize(params + x->offset, cells, expected, wanted, 0, heads);
        else
            memcpy(expected, params + x->offset, y->count * sizeof *expected);
        assert_memory_equal(resized + y->offset, expected, y->count * sizeof *expected);
        changed += memcmp(cells, wanted, sizeof cells) ? s == 1 ? 1 : 2 : 0; /* 2, 1, 2 blocks */
        free(expected);
    }
    /* the file describes its windows, so that the result is the same */
    assert_memory_equal(loaded, resized, b->total * sizeof *loaded);
    assert_int_equal(report.resized_tables, changed);
    assert_true(report.resized);
    free(params), free(resized), free(loaded);
    weights_destroy(a), weights_destroy(b);
}

static void test_tables_are_resized_to_other_windows(void **state)
{
    (void)state;
    check_sizes("16", "32", (const int[][2]){{4, 4}, {4, 4}, {2, 2}},
                (const int[][2]){{4, 4}, {4, 4}, {4, 4}});
    check_sizes("32", "8", (const int[][2]){{4, 4}, {4, 4}, {4, 4}},
                (const int[][2]){{4, 4}, {2, 2}, {1, 1}});
    check_sizes("[8, 32]", "[32, 8]", (const int[][2]){{4, 4}, {2, 4}, {1, 4}},
                (const int[][2]){{4, 4}, {4, 2}, {4, 1}});
    check_sizes("[12, 40]", "[36, 20]", (const int[][2]){{4, 4}, {3, 4}, {2, 4}},
                (const int[][2]){{4, 4}, {4, 4}, {4, 3}});
}

/* A table that is not square, in a file without a description of it. */
static void test_table_of_unknown_window_is_refused(void **state)
{
    (void)state;
    ssm2d_error error;
    safetensors_item items[MAX_ITEMS];
    weights *a = weights_at("[8, 32]", "false"), *b = weights_at("32", "false");
    float *params = initial(a, 1), *loaded = initial(b, 2);
    for (int i = 0; i < a->count; i++) {
        const param_array *p = &a->arrays[i];
        items[i] = (safetensors_item){
            .name = p->name, .type = SAFETENSORS_F32, .rank = p->rank, .data = params + p->offset};
        memcpy(items[i].shape, p->shape, (size_t)p->rank * sizeof *p->shape);
    }
    if (safetensors_write(context, path, (size_t)a->count, items, 0, NULL, &error))
        fail_msg("%s", error.line);
    assert_int_equal(weights_load(b, path, NULL, loaded, NULL, &error), SSM2D_ERROR_ARGUMENT);
    assert_non_null(strstr(error.line,
                           "layers.1.blocks.0.attn.relative_position_bias_table has the shape (21, "
                           "2), which is not a known grid: the model needs 7 x 7 offsets"));
    free(params), free(loaded);
    weights_destroy(a), weights_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_names_are_accepted),
        cmocka_unit_test(test_unknown_names_are_refused),
        cmocka_unit_test(test_tables_are_resized_to_other_windows),
        cmocka_unit_test(test_table_of_unknown_window_is_refused),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
