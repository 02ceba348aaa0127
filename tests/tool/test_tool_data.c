/* ssm2d data: what `augment` writes, and its refusals. */
#include "tool_run.h"

#include "io/image.h"

static ssm2d_context *context;
static ssm2d_error error;

typedef struct picture {
    image_info info;
    uint8_t pixels[1 << 16];
} picture;

static void get_picture(const char *path, picture *p)
{
    image_reader *reader;
    if (image_open(context, path, NULL, &reader, &p->info, &error)) fail_msg("%s", error.line);
    const size_t line = image_row_bytes(&p->info);
    assert_true(line * p->info.rows <= sizeof p->pixels);
    for (size_t y = 0; y < p->info.rows; y++)
        assert_int_equal(image_read_row(reader, p->pixels + y * line, &error), SSM2D_OK);
    image_close(reader);
}

static int setup(void **state)
{
    return ssm2d_context_create(NULL, &context, &error) || folder_setup(state) ? -1 : 0;
}

static int teardown(void **state)
{
    ssm2d_context_destroy(context);
    return folder_teardown(state);
}

static void applies_an_operation(void **state)
{
    (void)state;
    static picture in, out;
    for (int channels = 1; channels <= 3; channels += 2) {
        put_picture(in_folder("in.png"), 23, 31, channels);
        get_picture(in_folder("in.png"), &in);
        TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("out.png"), "--op", "invert");
        assert_wrote("out.png");
        assert_non_null(strstr(tool.out, "/out.png: 23 x 31 pixels, "));
        get_picture(in_folder("out.png"), &out);
        assert_memory_equal(&out.info, &in.info, sizeof in.info);
        const size_t size = 23 * image_row_bytes(&in.info);
        for (size_t i = 0; i < size; i++) assert_int_equal(out.pixels[i], 255 - in.pixels[i]);
        TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("out.png"), "--op",
             "posterize", "--value", "3");
        assert_wrote("out.png");
        get_picture(in_folder("out.png"), &out);
        for (size_t i = 0; i < size; i++) assert_int_equal(out.pixels[i], in.pixels[i] & 0xe0);
        TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("out.png"), "--op",
             "translate-y", "--value=-1");
        assert_wrote("out.png");
        get_picture(in_folder("out.png"), &out);
        for (size_t i = 0; i < size; i++) assert_int_equal(out.pixels[i], 128);
    }
}

static void resize_gives_requested_size(void **state)
{
    (void)state;
    static picture out;
    put_picture(in_folder("in.png"), 40, 60, 3);
    TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("out.png"), "--op", "resize",
         "--value", "17x29");
    assert_wrote("out.png");
    get_picture(in_folder("out.png"), &out);
    assert_int_equal(out.info.rows, 17);
    assert_int_equal(out.info.cols, 29);
    assert_int_equal(out.info.channels, 3);
}

static void unused_values_are_reported(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 4, 4, 1);
    TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("out.png"), "--op", "equalize",
         "--value", "3");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.err, "equalize has no value"));
}

static void refuses_bad_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"posterize", "9"}, {"posterize", "2.5"},
        {"rotate", "x"},    {"rotate", "nan"},
        {"color", "1e9"},   {"resize", "32"},
        {"resize", "0x5"},  {"resize", "5x65537"},
        {"resize", "-5x5"}, {"resize", "99999999999999999999x5"}};
    put_picture(in_folder("in.png"), 4, 4, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[64];
        snprintf(value, sizeof value, "--value=%s", cases[i][1]);
        TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("no.png"), "--op", cases[i][0],
             value);
        assert_refused(2, "data augment", value);
    }
    TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("no.png"), "--op", "blur");
    assert_refused(2, "data augment", "--op=blur");
    TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("no.png"), "--op", "rotate");
    assert_refused(2, "data augment", "--value", "rotate");
    TOOL("data", "augment", in_folder("none.png"), "-o", in_folder("no.png"), "--op", "invert");
    assert_refused(1, "data augment", "none.png");
    put_text(in_folder("bad.png"), "\x89PNG no");
    TOOL("data", "augment", in_folder("bad.png"), "-o", in_folder("no.png"), "--op", "invert");
    assert_refused(1, "data augment", "bad.png");
    TOOL("data", "augment", in_folder("in.png"), "-o", in_folder("none/no.png"), "--op", "invert");
    assert_refused(1, "data augment", "none/no.png");
    TOOL("data", "augmint");
    assert_refused(2, "data", "augmint");
}

static void measures_the_loader(void **state)
{
    (void)state;
    double workers, cifar, jpeg;
    shell_run("TMPDIR=$FOLDER $SSM2D bench data --quick --json --workers 2 2> $FOLDER/said");
    assert_int_equal(tool.code, 0);
    assert_int_equal(
        sscanf(tool.out, "{\"workers\":%lf,\"cifar_small_images_per_s\":%lf", &workers, &cifar), 2);
    const char *at = strstr(tool.out, "\"jpeg_deit_images_per_s\":");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"jpeg_deit_images_per_s\":%lf", &jpeg), 1);
    assert_true(workers == 2 && jpeg > 0);
    assert_true(cifar > 20 * jpeg); /* 32 x 32 from memory, and JPEGs of 375 x 500 at 224 x 224 */
    assert_int_equal(count_files(in_folder(".")), 1); /* the images it made have been removed */
    TOOL("bench", "data", "--quick", "--folder", in_folder("none"));
    assert_int_equal(tool.code, 1);
    assert_non_null(strstr(tool.err, "none"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(applies_an_operation), TEST(resize_gives_requested_size),
        TEST(unused_values_are_reported), TEST(refuses_bad_values), TEST(measures_the_loader)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
