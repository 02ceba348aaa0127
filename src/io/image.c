#include "io/image.h"

#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <string.h>
#include <strings.h>

static const image_format *const formats[] = {&image_png, &image_jpeg, &image_bmp, &image_webp,
                                              &image_tiff};
enum { FORMATS = sizeof formats / sizeof *formats };

#ifdef SSM2D_WEBP
#define AND_WEBP        ", WebP"
#define AND_WEBP_ENDING ", *.webp"
#else
#define AND_WEBP        ""
#define AND_WEBP_ENDING ""
#endif
#ifdef SSM2D_TIFF
#define AND_TIFF        ", TIFF"
#define AND_TIFF_ENDING ", *.tif, *.tiff"
#else
#define AND_TIFF        ""
#define AND_TIFF_ENDING ""
#endif

const char *image_kinds(void) { return "PNG, JPEG, BMP" AND_WEBP AND_TIFF; }

const char *image_endings(void)
{
    return "*.png, *.jpg, *.jpeg, *.bmp" AND_WEBP_ENDING AND_TIFF_ENDING;
}

int image_named(const char *name)
{
    const char *dot = strrchr(name, '.');
    const size_t length = dot ? strlen(dot) : 0;
    for (const char *at = image_endings(); dot && (at = strchr(at, '.')); at += strcspn(at, ","))
        if (strcspn(at, ",") == length && !strncasecmp(at, dot, length)) return 1;
    return 0;
}

/* Chooses reader->format by the first byte: it tells the formats apart, and a single byte can be
 * put back even into a pipe. The decoder checks the rest. */
static ssm2d_status choose_format(image_reader *reader, ssm2d_error *error)
{
    const int first = getc(reader->stream);
    const char *path = text_path(reader->path);
    if (first == EOF && ferror(reader->stream))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: cannot be read", path);
    if (first == EOF)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is empty: give an image: %s", path,
                    image_kinds());
    ungetc(first, reader->stream);
    for (int i = 0; i < FORMATS; i++)
        if (first && strchr(formats[i]->first_bytes, (char)first)) reader->format = formats[i];
    if (!reader->format)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is not an image of a kind that can be read: %s", path, image_kinds());
    if (!reader->format->open)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: may be a %s image, which this ssm2d was built without: it reads %s", path,
                    reader->format->name, image_kinds());
    return SSM2D_OK;
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
            if (!more)
                return fail(
                    error, capacity > IMAGE_MAX_FILE ? SSM2D_ERROR_UNSUPPORTED : SSM2D_ERROR_MEMORY,
                    "%s: %s", text_path(reader->path),
                    capacity > IMAGE_MAX_FILE ? "is too large: save it as PNG"
                                              : "no memory to read it");
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

ssm2d_status image_open(const ssm2d_context *context, const char *path, image_reader **out,
                        image_info *info, ssm2d_error *error)
{
    return image_open_with(context, path, &(image_read_options){0}, out, info, error);
}

ssm2d_status image_open_with(const ssm2d_context *context, const char *path,
                             const image_read_options *options, image_reader **out,
                             image_info *info, ssm2d_error *error)
{
    *out = NULL;
    image_reader *reader = mem_alloc(context, sizeof *reader);
    if (!reader)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(path));
    reader->context = context;
    reader->options = *options;
    reader->path = mem_alloc(context, strlen(path) + 1);
    ssm2d_status status =
        reader->path ? SSM2D_OK
                     : fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to read it", text_path(path));
    if (!status) {
        strcpy(reader->path, path);
        if (options->stream)
            reader->stream = options->stream;
        else
            status =
                (options->regular ? file_open_regular : file_open)(path, &reader->stream, error);
    }
    if (!status) status = choose_format(reader, error);
    if (!status) status = reader->format->open(reader, error);
    if (!status) status = image_turn_check(reader, error);
    if (status) {
        image_close(reader);
        return status;
    }
    *info = image_oriented_info(reader);
    *out = reader;
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
        status = reader->format->read_row(reader, row, error);
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
    mem_free(context, reader->whole);
    mem_free(context, reader->path);
    mem_free(context, reader);
}
