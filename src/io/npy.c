#include "io/npy.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <string.h>
#include <sys/stat.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, MAX_HEADER = 1 << 16, MAX_HEAD = MAGIC + 6 + MAX_HEADER };

static const struct {
    const char *descr;
    size_t size;
} types[] = {
    [NPY_FLOAT32] = {"<f4", 4}, [NPY_FLOAT64] = {"<f8", 8}, [NPY_INT32] = {"<i4", 4},
    [NPY_INT64] = {"<i8", 8},   [NPY_UINT8] = {"|u1", 1},
};
enum { TYPES = sizeof types / sizeof *types };

size_t npy_type_size(npy_type type) { return types[type].size; }

/* ---- the header: a Python dict of three known keys, read strictly ---------------------------- */

typedef struct parser {
    const char *name; /* of the file */
    const char *at, *end;
    ssm2d_error *error;
} parser;

static ssm2d_status refuse(const parser *p, const char *wanted)
{
    char text[40];
    return fail(p->error, SSM2D_ERROR_ARGUMENT, "%s: header: expected %s at \"%s\"",
                text_path(p->name), wanted,
                text_show(p->at, (size_t)(p->end - p->at), text, sizeof text));
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static int take_char(parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != c) return 0;
    p->at++;
    return 1;
}

static int take_word(parser *p, const char *word)
{
    skip_space(p);
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length)) return 0;
    p->at += length;
    return 1;
}

static ssm2d_status take_string(parser *p, const char *wanted, const char **text, size_t *length)
{
    *text = ""; /* compilers do not see that refuse() never returns SSM2D_OK */
    *length = 0;
    skip_space(p);
    const char *close = NULL;
    if (p->at < p->end && (*p->at == '\'' || *p->at == '"'))
        close = memchr(p->at + 1, *p->at, (size_t)(p->end - p->at - 1));
    if (!close) return refuse(p, wanted);
    *text = p->at + 1;
    *length = (size_t)(close - *text);
    p->at = close + 1;
    return SSM2D_OK;
}

static ssm2d_status take_type(parser *p, npy_type *type)
{
    const char *descr;
    size_t length;
    ssm2d_status status = take_string(p, "a plain type such as '<f4' for descr", &descr, &length);
    if (status) return status;
    for (int i = 0; i < TYPES; i++)
        if (length == 3 && !memcmp(descr, types[i].descr, 3)) {
            *type = (npy_type)i;
            return SSM2D_OK;
        }
    char text[24];
    return fail(p->error, SSM2D_ERROR_UNSUPPORTED,
                "%s: descr is '%s'%s: use <f4, <f8, <i4, <i8 or |u1", text_path(p->name),
                text_show(descr, length, text, sizeof text),
                length && *descr == '>' ? ", big-endian" : "");
}

static ssm2d_status take_order(parser *p)
{
    if (take_word(p, "False")) return SSM2D_OK;
    if (!take_word(p, "True")) return refuse(p, "True or False for fortran_order");
    return fail(p->error, SSM2D_ERROR_UNSUPPORTED,
                "%s: fortran_order is True: save it with numpy.ascontiguousarray",
                text_path(p->name));
}

static ssm2d_status take_size(parser *p, size_t *size)
{
    skip_space(p);
    if (p->at == p->end || *p->at < '0' || *p->at > '9')
        return refuse(p, "a size of 0 or more in shape");
    const char *start = p->at;
    size_t n = 0;
    int over = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        over |= __builtin_mul_overflow(n, (size_t)10, &n)
                || __builtin_add_overflow(n, (size_t)(*p->at - '0'), &n);
    *size = n;
    if (!over && n <= PTRDIFF_MAX) return SSM2D_OK;
    char text[32];
    return fail(p->error, SSM2D_ERROR_ARGUMENT, "%s: shape: a size of %s is too large",
                text_path(p->name), text_show(start, (size_t)(p->at - start), text, sizeof text));
}

static ssm2d_status take_shape(parser *p, npy_array *array)
{
    if (!take_char(p, '(')) return refuse(p, "( for shape");
    int comma = 1;
    for (array->rank = 0; !take_char(p, ')'); array->rank++) {
        if (!comma) return refuse(p, ", or ) in shape");
        if (array->rank == NPY_RANK)
            return fail(p->error, SSM2D_ERROR_UNSUPPORTED, "%s: shape has more than %d sizes",
                        text_path(p->name), NPY_RANK);
        ssm2d_status status = take_size(p, &array->shape[array->rank]);
        if (status) return status;
        comma = take_char(p, ',');
    }
    if (array->rank == 1 && !comma) return refuse(p, "shape (n,) instead of (n)");
    return SSM2D_OK;
}

