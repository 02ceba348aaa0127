#include "io/safetensors.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START = 8, MAX_HEADER = 16 << 20, CHUNK = 1 << 14 };

#define MAX_INTEGER 9007199254740992.0 /* 2^53: up to here a double holds every integer exactly */

static const struct {
    const char *name;
    size_t size;
} types[] = {{"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
             {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}};
enum { TYPES = sizeof types / sizeof *types };

struct safetensors {
    const ssm2d_context *context;
    char *path;
    FILE *stream;               /* NULL when in memory */
    const unsigned char *bytes; /* of the file in memory */
    size_t data;                /* where the data starts in the file */
    cJSON *header;              /* owns all names */
    const cJSON *metadata;
    size_t count;
    safetensors_array *arrays;        /* by offset */
    const safetensors_array **sorted; /* by name */
};

const char *safetensors_type_name(safetensors_type type) { return types[type].name; }
size_t safetensors_type_size(safetensors_type type) { return types[type].size; }

/* An array's name as a message shows it. */
typedef struct shown {
    char text[64];
} shown;

static const char *show(const char *name, shown *s)
{
    return text_show(name, strlen(name), s->text, sizeof s->text);
}

/* ---- reading: the header --------------------------------------------------------------------- */

static ssm2d_status fetch(const safetensors *file, size_t offset, void *out, size_t size,
                          ssm2d_error *error)
{
    if (!file->stream) {
        if (size) memcpy(out, file->bytes + offset, size);
        return SSM2D_OK;
    }
    for (size_t have = 0; have < size;) {
        ssize_t got =
            pread(fileno(file->stream), (char *)out + have, size - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(error, file->path, "cannot be read");
        if (got == 0)
            return fail(error, SSM2D_ERROR_SYSTEM,
                        "%s: ends after %zu bytes: it was changed while it was read",
                        text_path(file->path), offset + have);
        have += (size_t)got;
    }
    return SSM2D_OK;
}

static int get_whole(const cJSON *item, size_t *value)
{
    if (!cJSON_IsNumber(item)) return 0;
    double d = item->valuedouble;
    if (!(d >= 0 && d <= MAX_INTEGER)) return 0;
    *value = (size_t)d;
    return (double)*value == d;
}

static ssm2d_status get_type(const safetensors *file, const cJSON *entry, safetensors_array *array,
                             ssm2d_error *error)
{
    shown name;
    char value[64];
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
    for (int i = 0; cJSON_IsString(dtype) && i < TYPES; i++)
        if (!strcmp(dtype->valuestring, types[i].name)) {
            array->type = (safetensors_type)i;
            return SSM2D_OK;
        }
    return fail(error, cJSON_IsString(dtype) ? SSM2D_ERROR_UNSUPPORTED : SSM2D_ERROR_ARGUMENT,
                "%s: array \"%s\": dtype is %s: use F32, F64, F16, BF16 or a whole-number type",
                text_path(file->path), show(array->name, &name),
                json_show(dtype, value, sizeof value));
}

static ssm2d_status get_shape(const safetensors *file, const cJSON *entry, safetensors_array *array,
                              ssm2d_error *error)
{
    shown name;
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape"), *item;
    int good = cJSON_IsArray(shape);
    if (good)
        for (item = shape->child; item && good; item = item->next) {
            good = array->rank < SAFETENSORS_RANK && get_whole(item, &array->shape[array->rank]);
            array->rank++;
        }
    if (!good)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: array \"%s\": shape must be a list of at most %d whole numbers",
                    text_path(file->path), show(array->name, &name), SAFETENSORS_RANK);
    char text[96];
    if (!npy_shape_count(array->rank, array->shape, types[array->type].size, &array->count))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\": shape %s is too large",
                    text_path(file->path), show(array->name, &name),
                    npy_shape_text(array->rank, array->shape, text, sizeof text));
    return SSM2D_OK;
}

