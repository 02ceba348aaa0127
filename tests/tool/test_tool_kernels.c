/* ssm2d kernels: pictures of the right kind and size are written, complete or not at all. */
#include "tool_run.h"

#include "io/image.h"

#include <sys/stat.h>

/* Reads the whole picture; fails if it is damaged. */
static image_info read_picture(const char *path)
{
    ssm2d_context *context;
    ssm2d_error error;
    image_reader *reader;
    image_info info;
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1}, &context,
            &error),
        SSM2D_OK);
    if (image_open(context, path, NULL, &reader, &info, &error)) fail_msg("%s", error.line);
    uint8_t *row = malloc(info.cols * (size_t)info.channels);
    assert_non_null(row);
    for (size_t i = 0; i < info.rows; i++)
        if (image_read_row(reader, row, &error)) fail_msg("%s", error.line);
    free(row);
    image_close(reader);
    ssm2d_context_destroy(context);
    return info;
}

static int same_files(const char *a, const char *b)
{
    size_t size_a, size_b;
    char *bytes_a = get_file(a, &size_a), *bytes_b = get_file(b, &size_b);
    int same = size_a == size_b && !memcmp(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
    return same;
}

static void test_figure2_is_drawn(void **state)
{
    (void)state;
    TOOL("kernels", "--figure2", "-o", in_folder("a.png"));
    assert_wrote("a.png");
    image_info five = read_picture(in_folder("a.png"));
    TOOL("kernels", "--figure2", "--draws", "2", "--output", in_folder("b.PNG"));
    assert_wrote("b.PNG");
    image_info two = read_picture(in_folder("b.PNG"));
    assert_true(five.cols > 1500 && five.rows > 600);
    assert_true(two.cols < five.cols && two.rows >= five.rows); /* its notes may have more lines */
    TOOL("kernels", "--figure3", "-o", in_folder("a.png"));     /* its newer name */
    assert_done();
    assert_int_equal(read_picture(in_folder("a.png")).cols, five.cols);
    assert_int_equal(count_files(in_folder(".")), 2);
}

/* A picture for every kind; those of selective kinds depend on the image. */
static void impulse_responses_are_drawn(void **state)
{
    (void)state;
    TOOL("kernels", "--figure3", "-o", in_folder("image.png"));
    TOOL("kernels", "--figure3", "--draws", "1", "-o", in_folder("other.png"));
    for (int i = 0; i < 3; i++) {
        TOOL("kernels", "--impulse", in_folder(i == 1 ? "other.png" : "image.png"), "--rows", "7",
             "--cols", "9", "-o",
             in_folder(i == 0   ? "a.png"
                       : i == 1 ? "b.png"
                                : "c.png"));
        assert_wrote(i == 0 ? "a.png" : i == 1 ? "b.png" : "c.png");
    }
    assert_true(read_picture(in_folder("a.png")).cols > 3000);
    assert_true(same_files(in_folder("a.png"), in_folder("c.png")));
    assert_false(same_files(in_folder("a.png"), in_folder("b.png")));
    TOOL("kernels", "--impulse", in_folder("nothing.png"), "-o", in_folder("d.png"));
    assert_refused(1, "kernels", "nothing.png");
    TOOL("kernels", "--impulse", in_folder("image.png"), "--figure3", "-o", in_folder("d.png"));
    assert_refused(2, "kernels", "--impulse");
}

static void test_seed_determines_the_picture(void **state)
{
    (void)state;
    TOOL("kernels", "--figure2", "-o", in_folder("a.png"), "--seed", "7");
    assert_wrote("a.png");
    TOOL("kernels", "--figure2", "-o", in_folder("b.png"), "--seed=7", "--threads=1");
    assert_wrote("b.png");
    TOOL("kernels", "--figure2", "-o", in_folder("c.png"), "--seed=8");
    assert_wrote("c.png");
    assert_true(same_files(in_folder("a.png"), in_folder("b.png")));
    assert_false(same_files(in_folder("a.png"), in_folder("c.png")));
}

static void test_kernels_of_any_configuration_are_drawn(void **state)
{
    (void)state;
    static const char *const configs[] = {
        "{}",
        "{\"channels\": 3, \"directions\": 4, \"layer_norm\": true, \"seed\": 5, \"init\": "
        "\"authors\"}",
        "{\"channels\": 2, \"directions\": 1, \"values\": \"polar\", \"skip\": false, \"norm\": "
        "\"paper\"}",
        "{\"directions\": 2, \"pair\": \"columns\", \"trunc\": [3, 3], \"average\": true}",
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        put_text(in_folder("c.json"), configs[i]);
        TOOL("kernels", "--config", in_folder("c.json"), "-o", in_folder("a.png"));
        assert_wrote("a.png");
        read_picture(in_folder("a.png"));
        TOOL("kernels", "--config", in_folder("c.json"), "-o", in_folder("a.png"), "--scale=shared",
             "--rows=1", "--cols=1");
        assert_wrote("a.png");
        read_picture(in_folder("a.png"));
        TOOL("kernels", "--config", in_folder("c.json"), "-o", in_folder("a.png"), "--rows=300",
             "--cols=2", "--channels=1");
        assert_wrote("a.png");
        read_picture(in_folder("a.png"));
    }
    TOOL("kernels", "-o", in_folder("a.png"));
    assert_wrote("a.png");
}

static void test_pdf_is_written(void **state)
{
    (void)state;
    size_t size;
    TOOL("kernels", "--figure2", "-o", in_folder("a.pdf"));
    assert_wrote("a.pdf");
    char *bytes = get_file(in_folder("a.pdf"), &size);
    assert_true(size > 1000);
    assert_memory_equal(bytes, "%PDF-", 5);
    assert_non_null(strstr(bytes + size - 16, "%%EOF"));
    free(bytes);
}

static void test_no_title_leaves_out_the_title(void **state)
{
    (void)state;
    static const char *const kinds[] = {"--figure2", "--scale=panel"};
    for (int i = 0; i < 2; i++) {
        TOOL("kernels", kinds[i], "-o", in_folder("a.png"));
        assert_wrote("a.png");
        TOOL("kernels", kinds[i], "-o", in_folder("b.png"), "--no-title");
        assert_wrote("b.png");
        image_info with = read_picture(in_folder("a.png"));
        image_info without = read_picture(in_folder("b.png"));
        assert_true(without.rows + 2 * 30 + 2 * 2 * 15 <= with.rows);
        assert_true(without.cols <= with.cols);
    }
}

static void test_svg_is_written(void **state)
{
    (void)state;
    size_t size;
    TOOL("kernels", "--figure2", "-o", in_folder("a.svg"));
    assert_wrote("a.svg");
    char *text = get_file(in_folder("a.svg"), &size);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "<svg"));
    assert_non_null(strstr(text, "</svg>"));
    free(text);
}

