/* image_jpeg - reads JPEGs, and writes baseline JPEGs, with libjpeg.
 *
 * libjpeg reports errors through a function that must not return, so every call into it follows a
 * setjmp; longjmp stays within this file. Warnings that mean lost pixels count as errors. libjpeg
 * allocates its own memory. CMYK, which is used for printing, becomes RGB. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <jpeglib.h>

#include <jerror.h>
#include <setjmp.h>
#include <string.h>

/* Encoders make about ten scans. Without a limit a small file could ask for endless passes over a
 * large image. */
enum { MAX_SCANS = 100 };

/* The part of a decoder or an encoder that libjpeg's error functions use. */
typedef struct failure {
    struct jpeg_error_mgr errors;
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
} failure;

typedef struct decoder {
    failure failure; /* first: client_data points to it */
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr progress;
    int ended;          /* the file ended before the image did */
    int too_many_scans; /* more than MAX_SCANS */
    uint8_t *cmyk;      /* one row of CMYK; NULL: the image is grey or RGB */
    int inverted;       /* CMYK as Adobe writes it: 0 is full ink */
} decoder;

static void error_exit(j_common_ptr jpeg)
{
    failure *f = jpeg->client_data;
    f->errors.format_message(jpeg, f->message);
    longjmp(f->back, 1);
}

static void output_message(j_common_ptr jpeg) { (void)jpeg; }

static void set_error_handlers(failure *f, void (*emit)(j_common_ptr jpeg, int level))
{
    jpeg_std_error(&f->errors);
    f->errors.error_exit = error_exit;
    f->errors.emit_message = emit;
    f->errors.output_message = output_message;
}

/* level: -1 for a warning, 0 and above for tracing, which is ignored. */
static void emit_message(j_common_ptr jpeg, int level)
{
    decoder *d = jpeg->client_data;
    if (level >= 0) return;
    switch (d->failure.errors.msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_TOO_MUCH_DATA: return; /* every pixel is there */
    case JWRN_JPEG_EOF: d->ended = 1;
    }
    error_exit(jpeg);
}

static void watch_progress(j_common_ptr jpeg)
{
    decoder *d = jpeg->client_data;
    d->too_many_scans = d->jpeg.input_scan_number > MAX_SCANS;
    if (d->too_many_scans) longjmp(d->failure.back, 1);
}

static ssm2d_status fail_jpeg(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    const char *path = text_path(reader->path);
    if (d->too_many_scans)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has more than %d scans", path, MAX_SCANS);
    if (!d->ended && d->failure.errors.msg_code == JERR_OUT_OF_MEMORY)
        return image_no_memory(reader, error);
    if (!reader->info.rows)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is a damaged JPEG: %s", path,
                    d->ended ? "the file ends early" : d->failure.message);
    if (d->ended)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: ends in row %zu of %zu", path,
                    reader->next + 1, reader->info.rows);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is damaged in row %zu of %zu: %s", path,
                reader->next + 1, reader->info.rows, d->failure.message);
}

/* The bytes that libjpeg needs for an image of several scans: it holds all coefficients. */
static size_t whole_bytes(const struct jpeg_decompress_struct *jpeg)
{
    size_t bytes = 0;
    for (int i = 0; i < jpeg->num_components; i++)
        bytes += (size_t)jpeg->comp_info[i].width_in_blocks * jpeg->comp_info[i].height_in_blocks
                 * sizeof(JBLOCK);
    return bytes;
}

static void find_orientation(image_reader *reader, const struct jpeg_decompress_struct *jpeg)
{
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->data_length > 6 && !memcmp(m->data, "Exif\0", 5)) {
            reader->orientation = exif_orientation(m->data, m->data_length);
            return;
        }
}