static ssm2d_status get_offsets(const safetensors *file, const cJSON *entry, size_t size,
                                safetensors_array *array, ssm2d_error *error)
{
    shown name;
    char shape[96];
    size_t begin = 0, end = 0;
    const cJSON *pair = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    const cJSON *first = cJSON_IsArray(pair) ? pair->child : NULL,
                *second = first ? first->next : NULL;
    if (!second || second->next || !get_whole(first, &begin) || !get_whole(second, &end)
        || begin > end)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: array \"%s\": data_offsets must be [begin, end]", text_path(file->path),
                    show(array->name, &name));
    if (end > size)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: array \"%s\" ends at byte %zu of %zu bytes of data: the file is truncated",
                    text_path(file->path), show(array->name, &name), end, size);
    size_t needed = array->count * types[array->type].size;
    if (end - begin != needed)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: array \"%s\": shape %s of %s needs %zu bytes, but data_offsets give %zu",
                    text_path(file->path), show(array->name, &name),
                    npy_shape_text(array->rank, array->shape, shape, sizeof shape),
                    types[array->type].name, needed, end - begin);
    array->offset = begin;
    array->bytes = needed;
    return SSM2D_OK;
}

static ssm2d_status get_metadata(safetensors *file, const cJSON *object, ssm2d_error *error)
{
    int good = cJSON_IsObject(object);
    for (const cJSON *item = good ? object->child : NULL; item && good; item = item->next)
        good = cJSON_IsString(item);
    if (!good)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: __metadata__ must be an object of strings",
                    text_path(file->path));
    file->metadata = object;
    return SSM2D_OK;
}

static int by_offset(const void *a, const void *b)
{
    const safetensors_array *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    /* at the same offset an empty array comes first */
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const safetensors_array *const *)a)->name,
                  (*(const safetensors_array *const *)b)->name);
}

/* Sorts the arrays, and checks that they cover `size` bytes of data exactly. */
static ssm2d_status arrange(safetensors *file, size_t size, ssm2d_error *error)
{
    shown name, last;
    size_t end = 0;
    if (file->count) qsort(file->arrays, file->count, sizeof *file->arrays, by_offset);
    for (size_t i = 0; i < file->count; i++) {
        const safetensors_array *array = &file->arrays[i];
        file->sorted[i] = array;
        if (array->offset > end)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: the %zu bytes before array \"%s\" belong to no array",
                        text_path(file->path), array->offset - end, show(array->name, &name));
        if (array->offset < end)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: arrays \"%s\" and \"%s\" overlap",
                        text_path(file->path), show(array[-1].name, &last),
                        show(array->name, &name));
        end = array->offset + array->bytes;
    }
    if (end != size)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the last %zu bytes belong to no array",
                    text_path(file->path), size - end);
    if (file->count) qsort(file->sorted, file->count, sizeof *file->sorted, by_name);
    return SSM2D_OK;
}

/* text, length: the header; size: bytes of data that follow it. */
static ssm2d_status parse_header(safetensors *file, const char *text, size_t length, size_t size,
                                 ssm2d_error *error)
{
    ssm2d_status status = json_parse(file->path, text, length, &file->header, error);
    if (status) return status;
    if (!cJSON_IsObject(file->header))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the header is not an object {..}",
                    text_path(file->path));
    size_t entries = 0;
    for (const cJSON *entry = file->header->child; entry; entry = entry->next) entries++;
    file->arrays = mem_alloc(file->context, entries * sizeof *file->arrays);
    file->sorted = mem_alloc(file->context, entries * sizeof *file->sorted);
    if (!file->arrays || !file->sorted)
        return fail_memory(error, "%s: %zu names", text_path(file->path), entries);
    for (const cJSON *entry = file->header->child; entry && !status; entry = entry->next) {
        shown name;
        if (!strcmp(entry->string, "__metadata__")) {
            status = get_metadata(file, entry, error);
            continue;
        }
        safetensors_array *array = &file->arrays[file->count++];
        array->name = entry->string;
        if (!cJSON_IsObject(entry))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: array \"%s\" is not described by an object {..}",
                        text_path(file->path), show(array->name, &name));
        status = get_type(file, entry, array, error);
        if (!status) status = get_shape(file, entry, array, error);
        if (!status) status = get_offsets(file, entry, size, array, error);
    }
    return status ? status : arrange(file, size, error);
}

