#include "io/image.h"

#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>
#include <strings.h>

#define FORMAT(name) &image_##name,
static const image_format *const formats[] = {
#include "io/image_formats.def"
};
#undef FORMAT
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- formats --------------------------------------------------------------------------------- */

/* Lists the names or extensions of the formats that this build can read or write. */
static const char *list(int endings, int written, char text[IMAGE_LIST])
{
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < FORMATS; i++) {
        const image_format *f = formats[i];
        if (!(written ? !!f->create : !!f->open) || used >= IMAGE_LIST) continue;
        used += (size_t)snprintf(text + used, IMAGE_LIST - used, "%s%s", used ? ", " : "",
                                 endings ? f->endings : f->name);
    }
    return text;
}

const char *image_kinds(char text[IMAGE_LIST]) { return list(0, 0, text); }
const char *image_endings(char text[IMAGE_LIST]) { return list(1, 0, text); }
const char *image_written_endings(char text[IMAGE_LIST]) { return list(1, 1, text); }

/* Whether a name has one of the extensions "*.jpg, *.jpeg", ignoring case. */
static int has_ending(const char *name, const char *endings)
{
    const char *dot = strrchr(name, '.');
    const size_t length = dot ? strlen(dot) : 0;
    for (const char *at = endings; dot && (at = strchr(at, '.')); at += strcspn(at, ","))
        if (strcspn(at, ",") == length && !strncasecmp(at, dot, length)) return 1;
    return 0;
}

int image_named(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->open && has_ending(name, formats[i]->endings)) return 1;
    return 0;
}

const char *image_written_as(const char *path)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->create && has_ending(path, formats[i]->endings)) return formats[i]->name;
    return NULL;
}

const image_format *image_format_named(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (!strcmp(formats[i]->name, name)) return formats[i];
    return NULL;
}

/* Whether a file of the format may begin with these bytes; of a pipe only the first is known. */
static int fits(const image_format *f, const uint8_t *head, size_t size)
{
    for (int i = 0; i < IMAGE_MAGICS && f->magic[i].length; i++) {
        const image_magic *m = &f->magic[i];
        size_t same = 0;
        while (same < m->length && same < size
               && (m->bytes[same] == '?' || (uint8_t)m->bytes[same] == head[same]))
            same++;
        if (same == m->length || same == size) return 1;
    }
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Reads the first bytes and rewinds the stream. Returns their count: 1 for a pipe, into which only
 * one byte can be put back. */
static size_t peek(FILE *stream, uint8_t head[IMAGE_HEAD])
{
    const off_t at = ftello(stream);
    if (at >= 0) {
        const size_t size = fread(head, 1, IMAGE_HEAD, stream);
        return fseeko(stream, at, SEEK_SET) ? 0 : size;
    }
    const int first = getc(stream);
    if (first == EOF) return 0;
    head[0] = (uint8_t)first;
    return ungetc(first, stream) == first;
}

/* Chooses reader->format by the first bytes. The decoder checks the rest. */
static ssm2d_status choose_format(image_reader *reader, ssm2d_error *error)
{
    uint8_t head[IMAGE_HEAD] = {0};
    const size_t size = peek(reader->stream, head);
    const char *path = text_path(reader->path);
    char kinds[IMAGE_LIST];
    image_kinds(kinds);
    if (ferror(reader->stream))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: cannot be read", path);
    if (!size)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is empty: give an image: %s", path, kinds);
    for (int i = 0; i < FORMATS && !reader->format; i++)
        if (fits(formats[i], head, size)) reader->format = formats[i];
    const image_format *f = reader->format;
    if (!f)
        return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s: is not an image in a supported format: %s",
                    path, kinds);
    if (f->open) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: may be a %s image, which this ssm2d was built without: it reads %s%s%s", path,
                f->name, kinds, f->converter ? "; to convert it: " : "",
                f->converter ? f->converter : "");
}

