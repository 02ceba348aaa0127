/* Model files: what `ssm2d quantize` writes gives the same as the run's folder, and damaged files
 * are refused in one line that names the problem. */
#include "tool/tool_run.h"

#include "io/safetensors.h"
#include "ssm2d_model.h"

#include <math.h>
#include <sys/stat.h>

enum { SIDE = 8, OUTPUTS = 4, IMAGES = 3 };

static ssm2d_error error;

static ssm2d_model *opened(const char *path)
{
    ssm2d_model *m;
    if (ssm2d_model_open(path, NULL, &m, &error)) fail_msg("%s", error.line);
    return m;
}

static void assert_refused_file(const char *path, const char *part)
{
    ssm2d_model *m = (ssm2d_model *)&error;
    assert_int_not_equal(ssm2d_model_open(path, NULL, &m, &error), SSM2D_OK);
    assert_null(m);
    assert_non_null(memchr(error.line, 0, sizeof error.line));
    if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);
}

/* Logits of some images, whose pixels are those of a wave. */
static void logits_of(const char *path, int threads, float out[IMAGES * OUTPUTS])
{
    ssm2d_model *m = opened(path);
    ssm2d_session *s;
    ssm2d_session_options o = ssm2d_session_options_default();
    o.batch = IMAGES;
    o.threads = threads;
    if (ssm2d_session_create(m, &o, &s, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < IMAGES; i++) {
        uint8_t pixels[20 * 30];
        for (int k = 0; k < 20 * 30; k++)
            pixels[k] = (uint8_t)(128 + 127 * sin(0.05 * k + (double)i));
        if (ssm2d_session_prepare(s, i, pixels, 20, 30, 1, 0, &error)) fail_msg("%s", error.line);
    }
    assert_int_equal(ssm2d_session_run(s, NULL, IMAGES, out, &error), SSM2D_OK);
    ssm2d_session_destroy(s);
    ssm2d_model_close(m);
}

static const char *quantized(const char *name, const char *type)
{
    const char *path = in_folder("%s", name);
    TOOL("quantize", GOLDEN_RUN, "-o", path, "--type", type);
    assert_done();
    return path;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_float32_has_the_bits_of_the_folder(void **state)
{
    (void)state;
    float a[IMAGES * OUTPUTS], b[IMAGES * OUTPUTS];
    logits_of(GOLDEN_RUN, 1, a);
    logits_of(quantized("a.ssm2d", "float32"), 1, b);
    assert_memory_equal(a, b, sizeof a);

    ssm2d_model *one = opened(GOLDEN_RUN), *two = opened(in_folder("a.ssm2d"));
    const ssm2d_model_info i = ssm2d_model_info_of(one), k = ssm2d_model_info_of(two);
    assert_string_equal(i.model, k.model);
    assert_string_equal(i.mixer, k.mixer);
    assert_string_equal(i.task, k.task);
    assert_string_equal(i.activation, k.activation);
    assert_string_equal(i.type, "float32");
    assert_string_equal(k.type, "float32");
    assert_null(k.card);
    assert_int_equal(i.outputs, k.outputs);
    assert_int_equal(i.parameters, k.parameters);
    for (int o = 0; o < i.outputs; o++)
        assert_string_equal(ssm2d_model_output_name(one, o), ssm2d_model_output_name(two, o));
    ssm2d_model_preparation p = ssm2d_model_preparation_default(), q = p;
    assert_int_equal(ssm2d_model_preparation_get(one, &p), 1);
    assert_int_equal(ssm2d_model_preparation_get(two, &q), 1);
    assert_memory_equal(&p, &q, sizeof p);
    ssm2d_model_close(one);
    ssm2d_model_close(two);
}

/* The upper half of a float, rounded to nearest, halves to even. */
static float rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int is_stored_in_bfloat16(const char *name)
{
    return strstr(name, ".weight") && !strstr(name, "norm");
}

static void test_bfloat16_rounds_the_weights_of_linear_layers(void **state)
{
    (void)state;
    ssm2d_context *context;
    safetensors *old, *new;
    int halves = 0;
    quantized("a.ssm2d", "bf16");
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_int_equal(safetensors_open(context, GOLDEN_RUN "/model.safetensors", &old, &error), 0);
    assert_int_equal(safetensors_open(context, in_folder("a.ssm2d"), &new, &error), 0);
    assert_int_equal(safetensors_count(old), safetensors_count(new));
    for (size_t i = 0; i < safetensors_count(old); i++) {
        const safetensors_array *a = safetensors_get(old, i), *b = safetensors_find(new, a->name);
        const int is_half = is_stored_in_bfloat16(a->name);
        float *x = malloc(a->count * sizeof *x), *y = malloc(a->count * sizeof *y);
        assert_int_equal(safetensors_read_float(old, a, x, &error), SSM2D_OK);
        assert_int_equal(safetensors_read_float(new, b, y, &error), SSM2D_OK);
        assert_int_equal(b->type, is_half ? SAFETENSORS_BF16 : SAFETENSORS_F32);
        halves += is_half;
        for (size_t k = 0; k < a->count; k++) assert_true(y[k] == (is_half ? rounded(x[k]) : x[k]));
        free(x);
        free(y);
    }
    assert_int_equal(halves, 10); /* patches, 2 x (qkv, proj, fc1, fc2), head */
    safetensors_close(old);
    safetensors_close(new);
    ssm2d_context_destroy(context);

    float a[IMAGES * OUTPUTS], b[IMAGES * OUTPUTS];
    logits_of(GOLDEN_RUN, 1, a);
    logits_of(in_folder("a.ssm2d"), 1, b);
    for (int i = 0; i < IMAGES * OUTPUTS; i++) assert_float_equal(a[i], b[i], 0.02);
    assert_memory_not_equal(a, b, sizeof a);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Writes one image as an array. */
static void put_images(const char *path)
{
    char bytes[128 + SIDE * SIDE * sizeof(float)];
    const int used = snprintf(bytes, 128, "%cNUMPY%c%c%c%c%s", 0x93, 1, 0, 118, 0,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 8, 8), }");
    memset(bytes + used, ' ', 128 - (size_t)used);
    bytes[127] = '\n';
    for (int i = 0; i < SIDE * SIDE; i++) {
        const float x = (float)sin(0.3 * i);
        memcpy(bytes + 128 + sizeof x * (size_t)i, &x, sizeof x);
    }
    put_file(path, bytes, sizeof bytes);
}

static void test_commands_take_a_file_for_a_folder(void **state)
{
    (void)state;
    char folder[4096], files[4096];
    snprintf(files, sizeof files, "%s", quantized("a.ssm2d", "float32"));
    const char *file = files;
    put_picture(in_folder("p.png"), 9, 9, 1);
    TOOL("predict", GOLDEN_RUN, in_folder("p.png"), "--weights", "last", "--json");
    assert_done();
    snprintf(folder, sizeof folder, "%s", tool.out);
    TOOL("predict", file, in_folder("p.png"), "--json");
    assert_done();
    assert_string_equal(tool.out, folder);
    TOOL("predict", file, in_folder("p.png"), "--weights", "best");
    assert_refused(2 - 1, "predict", "--weights=best", "model file");
    TOOL("eval", file);
    assert_refused(1, "eval", "--data");
    TOOL("kernels", file, "-o", in_folder("k.png"));
    assert_wrote("k.png");
    put_images(in_folder("x.npy"));
    TOOL("run", "--weights", file, "--input", in_folder("x.npy"), "-o", in_folder("y.npy"));
    assert_wrote("y.npy");
    TOOL("run", "--config", GOLDEN_RUN "/config.json", "--weights", GOLDEN_RUN "/model.safetensors",
         "--input", in_folder("x.npy"), "-o", in_folder("z.npy"));
    assert_wrote("z.npy");
    assert_same_file(in_folder("y.npy"), in_folder("z.npy"));
    TOOL("run", "--weights", GOLDEN_RUN "/model.safetensors", "--input", "x.npy", "-o",
         in_folder("y.npy"));
    assert_refused(1, "run", "model.safetensors", "is not a model file");
}

static void test_quantize_refuses_bad_options(void **state)
{
    (void)state;
    char out[4096];
    snprintf(out, sizeof out, "%s", in_folder("a.ssm2d"));
    TOOL("quantize", GOLDEN_RUN);
    assert_refused(2, "quantize", "--output");
    TOOL("quantize", GOLDEN_RUN, "-o", in_folder("a.bin"));
    assert_refused(2, "quantize", "a.bin", ".ssm2d");
    TOOL("quantize", GOLDEN_RUN, "-o", out, "--type", "int4");
    assert_refused(2, "quantize", "--type=int4");
    TOOL("quantize", in_folder("nothing"), "-o", out);
    assert_refused(1, "quantize", "nothing");
    put_file(in_folder("card"), "a\xff", 2);
    TOOL("quantize", GOLDEN_RUN, "-o", out, "--card", in_folder("card"));
    assert_refused(1, "quantize", "card", "byte 1 is not UTF-8");
    put_file(in_folder("card"), "a\0b", 3);
    TOOL("quantize", GOLDEN_RUN, "-o", out, "--card", in_folder("card"));
    assert_refused(1, "quantize", "card", "byte 1 is not UTF-8");
    put_text(out, "mine");
    TOOL("quantize", GOLDEN_RUN, "-o", out);
    assert_refused(1, "quantize", "a.ssm2d", "--force");
    put_text(in_folder("card"), "Four classes.\n\u00e9\n");
    TOOL("quantize", GOLDEN_RUN, "-o", out, "--force", "--card", in_folder("card"));
    assert_done();
    /* the description stays when a file is made of a file */
    TOOL("quantize", out, "-o", in_folder("b.ssm2d"), "--type", "float32");
    assert_done();
    ssm2d_model *m = opened(in_folder("b.ssm2d"));
    assert_string_equal(ssm2d_model_info_of(m).card, "Four classes.\n\u00e9\n");
    ssm2d_model_close(m);
}

/* ---- hostile files --------------------------------------------------------------------------- */

/* Replaces text in the header by another of the same length. */
static void edit_header(const char *path, const char *old, const char *new)
{
    size_t size;
    char *bytes = get_file(path, &size);
    const size_t length = strlen(old);
    char *at = NULL;
    for (size_t i = 8; i + length <= size && !at; i++)
        if (!memcmp(bytes + i, old, length)) at = bytes + i;
    assert_non_null(at);
    assert_int_equal(strlen(new), length);
    memcpy(at, new, length);
    put_file(path, bytes, size);
    free(bytes);
}

static void test_hostile_files_are_refused(void **state)
{
    (void)state;
    static const struct edit {
        const char *old, *new, *part;
    } edits[] = {
        {"\"ssm2d_model\"", "\"ssm2d_mudel\"", "is not a model file"},
        {"\"ssm2d_model\":\"1\"", "\"ssm2d_model\":\"2\"", "is a model file of version 2"},
        {"\"type\":\"bfloat16\"", "\"type\":\"bfloat17\"", "\"type\" is bfloat17"},
        {"\"type\":\"bfloat16\"", "\"tipe\":\"bfloat16\"", "\"type\" is missing"},
        {"\"type\":\"bfloat16\"", "\"type\":\"float32\" ", "is BF16, but \"type\" is float32"},
        {"\"weights\":\"last\"", "\"weights\":\"lost\"", "\"weights\" is lost"},
        {"\"config\":", "\"konfig\":", "\"config\" is missing"},
        {"\"data\":", "\"dada\":", "\"data\" is missing"},
        {"\"evaluation\":", "\"evaluatiom\":", "\"evaluation\" is missing"},
        {"\\\"image\\\":[8,8]", "\\\"image\\\":[8,9]", "image"},
        {"\\\"image\\\":[8,8]", "\\\"image\\\":[4,4]", "image"},
        {"\\\"depth\\\":2", "\\\"depth\\\":3", "missing"},
        {"\\\"depth\\\":2", "\\\"depth\\\":1", "blocks.1"},
        {"\\\"classes\\\":4", "\\\"classes\\\":5", "data names 4"},
        {"\\\"dim\\\":16", "\\\"dim\\\":96", "do not belong together"},
        {"\\\"dim\\\":16", "\\\"dmi\\\":16", "did you mean"},
        {"\\\"mean\\\"", "\\\"maen\\\"", "\"mean\""},
        {"cross-entropy", "cross-entrapy", "\"loss\""},
        {"\\\"eval_crop\\\":0", "\\\"eval_crop\\\":7", "eval_crop"},
        {"{\\\"loss\\\"", "[\\\"loss\\\"", "evaluation"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.ssm2d", i);
        edit_header(quantized(name, "bf16"), edits[i].old, edits[i].new);
        assert_refused_file(in_folder("%s", name), edits[i].part);
    }
    assert_refused_file(GOLDEN_RUN "/model.safetensors", "is not a model file");
    assert_refused_file(GOLDEN_RUN "/config.json", "config.json");
    assert_int_equal(mkfifo(in_folder("pipe.ssm2d"), 0600), 0);
    assert_refused_file(in_folder("pipe.ssm2d"), "is not a regular file");
}

/* Every beginning of a file is refused, and none is read beyond its end. */
static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    size_t size;
    char *bytes = get_file(quantized("a.ssm2d", "bf16"), &size);
    for (size_t length = 0; length < size; length += length < 64 ? 1 : 997) {
        put_file(in_folder("b.ssm2d"), bytes, length);
        assert_refused_file(in_folder("b.ssm2d"), "b.ssm2d");
    }
    free(bytes);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {IN_FOLDER(test_float32_has_the_bits_of_the_folder),
                                       IN_FOLDER(test_bfloat16_rounds_the_weights_of_linear_layers),
                                       IN_FOLDER(test_commands_take_a_file_for_a_folder),
                                       IN_FOLDER(test_quantize_refuses_bad_options),
                                       IN_FOLDER(test_hostile_files_are_refused),
                                       IN_FOLDER(test_truncated_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
