/* ssm2d filter: the same bytes when streamed and in memory, memory that does not grow with the
 * height, and bad input. */
#define _GNU_SOURCE /* memmem */
#include "tool_run.h"

#include "core/context.h"
#include "io/image.h"

#include <sys/stat.h>
#include <zlib.h>

/* The whole picture, to be freed. */
static uint8_t *read_picture(const char *path, image_info *info)
{
    ssm2d_context *context;
    ssm2d_error error;
    image_reader *reader;
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1}, &context,
            &error),
        SSM2D_OK);
    if (image_open(context, path, NULL, &reader, info, &error)) fail_msg("%s", error.line);
    size_t row = info->cols * (size_t)info->channels;
    uint8_t *bytes = malloc(row * info->rows);
    assert_non_null(bytes);
    for (size_t i = 0; i < info->rows; i++)
        if (image_read_row(reader, bytes + i * row, &error)) fail_msg("%s", error.line);
    image_close(reader);
    ssm2d_context_destroy(context);
    return bytes;
}

static void assert_same_pictures(const char *a, const char *b)
{
    image_info info_a, info_b;
    uint8_t *bytes_a = read_picture(a, &info_a), *bytes_b = read_picture(b, &info_b);
    assert_int_equal(info_a.rows, info_b.rows);
    assert_int_equal(info_a.cols, info_b.cols);
    assert_int_equal(info_a.channels, info_b.channels);
    assert_memory_equal(bytes_a, bytes_b, info_a.rows * info_a.cols * (size_t)info_a.channels);
    free(bytes_a);
    free(bytes_b);
}

static void test_trail_has_same_bytes_streamed_and_in_memory(void **state)
{
    (void)state;
    static const char *const angles[] = {"0", "30", "45", "90", "120", "180"};
    for (int channels = 1; channels <= 3; channels += 2) {
        put_picture(in_folder("in.png"), 61, 83, channels);
        for (int i = 0; i < 6; i++) {
            TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--angle", angles[i]);
            assert_wrote("a.png");
            TOOL("filter", in_folder("in.png"), "-o", in_folder("b.png"), "--angle", angles[i],
                 "--in-memory", "--threads=1");
            assert_wrote("b.png");
            assert_same_pictures(in_folder("a.png"), in_folder("b.png"));
        }
    }
}

static void test_config_has_same_bytes_streamed_and_in_memory(void **state)
{
    (void)state;
    static const char *const configs[] = {
        "{\"directions\": 1}",
        "{\"directions\": 2, \"pair\": \"columns\", \"norm\": \"half\", \"seed\": 4}",
        ("{\"directions\": 2, \"pair\": \"columns\", \"values\": \"cartesian\", "
         "\"layer_norm\": true, \"c_per_channel\": true}"),
    };
    put_picture(in_folder("in.png"), 40, 33, 3);
    for (int i = 0; i < 3; i++) {
        put_text(in_folder("c.json"), configs[i]);
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config",
             in_folder("c.json"));
        assert_wrote("a.png");
        assert_non_null(strstr(tool.out, "/a.png: 40 x 33 pixels, "));
        TOOL("filter", in_folder("in.png"), "-o", in_folder("b.png"), "--config",
             in_folder("c.json"), "--in-memory");
        assert_wrote("b.png");
        assert_same_pictures(in_folder("a.png"), in_folder("b.png"));
    }
}

/* One white pixel spreads only in the direction of the angle, and a uniform picture does not
 * change. */
