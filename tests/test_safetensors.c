/* Named arrays: written files read back, and inconsistent files are refused with the reason. */
#include "io_helpers.h"

#include "io/safetensors.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* A file with this header text (padded if requested) and this many bytes of data 0, 1, 2 ..; to be
 * freed. */
static unsigned char *make(const char *header, size_t data, size_t *size)
{
    size_t length = strlen(header);
    unsigned char *out = malloc(8 + length + data);
    assert_non_null(out);
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(out + 8, header, length);
    for (size_t i = 0; i < data; i++) out[8 + length + i] = (unsigned char)i;
    *size = 8 + length + data;
    return out;
}

/* From memory and from a file, which must agree. */
static ssm2d_status parse(const unsigned char *bytes, size_t size)
{
    safetensors *file;
    ssm2d_error other = {{0}};
    ssm2d_status status = safetensors_parse(context, "a.safetensors", bytes, size, &file, &error);
    assert_true(!status == !!file);
    safetensors_close(file);
    assert_int_equal(safetensors_open(context, io_put("a.safetensors", bytes, size), &file, &other),
                     status);
    /* the same, after the folder's name */
    if (status) assert_non_null(strstr(other.line, error.line));
    safetensors_close(file);
    return status;
}

static const float plain[6] = {0.5f, -1, 3e38f, 4, 5, 6};
static const double wide[3] = {0.1, -1e300, 7};
static const int64_t whole[2] = {INT64_MIN, 12345678901};
static const uint8_t small[5] = {0, 1, 2, 200, 255};
static const safetensors_item items[] = {
    {"blocks.0.mlp.fc1.weight", SAFETENSORS_F32, 2, {2, 3}, plain},
    {"strange \"name\" \\ \n\xc3\xa9", SAFETENSORS_U8, 1, {5}, small},
    {"wide", SAFETENSORS_F64, 3, {3, 1, 1}, wide},
    {"nothing", SAFETENSORS_F32, 2, {0, 7}, NULL},
    {"scalar", SAFETENSORS_F32, 0, {0}, plain + 2},
    {"whole", SAFETENSORS_I64, 1, {2}, whole},
};
enum { ITEMS = sizeof items / sizeof *items };
static const safetensors_note notes[] = {
    {"format", "pt"}, {"epoch", "3"}, {"a\tb", "line\nline \"q\""}};

static ssm2d_status write_once(void)
{
    return safetensors_write(context, io_path("w.safetensors"), ITEMS, items, 3, notes, &error);
}