/* Fills in type, rank, shape and count. */
static ssm2d_status parse_header(const char *name, const char *text, size_t length,
                                 npy_array *array, ssm2d_error *error)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    parser p = {name, text, text + length, error};
    unsigned seen = 0;
    ssm2d_status status;
    if (!take_char(&p, '{')) return refuse(&p, "{");
    for (int comma = 1; !take_char(&p, '}'); comma = take_char(&p, ',')) {
        const char *key;
        size_t size;
        if (!comma) return refuse(&p, ", or }");
        status = take_string(&p, "a quoted key", &key, &size);
        if (status) return status;
        int k = 0;
        while (k < 3 && (size != strlen(keys[k]) || memcmp(key, keys[k], size))) k++;
        char shown[32];
        if (k == 3 || (seen & 1u << k))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: header: the key '%s' is %s",
                        text_path(name), text_show(key, size, shown, sizeof shown),
                        k == 3 ? "not one of descr, fortran_order, shape" : "given twice");
        seen |= 1u << k;
        if (!take_char(&p, ':')) return refuse(&p, ":");
        status = k == 0   ? take_type(&p, &array->type)
                 : k == 1 ? take_order(&p)
                          : take_shape(&p, array);
        if (status) return status;
    }
    skip_space(&p);
    if (p.at != p.end) return refuse(&p, "nothing more");
    for (int k = 0; k < 3; k++)
        if (!(seen & 1u << k))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: header: %s is missing", text_path(name),
                        keys[k]);

    char shape[96];
    if (!npy_shape_count(array->rank, array->shape, types[array->type].size, &array->count))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: shape %s is too large", text_path(name),
                    npy_shape_text(array->rank, array->shape, shape, sizeof shape));
    return SSM2D_OK;
}

/* Finds where the header starts and how long it is, from the file's first bytes. `size` is the
 * file's. */
static ssm2d_status parse_start(const char *name, const unsigned char *bytes, size_t size,
                                size_t *start, size_t *length, ssm2d_error *error)
{
    if (size < MAGIC + 2 || memcmp(bytes, magic, MAGIC))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is not a .npy file", text_path(name));
    int version = bytes[MAGIC];
    if (version < 1 || version > 3 || bytes[MAGIC + 1])
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: has .npy version %d.%d: use 1.0, 2.0 or 3.0", text_path(name), version,
                    bytes[MAGIC + 1]);
    size_t width = version == 1 ? 2 : 4;
    *start = MAGIC + 2 + width;
    *length = 0;
    if (size < *start)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: ends after %zu bytes, in its header",
                    text_path(name), size);
    for (size_t i = 0; i < width; i++) *length |= (size_t)bytes[MAGIC + 2 + i] << (8 * i);
    if (*length > size - *start)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: says its header has %zu bytes, but only %zu follow", text_path(name),
                    *length, size - *start);
    if (*length > MAX_HEADER)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: says its header has %zu bytes: at most %d are read", text_path(name),
                    *length, MAX_HEADER);
    return SSM2D_OK;
}

/* Allocates the data, after checking that the `bytes` left in the file are what the shape needs. */
static ssm2d_status alloc_data(const ssm2d_context *context, const char *name, size_t bytes,
                               npy_array *array, ssm2d_error *error)
{
    char shape[96];
    npy_shape_text(array->rank, array->shape, shape, sizeof shape);
    size_t needed = array->count * types[array->type].size;
    if (needed != bytes)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: shape %s of %s needs %zu bytes of data, but %zu follow the header",
                    text_path(name), shape, types[array->type].descr, needed, bytes);
    array->data = mem_alloc(context, bytes);
    if (!array->data) return fail_memory(error, "%s: %zu bytes", text_path(name), bytes);
    return SSM2D_OK;
}

/* Parses everything before the data, from the first bytes of a file of `size` bytes; *start becomes
 * the offset of the data. */
static ssm2d_status parse_head(const char *name, const char *bytes, size_t size, npy_array *array,
                               size_t *start, ssm2d_error *error)
{
    size_t length = 0;
    ssm2d_status status =
        parse_start(name, (const unsigned char *)bytes, size, start, &length, error);
    if (!status) status = parse_header(name, bytes + *start, length, array, error);
    *start += length;
    return status;
}

ssm2d_status npy_parse(const ssm2d_context *context, const char *name, const void *bytes,
                       size_t size, npy_array *array, ssm2d_error *error)
{
    npy_array a = {0};
    size_t start = 0;
    *array = a;
    ssm2d_status status = parse_head(name, bytes, size, &a, &start, error);
    if (!status) status = alloc_data(context, name, size - start, &a, error);
    if (status) return status;
    memcpy(a.data, (const char *)bytes + start, size - start);
    *array = a;
    return SSM2D_OK;
}

