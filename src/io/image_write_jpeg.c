/* image_write_jpeg - writing baseline JPEGs with libjpeg. As in image_jpeg.c, every call stands
 * behind a setjmp, and longjmp stays within this file. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <jpeglib.h>

#include <errno.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

typedef struct encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
} encoder;

static void error_exit(j_common_ptr jpeg)
{
    encoder *e = jpeg->client_data;
    e->errors.format_message(jpeg, e->message);
    longjmp(e->back, 1);
}

static void emit_message(j_common_ptr jpeg, int level) { (void)jpeg, (void)level; }
static void output_message(j_common_ptr jpeg) { (void)jpeg; }

static ssm2d_status fail_jpeg(image_writer *writer, ssm2d_error *error)
{
    const encoder *e = writer->encoder;
    if (e->errors.msg_code == JERR_FILE_WRITE)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: %s", text_path(writer->path),
                    strerror(errno));
    return fail(error,
                e->errors.msg_code == JERR_OUT_OF_MEMORY ? SSM2D_ERROR_MEMORY : SSM2D_ERROR_SYSTEM,
                "%s: cannot be written as JPEG: %s", text_path(writer->path), e->message);
}

static ssm2d_status open_jpeg(image_writer *writer, ssm2d_error *error)
{
    encoder *e = writer->encoder = mem_alloc(writer->context, sizeof *e);
    if (!e)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to write it",
                    text_path(writer->path));
    struct jpeg_compress_struct *jpeg = &e->jpeg;
    jpeg->err = jpeg_std_error(&e->errors);
    jpeg->client_data = e;
    e->errors.error_exit = error_exit;
    e->errors.emit_message = emit_message;
    e->errors.output_message = output_message;
    if (setjmp(e->back)) return fail_jpeg(writer, error);
    jpeg_create_compress(jpeg);
    jpeg_stdio_dest(jpeg, image_stream(writer));
    jpeg->image_width = (JDIMENSION)writer->info.cols;
    jpeg->image_height = (JDIMENSION)writer->info.rows;
    jpeg->input_components = writer->info.channels;
    jpeg->in_color_space = writer->info.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, writer->options.quality, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    return SSM2D_OK;
}

static ssm2d_status write_jpeg_row(image_writer *writer, const void *row, int last,
                                   ssm2d_error *error)
{
    encoder *e = writer->encoder;
    if (setjmp(e->back)) return fail_jpeg(writer, error);
    JSAMPROW rows[] = {(JSAMPROW)row}; /* is only read */
    jpeg_write_scanlines(&e->jpeg, rows, 1);
    if (last) jpeg_finish_compress(&e->jpeg);
    return SSM2D_OK;
}

static void close_jpeg(image_writer *writer)
{
    encoder *e = writer->encoder;
    jpeg_destroy_compress(&e->jpeg);
    mem_free(writer->context, e);
}

const image_encoder encode_jpeg = {open_jpeg, write_jpeg_row, close_jpeg};
