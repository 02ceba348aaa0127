/* ssm2d run and ssm2d models: the golden models in float, the listing, and every kind of bad
 * input. */
#include "tool_run.h"

#include "io/json.h"
#include "io/npy.h"
#include "model_case.h"

#include <math.h>
#include <sys/stat.h>

static ssm2d_context *context;

static int group_setup(void **state)
{
    (void)state;
    return ssm2d_context_create(NULL, &context, NULL) ? -1 : 0;
}

static int group_teardown(void **state)
{
    (void)state;
    ssm2d_context_destroy(context);
    return 0;
}

static double *logits_in(const char *path, size_t batch, size_t classes)
{
    npy_array array;
    ssm2d_error error;
    if (npy_read(context, path, &array, &error)) fail_msg("%s", error.line);
    assert_int_equal(array.type, NPY_FLOAT32);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], batch);
    assert_int_equal(array.shape[1], classes);
    double *x = malloc(array.count * sizeof *x);
    npy_to_double(&array, x);
    npy_free(context, &array);
    return x;
}

static int copies;

/* Copies a golden case to the test's folder, to run it and to damage it; and a file in the last
 * copy. */
static void copy_case(const char *name)
{
    char from[512];
    snprintf(from, sizeof from, GOLDEN_MODELS "/%s", name);
    copies++;
    copy_folder(from, in_folder("case%d", copies));
}

static const char *in_case(const char *file) { return in_folder("case%d/%s", copies, file); }

/* `ssm2d run` on the copy, with further arguments. */
#define RUN(...)                                                                                   \
    TOOL("run", "--config", in_case("config.json"), "--weights", in_case("weights.safetensors"),   \
         "--input", in_case("x.npy"), "--out", in_folder("logits.npy"), __VA_ARGS__)

static void test_golden_logits_and_gradients_agree(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_CASES; i++) {
        model_case c = model_case_read(context, model_cases[i]);
        copy_case(model_cases[i]);
        RUN("--labels", in_case("labels.npy"), "--grads", in_folder("g.safetensors"));
        assert_done();
        double loss, *logits = logits_in(in_folder("logits.npy"), c.batch, c.classes),
                     *grads = read_arrays(c.weights, in_folder("g.safetensors"));
        assert_int_equal(sscanf(tool.out, "loss %lf", &loss), 1);
        assert_close(c.folder, &loss, &c.loss, 1, 1e-6);
        assert_close(c.folder, logits, c.logits, c.batch * c.classes, 1e-5);
        assert_arrays(&c, grads, 1e-5);
        free(logits);
        free(grads);

        /* without labels: the graph for inference */
        RUN("--threads", "1");
        assert_done();
        assert_non_null(strstr(tool.out, "/logits.npy: logits of "));
        logits = logits_in(in_folder("logits.npy"), c.batch, c.classes);
        assert_close(c.folder, logits, c.logits, c.batch * c.classes, 1e-5);
        free(logits);
        model_case_free(&c);
    }
}

/* The same bytes on any number of threads. */
static void test_threads_change_no_byte(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "4"};
    char *first = NULL, *bytes;
    size_t first_size = 0, size;
    copy_case("07_vit_ssm2d_block");
    for (int i = 0; i < 3; i++) {
        RUN("--labels", in_case("labels.npy"), "--grads", in_folder("g.safetensors"), "--threads",
            threads[i]);
        assert_done();
        bytes = get_file(in_folder("g.safetensors"), &size);
        if (!first) {
            first = bytes;
            first_size = size;
            continue;
        }
        assert_int_equal(size, first_size);
        assert_memory_equal(bytes, first, size);
        free(bytes);
    }
    free(first);
}

/* More images than fit one batch: each has the result that it has alone. */
static void test_many_images_equal_single_ones(void **state)
{
    (void)state;
    enum { MANY = 150 };
    model_case c = model_case_read(context, "05_vit_ssm2d_attn");
    ssm2d_error error;
    copy_case("05_vit_ssm2d_attn");
    double *images = malloc(MANY * c.pixels * sizeof *images);
    for (size_t b = 0; b < MANY; b++)
        memcpy(images + b * c.pixels, c.images + b % c.batch * c.pixels, c.pixels * sizeof *images);
    if (npy_write(context, in_case("x.npy"), NPY_FLOAT64, 4, (size_t[]){MANY, 3, 16, 16}, images,
                  &error))
        fail_msg("%s", error.line);
    RUN("--seed", "1");
    assert_done();
    double *logits = logits_in(in_folder("logits.npy"), MANY, c.classes);
    for (size_t b = 0; b < MANY; b++)
        assert_close("logits", logits + b * c.classes, c.logits + b % c.batch * c.classes,
                     c.classes, 2e-5);
    free(logits);
    free(images);
    model_case_free(&c);
}

