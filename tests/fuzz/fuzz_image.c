/* fuzz_image - any bytes as an image, read row by row. */
#define FUZZ_MAY_ASK_FOR_MORE /* an interlaced image is held whole */
#include "fuzz.h"

#include "fuzz_files.h"
#include "io/image.h"

enum { MAX_PIXELS = 1 << 22, MAX_ROWS = 3000 };

/* A JPEG whose frame header truthfully declares many pixels only takes time. */
static int large_jpeg(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 9 <= size; i++)
        if (data[i] == 0xff && data[i + 1] >= 0xc0 && data[i + 1] <= 0xcf
            && (data[i + 5] * 256u + data[i + 6]) * (data[i + 7] * 256u + data[i + 8]) > MAX_PIXELS)
            return 1;
    return 0;
}

static void fuzz_read(const uint8_t *data, size_t size, const image_read_options *options)
{
    const char *path = fuzz_put("image", data, size);
    image_reader *reader;
    image_info info;
    ssm2d_error error = {{0}};
    ssm2d_status status = image_open(fuzz_context(), path, options, &reader, &info, &error);
    if (status) {
        REQUIRE(!reader);
        fuzz_check_refusal(status, &error, path);
        return;
    }
    REQUIRE(info.rows && info.cols && info.channels >= 1 && info.channels <= 4);
    REQUIRE(options->exact || (info.channels % 2 && info.depth == 8));
    /* exactly the row, so that writing beyond it is detected */
    uint8_t *row = malloc(image_row_bytes(&info));
    REQUIRE(row);
    size_t rows = info.rows < MAX_ROWS ? info.rows : MAX_ROWS;
    if (rows > MAX_PIXELS / info.cols) rows = MAX_PIXELS / info.cols;
    for (size_t r = 0; r < rows; r++)
        if ((status = image_read_row(reader, row, &error))) {
            fuzz_check_refusal(status, &error, path);
            REQUIRE(image_read_row(reader, row, &error));
            break;
        }
    free(row);
    image_close(reader);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    if (size && data[0] == 0xff && large_jpeg(data, size)) return;
    fuzz_read(data, size, &(image_read_options){0});
    fuzz_read(data, size, &(image_read_options){.exact = 1, .max_pixels = MAX_PIXELS});
}
