/* libssm2d_model refuses untrusted folders and files, huge sizes, misuse and lack of memory, each
 * in one line that names the problem, and leaks nothing. */
#include "session_helpers.h"
#include "tool/tool_run.h"

#include "io/safetensors.h"
#include "ssm2d_model.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static ssm2d_error error;

static void assert_line(ssm2d_status status, const char *part)
{
    assert_int_not_equal(status, SSM2D_OK);
    assert_non_null(memchr(error.line, 0, sizeof error.line));
    for (const char *c = error.line; *c; c++) assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);
    memset(&error, 0, sizeof error);
}

/* Each case damages a separate copy, run1, run2 .., which are removed with the test's folder. */
static int copies;

static const char *run_folder(void) { return in_folder("run%d", copies); }
static const char *in_run(const char *file) { return in_folder("run%d/%s", copies, file); }

static void fresh_run(void)
{
    copies++;
    copy_folder(GOLDEN_RUN, run_folder());
}

static void assert_folder_refused(const char *part)
{
    ssm2d_model *m = (ssm2d_model *)&error;
    assert_line(ssm2d_model_open(run_folder(), NULL, &m, &error), part);
    assert_null(m);
}

/* ---- folders --------------------------------------------------------------------------------- */

static void test_missing_files_are_named(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"train.json", "not the folder of a run"},
                                           {"config.json", "config.json"},
                                           {"data.json", "data.json"},
                                           {"model.safetensors", "does not exist yet"}};
    assert_folder_refused("not the folder of a run");
    for (int i = 0; i < 4; i++) {
        char path[256];
        fresh_run();
        snprintf(path, sizeof path, "%s", in_run(files[i][0]));
        assert_int_equal(remove(path), 0);
        assert_folder_refused(files[i][1]);
        /* a pipe, on which opening would block; a folder; a dangling link */
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_folder_refused(i ? "is not a regular file" : "not the folder of a run");
        assert_int_equal(remove(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_folder_refused(i ? "is not a regular file" : "not the folder of a run");
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(symlink("nowhere", path), 0);
        assert_folder_refused(files[i][1]);
        assert_int_equal(remove(path), 0);
        assert_int_equal(symlink("/dev/zero", path), 0);
        assert_folder_refused(i ? "is not a regular file" : "not the folder of a run");
        assert_int_equal(remove(path), 0);
        /* a link to the file is accepted */
        char good[256];
        snprintf(good, sizeof good, GOLDEN_RUN "/%s", files[i][0]);
        assert_int_equal(symlink(good, path), 0);
        ssm2d_model *m;
        if (ssm2d_model_open(run_folder(), NULL, &m, &error)) fail_msg("%s", error.line);
        ssm2d_model_close(m);
    }
}

static void test_bad_values_in_files_are_named(void **state)
{
    (void)state;
    static const struct edit {
        const char *file, *old, *new, *part;
    } edits[] = {
        {"train.json", "\"start\":", "start:", "train.json"},
        {"train.json", "cross-entropy", "hinge", "\"loss\""},
        {"train.json", "\"flip\"", "\"eval_crop\": 0.01, \"flip\"", "eval_crop"},
        {"train.json", "\"flip\"", "\"interpolation\": 3, \"flip\"", "interpolation"},
        {"config.json", "\"classes\":	4", "\"classes\":	5", "data.json names 4"},
        {"config.json", "\"classes\":	4", "\"classes\":	-1", "\"classes\""},
        {"config.json", "\"dim\"", "\"dmi\"", "did you mean"},
        {"config.json", "\"dim\":	16", "\"dim\":	1e99", "\"dim\""},
        {"config.json", "\"dim\":	16", "\"dim\":	18", "model.safetensors"},
        {"config.json", "\"depth\":	2", "\"depth\":	3", "missing"},
        {"config.json", "\"depth\":	2", "\"depth\":	1", "model.safetensors"},
        {"config.json", "[8, 8]", "[8, 9]", "image"},
        {"config.json", "[8, 8]", "[2000000000, 2000000000]", "image"},
        {"config.json", "vit-mini", "vgg", "there is no model"},
        /* gigabytes of parameters in a small file */
        {"config.json", "[8, 8]", "[16384, 16384]", "do not belong together"},
        {"config.json", "\"dim\":	16", "\"dim\":	16384", "do not belong together"},
        {"data.json", "\"std\":	[0.5", "\"std\":	[0", "std"},
        {"data.json", "\"std\":	[0.5", "\"std\":	[1e-45",
         "\"std\" has 1e-45: use numbers from"},
        {"data.json", "\"mean\":	[0.5", "\"mean\":	[1e999", "mean"},
        {"data.json", "\"mean\"", "\"maen\"", "mean"},
        {"data.json", "\"0\", ", "", "data.json names 3"},
        {"data.json", "\"0\"", "0", "classes"},
        {"data.json", "\"channels\"", "\"labels\": \"many\", \"channels\"", "labels"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        fresh_run();
        edit_file(in_run(edits[i].file), edits[i].old, edits[i].new);
        assert_folder_refused(edits[i].part);
    }
    fresh_run();
    put_text(in_run("data.json"), "");
    assert_folder_refused("data.json");
    char name[5000];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    ssm2d_model *m;
    assert_line(ssm2d_model_open(name, NULL, &m, &error), "not the folder of a run");
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Changes bytes of the weights after the header. */
static void spoil_weights(size_t from_end, const void *bytes, size_t size)
{
    size_t length;
    char *text = get_file(GOLDEN_RUN "/model.safetensors", &length);
    memcpy(text + length - from_end, bytes, size);
    put_file(in_run("model.safetensors"), text, length);
    free(text);
}

static void test_damaged_weights_are_refused(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY};
    size_t length;
    fresh_run();
    for (int i = 0; i < 2; i++) {
        spoil_weights(64, &bad[i], sizeof bad[i]);
        assert_folder_refused("weights must be finite");
    }
    char *text = get_file(GOLDEN_RUN "/model.safetensors", &length);
    put_file(in_run("model.safetensors"), text, length - 1);
    assert_folder_refused("model.safetensors");
    put_file(in_run("model.safetensors"), text, 7);
    assert_folder_refused("model.safetensors");
    memset(text, 0xff, 8); /* a header that is longer than the memory */
    put_file(in_run("model.safetensors"), text, length);
    assert_folder_refused("model.safetensors");
    free(text);
    copy_folder(GOLDEN_RUN, in_folder("other"));
    assert_int_equal(rename(in_folder("other/last.safetensors"), in_run("model.safetensors")), 0);
    assert_folder_refused("is a checkpoint");
}

/* Weights of a model without mixers are refused for a model with mixers. */
static void test_weights_without_mixers_are_refused(void **state)
{
    (void)state;
    ssm2d_model *m;
    const char *config = in_folder("config.json");
    copy_folder(GOLDEN_MODELS "/01_vit", in_folder("case"));
    const char *weights = in_folder("case/weights.safetensors");
    assert_line(ssm2d_model_open_files(config, weights, NULL, &m, &error), "config.json");
    assert_null(m);
    assert_int_equal(mkfifo(config, 0600), 0);
    assert_line(ssm2d_model_open_files(config, weights, NULL, &m, &error), "config.json");
    assert_int_equal(remove(config), 0);
    edit_file(in_folder("case/config.json"), "\"mixer\": null", "\"mixer\": \"ssm2d\"");
    config = in_folder("case/config.json");
    assert_line(ssm2d_model_open_files(config, weights, NULL, &m, &error),
                "has no arrays of the mixer ssm2d");
    assert_int_equal(remove(weights), 0);
    assert_int_equal(mkfifo(weights, 0600), 0);
    assert_line(ssm2d_model_open_files(config, weights, NULL, &m, &error), "weights.safetensors");
    assert_line(ssm2d_model_open_files(NULL, weights, NULL, &m, &error), "NULL");
    assert_line(ssm2d_model_open_files(config, NULL, NULL, &m, &error), "NULL");
    assert_line(ssm2d_model_open(NULL, NULL, &m, &error), "NULL");
    assert_line(ssm2d_model_open("x", NULL, NULL, &error), "model=NULL");
    /* without a place for the message */
    assert_int_not_equal(ssm2d_model_open("x", NULL, &m, NULL), SSM2D_OK);
    ssm2d_model_close(NULL);
    ssm2d_session_destroy(NULL);
}

/* ---- use ------------------------------------------------------------------------------------- */

static ssm2d_model *good_model(void)
{
    ssm2d_model *m;
    if (ssm2d_model_open(GOLDEN_RUN, NULL, &m, &error)) fail_msg("%s", error.line);
    return m;
}

typedef struct meter {
    atomic_long calls, live, fail_at;
} meter;

static void *take(size_t bytes, void *user)
{
    meter *m = user;
    if (atomic_fetch_add(&m->calls, 1) == m->fail_at) return NULL;
    void *memory = malloc(bytes);
    if (!memory) return NULL;
    memset(memory, 0xa5, bytes);
    atomic_fetch_add(&m->live, 1);
    return memory;
}

static void give(void *memory, void *user)
{
    atomic_fetch_sub(&((meter *)user)->live, 1);
    free(memory);
}

static void test_bad_model_options_are_refused(void **state)
{
    (void)state;
    ssm2d_model *m;
    ssm2d_model_options o = ssm2d_model_options_default();
    o.size = 3;
    assert_line(ssm2d_model_open(GOLDEN_RUN, &o, &m, &error), "model_options.size=3");
    o = ssm2d_model_options_default();
    o.weights = (ssm2d_model_weights)7;
    assert_line(ssm2d_model_open(GOLDEN_RUN, &o, &m, &error), "weights=7");
    o = ssm2d_model_options_default();
    o.cpu = "z80";
    assert_line(ssm2d_model_open(GOLDEN_RUN, &o, &m, &error), "z80");
    o = ssm2d_model_options_default();
    o.release = give;
    assert_line(ssm2d_model_open(GOLDEN_RUN, &o, &m, &error), "both or neither");
}

static void assert_plan_refused(const ssm2d_model *m, const ssm2d_session_options *o,
                                const char *part)
{
    ssm2d_session *p = (ssm2d_session *)&error;
    assert_line(ssm2d_session_create(m, o, &p, &error), part);
    assert_null(p);
}

static void test_bad_session_options_are_refused(void **state)
{
    (void)state;
    ssm2d_model *m = good_model();
    const ssm2d_session_options good = ssm2d_session_options_default();
    ssm2d_session_options o = good;
    ssm2d_session *p;
    o.size = sizeof o + 8;
    assert_plan_refused(m, &o, "session_options.size");
    o = good, o.batch = 0;
    assert_plan_refused(m, &o, "batch=0");
    o = good, o.batch = SIZE_MAX;
    assert_plan_refused(m, &o, "batch=18446744073709551615: use 1 to 1048576 images");
    o = good, o.batch = (size_t)1 << 20; /* out of memory */
    o.max_bytes = (size_t)1 << 30;
    assert_plan_refused(m, &o, "max_bytes=1073741824");
    o = good, o.rows = 8;
    assert_plan_refused(m, &o, "cols=0");
    o = good, o.rows = -8, o.cols = 8;
    assert_plan_refused(m, &o, "rows=-8");
    o = good, o.rows = 9, o.cols = 8;
    assert_plan_refused(m, &o, "image");
    o = good, o.rows = o.cols = 1 << 30;
    assert_plan_refused(m, &o, "image");
    o = good, o.rows = o.cols = 8192, o.max_bytes = 100 << 20;
    assert_plan_refused(m, &o, "max_bytes=104857600");
    o = good, o.threads = -1;
    assert_plan_refused(m, &o, "threads=-1");
    o = good, o.threads = 5000;
    assert_plan_refused(m, &o, "threads=5000");
    o = good, o.features = -1;
    assert_plan_refused(m, &o, "features=-1");
    o = good, o.features = 3;
    assert_plan_refused(m, &o, "use 1 to 2");
    ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
    o = good, o.preparation = &prepare;
    prepare.std[0] = 0;
    assert_plan_refused(m, &o, "std=0: use a std of 1.17549e-38 or more");
    prepare.std[0] = 1e-45f;
    assert_plan_refused(m, &o, "std=1.4013e-45: use a std of 1.17549e-38 or more");
    prepare = ssm2d_model_preparation_default(), prepare.crop = 0.05;
    assert_plan_refused(m, &o, "eval_crop");
    prepare = ssm2d_model_preparation_default(), prepare.crop = (double)NAN;
    assert_plan_refused(m, &o, "eval_crop");
    prepare = ssm2d_model_preparation_default(), prepare.filter = (ssm2d_model_filter)9;
    assert_plan_refused(m, &o, "filter=9");
    prepare = ssm2d_model_preparation_default(), prepare.size = 1;
    assert_plan_refused(m, &o, "model_preparation.size");
    assert_plan_refused(NULL, &good, "model=NULL");
    assert_line(ssm2d_session_create(m, &good, NULL, &error), "session=NULL");
    /* the reported bytes are sufficient */
    assert_int_equal(ssm2d_session_create(m, &good, &p, &error), SSM2D_OK);
    o = good, o.max_bytes = 4 * ssm2d_session_bytes(p);
    ssm2d_session_destroy(p);
    assert_int_equal(ssm2d_session_create(m, &o, &p, &error), SSM2D_OK);
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
}

static void test_bad_images_are_refused(void **state)
{
    (void)state;
    ssm2d_model *m = good_model();
    ssm2d_session *p;
    uint8_t pixel[4] = {1, 2, 3, 4};
    static const struct bad {
        size_t rows, cols;
        int channels;
        ptrdiff_t stride;
        const char *part;
    } bad[] = {{0, 1, 1, 0, "0 x 1"},      {1, 0, 1, 0, "1 x 0"},
               {65537, 1, 1, 0, "65537"},  {1, SIZE_MAX, 1, 0, "pixels: use"},
               {1, 1, 0, 0, "channels=0"}, {1, 1, 5, 0, "channels=5"},
               {2, 2, 1, 1, "stride=1"},   {2, 2, 1, -1, "stride=-1"}};
    assert_int_equal(ssm2d_session_create(m, NULL, &p, &error), SSM2D_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const test_image image = {pixel, bad[i].rows, bad[i].cols, bad[i].channels, bad[i].stride};
        assert_line(prepare_images(p, 0, 1, &image, &error), bad[i].part);
    }
    const test_image none = {NULL, 1, 1, 1, 0}, good = {pixel, 2, 2, 1, 0};
    float out[8];
    double likely[8];
    assert_line(prepare_images(p, 0, 1, &none, &error), "pixels=NULL");
    assert_line(prepare_images(NULL, 0, 1, &good, &error), "session=NULL");
    assert_line(prepare_images(p, 1, 1, &good, &error), "index=1: the session is for 1 images");
    assert_line(prepare_images(p, SIZE_MAX, 1, &good, &error), "the session is for 1 images");
    assert_line(ssm2d_session_run(p, NULL, 1, out, &error), "image 0 of 1 was not prepared");
    assert_int_equal(prepare_images(p, 0, 1, &good, &error), SSM2D_OK);
    assert_int_equal(ssm2d_session_run(p, NULL, 1, out, &error), SSM2D_OK);
    assert_line(ssm2d_session_run(p, NULL, 2, out, &error), "count=2: the session is for 1 images");
    assert_line(ssm2d_session_run(p, NULL, 1, NULL, &error), "out=NULL");
    assert_line(ssm2d_session_run(NULL, NULL, 1, out, &error), "session=NULL");
    assert_line(ssm2d_model_probabilities(NULL, out, 1, likely, &error), "model=NULL");
    assert_line(ssm2d_model_probabilities(m, NULL, 1, likely, &error), "logits=NULL");
    assert_line(ssm2d_model_probabilities(m, out, 1, NULL, &error), "probabilities=NULL");
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);

    if (ssm2d_model_open_files(GOLDEN_RUN "/config.json", GOLDEN_RUN "/model.safetensors", NULL, &m,
                               &error)
        || ssm2d_session_create(m, NULL, &p, &error))
        fail_msg("%s", error.line);
    assert_line(prepare_images(p, 0, 1, &good, &error), "set preparation");
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Calls everything that allocates, with one failing allocation. Returns whether all calls
 * succeeded. */
static int use_all(long fail_at, int features)
{
    static uint8_t pixels[40 * 50];
    meter count = {.fail_at = fail_at};
    ssm2d_model_options o = ssm2d_model_options_default();
    ssm2d_session_options with = ssm2d_session_options_default();
    const test_image image = {pixels, 40, 50, 1, 0};
    ssm2d_model *m = NULL;
    ssm2d_session *p = NULL;
    o.allocate = take;
    o.release = give;
    o.user = &count;
    with.batch = 2;
    with.threads = 2;
    with.rows = with.cols = 12;
    with.features = features;
    ssm2d_status status = ssm2d_model_open(GOLDEN_RUN, &o, &m, &error);
    if (!status) status = ssm2d_session_create(m, &with, &p, &error);
    if (!status) status = prepare_images(p, 0, 1, &image, &error);
    if (!status) {
        const long before = count.calls;
        float *out = malloc(2 * ssm2d_session_output_of(p).count * sizeof *out);
        assert_int_equal(ssm2d_session_run(p, NULL, 1, out, &error), SSM2D_OK);
        /* smaller images need nothing more */
        const test_image small = {pixels, 20, 30, 1, 0};
        assert_int_equal(prepare_images(p, 1, 1, &small, &error), SSM2D_OK);
        assert_int_equal(ssm2d_session_run(p, NULL, 2, out, &error), SSM2D_OK);
        free(out);
        /* tables of weights may be made again for another size, in the existing memory */
        assert_int_equal(count.calls, before);
    }
    ssm2d_session_destroy(p);
    ssm2d_model_close(m);
    assert_int_equal(count.live, 0);
    if (status) {
        assert_int_equal(status, SSM2D_ERROR_MEMORY);
        assert_line(status, "out of memory: ");
    }
    return !status;
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    for (int features = 0; features < 2; features++) {
        long n = 0;
        while (!use_all(n, features)) n++;
        assert_true(n > 20); /* some allocation did fail */
        assert_true(use_all(-1, features));
    }
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {IN_FOLDER(test_missing_files_are_named),
                                       IN_FOLDER(test_bad_values_in_files_are_named),
                                       IN_FOLDER(test_damaged_weights_are_refused),
                                       IN_FOLDER(test_weights_without_mixers_are_refused),
                                       cmocka_unit_test(test_bad_model_options_are_refused),
                                       cmocka_unit_test(test_bad_session_options_are_refused),
                                       cmocka_unit_test(test_bad_images_are_refused),
                                       cmocka_unit_test(test_any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