/* Plain weights in a model with mixers, and at another image size. */
static void test_plain_weights_fit_models_with_mixers_and_other_sizes(void **state)
{
    (void)state;
    copy_case("01_vit");
    edit_file(in_case("config.json"), "\"mixer\": null", "\"mixer\": \"ssm2d\"");
    RUN("--seed", "3");
    assert_done();
    assert_non_null(strstr(tool.out, "8 arrays of mixers are not in "));
    assert_non_null(strstr(tool.out, "initialised from seed 3"));

    edit_file(in_case("config.json"), "[16, 16]", "[24, 16]");
    double images[2 * 3 * 24 * 16] = {1};
    ssm2d_error error;
    if (npy_write(context, in_case("x.npy"), NPY_FLOAT64, 4, (size_t[]){2, 3, 24, 16}, images,
                  &error))
        fail_msg("%s", error.line);
    RUN("--seed", "3");
    assert_done();
    assert_non_null(
        strstr(tool.out, "position embedding interpolated from 4 x 4 to 6 x 4 patches"));
    double *logits = logits_in(in_folder("logits.npy"), 2, 10);
    for (int i = 0; i < 20; i++) assert_true(isfinite(logits[i]));
    free(logits);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void assert_run_refused(const char *part)
{
    RUN("--labels", in_case("labels.npy"), "--grads", in_folder("g.safetensors"));
    assert_refused(1, "run", part);
}

static void test_wrong_usage_is_refused(void **state)
{
    (void)state;
    TOOL("run");
    assert_refused(2, "run", "--weights");
    TOOL("run", "--config", "c", "--weights", "w", "--input", "x");
    assert_refused(2, "run", "--out");
    TOOL("run", "--config", "c", "--weights", "w", "--input", "x", "--out", "y", "--grads", "g");
    assert_refused(2, "run", "--grads", "--labels");
    TOOL("run", "--config", "c", "--wieghts", "w");
    assert_refused(2, "run", "--wieghts", "--weights");
    TOOL("run", "--config", "c", "--weights", "w", "--input", "x", "--out", "y", "--seed", "-1");
    assert_refused(2, "run", "--seed=-1");
    /* input files are not replaced, under any of their names */
    put_text(in_folder("w"), "weights");
    shell_run("ln -s w $FOLDER/link");
    TOOL("run", "--config", "c", "--weights", in_folder("w"), "--input", "x", "--out",
         in_folder("link"));
    assert_refused(2, "run", "link", "--out");
    TOOL("run", "--config", "c", "--weights", "w", "--input", in_folder("w"), "--out", "y",
         "--labels", "l", "--grads", in_folder("w"));
    assert_refused(2, "run", "w", "--grads");
    TOOL("models", "--jsno");
    assert_refused(2, "models", "--jsno", "--json");
    TOOL("models", "vit");
    assert_refused(2, "models", "vit");
}

static void test_bad_config_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *line;
    } edits[] = {
        {"\"dim\": 48", "\"dim\": 50", "\"heads\" is 3: it must divide \"dim\", which is 50"},
        {"\"dim\": 48", "\"dmi\": 48", "did you mean \"dim\"?"},
        {"\"dim\": 48", "\"dim\": 96",
         "weights.safetensors: cls_token has the shape (1, 1, 48), the model needs (1, 1, 96)"},
        {"\"depth\": 2", "\"depth\": 3", "the array blocks.2.norm1.weight is missing"},
        {"\"depth\": 2", "\"depth\": 1", "has the array blocks.1."},
        {"\"classes\": 10", "\"classes\": 11", "head.weight is for 10 outputs, the model has 11"},
        {"\"patch\": 4", "\"patch\": 5", "\"patch\" is 5"},
        {"\"image\": [16, 16]", "\"image\": [16, 32]",
         "x.npy: the shape is (2, 3, 16, 16), the model needs (batch, 3, 16, 32)"},
        {"\"pos_embed\": true", "\"pos_embed\": false",
         "has the array pos_embed, which the model does not have"},
        {"\"kind\": \"ssm2d\"", "\"kind\": \"s5nd\"",
         "\"mixer.kind\" is \"s5nd\": use none, ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"},
        {"\"kind\": \"ssm2d\"", "\"kind\": \"s4nd\"", "\"mixer.directions\" is not a known key"},
        {"\"model\": \"vit\"", "\"model\": \"resnet\"", "there is no model \"resnet\": use"},
        {"\"model\": \"vit\"", "\"model\": \"vit\" \"x\"", "config.json: line 2"},
        {"\"n_ssm\": 8", "\"n_ssm\": 4",
         "blocks.0.mixer.A has the shape (4, 16, 8), the model needs (4, 8, 8)"},
    };
    copy_case("05_vit_ssm2d_attn");
    size_t size;
    char *good = get_file(in_case("config.json"), &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        put_text(in_case("config.json"), good);
        edit_file(in_case("config.json"), edits[i].old, edits[i].new);
        assert_run_refused(edits[i].line);
    }
    free(good);
    remove(in_case("config.json"));
    assert_run_refused("/config.json");
    copy_case("09_vit_s4nd");
    edit_file(in_case("config.json"), "\"d_state\": 8", "\"d_state\": 7");
    assert_run_refused("\"mixer\": d_state=7");
}