static void test_contradictory_options_are_refused(void **state)
{
    (void)state;
    TOOL("kernels", "--figure2");
    assert_refused(2, "kernels", "--output");
    TOOL("kernels", "--figure2", "-o", in_folder("a.jpg"));
    assert_refused(2, "kernels", "the name must end in .png, .svg or .pdf");
    TOOL("kernels", "--figure2", "-o", in_folder("a.png/b"));
    assert_refused(2, "kernels", "the name must end in .png, .svg or .pdf");
    TOOL("kernels", "--figure2", "--config", "x.json", "-o", in_folder("a.png"));
    assert_refused(2, "kernels", "--config", "--figure2");
    TOOL("kernels", "--figure2", "--channels", "2", "-o", in_folder("a.png"));
    assert_refused(2, "kernels", "--channels");
    TOOL("kernels", "--draws", "2", "-o", in_folder("a.png"));
    assert_refused(2, "kernels", "--draws", "--figure3");
    TOOL("kernels", "--weights", "best", "-o", in_folder("a.png"));
    assert_refused(2, "kernels", "--weights");
    TOOL("kernels", "--figure2", "--rows=0", "-o", in_folder("a.png"));
    assert_refused(2, "kernels", "--rows=0");
    assert_int_equal(count_files(in_folder(".")), 0);
}

static void test_bad_config_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } configs[] = {
        {"{\"directions\": 3}", "\"directions\" is 3"},
        {"{\"d_state\": 0}", "\"d_state\" is 0"},
        {"{\"nrom\": \"half\"}", "norm"},
        {"{\"init\": \"random\"}", "\"init\" is \"random\": use identity or authors"},
        {"{\"seed\": -1}", "\"seed\" is -1"},
        {"[1]", "c.json"},
        {"{", "c.json"},
        {"", "c.json"},
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        put_text(in_folder("c.json"), configs[i].text);
        TOOL("kernels", "--config", in_folder("c.json"), "-o", in_folder("a.png"));
        assert_refused(1, "kernels", configs[i].line);
        assert_int_equal(count_files(in_folder(".")), 1);
    }
    TOOL("kernels", "--config", in_folder("none.json"), "-o", in_folder("a.png"));
    assert_refused(1, "kernels", "none.json");
}

static void test_unwritable_output_is_an_error(void **state)
{
    (void)state;
    put_text(in_folder("file"), "x");
    TOOL("kernels", "--figure2", "-o", in_folder("file/a.png"));
    assert_refused(1, "kernels", "file/a.png");
    TOOL("kernels", "--figure2", "-o", "/proc/a.svg");
    assert_refused(1, "kernels", "/proc/a.svg");
    TOOL("kernels", "--figure2", "-o", in_folder("nowhere/a.svg"));
    assert_refused(1, "kernels", "nowhere/a.svg");
    assert_int_equal(mkdir(in_folder("a.png"), 0777), 0);
    TOOL("kernels", "--figure2", "-o", in_folder("a.png"));
    assert_refused(1, "kernels", "a.png");
    assert_int_equal(count_files(in_folder(".")), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_figure2_is_drawn),
        TEST(impulse_responses_are_drawn),
        TEST(test_seed_determines_the_picture),
        TEST(test_kernels_of_any_configuration_are_drawn),
        TEST(test_svg_is_written),
        TEST(test_pdf_is_written),
        TEST(test_no_title_leaves_out_the_title),
        TEST(test_contradictory_options_are_refused),
        TEST(test_bad_config_is_refused),
        TEST(test_unwritable_output_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
