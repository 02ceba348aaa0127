/* fuzz_cifar_png - a list of labels and a picture whose rows are images.
 *
 * Input: a byte (how many images are wanted, the lower four bits, and where they begin in the
 * list), a part with the labels in JSON, and the rest: the picture, or when empty a good one. */
#define FUZZ_MAY_ASK_FOR_MORE /* an interlaced picture is held whole */
#include "fuzz.h"

#include "data/cifar_png.h"
#include "fuzz_files.h"
#include "io/image.h"
#include "io/md5.h"

#include <unistd.h>

static const char *good_picture(size_t rows)
{
    static uint8_t row[3 * 1024];
    const image_info info = {rows, 1024, 3, 8};
    image_writer *writer;
    const char *path = fuzz_path("picture");
    if (image_create(fuzz_context(), path, &info, NULL, &writer, NULL)) return path;
    for (size_t i = 0; i < rows; i++) {
        memset(row, (int)i, sizeof row);
        if (image_write_row(writer, row, NULL)) break;
    }
    image_finish(writer, NULL);
    return path;
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in);
    size_t length;
    const uint8_t *labels = fuzz_part(&in, &length);
    char picture[512], list[512], out[512], sum[MD5_TEXT];
    ssm2d_error error = {{0}};
    const cifar_png from = {picture, list, flags >> 4, 1 + (flags & 15), "no file has this"};
    snprintf(list, sizeof list, "%s", fuzz_put("labels", labels, length));
    snprintf(picture, sizeof picture, "%s",
             in.left ? fuzz_put("picture", in.at, in.left) : good_picture(from.images));
    snprintf(out, sizeof out, "%s", fuzz_path("out.bin"));
    ssm2d_status status = cifar_png_convert(fuzz_context(), &from, out, NULL, NULL, &error);
    REQUIRE(status);
    REQUIRE(access(out, F_OK)); /* a file with a wrong check sum is not written */
    fuzz_check_refusal(status, &error, fuzz_folder());
    /* with its own check sum it is */
    static const char says[] = ": has the MD5 ";
    const char *rest = error.line + strlen(picture);
    if (strncmp(error.line, picture, strlen(picture)) || strncmp(rest, says, strlen(says))) return;
    snprintf(sum, sizeof sum, "%.32s", rest + strlen(says));
    const cifar_png again = {picture, list, from.first, from.images, sum};
    status = cifar_png_convert(fuzz_context(), &again, out, NULL, NULL, &error);
    REQUIRE(!status || status == SSM2D_ERROR_MEMORY);
    char found[MD5_TEXT];
    if (!status) REQUIRE(!md5_file(out, found, &error) && !strcmp(found, sum));
    unlink(out);
}
