/* zoo:NAME and ssm2d zoo: with the models of this tree, and with folders of the test's own. */
#include "tool_run.h"

#include "io/image.h"
#include "ssm2d.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKED = 1000, MAX_BYTES = 6000000 };

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(found)) fail_msg("there is no \"%s\" in %s", key, tool.out);
    return found->valuestring;
}

/* The list of models, which the caller deletes. */
static cJSON *models(void)
{
    TOOL("zoo", "--json");
    assert_done();
    cJSON *list = cJSON_Parse(tool.out);
    assert_true(cJSON_IsArray(list));
    return list;
}

/* The whole number after "- KEY: " in a model's card. */
static long fact(const char *name, const char *key)
{
    char line[64];
    TOOL("zoo", name);
    assert_done();
    snprintf(line, sizeof line, "\n- %s: ", key);
    const char *found = strstr(tool.out, line);
    if (!found) fail_msg("the card of %s has no line%s", name, line);
    return strtol(found + strlen(line), NULL, 10);
}

/* ---- the models of this tree ----------------------------------------------------------------- */

static void models_have_cards(void **state)
{
    (void)state;
    static const char *const facts[] = {
        "- data: ",  "- accuracy: ",    "- first 1000: ",
        "- seed: ",  "    ssm2d train", "## What it is not good for",
        "## Licence"};
    double bytes = 0;
    const cJSON *one;
    cJSON *list = models();
    assert_true(cJSON_GetArraySize(list) > 0);
    cJSON_ArrayForEach(one, list)
    {
        size_t size;
        const char *name = text_of(one, "name");
        assert_string_not_equal(text_of(one, "data"), "-");
        assert_string_not_equal(text_of(one, "accuracy"), "-");
        bytes += cJSON_GetObjectItem(one, "bytes")->valuedouble;
        TOOL("zoo", name);
        assert_wrote_nothing();
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
            if (!strstr(tool.out, facts[i])) fail_msg("%s: no \"%s\"", name, facts[i]);
        char path[512];
        snprintf(path, sizeof path, MODELS "/%s.md", name);
        char *card = get_file(path, &size); /* the same text for readers of the repository */
        assert_string_equal(tool.out, card);
        free(card);
        TOOL("zoo");
        assert_non_null(strstr(tool.out, name));
    }
    assert_true(bytes < MAX_BYTES);
    cJSON_Delete(list);
}

/* The first test images of Fashion-MNIST as a data set, in the test's folder. */
static void put_first_images(void)
{
    char script[1024];
    snprintf(script, sizeof script,
             "mkdir $FOLDER/first && cd $FOLDER/first && for kind in images-idx3 labels-idx1; do "
             "size=$([ $kind = images-idx3 ] && echo $((%d * 784)) || echo %d); "
             "head=$([ $kind = images-idx3 ] && echo 16 || echo 8); "
             "gunzip -c /usr/share/datasets/fashion-mnist/t10k-$kind-ubyte.gz > all; "
             "{ head -c 4 all; printf '\\0\\0\\003\\350'; head -c $((head + size)) all | tail -c "
             "+9; } > t10k-$kind-ubyte; cp t10k-$kind-ubyte train-$kind-ubyte; done; rm all",
             CHECKED, CHECKED);
    shell_run(script);
    assert_int_equal(tool.code, 0);
}

/* Every model for Fashion-MNIST classifies as many of the first 1,000 test images as its card says,
 * exactly, with every instruction set; where products are computed in bfloat16, up to 3 more or
 * less. */
static void accuracies_are_those_of_the_cards(void **state)
{
    (void)state;
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    if (access("/usr/share/datasets/fashion-mnist", F_OK)) {
        printf("SKIPPED: accuracies: dataset-fashion-mnist is not installed\n");
        skip();
    }
    put_first_images();
    const cJSON *one;
    cJSON *list = models();
    int checked = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (strcmp(text_of(one, "data"), "Fashion-MNIST")) continue;
        const char *name = text_of(one, "name");
        const long right = fact(name, "first 1000");
        for (size_t i = short_tests(); i < sizeof sets / sizeof *sets; i++) {
            char script[256];
            if (short_tests() && checked) break;
            snprintf(script, sizeof script,
                     "SSM2D_CPU=%s $SSM2D eval zoo:%s --data fashion-mnist:$FOLDER/first --json",
                     sets[i], name);
            shell_run(script);
            if (tool.code && strstr(tool.err, "SSM2D_CPU")) continue; /* this processor lacks it */
            assert_int_equal(tool.code, 0); /* a slow machine sees the progress */
            cJSON *result = cJSON_Parse(tool.out);
            const double accuracy = cJSON_GetObjectItem(result, "accuracy")->valuedouble;
            assert_int_equal(cJSON_GetObjectItem(result, "images")->valueint, CHECKED);
            const int is_rounded = !strcmp(text_of(one, "type"), "bfloat16") && i == 2;
            if (labs(lround(CHECKED * accuracy) - right) > (is_rounded ? 3 : 0))
                fail_msg("%s, %s: %g right, the card says %ld", name, sets[i], CHECKED * accuracy,
                         right);
            cJSON_Delete(result);
            checked++;
        }
    }
    cJSON_Delete(list);
    assert_true(checked > 0);
}

