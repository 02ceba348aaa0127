/* ssm2d export: its refusals and messages, and that nothing is replaced without a request.
 * tests/export checks what the files compute. */
#include "tool_run.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *const config = GOLDEN_MODELS "/05_vit_ssm2d_attn/config.json",
                         *const weights = GOLDEN_MODELS "/05_vit_ssm2d_attn/weights.safetensors";

#define EXPORT(...)       TOOL("export", __VA_ARGS__, "--threads", "1")
#define EXPORT_FILES(...) EXPORT("--config", config, "--weights", weights, __VA_ARGS__)

static size_t size_of(const char *path)
{
    size_t size;
    free(get_file(path, &size));
    return size;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    const char *out = in_folder("a.onnx");
    EXPORT("-o", out);
    assert_refused(2, "export", "--config");
    EXPORT(GOLDEN_RUN, "--config", config, "--weights", weights, "-o", out);
    assert_refused(2, "export", "--config");
    EXPORT("--config", config, "-o", out);
    assert_refused(2, "export", "--config", "--weights");
    EXPORT(GOLDEN_RUN);
    assert_refused(2, "export", "--output");
    EXPORT(GOLDEN_RUN, "-o", out, "--weights", weights);
    assert_refused(2, "export", "--weights");
    static const char *const batches[] = {"0", "-1", "x", "3x", "70000", "all"};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        EXPORT(GOLDEN_RUN, "-o", out, "--batch", batches[i]);
        assert_refused(2, "export", "--batch");
    }
    EXPORT(GOLDEN_RUN, "-o", out, "--image-size", "8xa");
    assert_refused(2, "export", "--image-size=8xa");
    EXPORT(GOLDEN_RUN, "-o", out, "--features", "0");
    assert_refused(2, "export", "--features=0");
}

/* A build without protobuf-c names the missing library. */
static void test_build_without_onnx_says_so(void **state)
{
    (void)state;
    EXPORT(GOLDEN_RUN, "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "libprotobuf-c-dev");
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Exports that take minutes are announced; others are silent. */
static void test_long_exports_are_announced(void **state)
{
    (void)state;
    EXPORT(GOLDEN_RUN, "-o", in_folder("a.onnx"), "--image-size", "64");
    assert_done();
    EXPORT(GOLDEN_RUN, "-o", in_folder("b.onnx"), "--image-size", "2048x2056");
    assert_int_equal(tool.code, 0);
    assert_string_equal(tool.err, "ssm2d export: kernels for images of 2048 x 2056 are large: this "
                                  "can take minutes and gigabytes of memory\n");
}

static void test_bad_models_are_refused(void **state)
{
    (void)state;
    EXPORT(in_folder("nothing"), "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "nothing");
    copy_folder(GOLDEN_RUN, in_folder("run"));
    EXPORT(in_folder("run"), "-o", in_folder("a.onnx"), "--features", "99");
    assert_refused(1, "export", "features=99");
    EXPORT(in_folder("run"), "-o", in_folder("a.onnx"), "--image-size", "9x8");
    assert_refused(1, "export", "9 x 8");
    assert_int_equal(unlink(in_folder("run/model.safetensors")), 0);
    EXPORT(in_folder("run"), "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "model.safetensors");
    EXPORT("--config", config, "--weights", in_folder("nothing"), "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "nothing");
    EXPORT("--config", in_folder("nothing"), "--weights", weights, "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "nothing");
    EXPORT("--config", config, "--weights", config, "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "config.json");
    put_text(in_folder("config.json"), "{\"dim\": 96}");
    EXPORT("--config", in_folder("config.json"), "--weights", weights, "-o", in_folder("a.onnx"));
    assert_refused(1, "export", "config.json", "\"model\"");
    /* weights of the same model without its mixers */
    EXPORT("--config", config, "--weights", GOLDEN_MODELS "/01_vit/weights.safetensors", "-o",
           in_folder("a.onnx"));
    assert_refused(1, "export", "ssm2d");
    /* a bias for this many pairs of tokens does not fit into a file */
    EXPORT("--config", GOLDEN_MODELS "/14_mega/config.json", "--weights",
           GOLDEN_MODELS "/14_mega/weights.safetensors", "-o", in_folder("a.onnx"), "--image-size",
           "1024x1024");
    assert_refused(1, "export", "2 GB");
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_output_is_replaced_whole_or_kept(void **state)
{
    (void)state;
    const char *out = in_folder("a.onnx");
    EXPORT_FILES("-o", out, "--batch", "4");
    assert_done();
    assert_non_null(strstr(tool.out, "a.onnx: vit"));
    assert_non_null(strstr(tool.out, " for 4 images of "));
    assert_true(size_of(out) > 100000);

    /* no file of the user is replaced */
    put_text(out, "mine");
    EXPORT_FILES("-o", out);
    assert_refused(1, "export", "a.onnx", "--force");
    EXPORT_FILES("-o", out, "--force");
    assert_done();
    assert_true(size_of(out) > 100000);
    assert_int_equal(symlink("nowhere", in_folder("link.onnx")), 0);
    EXPORT_FILES("-o", in_folder("link.onnx"));
    assert_refused(1, "export", "link.onnx");

    assert_int_equal(mkdir(in_folder("folder.onnx"), 0777), 0);
    EXPORT_FILES("-o", in_folder("folder.onnx"));
    assert_refused(1, "export", "folder.onnx");
    EXPORT_FILES("-o", in_folder("folder.onnx"), "--force");
    assert_refused(1, "export", "folder.onnx");
    assert_int_equal(mkfifo(in_folder("pipe.onnx"), 0666), 0);
    EXPORT_FILES("-o", in_folder("pipe.onnx"), "--force");
    assert_refused(1, "export", "pipe.onnx");
    EXPORT_FILES("-o", in_folder("nowhere/a.onnx"));
    assert_refused(1, "export", "nowhere/a.onnx");
    EXPORT_FILES("-o", in_folder("a.pt"));
    assert_refused(2, "export", "a.pt");
}

/* The same model gives the same bytes for any number of threads. */
static void test_bytes_do_not_depend_on_threads(void **state)
{
    (void)state;
    size_t one, two;
    TOOL("export", GOLDEN_RUN, "-o", in_folder("one.onnx"), "--threads", "1");
    assert_wrote("one.onnx");
    TOOL("export", GOLDEN_RUN, "-o", in_folder("two.onnx"), "--threads", "3");
    assert_wrote("two.onnx");
    char *a = get_file(in_folder("one.onnx"), &one), *b = get_file(in_folder("two.onnx"), &two);
    assert_int_equal(one, two);
    assert_memory_equal(a, b, one);
    free(a);
    free(b);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)
#if HAS_ONNX
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_wrong_options_are_refused), IN_FOLDER(test_bad_models_are_refused),
        IN_FOLDER(test_output_is_replaced_whole_or_kept),
        IN_FOLDER(test_bytes_do_not_depend_on_threads), IN_FOLDER(test_long_exports_are_announced)};
    (void)test_build_without_onnx_says_so;
#else
    const struct CMUnitTest tests[] = {IN_FOLDER(test_wrong_options_are_refused),
                                       IN_FOLDER(test_build_without_onnx_says_so)};
    (void)test_bad_models_are_refused, (void)test_output_is_replaced_whole_or_kept,
        (void)test_bytes_do_not_depend_on_threads, (void)test_long_exports_are_announced;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
