/* image_write_pdf - a PDF of one page that is the image, packed without loss by zlib, row by row as
 * the other kinds: its length stands in an object of its own, behind it. */
#include "core/context.h"
#include "core/status.h"
#include "io/image_format.h"
#include "io/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <zlib.h>

/* Objects, by the numbers that they have in the file. */
enum { CATALOG = 1, PAGES, PAGE, CONTENTS, IMAGE, IMAGE_LENGTH, OBJECTS };

static const double max_side = 14400;       /* of a page, in points */
static const double points_per_pixel = 0.5; /* as figures have it (draw/canvas.h) */

typedef struct encoder {
    z_stream packer;
    int packing;  /* the packer has to be ended */
    long long at; /* bytes written so far */
    long long where[OBJECTS];
    unsigned char out[1 << 15];
} encoder;

static ssm2d_status fail_pdf(image_writer *writer, ssm2d_error *error)
{
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: %s", text_path(writer->path),
                strerror(errno));
}

static int put(image_writer *writer, const void *bytes, size_t size)
{
    encoder *e = writer->encoder;
    errno = 0;
    e->at += (long long)size;
    return !size || fwrite(bytes, 1, size, image_stream(writer)) == size;
}

/* Writes a few words; they fit into a line. */
__attribute__((format(printf, 2, 3))) static int say(image_writer *writer, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return put(writer, line, (size_t)length);
}

static int begin_object(image_writer *writer, int number)
{
    encoder *e = writer->encoder;
    e->where[number] = e->at;
    return say(writer, "%d 0 obj\n", number);
}

static void *zlib_alloc(void *context, unsigned count, unsigned size)
{
    return mem_alloc(context, (size_t)count * size);
}

static void zlib_free(void *context, void *memory) { mem_free(context, memory); }

static int write_head(image_writer *writer)
{
    const image_info *info = &writer->info;
    double width = points_per_pixel * (double)info->cols,
           height = points_per_pixel * (double)info->rows;
    const double longer = width > height ? width : height;
    char drawing[96];
    if (longer > max_side) width *= max_side / longer, height *= max_side / longer;
    const int length =
        snprintf(drawing, sizeof drawing, "q %.4f 0 0 %.4f 0 0 cm /I Do Q", width, height);
    return say(writer, "%%PDF-1.4\n%%\xe2\xe3\xcf\xd3\n") && begin_object(writer, CATALOG)
           && say(writer, "<</Type/Catalog/Pages %d 0 R>>\nendobj\n", PAGES)
           && begin_object(writer, PAGES)
           && say(writer, "<</Type/Pages/Kids[%d 0 R]/Count 1>>\nendobj\n", PAGE)
           && begin_object(writer, PAGE)
           && say(writer,
                  "<</Type/Page/Parent %d 0 R/MediaBox[0 0 %.4f %.4f]/Resources<</XObject<</I %d 0 "
                  "R>>>>/Contents %d 0 R>>\nendobj\n",
                  PAGES, width, height, IMAGE, CONTENTS)
           && begin_object(writer, CONTENTS)
           && say(writer, "<</Length %d>>\nstream\n%s\nendstream\nendobj\n", length, drawing)
           && begin_object(writer, IMAGE)
           && say(writer,
                  "<</Type/XObject/Subtype/Image/Width %zu/Height %zu/ColorSpace/%s"
                  "/BitsPerComponent 8/Filter/FlateDecode/Length %d 0 R>>\nstream\n",
                  info->cols, info->rows, info->channels == 1 ? "DeviceGray" : "DeviceRGB",
                  IMAGE_LENGTH);
}

static ssm2d_status open_pdf(image_writer *writer, ssm2d_error *error)
{
    encoder *e = writer->encoder = mem_alloc(writer->context, sizeof *e);
    if (e) {
        e->packer =
            (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = (void *)writer->context};
        e->packing = deflateInit(&e->packer, Z_DEFAULT_COMPRESSION) == Z_OK;
    }
    if (!e || !e->packing)
        return fail(error, SSM2D_ERROR_MEMORY, "%s: no memory to write it",
                    text_path(writer->path));
    return write_head(writer) ? SSM2D_OK : fail_pdf(writer, error);
}

/* Packs a row, and with it all that is left when it is the last. */
static int pack(image_writer *writer, const void *row, int last)
{
    encoder *e = writer->encoder;
    e->packer.next_in = (unsigned char *)row; /* it only reads it */
    e->packer.avail_in = (unsigned)image_row_bytes(&writer->info);
    int code;
    do {
        e->packer.next_out = e->out;
        e->packer.avail_out = sizeof e->out;
        code = deflate(&e->packer, last ? Z_FINISH : Z_NO_FLUSH);
        if (!put(writer, e->out, sizeof e->out - e->packer.avail_out)) return 0;
    } while (last ? code == Z_OK : !e->packer.avail_out);
    return 1;
}

static int write_tail(image_writer *writer)
{
    encoder *e = writer->encoder;
    const unsigned long length = e->packer.total_out;
    int good = say(writer, "\nendstream\nendobj\n") && begin_object(writer, IMAGE_LENGTH)
               && say(writer, "%lu\nendobj\n", length);
    const long long table = e->at;
    good = good && say(writer, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS);
    for (int i = CATALOG; i < OBJECTS && good; i++)
        good = say(writer, "%010lld 00000 n \n", e->where[i]);
    return good
           && say(writer, "trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%lld\n%%%%EOF\n", OBJECTS,
                  CATALOG, table);
}

static ssm2d_status write_pdf_row(image_writer *writer, const void *row, int last,
                                  ssm2d_error *error)
{
    const int good = pack(writer, row, last) && (!last || write_tail(writer));
    return good ? SSM2D_OK : fail_pdf(writer, error);
}

static void close_pdf(image_writer *writer)
{
    encoder *e = writer->encoder;
    if (e->packing) deflateEnd(&e->packer);
    mem_free(writer->context, e);
}

const image_encoder encode_pdf = {open_pdf, write_pdf_row, close_pdf};