static void test_trail_goes_in_the_given_direction(void **state)
{
    (void)state;
    enum { SIDE = 41, MIDDLE = 20 };
    image_info info = {SIDE, SIDE, 1};
    static const struct {
        const char *angle;
        int down, right; /* -1, 0, 1: direction of the trail */
    } cases[] = {{"0", 0, 1},     {"45", 1, 1},   {"90", 1, 0},   {"135", 1, -1}, {"180", 0, -1},
                 {"225", -1, -1}, {"270", -1, 0}, {"315", -1, 1}, {"360", 0, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int even = 0; even < 2; even++) {
            ssm2d_context *context;
            ssm2d_error error;
            image_writer *writer;
            uint8_t row[SIDE];
            assert_int_equal(
                ssm2d_context_create(
                    &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1},
                    &context, &error),
                SSM2D_OK);
            assert_int_equal(
                image_create(context, in_folder("in.png"), &info, NULL, &writer, &error), SSM2D_OK);
            for (int i = 0; i < SIDE; i++) {
                memset(row, even ? 137 : 0, sizeof row);
                if (!even && i >= MIDDLE - 2 && i <= MIDDLE + 2) memset(row + MIDDLE - 2, 255, 5);
                assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
            }
            assert_int_equal(image_finish(writer, &error), SSM2D_OK);
            ssm2d_context_destroy(context);
            TOOL("filter", in_folder("in.png"), "-o", in_folder("out.png"), "--angle",
                 cases[k].angle, "--length", "15", "--in-memory");
            assert_wrote("out.png");
            image_info got;
            uint8_t *out = read_picture(in_folder("out.png"), &got);
            for (int i = 0; i < SIDE && even; i++)
                for (int j = 0; j < SIDE; j++) assert_in_range(out[i * SIDE + j], 137, 137);
            if (!even) {
                int down = cases[k].down, right = cases[k].right;
                assert_true(out[(MIDDLE + 10 * down) * SIDE + MIDDLE + 10 * right] > 8);
                const int behind = down < 0 ? 10 : -10;
                assert_int_equal(out[(MIDDLE + behind) * SIDE + MIDDLE], 0);
                assert_int_equal(out[(MIDDLE + behind) * SIDE + MIDDLE - 10 * right], 0);
                if (right) assert_int_equal(out[MIDDLE * SIDE + MIDDLE - 10 * right], 0);
            }
            free(out);
        }
}

/* A picture of 16 bits and alpha: an opaque dark left half, a transparent bright right half. */
static void put_deep(const char *path, int channels)
{
    enum { ROWS = 6, COLS = 16 };
    const image_info info = {ROWS, COLS, channels, 16};
    ssm2d_context_options options = ssm2d_context_options_default();
    ssm2d_context *context;
    ssm2d_error error;
    image_writer *writer;
    uint16_t row[COLS * 4];
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    assert_int_equal(image_create(context, path, &info, NULL, &writer, &error), SSM2D_OK);
    for (int i = 0; i < COLS * channels; i++) {
        const int left = i / channels < COLS / 2, last = i % channels == channels - 1;
        row[i] = (uint16_t)(last ? (left ? 65535 : 0) : left ? 1001 + i % channels : 60000);
    }
    for (int r = 0; r < ROWS; r++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

/* Reads all samples as they are, to be freed. */
static uint16_t *read_deep(const char *path, image_info *info)
{
    const image_read_options exact = {.exact = 1};
    ssm2d_context_options options = ssm2d_context_options_default();
    ssm2d_context *context;
    ssm2d_error error;
    image_reader *reader;
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    if (image_open(context, path, &exact, &reader, info, &error)) fail_msg("%s", error.line);
    assert_int_equal(info->depth, 16);
    const size_t row = info->cols * (size_t)info->channels;
    uint16_t *samples = malloc(info->rows * row * sizeof *samples);
    for (size_t i = 0; i < info->rows; i++)
        assert_int_equal(image_read_row(reader, samples + i * row, &error), SSM2D_OK);
    image_close(reader);
    ssm2d_context_destroy(context);
    return samples;
}

/* The trail has the transparency and colour of its origin: transparent pixels leave none behind. */
static void test_trail_keeps_depth_and_alpha(void **state)
{
    (void)state;
    for (int channels = 2; channels <= 4; channels += 2)
        for (int in_memory = 0; in_memory < 2; in_memory++) {
            image_info info;
            put_deep(in_folder("in.png"), channels);
            TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--angle=0", "--length=4",
                 in_memory ? "--in-memory" : "--mix=0.7");
            assert_wrote("a.png");
            uint16_t *out = read_deep(in_folder("a.png"), &info);
            assert_int_equal(info.channels, channels);
            for (size_t i = 0; i < info.rows * info.cols; i++) {
                const uint16_t *pixel = out + i * (size_t)channels;
                const int left = i % info.cols < info.cols / 2;
                for (int c = 0; c < channels - 1; c++)
                    assert_in_range(pixel[c], 1000 + c, 1002 + c); /* in all 16 bits */
                if (left) assert_int_equal(pixel[channels - 1], 65535);
                if (!left) assert_in_range(pixel[channels - 1], 1, 50000);
            }
            free(out);
        }
}

/* Other layers keep alpha, row by row and in memory; in a JPEG pixels are blended over white. */
static void test_layers_keep_depth_and_alpha(void **state)
{
    (void)state;
    image_info info, again;
    put_deep(in_folder("in.png"), 4);
    put_text(in_folder("c.json"), "{\"directions\": 1}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_wrote("a.png");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("b.png"), "--config", in_folder("c.json"),
         "--in-memory");
    assert_wrote("b.png");
    uint16_t *in = read_deep(in_folder("in.png"), &info);
    uint16_t *a = read_deep(in_folder("a.png"), &again), *b = read_deep(in_folder("b.png"), &again);
    for (size_t i = 0; i < info.rows * info.cols * 4; i++) {
        if (i % 4 == 3) assert_int_equal(a[i], in[i]);
        assert_int_equal(a[i], b[i]);
    }
    free(in);
    free(a);
    free(b);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.jpeg"), "--mix", "0", "--quality", "95");
    assert_wrote("a.jpeg");
    uint8_t *jpeg = read_picture(in_folder("a.jpeg"), &info);
    assert_int_equal(info.channels, 3);
    assert_in_range(jpeg[0], 0, 12);
    assert_in_range(jpeg[3 * 15], 243, 255);
    free(jpeg);
}

/* Pipes give the same as files. */
static void test_pipes_give_the_same_as_files(void **state)
{
    (void)state;
    char line[2048];
    put_picture(in_folder("in.png"), 20, 30, 3);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--angle", "90");
    assert_wrote("a.png");
    snprintf(line, sizeof line, "cat %s | %s filter - -o - --angle 90 | cat > %s",
             in_folder("in.png"), TOOL_PATH, in_folder("b.png"));
    assert_int_equal(system(line), 0);
    assert_same_pictures(in_folder("a.png"), in_folder("b.png"));
    snprintf(line, sizeof line, "%s filter - -o - < /dev/null 2> %s", TOOL_PATH, in_folder("e"));
    assert_int_not_equal(system(line), 0);
    size_t size;
    char *text = get_file(in_folder("e"), &size);
    assert_non_null(strstr(text, "ssm2d filter: standard input: is empty"));
    free(text);
    snprintf(line, sizeof line, "%s filter %s -o - > /dev/full 2> %s", TOOL_PATH,
             in_folder("in.png"), in_folder("e"));
    assert_int_not_equal(system(line), 0);
}

/* A picture of too many pixels is refused by its header. */
static void test_too_many_pixels_are_refused(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 20, 30, 1);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--max-pixels", "599");
    assert_refused(1, "filter", "in.png", "20 x 30", "599");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--max-pixels", "600");
    assert_wrote("a.png");
}