static ssm2d_status open_jpeg(image_reader *reader, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    set_error_handlers(&d->failure, emit_message);
    jpeg->err = &d->failure.errors;
    jpeg->client_data = d;
    d->progress.progress_monitor = watch_progress;
    if (setjmp(d->failure.back)) return fail_jpeg(reader, error);

    jpeg_create_decompress(jpeg);
    jpeg->progress = &d->progress;
    jpeg->mem->max_memory_to_use = (long)(IMAGE_MAX_WHOLE + IMAGE_MAX_WHOLE / 4);
    jpeg_stdio_src(jpeg, reader->stream);
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff); /* EXIF */
    jpeg_read_header(jpeg, TRUE);
    ssm2d_status status = image_check_size(reader, jpeg->image_height, jpeg->image_width, error);
    if (status) return status;
    if (jpeg->jpeg_color_space == JCS_UNKNOWN)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is a JPEG of %d unknown components: save it as RGB",
                    text_path(reader->path), jpeg->num_components);
    if (jpeg_has_multiple_scans(jpeg) && whole_bytes(jpeg) > IMAGE_MAX_WHOLE)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has %u x %u pixels and is progressive: save it as a baseline JPEG",
                    text_path(reader->path), jpeg->image_height, jpeg->image_width);
    const int is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = is_cmyk                                   ? JCS_CMYK
                            : jpeg->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                                                                      : JCS_RGB;
    if (is_cmyk && !(d->cmyk = mem_alloc(reader->context, (size_t)jpeg->image_width * 4)))
        return fail_memory(error, "%s: %u columns", text_path(reader->path), jpeg->image_width);
    d->inverted = jpeg->saw_Adobe_marker;
    find_orientation(reader, jpeg);
    if (reader->options.reduce) { /* asked with the sides of the upright image */
        const int turned = reader->orientation >= 5;
        jpeg->scale_num = 1;
        jpeg->scale_denom = (unsigned)reader->options.reduce(
            reader->options.user, turned ? jpeg->image_width : jpeg->image_height,
            turned ? jpeg->image_height : jpeg->image_width);
    }
    jpeg_start_decompress(jpeg);
    reader->info = (image_info){jpeg->output_height, jpeg->output_width,
                                is_cmyk ? 3 : jpeg->output_components, 8};
    return SSM2D_OK;
}

/* R = (255 - C) * (255 - K) / 255, rounded, and likewise G and B: the usual conversion without a
 * colour profile. */
static void rgb_from_cmyk(const decoder *d, size_t cols, uint8_t *row)
{
    const uint8_t flip = d->inverted ? 0 : 255;
    for (size_t i = 0; i < cols; i++)
        for (size_t c = 0; c < 3; c++)
            row[3 * i + c] =
                (uint8_t)(((d->cmyk[4 * i + c] ^ flip) * (d->cmyk[4 * i + 3] ^ flip) + 127) / 255);
}

static ssm2d_status read_jpeg_row(image_reader *reader, void *row, ssm2d_error *error)
{
    decoder *d = reader->decoder;
    if (setjmp(d->failure.back)) return fail_jpeg(reader, error);
    JSAMPROW rows[] = {d->cmyk ? d->cmyk : row};
    jpeg_read_scanlines(&d->jpeg, rows, 1); /* a stdio source never pauses: one row, or an error */
    if (d->cmyk) rgb_from_cmyk(d, reader->info.cols, row);
    return SSM2D_OK;
}

static void close_jpeg(image_reader *reader)
{
    decoder *d = reader->decoder;
    /* cannot fail, and accepts a decoder that could not be created */
    jpeg_destroy_decompress(&d->jpeg);
    mem_free(reader->context, d->cmyk);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct encoder {
    failure failure; /* first: client_data points to it */
    struct jpeg_compress_struct jpeg;
} encoder;

static void ignore_message(j_common_ptr jpeg, int level) { (void)jpeg, (void)level; }

static ssm2d_status fail_encoding(image_writer *writer, ssm2d_error *error)
{
    const encoder *e = writer->encoder;
    if (e->failure.errors.msg_code == JERR_FILE_WRITE) return image_write_failed(writer, error);
    return fail(error,
                e->failure.errors.msg_code == JERR_OUT_OF_MEMORY ? SSM2D_ERROR_MEMORY
                                                                 : SSM2D_ERROR_SYSTEM,
                "%s: cannot be written as JPEG: %s", text_path(writer->path), e->failure.message);
}

static ssm2d_status create_jpeg(image_writer *writer, ssm2d_error *error)
{
    encoder *e = writer->encoder;
    struct jpeg_compress_struct *jpeg = &e->jpeg;
    set_error_handlers(&e->failure, ignore_message);
    jpeg->err = &e->failure.errors;
    jpeg->client_data = e;
    if (setjmp(e->failure.back)) return fail_encoding(writer, error);
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
    if (setjmp(e->failure.back)) return fail_encoding(writer, error);
    JSAMPROW rows[] = {(JSAMPROW)row}; /* is only read */
    jpeg_write_scanlines(&e->jpeg, rows, 1);
    if (last) jpeg_finish_compress(&e->jpeg);
    return SSM2D_OK;
}

static void destroy_jpeg(image_writer *writer)
{
    jpeg_destroy_compress(&((encoder *)writer->encoder)->jpeg);
}

const image_format image_jpeg = {
    .name = "JPEG",
    .endings = "*.jpg, *.jpeg",
    .magic = {MAGIC("\xff")},
    .decoder_size = sizeof(decoder),
    .open = open_jpeg,
    .read_row = read_jpeg_row,
    .close = close_jpeg,
    .encoder_size = sizeof(encoder),
    .max_side = JPEG_MAX_DIMENSION,
    .is_plain = 1,
    .create = create_jpeg,
    .write_row = write_jpeg_row,
    .destroy = destroy_jpeg,
};