static void put_npy(const char *name, npy_type type, int rank, const size_t *shape,
                    const void *data)
{
    ssm2d_error error;
    if (npy_write(context, in_case(name), type, rank, shape, data, &error))
        fail_msg("%s", error.line);
}

static void test_bad_arrays_are_refused(void **state)
{
    (void)state;
    static float images[2 * 768];
    const int64_t labels[2] = {3, 10}, negative[2] = {-1, 2};
    const float halves[2] = {1, 2};
    copy_case("05_vit_ssm2d_attn");
    size_t size;
    char *good_labels = get_file(in_case("labels.npy"), &size);
    put_npy("labels.npy", NPY_INT64, 1, (size_t[]){2}, labels);
    assert_run_refused("labels.npy: label 1 is 10");
    put_npy("labels.npy", NPY_INT64, 1, (size_t[]){2}, negative);
    assert_run_refused("labels.npy: label 0 is -1");
    put_npy("labels.npy", NPY_INT64, 1, (size_t[]){1}, labels);
    assert_run_refused("labels.npy: whole numbers of shape (1,): ");
    put_npy("labels.npy", NPY_FLOAT32, 1, (size_t[]){2}, halves);
    assert_run_refused("labels.npy: floating-point numbers of shape (2,): ");
    remove(in_case("labels.npy"));
    assert_run_refused("labels.npy");
    put_file(in_case("labels.npy"), good_labels, size);
    free(good_labels);

    images[5] = NAN;
    put_npy("x.npy", NPY_FLOAT32, 4, (size_t[]){2, 3, 16, 16}, images);
    assert_run_refused("x.npy: element 5 is nan");
    put_npy("x.npy", NPY_FLOAT32, 3, (size_t[]){3, 16, 16}, images);
    assert_run_refused("x.npy: the shape is (3, 16, 16), the model needs (batch, 3, 16, 16)");
    put_npy("x.npy", NPY_FLOAT32, 4, (size_t[]){2, 16, 16, 3}, images);
    assert_run_refused("x.npy: the shape is (2, 16, 16, 3)");
    remove(in_case("x.npy"));
    assert_run_refused("x.npy");
}

static void test_bad_weights_are_refused(void **state)
{
    (void)state;
    copy_case("05_vit_ssm2d_attn");
    size_t size;
    char *bytes = get_file(in_case("weights.safetensors"), &size);
    put_file(in_case("weights.safetensors"), bytes, size - 4);
    assert_run_refused("weights.safetensors");
    put_file(in_case("weights.safetensors"), bytes, 100);
    assert_run_refused("weights.safetensors");
    memset(bytes + size - 4, 0xff, 4); /* the last element is NaN */
    put_file(in_case("weights.safetensors"), bytes, size);
    assert_run_refused("head.bias[9] is ");
    free(bytes);
    remove(in_case("weights.safetensors"));
    assert_run_refused("weights.safetensors");
}

static void test_unwritable_output_is_an_error(void **state)
{
    (void)state;
    copy_case("05_vit_ssm2d_attn");
    assert_int_equal(mkdir(in_folder("logits.npy"), 0777), 0);
    RUN("--seed", "0");
    assert_refused(1, "run", "logits.npy");
    RUN("--labels", in_case("labels.npy"), "--grads", in_folder("nowhere/g.safetensors"));
    assert_ended(1, "run", "nowhere/g.safetensors");
}

/* ---- ssm2d models ---------------------------------------------------------------------------- */