static void test_seed_and_init_choose_the_parameters(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 20, 20, 3);
    put_text(in_folder("c.json"), "{\"directions\": 1, \"seed\": 3, \"init\": \"authors\"}");
    put_text(in_folder("d.json"), "{\"directions\": 1}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_wrote("a.png");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("b.png"), "--config", in_folder("d.json"),
         "--seed=3", "--init=authors");
    assert_wrote("b.png");
    assert_same_pictures(in_folder("a.png"), in_folder("b.png"));
}

static void test_memory_does_not_depend_on_height(void **state)
{
    (void)state;
    enum { COLS = 300 }; /* 30000 rows are 27 MB even as bytes, and 288 MB as the layer's input */
    put_picture(in_folder("low.png"), 300, COLS, 3);
    put_picture(in_folder("high.png"), 30000, COLS, 3);
    TOOL("filter", in_folder("low.png"), "-o", in_folder("a.png"));
    assert_wrote("a.png");
    long low = tool.peak_kib;
    TOOL("filter", in_folder("high.png"), "-o", in_folder("a.png"));
    assert_wrote("a.png");
    print_message("peak: %ld KiB for 300 rows, %ld KiB for 30000\n", low, tool.peak_kib);
    assert_true(tool.peak_kib - low < 16 * 1024);
}