/* Reads and checks the header. `size` is the length of the whole file. */
static ssm2d_status load(safetensors *file, size_t size, ssm2d_error *error)
{
    unsigned char start[START];
    uint64_t length = 0;
    if (size < START)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %zu bytes: it is not a safetensors file",
                    text_path(file->path), size);
    ssm2d_status status = fetch(file, 0, start, START, error);
    if (status) return status;
    for (int i = 0; i < START; i++) length |= (uint64_t)start[i] << (8 * i);
    if (length > size - START)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: says its header has %llu bytes, but %zu follow: it is truncated, or not a "
                    "safetensors file",
                    text_path(file->path), (unsigned long long)length, size - START);
    if (length > MAX_HEADER)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: says its header has %llu bytes: at most %d are read",
                    text_path(file->path), (unsigned long long)length, MAX_HEADER);
    char *text = mem_alloc(file->context, length);
    if (!text) return fail_memory(error, "%s: header", text_path(file->path));
    file->data = START + (size_t)length;
    status = fetch(file, START, text, length, error);
    if (!status) status = parse_header(file, text, length, size - file->data, error);
    mem_free(file->context, text);
    return status;
}

static ssm2d_status create(const ssm2d_context *context, const char *path, safetensors **out,
                           ssm2d_error *error)
{
    safetensors *file = mem_alloc(context, sizeof *file);
    char *name = mem_alloc(context, strlen(path) + 1);
    *out = NULL;
    if (!file || !name) {
        mem_free(context, file);
        mem_free(context, name);
        return fail_memory(error, "reading %s", text_path(path));
    }
    *file = (safetensors){.context = context, .path = strcpy(name, path)};
    *out = file;
    return SSM2D_OK;
}

static ssm2d_status finish(ssm2d_status status, safetensors **file)
{
    if (status) {
        safetensors_close(*file);
        *file = NULL;
    }
    return status;
}

ssm2d_status safetensors_open(const ssm2d_context *context, const char *path, safetensors **file,
                              ssm2d_error *error)
{
    struct stat info;
    ssm2d_status status = create(context, path, file, error);
    if (status) return status;
    status = file_open_regular(path, &(*file)->stream, error);
    if (!status && fstat(fileno((*file)->stream), &info))
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be read", text_path(path));
    if (!status) status = load(*file, (size_t)info.st_size, error);
    return finish(status, file);
}

ssm2d_status safetensors_parse(const ssm2d_context *context, const char *name, const void *bytes,
                               size_t size, safetensors **file, ssm2d_error *error)
{
    ssm2d_status status = create(context, name, file, error);
    if (status) return status;
    (*file)->bytes = bytes;
    return finish(load(*file, size, error), file);
}

void safetensors_close(safetensors *file)
{
    if (!file) return;
    const ssm2d_context *context = file->context;
    if (file->stream) fclose(file->stream);
    cJSON_Delete(file->header);
    mem_free(context, file->arrays);
    mem_free(context, file->sorted);
    mem_free(context, file->path);
    mem_free(context, file);
}

/* ---- reading: the arrays --------------------------------------------------------------------- */

size_t safetensors_count(const safetensors *file) { return file->count; }
const safetensors_array *safetensors_get(const safetensors *file, size_t i)
{
    return &file->arrays[i];
}

const safetensors_array *safetensors_find(const safetensors *file, const char *name)
{
    const safetensors_array wanted = {.name = name}, *key = &wanted;
    const safetensors_array **found =
        file->count ? bsearch(&key, file->sorted, file->count, sizeof *file->sorted, by_name)
                    : NULL;
    return found ? *found : NULL;
}

const char *safetensors_metadata(const safetensors *file, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->metadata, key);
    return item ? item->valuestring : NULL;
}