/* The probability of a class in the JSON of predict. */
static double probability_of(const cJSON *result, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(result, "classes"))
    {
        if (!strcmp(text_of(one, "name"), name))
            return cJSON_GetObjectItem(one, "probability")->valuedouble;
    }
    return NAN;
}

/* Probabilities of a picture differ by less than 1e-5 between instruction sets; by less than 0.02
 * where products are computed in bfloat16 (gemm_bfloat16_is_faster), and in 8 bits, where the last
 * bit of an input may decide how it is rounded. */
static void predictions_are_stable(void **state)
{
    (void)state;
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    put_picture(in_folder("picture.png"), 90, 70, 3);
    const cJSON *one, *class;
    cJSON *list = models();
    cJSON_ArrayForEach(one, list)
    {
        cJSON *expected = NULL;
        const int is_bfloat16 = !strcmp(text_of(one, "type"), "bfloat16"),
                  is_int8 = !strcmp(text_of(one, "type"), "int8");
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            char script[256];
            snprintf(script, sizeof script,
                     "SSM2D_CPU=%s $SSM2D predict zoo:%s $FOLDER/picture.png --json --top 10",
                     sets[i], text_of(one, "name"));
            shell_run(script);
            if (tool.code && strstr(tool.err, "SSM2D_CPU")) continue;
            assert_done();
            cJSON *result = cJSON_Parse(tool.out);
            if (!i) expected = cJSON_Duplicate(result, 1);
            assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(result, "classes")), 10);
            cJSON_ArrayForEach(class, cJSON_GetObjectItem(result, "classes"))
            {
                const char *name = text_of(class, "name");
                const double p = probability_of(result, name), q = probability_of(expected, name);
                const int is_rounded = is_int8 || (is_bfloat16 && !strcmp(sets[i], "avx512"));
                if (!(fabs(p - q) < (is_rounded ? 0.02 : 1e-5)))
                    fail_msg("%s, %s: %s has %.9g, baseline %.9g", text_of(one, "name"), sets[i],
                             name, p, q);
            }
            cJSON_Delete(result);
        }
        cJSON_Delete(expected);
    }
    cJSON_Delete(list);
}