/* Columns are as wide as necessary: runs of spaces are compared as one. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || from[1] != ' ') *to++ = *from;
    *to = 0;
}

static void test_models_lists_parameter_counts(void **state)
{
    (void)state;
    TOOL("models");
    assert_wrote_nothing();
    squeeze(tool.out);
    static const char *const parts[] = {" 2709796 2.71 M none\n",
                                        " 2720740 2.72 M ssm2d (",
                                        " 2729956 2.73 M ssm2d (",
                                        " 5532136 5.532 M ",
                                        " 21681064 21.681 M ",
                                        " 85829416 85.829 M ",
                                        " 7149794 7.15 M none\n",
                                        " 27550114 27.550 M none\n",
                                        " 310186 - none\n",
                                        "vit-mini 32x32 4 96 4 4 ",
                                        "polar",
                                        " [1]\n",
                                        "\n[1] the paper's text has"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(tool.out, parts[i])) fail_msg("\"%s\" is not in\n%s", parts[i], tool.out);
    TOOL("models", "--keys");
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "\nmixer.d_state "));
    assert_null(strstr(tool.out, "mixer.channels"));
}

/* What --keys --json says of each model is a configuration of that model. */
static void test_models_keys_json_is_a_configuration(void **state)
{
    (void)state;
    ssm2d_error error;
    cJSON *root;
    TOOL("models", "--keys", "--json");
    assert_wrote_nothing();
    if (json_parse("keys", tool.out, strlen(tool.out), &root, &error)) fail_msg("%s", error.line);
    const cJSON *models = cJSON_GetObjectItemCaseSensitive(root, "models"), *entry, *kind;
    assert_non_null(cJSON_GetObjectItemCaseSensitive(models, "deit")); /* which is not listed */
    cJSON_ArrayForEach(entry, models)
    {
        const cJSON *family = cJSON_GetObjectItemCaseSensitive(entry, "family");
        const cJSON *families = cJSON_GetObjectItemCaseSensitive(root, "families");
        assert_non_null(cJSON_GetObjectItemCaseSensitive(families, family->valuestring));
        cJSON_ArrayForEach(kind, cJSON_GetObjectItemCaseSensitive(entry, "mixers"))
        {
            model_config named, read = {0};
            assert_int_equal(model_config_named(entry->string, &named, &error), SSM2D_OK);
            assert_int_equal(model_config_use_mixer(&named, mixer_find(kind->string), &error),
                             SSM2D_OK);
            cJSON *config = cJSON_CreateObject();
            cJSON_AddStringToObject(config, "model", entry->string);
            cJSON_AddItemToObject(config, "mixer", cJSON_Duplicate(kind, 1));
            /* a file without it means the head that mega-lra had before */
            const cJSON *own = cJSON_GetObjectItemCaseSensitive(entry, "config"),
                        *head = cJSON_GetObjectItemCaseSensitive(own, "head");
            if (head) cJSON_AddItemToObject(config, "head", cJSON_Duplicate(head, 1));
            if (model_config_from_json("keys", config, NULL, &read, &error))
                fail_msg("%s", error.line);
            cJSON_Delete(config);
            assert_true(model_config_same(&named, &read));
            cJSON *again = model_config_to_json(&named);
            cJSON_DeleteItemFromObjectCaseSensitive(again, "mixer");
            assert_true(cJSON_Compare(again, own, 1));
            cJSON_Delete(again);
        }
    }
    cJSON_Delete(root);
}

static void test_models_json_lists_every_model(void **state)
{
    (void)state;
    ssm2d_error error;
    cJSON *list;
    TOOL("models", "--json");
    assert_wrote_nothing();
    if (json_parse("models", tool.out, strlen(tool.out), &list, &error)) fail_msg("%s", error.line);
    assert_true(cJSON_GetArraySize(list) >= 15);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        model_config c = {0};
        const cJSON *config = cJSON_GetObjectItemCaseSensitive(entry, "config"),
                    *paper = cJSON_GetObjectItemCaseSensitive(entry, "paper");
        const double count = cJSON_GetObjectItemCaseSensitive(entry, "parameters")->valuedouble;
        if (model_config_from_json("models", config, NULL, &c, &error)
            || model_config_finish(&c, &error))
            fail_msg("%s", error.line);
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(entry, "mixer")->valuestring,
                            c.mixer.kind->name);
        const cJSON *image = cJSON_GetObjectItemCaseSensitive(entry, "image"),
                    *table = cJSON_GetObjectItemCaseSensitive(entry, "table");
        assert_int_equal(cJSON_GetArrayItem(image, 0)->valueint, c.image[0]);
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(entry, "classes")->valueint, c.outputs);
        assert_true(cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(entry, "complex")));
        assert_int_equal(cJSON_IsNull(table), cJSON_IsNull(paper));
        assert_true(cJSON_IsNull(paper) || fabs(paper->valuedouble - count / 1e6) < 0.01
                    || cJSON_IsString(cJSON_GetObjectItemCaseSensitive(entry, "note")));
    }
    cJSON_Delete(list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden_logits_and_gradients_agree),
        TEST(test_threads_change_no_byte),
        TEST(test_many_images_equal_single_ones),
        TEST(test_plain_weights_fit_models_with_mixers_and_other_sizes),
        TEST(test_wrong_usage_is_refused),
        TEST(test_bad_config_is_refused),
        TEST(test_bad_arrays_are_refused),
        TEST(test_bad_weights_are_refused),
        TEST(test_unwritable_output_is_an_error),
        TEST(test_models_lists_parameter_counts),
        TEST(test_models_json_lists_every_model),
        TEST(test_models_keys_json_is_a_configuration),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