static void written_arrays_read_back(void **state)
{
    (void)state;
    safetensors *file;
    assert_int_equal(write_once(), SSM2D_OK);
    assert_int_equal(safetensors_open(context, io_path("w.safetensors"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_count(file), ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        const safetensors_array *a;
        assert_int_equal(
            safetensors_expect(file, items[i].name, items[i].rank, items[i].shape, &a, &error),
            SSM2D_OK);
        assert_int_equal(a->type, items[i].type);
        assert_int_equal(a->offset % safetensors_type_size(a->type), 0);
        char raw[64];
        assert_int_equal(safetensors_read_raw(file, a, raw, &error), SSM2D_OK);
        if (a->bytes) assert_memory_equal(raw, items[i].data, a->bytes);
    }
    float f[6];
    double d[6];
    assert_int_equal(safetensors_read_float(file, safetensors_find(file, "wide"), f, &error),
                     SSM2D_OK);
    assert_true(f[0] == 0.1f && f[1] == -INFINITY && f[2] == 7);
    assert_int_equal(
        safetensors_read_double(file, safetensors_find(file, items[0].name), d, &error), SSM2D_OK);
    for (int i = 0; i < 6; i++) assert_true(d[i] == (double)plain[i]);
    assert_int_equal(safetensors_read_double(file, safetensors_find(file, "whole"), d, &error),
                     SSM2D_OK);
    assert_true(d[0] == -9223372036854775808.0 && d[1] == 12345678901.0);
    for (int i = 0; i < 3; i++)
        assert_string_equal(safetensors_metadata(file, notes[i].key), notes[i].value);
    assert_null(safetensors_metadata(file, "Format"));
    assert_null(safetensors_find(file, "Wide"));
    safetensors_close(file);

    assert_int_equal(safetensors_write(context, io_path("w.safetensors"), 0, NULL, 0, NULL, &error),
                     SSM2D_OK);
    assert_int_equal(safetensors_open(context, io_path("w.safetensors"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_count(file), 0);
    assert_null(safetensors_find(file, "a"));
    assert_null(safetensors_metadata(file, "a"));
    safetensors_close(file);
    assert_int_equal(io_count_files(), 1);
}

/* The layout other programs rely on: the header padded with spaces to 8, the data in order. */
static void writes_the_format(void **state)
{
    (void)state;
    static const char expected[] =
        "\x58\0\0\0\0\0\0\0{\"__metadata__\":{\"k\":\"v\"},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}       "
        "\0\0\0\x3f\0\0\x80\xbf";
    const safetensors_item item = {"a", SAFETENSORS_F32, 2, {1, 2}, plain};
    const safetensors_note note = {"k", "v"};
    size_t size;
    assert_int_equal(safetensors_write(context, io_path("w"), 1, &item, 1, &note, &error),
                     SSM2D_OK);
    unsigned char *bytes = io_get(io_path("w"), &size);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

static void converts_every_type(void **state)
{
    (void)state;
    static const unsigned char eight[8] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const struct {
        safetensors_type type;
        double value;
    } cases[] = {{SAFETENSORS_I64, -2},
                 {SAFETENSORS_I32, -2},
                 {SAFETENSORS_I16, -2},
                 {SAFETENSORS_I8, -2},
                 {SAFETENSORS_U8, 254},
                 {SAFETENSORS_BOOL, 1},
                 {SAFETENSORS_U32, 4294967294},
                 {SAFETENSORS_U16, 65534},
                 {SAFETENSORS_U64, 18446744073709551614.0}};
    safetensors *file;
    double d;
    float f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const safetensors_item item = {"a", cases[i].type, 0, {0}, eight};
        assert_int_equal(safetensors_write(context, io_path("w"), 1, &item, 0, NULL, &error),
                         SSM2D_OK);
        assert_int_equal(safetensors_open(context, io_path("w"), &file, &error), SSM2D_OK);
        assert_int_equal(safetensors_read_double(file, safetensors_get(file, 0), &d, &error),
                         SSM2D_OK);
        assert_int_equal(safetensors_read_float(file, safetensors_get(file, 0), &f, &error),
                         SSM2D_OK);
        assert_true(d == cases[i].value && f == (float)cases[i].value);
        safetensors_close(file);
    }
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff,
                                      0x0400, 0x8000, 0x7c00, 0xfc00, 0x7e00};
    static const double half_values[] = {1,       -2,   65504,    0x1p-24,  1023 * 0x1p-24,
                                         0x1p-14, -0.0, INFINITY, -INFINITY};
    static const uint16_t brains[] = {0x3f80, 0xc000, 0x3dcd, 0x7f80};
    static const float brain_values[] = {1, -2, 0.10009765625f, INFINITY};
    const safetensors_item two[] = {{"h", SAFETENSORS_F16, 1, {10}, halves},
                                    {"b", SAFETENSORS_BF16, 1, {4}, brains}};
    float narrow[10];
    assert_int_equal(safetensors_write(context, io_path("w"), 2, two, 0, NULL, &error), SSM2D_OK);
    assert_int_equal(safetensors_open(context, io_path("w"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_read_float(file, safetensors_find(file, "h"), narrow, &error),
                     SSM2D_OK);
    for (int i = 0; i < 9; i++)
        assert_true(narrow[i] == half_values[i] && !signbit(narrow[i]) == !signbit(half_values[i]));
    assert_true(isnan(narrow[9]));
    assert_int_equal(safetensors_read_float(file, safetensors_find(file, "b"), narrow, &error),
                     SSM2D_OK);
    for (int i = 0; i < 4; i++) assert_true(narrow[i] == brain_values[i]);
    safetensors_close(file);
}

/* Longer than the buffer that conversions go through. */
static void converts_long_arrays(void **state)
{
    (void)state;
    enum { N = 10007 };
    double *in = malloc(N * sizeof *in);
    float *out = malloc(N * sizeof *out);
    for (int i = 0; i < N; i++) in[i] = i * 0.37;
    const safetensors_item item = {"a", SAFETENSORS_F64, 1, {N}, in};
    safetensors *file;
    assert_int_equal(safetensors_write(context, io_path("w"), 1, &item, 0, NULL, &error), SSM2D_OK);
    assert_int_equal(safetensors_open(context, io_path("w"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_read_float(file, safetensors_get(file, 0), out, &error), SSM2D_OK);
    for (int i = 0; i < N; i++) assert_true(out[i] == (float)in[i]);
    safetensors_close(file);
    free(in);
    free(out);
}

static void inconsistent_files_are_refused(void **state)
{
    (void)state;
#define A(dtype, shape, offsets)                                                                   \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define B(a, b)                                                                                    \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" a                                   \
    "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" b "}}"
    static const struct {
        const char *header;
        size_t data;
        ssm2d_status status;
        const char *line;
    } cases[] = {
        {A("\"F32\"", "[2]", "[0,8]"), 8, SSM2D_OK, ""},
        {A("\"F32\"", "[2]", "[0,8]") "   ", 8, SSM2D_OK, ""},
        {B("[4,8]", "[0,4]"), 8, SSM2D_OK, ""},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"more\":1}}",
         4, SSM2D_OK, ""},
        {"", 0, SSM2D_ERROR_ARGUMENT, "is empty"},
        {"{", 0, SSM2D_ERROR_ARGUMENT, "not valid JSON"},
        {"[]", 0, SSM2D_ERROR_ARGUMENT, "the header is not an object"},
        {"{} x", 0, SSM2D_ERROR_ARGUMENT, "unexpected text after the JSON"},
        {"{}", 3, SSM2D_ERROR_ARGUMENT, "the last 3 bytes belong to no array"},
        {"{\"a\":3}", 0, SSM2D_ERROR_ARGUMENT, "array \"a\" is not described by an object"},
        {"{\"__metadata__\":3}", 0, SSM2D_ERROR_ARGUMENT,
         "__metadata__ must be an object of strings"},
        {"{\"__metadata__\":{\"a\":3}}", 0, SSM2D_ERROR_ARGUMENT,
         "__metadata__ must be an object of strings"},
        {"{\"a\":{},\"a\":{}}", 0, SSM2D_ERROR_ARGUMENT, "\"a\" is given twice"},
        {"{\"a\\u0000b\":{}}", 0, SSM2D_ERROR_ARGUMENT, "zero byte"},
        {A("\"F8_E4M3\"", "[2]", "[0,2]"), 2, SSM2D_ERROR_UNSUPPORTED,
         "array \"a\": dtype is \"F8_E4M3\""},
        {A("4", "[2]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "dtype is 4"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, SSM2D_ERROR_ARGUMENT,
         "dtype is no value"},
        {A("\"F32\"", "2", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "array \"a\": shape must be a list"},
        {A("\"F32\"", "[-2]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "shape must be a list"},
        {A("\"F32\"", "[2.5]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "shape must be a list"},
        {A("\"F32\"", "[1e300]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "shape must be a list"},
        {A("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT, "at most 8"},
        {A("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0, SSM2D_ERROR_ARGUMENT,
         "shape (4294967296, 4294967296) is too large"},
        {A("\"F32\"", "[0,4294967296,4294967296]", "[0,0]"), 0, SSM2D_ERROR_ARGUMENT,
         "is too large"},
        {A("\"F32\"", "[3]", "[0,8]"), 8, SSM2D_ERROR_ARGUMENT,
         "shape (3,) of F32 needs 12 bytes, but data_offsets give 8"},
        {A("\"F32\"", "[2]", "[8,0]"), 8, SSM2D_ERROR_ARGUMENT,
         "data_offsets must be [begin, end]"},
        {A("\"F32\"", "[2]", "[0]"), 8, SSM2D_ERROR_ARGUMENT, "data_offsets must be"},
        {A("\"F32\"", "[2]", "[0,8,9]"), 8, SSM2D_ERROR_ARGUMENT, "data_offsets must be"},
        {A("\"F32\"", "[2]", "{\"x\":0,\"y\":8}"), 8, SSM2D_ERROR_ARGUMENT, "data_offsets must be"},
        {A("\"F32\"", "[2]", "[-8,0]"), 8, SSM2D_ERROR_ARGUMENT, "data_offsets must be"},
        {A("\"F32\"", "[2]", "[0,8]"), 7, SSM2D_ERROR_ARGUMENT,
         "array \"a\" ends at byte 8 of 7 bytes of data"},
        {A("\"F32\"", "[2]", "[0,8]"), 9, SSM2D_ERROR_ARGUMENT,
         "the last 1 bytes belong to no array"},
        {B("[0,4]", "[2,6]"), 6, SSM2D_ERROR_ARGUMENT, "arrays \"a\" and \"b\" overlap"},
        {B("[0,4]", "[0,4]"), 4, SSM2D_ERROR_ARGUMENT, "arrays \"a\" and \"b\" overlap"},
        {B("[0,4]", "[6,10]"), 10, SSM2D_ERROR_ARGUMENT,
         "the 2 bytes before array \"b\" belong to no array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        unsigned char *bytes = make(cases[i].header, cases[i].data, &size);
        error.line[0] = 0;
        ssm2d_status status = parse(bytes, size);
        if (status != cases[i].status) fail_msg("%s: %d, %s", cases[i].header, status, error.line);
        assert_line(cases[i].line);
        free(bytes);
    }
}

static void impossible_header_lengths_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    assert_int_equal(parse(bytes, sizeof bytes), SSM2D_ERROR_ARGUMENT);
    assert_line("header has 18446744073709551615 bytes");
    assert_int_equal(parse(bytes, 7), SSM2D_ERROR_ARGUMENT);
    assert_line("has 7 bytes: it is not a safetensors file");

    /* a file that is large enough, with holes */
    safetensors *file;
    FILE *f = fopen(io_path("huge"), "wb");
    memset(bytes, 0, 8);
    bytes[3] = 4; /* 64 MiB */
    assert_int_equal(fwrite(bytes, 1, 8, f), 8);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(truncate(io_path("huge"), 1 << 27), 0);
    assert_int_equal(safetensors_open(context, io_path("huge"), &file, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("says its header has 67108864 bytes: at most");
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    size_t size;
    assert_int_equal(write_once(), SSM2D_OK);
    unsigned char *bytes = io_get(io_path("w.safetensors"), &size);
    for (size_t n = 0; n < size; n++) {
        /* of exactly its size, so that reading beyond it is detected */
        unsigned char *exact = malloc(n ? n : 1);
        memcpy(exact, bytes, n);
        if (parse(exact, n) != SSM2D_ERROR_ARGUMENT)
            fail_msg("cut to %zu bytes: %s", n, error.line);
        free(exact);
    }
    assert_int_equal(parse(bytes, size), SSM2D_OK);
    free(bytes);
}

static void notices_a_file_that_shrinks(void **state)
{
    (void)state;
    safetensors *file;
    char raw[64];
    size_t size;
    assert_int_equal(write_once(), SSM2D_OK);
    free(io_get(io_path("w.safetensors"), &size));
    assert_int_equal(safetensors_open(context, io_path("w.safetensors"), &file, &error), SSM2D_OK);
    assert_int_equal(truncate(io_path("w.safetensors"), (off_t)size - 3), 0);
    const safetensors_array *last = safetensors_get(file, ITEMS - 1);
    assert_int_equal(safetensors_read_raw(file, last, raw, &error), SSM2D_ERROR_SYSTEM);
    assert_line("w.safetensors: ends after");
    float f[8];
    assert_int_equal(safetensors_read_float(file, last, f, &error), SSM2D_ERROR_SYSTEM);
    safetensors_close(file);
}

static void arrays_of_other_shapes_are_named(void **state)
{
    (void)state;
    safetensors *file;
    const safetensors_array *a;
    static const size_t shape[] = {3, 2};
    assert_int_equal(write_once(), SSM2D_OK);
    assert_int_equal(safetensors_open(context, io_path("w.safetensors"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_expect(file, "blocks.0.mlp.fc1.weight", 2, shape, &a, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_null(a);
    assert_line(
        "/w.safetensors: array \"blocks.0.mlp.fc1.weight\" has shape (2, 3), expected (3, 2)");
    assert_int_equal(safetensors_expect(file, "scalar", 1, shape, &a, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("has shape (), expected (3,)");
    assert_int_equal(safetensors_expect(file, "head.bias", 1, shape, &a, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/w.safetensors: has no array \"head.bias\"");
    safetensors_close(file);
    assert_int_equal(safetensors_open(context, io_path("none"), &file, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/none: cannot be opened: No such file");
    assert_int_equal(safetensors_open(context, folder, &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(safetensors_open(context, "/dev/zero", &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/dev/zero: is not a regular file");
    assert_null(file);
}

static void unwritable_files_are_refused(void **state)
{
    (void)state;
    const safetensors_item twice[] = {items[0], items[2], items[0]};
    const safetensors_item reserved = {"__metadata__", SAFETENSORS_F32, 0, {0}, plain};
    const safetensors_item large = {"large", SAFETENSORS_F32, 2, {SIZE_MAX / 2, 3}, plain};
    const safetensors_item rank = {"rank", SAFETENSORS_F32, 9, {1}, plain};
    const safetensors_note both[] = {{"a", "1"}, {"a", "2"}};
    const char *path = io_path("w");
    assert_int_equal(safetensors_write(context, path, 3, twice, 0, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("the name \"blocks.0.mlp.fc1.weight\" is given twice");
    assert_int_equal(safetensors_write(context, path, 1, &reserved, 0, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("the name \"__metadata__\" is reserved");
    assert_int_equal(safetensors_write(context, path, 0, NULL, 2, both, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("the name \"a\" is given twice");
    assert_int_equal(safetensors_write(context, path, 1, &large, 0, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("is too large");
    assert_int_equal(safetensors_write(context, path, 1, &rank, 0, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("rank=9");
    assert_int_equal(safetensors_write(context, io_path("no/w"), 1, items, 0, NULL, &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("no/w: cannot be written");
    assert_int_equal(io_count_files(), 0);
}

/* A failing write gives a one-line error, and the previous file is unchanged. */
static void keeps_the_old_file_when_writing_fails(void **state)
{
    (void)state;
    enum { N = 100000 };
    float *elements = calloc(N, sizeof *elements);
    const safetensors_item item = {"a", SAFETENSORS_F32, 1, {N}, elements};
    struct rlimit before, limit;
    assert_int_equal(write_once(), SSM2D_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 4096;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ssm2d_status status =
        safetensors_write(context, io_path("w.safetensors"), 1, &item, 0, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, SSM2D_ERROR_SYSTEM);
    assert_line("/w.safetensors: cannot be written: File too large");
    assert_int_equal(io_count_files(), 1);
    safetensors *file;
    assert_int_equal(safetensors_open(context, io_path("w.safetensors"), &file, &error), SSM2D_OK);
    assert_int_equal(safetensors_count(file), ITEMS);
    safetensors_close(file);
    free(elements);
}

static ssm2d_status read_once(void)
{
    safetensors *file;
    ssm2d_status status = safetensors_open(context, io_path("w.safetensors"), &file, &error);
    safetensors_close(file);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_int_equal(io_fail_everywhere(write_once), 3);
    assert_int_equal(io_fail_everywhere(read_once), 5);
    assert_int_equal(io_count_files(), 1);
}

/* Files written by other programs: all of tests/golden-models. */
static void reads_golden_models(void **state)
{
    (void)state;
    DIR *dir = opendir(GOLDEN_MODELS);
    int cases = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        safetensors *weights, *grads;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, GOLDEN_MODELS "/%.64s/weights.safetensors", entry->d_name);
        if (safetensors_open(context, path, &weights, &error)) fail_msg("%s", error.line);
        snprintf(path, sizeof path, GOLDEN_MODELS "/%.64s/grads.safetensors", entry->d_name);
        if (safetensors_open(context, path, &grads, &error)) fail_msg("%s", error.line);
        assert_true(safetensors_count(weights) > 10);
        assert_int_equal(safetensors_count(weights), safetensors_count(grads));
        for (size_t i = 0; i < safetensors_count(weights); i++) {
            const safetensors_array *w = safetensors_get(weights, i), *g;
            if (safetensors_expect(grads, w->name, w->rank, w->shape, &g, &error))
                fail_msg("%s", error.line);
            assert_int_equal(w->type, SAFETENSORS_F32);
            float *elements = malloc(w->count * sizeof *elements);
            assert_int_equal(safetensors_read_float(weights, w, elements, &error), SSM2D_OK);
            for (size_t k = 0; k < w->count; k++) assert_true(isfinite(elements[k]));
            free(elements);
        }
        safetensors_close(weights);
        safetensors_close(grads);
        cases++;
    }
    closedir(dir);
    assert_true(cases >= 10);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(written_arrays_read_back),
        TEST(writes_the_format),
        TEST(converts_every_type),
        TEST(converts_long_arrays),
        TEST(inconsistent_files_are_refused),
        TEST(impossible_header_lengths_are_refused),
        TEST(refuses_every_truncation),
        TEST(notices_a_file_that_shrinks),
        TEST(arrays_of_other_shapes_are_named),
        TEST(unwritable_files_are_refused),
        TEST(keeps_the_old_file_when_writing_fails),
        TEST(survives_failing_allocations),
        TEST(reads_golden_models),
    };
    return cmocka_run_group_tests_name("safetensors", tests, io_setup, io_teardown);
}