ssm2d_status image_read_all(image_reader *reader, uint8_t **bytes, size_t *size, ssm2d_error *error)
{
    size_t capacity = 0;
    *bytes = NULL;
    *size = 0;
    for (size_t got = 1; got;) {
        if (*size == capacity) {
            capacity = capacity ? 2 * capacity : (size_t)1 << 16;
            uint8_t *more = capacity > IMAGE_MAX_FILE ? NULL : mem_alloc(reader->context, capacity);
            if (more && *size) memcpy(more, *bytes, *size);
            mem_free(reader->context, *bytes);
            *bytes = more;
            if (capacity > IMAGE_MAX_FILE)
                return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s: is too large: save it as PNG",
                            text_path(reader->path));
            if (!more) return image_no_memory(reader, error);
        }
        got = fread(*bytes + *size, 1, capacity - *size, reader->stream);
        *size += got;
    }
    return SSM2D_OK;
}

ssm2d_status image_check_size(const image_reader *reader, size_t rows, size_t cols,
                              ssm2d_error *error)
{
    const size_t max = reader->options.max_pixels;
    if (!max || !rows || cols <= max / rows) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: has %zu x %zu pixels, more than the %zu that max-pixels allows",
                text_path(reader->path), rows, cols, max);
}

ssm2d_status image_no_memory(const image_reader *reader, ssm2d_error *error)
{
    return fail_memory(error, "reading %s", text_path(reader->path));
}

ssm2d_status image_open(const ssm2d_context *context, const char *path,
                        const image_read_options *options, image_reader **out, image_info *info,
                        ssm2d_error *error)
{
    *out = NULL;
    ssm2d_status status = SSM2D_OK;
    image_reader *reader = mem_alloc(context, sizeof *reader + strlen(path) + 1);
    if (!reader) return fail_memory(error, "reading %s", text_path(path));
    reader->context = context;
    if (options) reader->options = *options;
    reader->path = strcpy((char *)(reader + 1), path);
    reader->stream = reader->options.stream;
    if (!reader->stream)
        status =
            (reader->options.regular ? file_open_regular : file_open)(path, &reader->stream, error);
    if (!status) status = choose_format(reader, error);
    if (!status) {
        reader->decoder = mem_alloc(context, reader->format->decoder_size);
        status =
            reader->decoder ? reader->format->open(reader, error) : image_no_memory(reader, error);
    }
    if (!status) status = image_orient_check(reader, error);
    if (status) {
        image_close(reader);
        return status;
    }
    *info = image_oriented_info(reader);
    *out = reader;
    return SSM2D_OK;
}

ssm2d_status image_decode_row(image_reader *reader, void *row, ssm2d_error *error)
{
    if (!reader->rgba) return reader->format->read_row(reader, row, error);
    image_row_from_rgba(reader, reader->rgba + reader->next * reader->rgba_stride, 0, row);
    return SSM2D_OK;
}

ssm2d_status image_read_row(image_reader *reader, void *row, ssm2d_error *error)
{
    const size_t rows = image_oriented_info(reader).rows;
    if (reader->given >= rows)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no more than %zu rows",
                    text_path(reader->path), rows);
    if (reader->broken)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: cannot be read beyond row %zu",
                    text_path(reader->path), reader->next);
    ssm2d_status status;
    if (reader->orientation > 1) {
        status = image_oriented_row(reader, row, error);
    } else {
        status = image_decode_row(reader, row, error);
        reader->next += !status;
    }
    reader->broken = status != SSM2D_OK;
    reader->given += !status;
    return status;
}

void image_close(image_reader *reader)
{
    if (!reader) return;
    const ssm2d_context *context = reader->context;
    if (reader->decoder) reader->format->close(reader);
    if (reader->stream && !reader->options.stream) fclose(reader->stream);
    mem_free(context, reader->decoder);
    mem_free(context, reader->whole);
    mem_free(context, reader);
}

ssm2d_status image_read_rows(const ssm2d_context *context, const char *path,
                             const image_read_options *options, image_info *info,
                             void (*use)(void *user, const image_info *info, const uint8_t *row),
                             void *user, ssm2d_error *error)
{
    image_reader *reader;
    ssm2d_status status = image_open(context, path, options, &reader, info, error);
    if (status) return status;
    uint8_t *row = mem_alloc(context, image_row_bytes(info));
    if (!row) status = image_no_memory(reader, error);
    for (size_t r = 0; r < info->rows && !status; r++) {
        status = image_read_row(reader, row, error);
        if (!status && use) use(user, info, row);
    }
    mem_free(context, row);
    image_close(reader);
    return status;
}