static void test_directions_to_rows_below_need_in_memory(void **state)
{
    (void)state;
    static const char *const configs[] = {"{}", "{\"directions\": 4}"};
    put_picture(in_folder("in.png"), 12, 10, 3);
    for (int i = 0; i < 2; i++) {
        put_text(in_folder("c.json"), configs[i]);
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config",
             in_folder("c.json"));
        assert_refused(1, "filter", "--in-memory");
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config",
             in_folder("c.json"), "--in-memory");
        assert_wrote("a.png");
        remove(in_folder("a.png"));
    }
    put_text(in_folder("c.json"), "{\"directions\": 1, \"trunc\": [3, 3]}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_refused(1, "filter", "trunc");
    assert_non_null(strstr(tool.err, "or use --in-memory"));
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"),
         "--in-memory");
    assert_wrote("a.png");
}

static void test_bad_input_is_refused(void **state)
{
    (void)state;
    size_t size;
    put_picture(in_folder("in.png"), 200, 100, 3);
    char *bytes = get_file(in_folder("in.png"), &size);
    put_file(in_folder("short.png"), bytes, size / 2);
    free(bytes);
    put_text(in_folder("text.png"), "no picture");
    put_text(in_folder("empty.png"), "");
    put_text(in_folder("c.json"), "{\"channels\": 4, \"directions\": 1}");
    static const char *const names[] = {"short.png", "text.png", "empty.png", "none.png"};
    for (int i = 0; i < 4; i++) {
        TOOL("filter", in_folder("%s", names[i]), "-o", in_folder("a.png"));
        assert_refused(1, "filter", names[i]);
        TOOL("filter", in_folder("%s", names[i]), "-o", in_folder("a.png"), "--in-memory");
        assert_refused(1, "filter", names[i]);
    }
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_refused(1, "filter", "\"channels\" is 4");
    put_text(in_folder("c.json"), "{\"directions\": 1, \"norm\": \"none\", \"d_state\": 0}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_refused(1, "filter", "\"d_state\" is 0");
    assert_int_equal(count_files(in_folder(".")), 5);
}

/* Without normalisation a state may grow without bound: that is an error, and no file is left. */
static void test_output_that_is_not_finite_is_an_error(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 900, 900, 1);
    put_text(in_folder("c.json"), "{\"directions\": 1, \"norm\": \"none\", \"values\": \"polar\", "
                                  "\"n_ssm\": 1, \"d_state\": 8}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_refused(1, "filter", "norm");
    assert_int_equal(count_files(in_folder(".")), 2);
    put_text(in_folder("c.json"),
             "{\"directions\": 1, \"values\": \"polar\", \"n_ssm\": 1, \"d_state\": 8}");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--config", in_folder("c.json"));
    assert_wrote("a.png");
}

static void test_unwritable_output_is_an_error(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 8, 8, 3);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("in.png/a.png"));
    assert_refused(1, "filter", "in.png/a.png");
    TOOL("filter", in_folder("in.png"), "-o", "/proc/a.png");
    assert_refused(1, "filter", "/proc/a.png");
    assert_int_equal(mkdir(in_folder("a.png"), 0777), 0);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"), "--in-memory");
    assert_refused(1, "filter", "a.png");
    assert_int_equal(count_files(in_folder(".")), 1);
}

/* The picture may be replaced by its result. */
static void test_picture_may_be_replaced_by_its_result(void **state)
{
    (void)state;
    put_picture(in_folder("in.png"), 30, 20, 3);
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"));
    assert_wrote("a.png");
    TOOL("filter", in_folder("in.png"), "-o", in_folder("in.png"));
    assert_wrote("in.png");
    assert_same_pictures(in_folder("in.png"), in_folder("a.png"));
}

/* The pixels of the only image in a PDF, unpacked by zlib; to be freed. */
static unsigned char *pdf_pixels(const char *pdf, size_t size, size_t bytes)
{
    uLongf unpacked = bytes;
    const char *at = memmem(pdf, size, "/Subtype /Image", 15);
    unsigned char *pixels = malloc(bytes);
    assert_non_null(at);
    assert_non_null(pixels);
    at = memmem(at, size - (size_t)(at - pdf), "stream\n", 7);
    assert_non_null(at);
    at += 7;
    assert_int_equal(
        uncompress(pixels, &unpacked, (const Bytef *)at, (uLong)(size - (size_t)(at - pdf))), Z_OK);
    assert_int_equal(unpacked, bytes);
    return pixels;
}

/* Whether a PDF contains a text, in the clear or, as cairo 1.18 writes objects, in a compressed
 * stream. Streams that zlib cannot unpack to at most 64 KiB (images) are skipped. */