/* The same picture as picture.ppm and picture.png. */
static void put_noise(void)
{
    enum { ROWS = 50, COLS = 40 };
    static uint8_t pixels[ROWS * COLS * 3];
    const image_info info = {ROWS, COLS, 3, 8};
    ssm2d_context *context;
    ssm2d_error error;
    image_writer *writer;
    FILE *ppm = fopen(in_folder("picture.ppm"), "wb");
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i / 7);
    assert_non_null(ppm);
    fprintf(ppm, "P6\n%d %d\n255\n", COLS, ROWS);
    assert_int_equal(fwrite(pixels, 1, sizeof pixels, ppm), sizeof pixels);
    assert_int_equal(fclose(ppm), 0);
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    if (image_create(context, in_folder("picture.png"), &info, NULL, &writer, &error))
        fail_msg("%s", error.line);
    for (int y = 0; y < ROWS; y++)
        assert_int_equal(image_write_row(writer, pixels + y * COLS * 3, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

/* examples/classify.c, which uses only the library, gives the tool's probabilities. */
static void programs_open_the_models(void **state)
{
    (void)state;
    const cJSON *one;
    cJSON *list = models();
    put_noise();
    cJSON_ArrayForEach(one, list)
    {
        char script[512], expected[128], name[64];
        double likely;
        snprintf(script, sizeof script, CLASSIFY " '%s' $FOLDER/picture.ppm", text_of(one, "file"));
        shell_run(script);
        assert_int_equal(tool.code, 0);
        assert_int_equal(sscanf(tool.out, "%lf %%  %63[^\n]", &likely, name), 2);
        snprintf(expected, sizeof expected, ": %s %.1f %%,", name, likely);
        snprintf(script, sizeof script, "zoo:%s", text_of(one, "name"));
        TOOL("predict", script, in_folder("picture.png"));
        assert_done();
        if (!strstr(tool.out, expected)) fail_msg("%s is not in %s", expected, tool.out);
    }
    cJSON_Delete(list);
}

/* ---- zoo:NAME -------------------------------------------------------------------------------- */

/* Makes a model file from the golden run, with a card, in models/tiny.ssm2d. */
static void put_models(void)
{
    put_text(in_folder("card.md"),
             "# tiny\n\n- data: made up\n- accuracy: 12.5 %\n\n\x1b[31mred\n");
    assert_int_equal(mkdir(in_folder("models"), 0777), 0);
    TOOL("quantize", GOLDEN_RUN, "-o", in_folder("models/tiny.ssm2d"), "--card",
         in_folder("card.md"), "--type", "float32");
    assert_int_equal(tool.code, 0);
    setenv("SSM2D_MODELS", in_folder("models"), 1);
}

static int end(void **state)
{
    unsetenv("SSM2D_MODELS");
    return folder_teardown(state);
}

static void commands_take_names(void **state)
{
    (void)state;
    put_models();
    put_picture(in_folder("picture.png"), 20, 20, 3);
    TOOL("predict", "zoo:tiny", in_folder("picture.png"), "--csv");
    assert_wrote_nothing();
    char *named = strdup(tool.out);
    TOOL("predict", in_folder("models/tiny.ssm2d"), in_folder("picture.png"), "--csv");
    assert_string_equal(tool.out, named);
    free(named);
    TOOL("export", "zoo:tiny", "-o", in_folder("tiny.onnx"));
    assert_wrote("tiny.onnx");
    TOOL("kernels", "zoo:tiny", "-o", in_folder("kernels.png"));
    assert_wrote("kernels.png");
    TOOL("filter", "--run", "zoo:tiny", in_folder("picture.png"), "-o", in_folder("filtered.png"));
    assert_wrote("filtered.png");
    TOOL("quantize", "zoo:tiny", "-o", in_folder("again.ssm2d"), "--type", "float32");
    assert_wrote("again.ssm2d");
    TOOL("zoo");
    assert_wrote_nothing();
    const char *line = strchr(tool.out, '\n');
    assert_non_null(line);
    assert_memory_equal(line, "\ntiny ", 6);
    assert_non_null(strstr(line, "  made up "));
    assert_non_null(strstr(line, "  12.5 %\n"));
    TOOL("zoo", "zoo:tiny");
    assert_string_equal(tool.out, "# tiny\n\n- data: made up\n- accuracy: 12.5 %\n\n?[31mred\n");
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    put_models();
    TOOL("predict", "zoo:tinny", "x.png");
    assert_refused(2, "predict", "zoo:tinny", "did you mean zoo:tiny?", "ssm2d zoo");
    static const char *const bad[] = {"zoo:", "zoo:../models/tiny", "zoo:.", "zoo:/etc/passwd"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TOOL("predict", bad[i], "x.png");
        assert_refused(2, "predict", "there is no such model", "ssm2d zoo");
    }
    TOOL("zoo", "other");
    assert_refused(1, "zoo", "zoo:other", "there is no such model");
    TOOL("zoo", "tiny", "--json");
    assert_refused(2, "zoo", "--json", "NAME");
    put_text(in_folder("models/bad.ssm2d"), "no model");
    TOOL("zoo");
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "bad.ssm2d"));
    assert_non_null(strstr(tool.err, "1 of 2 models cannot be opened"));
    assert_non_null(strstr(tool.out, "tiny"));
    TOOL("quantize", GOLDEN_RUN, "-o", in_folder("models/mute.ssm2d"), "--type", "float32");
    TOOL("zoo", "mute");
    assert_refused(1, "zoo", "mute.ssm2d", "has no card");
    shell_run("rm $FOLDER/models/*");
    TOOL("zoo");
    assert_refused(1, "zoo", "has no models", "SSM2D_MODELS");
    setenv("SSM2D_MODELS", "/nowhere", 1);
    TOOL("zoo");
    assert_refused(1, "zoo", "/nowhere", "cannot be opened");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_setup, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(models_have_cards),      TEST(accuracies_are_those_of_the_cards),
        TEST(predictions_are_stable), TEST(programs_open_the_models),
        TEST(commands_take_names),    TEST(wrong_names_are_refused)};
    return cmocka_run_group_tests_name("tool_zoo", tests, NULL, NULL);
}