ssm2d_status safetensors_expect(const safetensors *file, const char *name, int rank,
                                const size_t *shape, const safetensors_array **array,
                                ssm2d_error *error)
{
    shown s;
    char wanted[64], there[64];
    const safetensors_array *a = *array = safetensors_find(file, name);
    if (!a)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has no array \"%s\", expected with shape %s",
                    text_path(file->path), show(name, &s),
                    npy_shape_text(rank, shape, wanted, sizeof wanted));
    if (a->rank == rank && (!rank || !memcmp(a->shape, shape, (size_t)rank * sizeof *shape)))
        return SSM2D_OK;
    *array = NULL;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\" has shape %s, expected %s",
                text_path(file->path), show(name, &s),
                npy_shape_text(a->rank, a->shape, there, sizeof there),
                npy_shape_text(rank, shape, wanted, sizeof wanted));
}

/* The value of an IEEE half. */
static double half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 31 ? (fraction ? __builtin_nan("") : __builtin_inf())
                   : exponent     ? __builtin_ldexp(1024 + fraction, exponent - 25)
                                  : __builtin_ldexp(fraction, -24);
    return h >> 15 ? -value : value;
}

/* The value of a bfloat16: the upper half of a float. */
static double bfloat16(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Converts n elements of `in`, which is aligned to its type. */
#define CONVERT(from, as)                                                                          \
    for (size_t i = 0; i < n; i++) out[i] = as(((const from *)in)[i]);                             \
    break
#define CONVERT_ALL(number)                                                                        \
    switch (type) {                                                                                \
    case SAFETENSORS_F32: CONVERT(float, (number));                                                \
    case SAFETENSORS_F64: CONVERT(double, (number));                                               \
    case SAFETENSORS_F16: CONVERT(uint16_t, (number)half);                                         \
    case SAFETENSORS_BF16: CONVERT(uint16_t, (number)bfloat16);                                    \
    case SAFETENSORS_I64: CONVERT(int64_t, (number));                                              \
    case SAFETENSORS_I32: CONVERT(int32_t, (number));                                              \
    case SAFETENSORS_I16: CONVERT(int16_t, (number));                                              \
    case SAFETENSORS_I8: CONVERT(int8_t, (number));                                                \
    case SAFETENSORS_U64: CONVERT(uint64_t, (number));                                             \
    case SAFETENSORS_U32: CONVERT(uint32_t, (number));                                             \
    case SAFETENSORS_U16: CONVERT(uint16_t, (number));                                             \
    case SAFETENSORS_U8: CONVERT(uint8_t, (number));                                               \
    case SAFETENSORS_BOOL: CONVERT(uint8_t, (number)0 !=);                                         \
    }

static void to_float(safetensors_type type, const void *in, size_t n, float *out)
{
    CONVERT_ALL(float)
}
static void to_double(safetensors_type type, const void *in, size_t n, double *out)
{
    CONVERT_ALL(double)
}

/* Reads through a small buffer into narrow or wide, whichever is not NULL. */
static ssm2d_status read_converted(const safetensors *file, const safetensors_array *array,
                                   float *narrow, double *wide, ssm2d_error *error)
{
    _Alignas(8) unsigned char chunk[CHUNK];
    size_t size = types[array->type].size, at_once = CHUNK / size;
    for (size_t done = 0; done < array->count; done += at_once) {
        size_t n = min_size(array->count - done, at_once);
        ssm2d_status status =
            fetch(file, file->data + array->offset + done * size, chunk, n * size, error);
        if (status) return status;
        if (narrow)
            to_float(array->type, chunk, n, narrow + done);
        else
            to_double(array->type, chunk, n, wide + done);
    }
    return SSM2D_OK;
}

ssm2d_status safetensors_read_float(const safetensors *file, const safetensors_array *array,
                                    float *out, ssm2d_error *error)
{
    if (array->type == SAFETENSORS_F32) return safetensors_read_raw(file, array, out, error);
    return read_converted(file, array, out, NULL, error);
}

ssm2d_status safetensors_read_double(const safetensors *file, const safetensors_array *array,
                                     double *out, ssm2d_error *error)
{
    if (array->type == SAFETENSORS_F64) return safetensors_read_raw(file, array, out, error);
    return read_converted(file, array, NULL, out, error);
}

ssm2d_status safetensors_read_raw(const safetensors *file, const safetensors_array *array,
                                  void *out, ssm2d_error *error)
{
    return fetch(file, file->data + array->offset, out, array->bytes, error);
}