static int pdf_has(const char *pdf, size_t size, const char *text)
{
    enum { MAX_BYTES = 1 << 16 };
    if (memmem(pdf, size, text, strlen(text))) return 1;
    unsigned char *unpacked = malloc(MAX_BYTES);
    const char *at = pdf, *end = pdf + size;
    int found = 0;
    assert_non_null(unpacked);
    while (!found && (at = memmem(at, (size_t)(end - at), "stream\n", 7))) {
        uLongf bytes = MAX_BYTES;
        at += 7;
        if (uncompress(unpacked, &bytes, (const Bytef *)at, (uLong)(end - at)) == Z_OK)
            found = memmem(unpacked, bytes, text, strlen(text)) != NULL;
    }
    free(unpacked);
    return found;
}

/* A PDF has the pixels of the PNG, without loss and without smoothing, grey or in colours. */
static void test_pdf_has_the_pixels_of_the_png(void **state)
{
    (void)state;
    image_info info;
    size_t size;
    for (int channels = 1; channels <= 3; channels += 2) {
        put_picture(in_folder("in.png"), 30, 40, channels);
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.png"));
        assert_wrote("a.png");
        TOOL("filter", in_folder("in.png"), "-o", in_folder("a.pdf"));
        assert_wrote("a.pdf");
        char *pdf = get_file(in_folder("a.pdf"), &size);
        unsigned char *pixels = pdf_pixels(pdf, size, (size_t)(30 * 40 * channels));
        uint8_t *wanted = read_picture(in_folder("a.png"), &info);
        assert_memory_equal(pixels, wanted, (size_t)(30 * 40 * channels));
        free(wanted);
        free(pixels);
        assert_memory_equal(pdf, "%PDF-", 5);
        assert_memory_equal(pdf + size - 6, "%%EOF\n", 6);
        assert_false(pdf_has(pdf, size, "/Interpolate true"));
        assert_false(pdf_has(pdf, size, "/CreationDate"));
        assert_true(pdf_has(pdf, size, "/MediaBox [ 0 0 20 15 ]"));
        free(pdf);
    }
    /* --quality is an option of JPEGs */
    TOOL("filter", in_folder("in.png"), "-o", in_folder("a.pdf"), "--quality", "80");
    assert_refused(2, "filter", "--quality");
}

static void test_wrong_usage_is_refused(void **state)
{
    (void)state;
    TOOL("filter", "x.png", "-o", "y.gif");
    assert_refused(2, "filter", "--output=y.gif");
    TOOL("filter", "x.png", "-o", "y.png", "--quality", "80");
    assert_refused(2, "filter", "--quality");
    TOOL("filter", "x.png", "-o", "y.png", "--angle", "270");
    assert_refused(2, "filter", "--in-memory");
    TOOL("filter", "x.png", "-o", "y.png", "--channel", "2");
    assert_refused(2, "filter", "--channel", "--run");
    TOOL("filter", "x.png", "-o", "y.png", "--run", "r", "--config", "c.json");
    assert_refused(2, "filter", "--config", "--run");
    TOOL("filter", "x.png", "-o", "y.png", "--run", "r", "--length", "3");
    assert_refused(2, "filter", "--length", "--run");
    TOOL("filter", "x.png", "-o", "y.png", "--seed", "1");
    assert_refused(2, "filter", "--seed", "--config");
    TOOL("filter", "x.png", "-o", "y.png", "--config", "c.json", "--mix", "0.5");
    assert_refused(2, "filter", "--mix");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_trail_has_same_bytes_streamed_and_in_memory),
        TEST(test_config_has_same_bytes_streamed_and_in_memory),
        TEST(test_trail_goes_in_the_given_direction),
        TEST(test_seed_and_init_choose_the_parameters),
        TEST(test_trail_keeps_depth_and_alpha),
        TEST(test_layers_keep_depth_and_alpha),
        TEST(test_pipes_give_the_same_as_files),
        TEST(test_too_many_pixels_are_refused),
        TEST(test_memory_does_not_depend_on_height),
        TEST(test_directions_to_rows_below_need_in_memory),
        TEST(test_bad_input_is_refused),
        TEST(test_output_that_is_not_finite_is_an_error),
        TEST(test_unwritable_output_is_an_error),
        TEST(test_picture_may_be_replaced_by_its_result),
        TEST(test_pdf_has_the_pixels_of_the_png),
        TEST(test_wrong_usage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