ssm2d_status npy_read(const ssm2d_context *context, const char *path, npy_array *array,
                      ssm2d_error *error)
{
    FILE *stream;
    size_t start = 0, size = 0;
    struct stat info;
    *array = (npy_array){0};
    ssm2d_status status = file_open_regular(path, &stream, error);
    if (status) return status;
    npy_array a = {0};
    char *head = mem_alloc(context, MAX_HEAD);
    if (!head)
        status = fail_memory(error, "%s: header", text_path(path));
    else if (fstat(fileno(stream), &info))
        status = fail_errno(error, path, "cannot be read");
    if (!status) {
        size = fread(head, 1, MAX_HEAD, stream); /* a failure looks like a short file */
        if (size == MAX_HEAD) size = max_size(size, (size_t)info.st_size);
        status = parse_head(path, head, size, &a, &start, error);
    }
    if (!status) status = alloc_data(context, path, size - start, &a, error);
    if (!status
        && (fseek(stream, (long)start, SEEK_SET)
            || fread(a.data, 1, size - start, stream) != size - start))
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: its %zu bytes of data cannot be read",
                      text_path(path), size - start);
    if (status)
        npy_free(context, &a);
    else
        *array = a;
    mem_free(context, head);
    fclose(stream);
    return status;
}

/* ---- writing and converting ------------------------------------------------------------------ */

ssm2d_status npy_write(const ssm2d_context *context, const char *path, npy_type type, int rank,
                       const size_t *shape, const void *data, ssm2d_error *error)
{
    char sizes[24 * NPY_RANK + 4], header[512];
    size_t bytes = types[type].size;
    int over = 0;
    if (rank < 0 || rank > NPY_RANK)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: rank=%d: use 0 to %d", text_path(path), rank,
                    NPY_RANK);
    for (int i = 0; i < rank; i++) over |= __builtin_mul_overflow(bytes, shape[i], &bytes);
    npy_shape_text(rank, shape, sizes, sizeof sizes);
    if (over)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: shape %s is too large", text_path(path),
                    sizes);

    /* Spaces and a newline bring the data to a multiple of 64 bytes, as NumPy does. */
    int text = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", types[type].descr,
                        sizes);
    size_t total = (10 + (size_t)text + 1 + 63) / 64 * 64, length = total - 10;
    memcpy(header, magic, MAGIC);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)(length & 255);
    header[9] = (char)(length >> 8);
    memset(header + 10 + text, ' ', total - 10 - (size_t)text);
    header[total - 1] = '\n';

    atomic_file file;
    ssm2d_status status = atomic_open(context, path, &file, error);
    if (status) return status;
    status = atomic_write(&file, header, total, error);
    if (!status) status = atomic_write(&file, data, bytes, error);
    return atomic_end(&file, status, error);
}

void npy_free(const ssm2d_context *context, npy_array *array)
{
    mem_free(context, array->data);
    *array = (npy_array){0};
}

#define CONVERT(from)                                                                              \
    for (size_t i = 0; i < array->count; i++) out[i] = ((const from *)array->data)[i];             \
    break
#define CONVERT_ALL                                                                                \
    switch (array->type) {                                                                         \
    case NPY_FLOAT32: CONVERT(float);                                                              \
    case NPY_FLOAT64: CONVERT(double);                                                             \
    case NPY_INT32: CONVERT(int32_t);                                                              \
    case NPY_INT64: CONVERT(int64_t);                                                              \
    case NPY_UINT8: CONVERT(uint8_t);                                                              \
    }

void npy_to_double(const npy_array *array, double *out) { CONVERT_ALL }

void npy_to_float(const npy_array *array, float *out) { CONVERT_ALL }

int npy_shape_count(int rank, const size_t *shape, size_t element_bytes, size_t *count)
{
    size_t bytes = element_bytes; /* counting sizes of zero as one */
    int over = 0;
    *count = 1;
    for (int i = 0; i < rank; i++) {
        over |= shape[i] && __builtin_mul_overflow(bytes, shape[i], &bytes);
        *count *= shape[i];
    }
    return !over && bytes <= PTRDIFF_MAX;
}

const char *npy_shape_text(int rank, const size_t *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 rank == 1 ? "%zu,"
                                 : i       ? ", %zu"
                                           : "%zu",
                                 shape[i]);
    if (used < size) snprintf(text + used, size - used, ")");
    return text;
}
