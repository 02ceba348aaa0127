/* What a newcomer adds: an image format. This file is the format's, as src/io/image_toy.c would be;
 * the only other change is the line FORMAT(toy) in extending/io/image_formats.def, which stands in
 * for the one in src/io. Its magic bytes are at offset 4, behind zero bytes. */
#include "io/image_format.h"
#include "io_helpers.h"

/* The file: two zero bytes, rows, columns, "toy", and the grey samples. */
enum { HEAD = 7 };

static ssm2d_status open_toy(image_reader *reader, ssm2d_error *why)
{
    uint8_t head[HEAD];
    (void)why;
    if (fread(head, 1, HEAD, reader->stream) != HEAD) return SSM2D_ERROR_ARGUMENT;
    *(int *)reader->decoder = head[2];
    reader->info = (image_info){head[2], head[3], 1, 8};
    return image_check_size(reader, head[2], head[3], why);
}

static ssm2d_status read_toy_row(image_reader *reader, void *row, ssm2d_error *why)
{
    (void)why;
    return fread(row, 1, reader->info.cols, reader->stream) == reader->info.cols
               ? SSM2D_OK
               : SSM2D_ERROR_ARGUMENT;
}

static void close_toy(image_reader *reader) { (void)reader; }

static ssm2d_status create_toy(image_writer *writer, ssm2d_error *why)
{
    const uint8_t head[] = {0,   0,  (uint8_t)writer->info.rows, (uint8_t)writer->info.cols, 't',
                            'o', 'y'};
    return fwrite(head, 1, HEAD, image_stream(writer)) == HEAD ? SSM2D_OK
                                                               : image_write_failed(writer, why);
}

static ssm2d_status write_toy_row(image_writer *writer, const void *row, int last, ssm2d_error *why)
{
    (void)last;
    return fwrite(row, 1, writer->info.cols, image_stream(writer)) == writer->info.cols
               ? SSM2D_OK
               : image_write_failed(writer, why);
}

static void destroy_toy(image_writer *writer) { (void)writer; }

const image_format image_toy = {
    .name = "TOY",
    .endings = "*.toy, *.ty",
    .magic = {MAGIC("\0\0??toy")},
    .decoder_size = sizeof(int),
    .open = open_toy,
    .read_row = read_toy_row,
    .close = close_toy,
    .encoder_size = 1,
    .max_side = 255,
    .is_plain = 1,
    .create = create_toy,
    .write_row = write_toy_row,
    .destroy = destroy_toy,
};

/* ---- the tests ------------------------------------------------------------------------------- */

static const uint8_t pixels[2][3] = {{1, 2, 3}, {0, 128, 255}};

static ssm2d_status write_picture(const char *name, const char *format)
{
    const image_write_options options = {.format = format, .quality = 90};
    image_writer *writer;
    ssm2d_status status =
        image_create(context, io_path(name), &(image_info){2, 3, 1, 8}, &options, &writer, &error);
    if (status) return status;
    for (int r = 0; r < 2 && !status; r++) status = image_write_row(writer, pixels[r], &error);
    assert_int_equal(status, SSM2D_OK);
    return image_finish(writer, &error);
}

static void is_written_and_read_like_the_others(void **state)
{
    (void)state;
    image_reader *reader;
    image_info info;
    uint8_t row[3];
    assert_string_equal(image_written_as("picture.TY"), "TOY");
    assert_int_equal(write_picture("a.toy", "TOY"), SSM2D_OK);
    assert_int_equal(image_open(context, io_path("a.toy"), NULL, &reader, &info, &error), SSM2D_OK);
    assert_int_equal(info.rows, 2);
    assert_int_equal(info.cols, 3);
    assert_int_equal(info.channels, 1);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(image_read_row(reader, row, &error), SSM2D_OK);
        assert_memory_equal(row, pixels[r], 3);
    }
    assert_int_not_equal(image_read_row(reader, row, &error), SSM2D_OK);
    image_close(reader);
}

static void is_named_in_lists_and_messages(void **state)
{
    (void)state;
    char text[IMAGE_LIST];
    image_reader *reader;
    image_writer *writer;
    image_info info;
    assert_non_null(strstr(image_kinds(text), "PNG, JPEG, BMP"));
    assert_non_null(strstr(image_kinds(text), ", TOY"));
    assert_non_null(strstr(image_endings(text), ", *.toy, *.ty"));
    assert_non_null(strstr(image_written_endings(text), "*.pdf, *.toy, *.ty"));
    assert_true(image_named("x.toy") && image_named("x.Ty") && !image_named("x.toyy"));
    io_put("b.toy", "other", 5);
    assert_int_equal(image_open(context, io_path("b.toy"), NULL, &reader, &info, &error),
                     SSM2D_ERROR_UNSUPPORTED);
    assert_line("supported format: PNG, JPEG, BMP");
    assert_line(", TOY");
    /* limits are the table's */
    const image_write_options toy = {.format = "TOY"}, none = {.format = "BMP"};
    assert_int_equal(
        image_create(context, io_path("c.toy"), &(image_info){1, 256, 1, 8}, &toy, &writer, &error),
        SSM2D_ERROR_ARGUMENT);
    assert_line("use 1 to 255 rows");
    assert_int_equal(
        image_create(context, io_path("c.toy"), &(image_info){1, 1, 4, 8}, &toy, &writer, &error),
        SSM2D_ERROR_UNSUPPORTED);
    assert_line("a TOY has neither alpha nor 16 bits");
    assert_int_equal(
        image_create(context, io_path("c.toy"), &(image_info){1, 1, 1, 8}, &none, &writer, &error),
        SSM2D_ERROR_UNSUPPORTED);
    assert_line("BMP images cannot be written");
}

/* Formats with other magic bytes that begin with zeros, and those without, are still recognised. */
static void leaves_other_formats_alone(void **state)
{
    (void)state;
    static const char *const written[] = {"PNG", "JPEG"};
    image_reader *reader;
    image_info info;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write_picture("d", written[i]), SSM2D_OK);
        assert_int_equal(image_open(context, io_path("d"), NULL, &reader, &info, &error), SSM2D_OK);
        assert_string_equal(reader->format->name, written[i]);
        image_close(reader);
    }
    io_put("e", "\0\0\0\0toX", 7);
    assert_int_equal(image_open(context, io_path("e"), NULL, &reader, &info, &error),
                     SSM2D_ERROR_UNSUPPORTED);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_written_and_read_like_the_others),
        TEST(is_named_in_lists_and_messages),
        TEST(leaves_other_formats_alone),
    };
    return cmocka_run_group_tests_name("extending_image", tests, io_setup, io_teardown);
}
