/* NumPy's files: written files read back, and bad ones are refused with the reason. */
#include "io_helpers.h"

#include "io/npy.h"

#include <limits.h>

/* A file of the given version with this header text and this many bytes of data. */
static size_t make(unsigned char *out, int version, const char *header, size_t data)
{
    size_t length = strlen(header), width = version == 1 ? 2 : 4;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 0; i < width; i++) out[8 + i] = (unsigned char)(length >> (8 * i));
    memcpy(out + 8 + width, header, length);
    for (size_t i = 0; i < data; i++) out[8 + width + length + i] = (unsigned char)i;
    return 8 + width + length + data;
}

static ssm2d_status parse(int version, const char *header, size_t data, npy_array *array)
{
    unsigned char bytes[4096];
    size_t size = make(bytes, version, header, data);
    /* in a block of exactly its size, so that reading beyond it is detected */
    unsigned char *exact = malloc(size);
    memcpy(exact, bytes, size);
    ssm2d_status status = npy_parse(context, "a.npy", exact, size, array, &error);
    free(exact);
    npy_array from_file;
    ssm2d_error other = {{0}};
    assert_int_equal(npy_read(context, io_put("a.npy", bytes, size), &from_file, &other), status);
    if (!status) {
        assert_int_equal(from_file.count, array->count);
        assert_memory_equal(from_file.data, array->data, array->count * npy_type_size(array->type));
        assert_memory_equal(from_file.shape, array->shape, sizeof array->shape);
    } else {
        assert_non_null(strstr(other.line, error.line)); /* the same, after the folder's name */
        assert_null(array->data);
    }
    npy_free(context, &from_file);
    return status;
}

static void reads_every_version_and_type(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        npy_type type;
        size_t data;
        int rank;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", NPY_FLOAT32, 24, 2},
        {"{\"shape\":(3,),\"descr\":\"<f8\",\"fortran_order\":False}", NPY_FLOAT64, 24, 1},
        {" { 'fortran_order' : False , 'shape' : ( ) , 'descr' : '<i4' , } \n", NPY_INT32, 4, 0},
        {"{'descr': '<i8', 'shape': (1, 1, 1, 1, 1, 1, 2, 1,), 'fortran_order': False}", NPY_INT64,
         16, 8},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (7, 0)}", NPY_UINT8, 0, 2},
    };
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            npy_array a;
            if (parse(version, cases[i].header, cases[i].data, &a))
                fail_msg("%s: %s", cases[i].header, error.line);
            assert_int_equal(a.type, cases[i].type);
            assert_int_equal(a.rank, cases[i].rank);
            assert_int_equal(a.count * npy_type_size(a.type), cases[i].data);
            for (size_t k = 0; k < cases[i].data; k++)
                assert_int_equal(((unsigned char *)a.data)[k], k);
            npy_free(context, &a);
        }
}

static void refuses_bad_headers(void **state)
{
    (void)state;
#define REST "'fortran_order': False, 'shape': (2,)}"
    static const struct {
        const char *header;
        size_t data;
        ssm2d_status status;
        const char *line;
    } cases[] = {
        {"{'descr': '>f8', " REST, 16, SSM2D_ERROR_UNSUPPORTED,
         "a.npy: descr is '>f8', big-endian: use <f4, <f8, <i4, <i8 or |u1"},
        {"{'descr': '<c16', " REST, 32, SSM2D_ERROR_UNSUPPORTED, "descr is '<c16'"},
        {"{'descr': '<f2', " REST, 4, SSM2D_ERROR_UNSUPPORTED, "descr is '<f2'"},
        {"{'descr': '', " REST, 4, SSM2D_ERROR_UNSUPPORTED, "descr is ''"},
        {"{'descr': '\033[2J', " REST, 4, SSM2D_ERROR_UNSUPPORTED, "descr is '?[2J'"},
        {"{'descr': [('a', '<f4')], " REST, 8, SSM2D_ERROR_ARGUMENT, "expected a plain type"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8, SSM2D_ERROR_UNSUPPORTED,
         "fortran_order is True"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8, SSM2D_ERROR_ARGUMENT,
         "expected True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, SSM2D_ERROR_ARGUMENT,
         "a size of 0 or more in shape at \"-2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 8, SSM2D_ERROR_ARGUMENT,
         "shape (n,) instead of (n)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 8, SSM2D_ERROR_ARGUMENT,
         "a size of 0 or more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}", 16, SSM2D_ERROR_ARGUMENT,
         ", or ) in shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", 8, SSM2D_ERROR_ARGUMENT,
         "expected ( for shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", 8, SSM2D_ERROR_ARGUMENT,
         "in shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 8,
         SSM2D_ERROR_ARGUMENT, "a size of 9223372036854775808 is too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551617,)}", 4,
         SSM2D_ERROR_ARGUMENT, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(99999999999999999999999999999999999999999999,)}",
         4, SSM2D_ERROR_ARGUMENT, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 1073741825)}", 16,
         SSM2D_ERROR_ARGUMENT, "shape (4294967296, 1073741825) is too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}", 0,
         SSM2D_ERROR_ARGUMENT, "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", 0,
         SSM2D_ERROR_ARGUMENT, "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", 8,
         SSM2D_ERROR_ARGUMENT, "shape (1000000000000,) of <f8 needs 8000000000000 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4,
         SSM2D_ERROR_UNSUPPORTED, "more than 8 sizes"},
        {"{'descr': '<f4', " REST, 7, SSM2D_ERROR_ARGUMENT, "needs 8 bytes of data, but 7 follow"},
        {"{'descr': '<f4', " REST, 9, SSM2D_ERROR_ARGUMENT, "needs 8 bytes of data, but 9 follow"},
        {"{'descr': '<f4', 'shape': (2,)}", 8, SSM2D_ERROR_ARGUMENT, "fortran_order is missing"},
        {"{}", 8, SSM2D_ERROR_ARGUMENT, "descr is missing"},
        {"", 0, SSM2D_ERROR_ARGUMENT, "expected {"},
        {"{'descr': '<f4', 'descr': '<f8', " REST, 8, SSM2D_ERROR_ARGUMENT,
         "the key 'descr' is given twice"},
        {"{'descr': '<f4', 'extra': 1, " REST, 8, SSM2D_ERROR_ARGUMENT,
         "the key 'extra' is not one of"},
        {"{'descr': '<f4', 'descr", 8, SSM2D_ERROR_ARGUMENT, "a quoted key"},
        {"{'descr' '<f4', " REST, 8, SSM2D_ERROR_ARGUMENT, "expected :"},
        {"{'descr': '<f4' " REST, 8, SSM2D_ERROR_ARGUMENT, "expected , or }"},
        {"{'descr': '<f4', " REST " or 1", 8, SSM2D_ERROR_ARGUMENT, "expected nothing more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", 8, SSM2D_ERROR_ARGUMENT,
         "in shape"},
        {"{'descr': '<f4', 'fortran_order': Fal", 8, SSM2D_ERROR_ARGUMENT, "True or False"},
        {"{'descr': '", 8, SSM2D_ERROR_ARGUMENT, "a plain type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        npy_array a;
        meter.calls = 0;
        ssm2d_status status = parse(1, cases[i].header, cases[i].data, &a);
        if (status != cases[i].status) fail_msg("%s: status %d", cases[i].header, status);
        assert_line(cases[i].line);
        assert_line("a.npy: ");
        assert_true(meter.calls <= 1); /* the header of the file, no data */
    }
}

static void refuses_bad_beginnings(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *bytes, *line;
    } cases[] = {
        {0, "", "is not a .npy file"},
        {7, "\x93NUMPY\1", "is not a .npy file"},
        {10, "\x93NUMPX\1\0\0\0", "is not a .npy file"},
        {10, "\x93NUMPY\4\0\0\0", "version 4.0: use 1.0, 2.0 or 3.0"},
        {10, "\x93NUMPY\0\0\0\0", "version 0.0"},
        {10, "\x93NUMPY\1\1\0\0", "version 1.1"},
        {9, "\x93NUMPY\1\0\1", "ends after 9 bytes"},
        {11, "\x93NUMPY\2\0\1\0\0", "ends after 11 bytes"},
        {12, "\x93NUMPY\1\0\xff\xff{}", "says its header has 65535 bytes, but only 2 follow"},
        {14, "\x93NUMPY\2\0\xff\xff\xff\xff{}",
         "says its header has 4294967295 bytes, but only 2 follow"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        npy_array a;
        meter.calls = 0;
        char *exact = malloc(cases[i].size + !cases[i].size);
        memcpy(exact, cases[i].bytes, cases[i].size);
        assert_int_equal(!npy_parse(context, "a.npy", exact, cases[i].size, &a, &error), 0);
        free(exact);
        assert_line(cases[i].line);
        assert_int_equal(
            !npy_read(context, io_put("a.npy", cases[i].bytes, cases[i].size), &a, &error), 0);
        assert_line(cases[i].line);
        assert_line("/a.npy: ");
        assert_true(meter.calls <= 1); /* a buffer for the header, no data */
    }
    /* a header that is there, but absurd */
    static char long_header[(1 << 16) + 100];
    memcpy(long_header, "\x93NUMPY\2\0\1\0\1\0", 12);
    npy_array a;
    assert_int_equal(
        npy_read(context, io_put("a.npy", long_header, sizeof long_header), &a, &error),
        SSM2D_ERROR_ARGUMENT);
    assert_line("says its header has 65537 bytes: at most 65536 are read");
}

/* Every truncation of a good file is refused. */
static void refuses_every_truncation(void **state)
{
    (void)state;
    unsigned char bytes[300];
    npy_array a;
    size_t size =
        make(bytes, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *exact = malloc(cut + !cut);
        memcpy(exact, bytes, cut);
        assert_int_not_equal(npy_parse(context, "a.npy", exact, cut, &a, &error), SSM2D_OK);
        free(exact);
        assert_int_not_equal(npy_read(context, io_put("a.npy", bytes, cut), &a, &error), SSM2D_OK);
    }
    assert_int_equal(npy_parse(context, "a.npy", bytes, size, &a, &error), SSM2D_OK);
    npy_free(context, &a);
}

static void non_files_are_refused(void **state)
{
    (void)state;
    npy_array a;
    assert_int_equal(npy_read(context, folder, &a, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(npy_read(context, io_path("none.npy"), &a, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/none.npy: cannot be opened: No such file");
    assert_int_equal(npy_read(context, "/dev/zero", &a, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/dev/zero: is not a regular file");
    npy_free(context, &a);
}

static void written_arrays_read_back(void **state)
{
    (void)state;
    static const size_t shapes[][NPY_RANK] = {
        {0}, {6}, {2, 3}, {3, 0, 5}, {1, 2, 1, 1, 1, 1, 1, 3}};
    static const int ranks[] = {0, 1, 2, 3, 8};
    double data[6] = {0.1, -2, 3e300, 4, 5, 6};
    for (npy_type type = NPY_FLOAT32; type <= NPY_UINT8; type++)
        for (int i = 0; i < 5; i++) {
            npy_array a;
            size_t size;
            assert_int_equal(
                npy_write(context, io_path("w.npy"), type, ranks[i], shapes[i], data, &error),
                SSM2D_OK);
            unsigned char *bytes = io_get(io_path("w.npy"), &size);
            size_t header = 10 + bytes[8] + 256u * bytes[9];
            assert_int_equal(header % 64, 0);
            assert_int_equal(bytes[header - 1], '\n');
            free(bytes);
            assert_int_equal(npy_read(context, io_path("w.npy"), &a, &error), SSM2D_OK);
            assert_int_equal(a.type, type);
            assert_int_equal(a.rank, ranks[i]);
            assert_memory_equal(a.shape, shapes[i], (size_t)ranks[i] * sizeof(size_t));
            assert_memory_equal(a.data, data, a.count * npy_type_size(type));
            assert_int_equal(header + a.count * npy_type_size(type), size);
            npy_free(context, &a);
        }
    assert_int_equal(io_count_files(), 1);
}

/* The bytes that numpy.save writes for this array. */
static void writes_what_numpy_writes(void **state)
{
    (void)state;
    static const char expected[] =
        "\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1, 1), }"
        "                                                       \n"
        "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0";
    double data[] = {1, -2};
    size_t size, shape[] = {2, 1, 1};
    assert_int_equal(npy_write(context, io_path("w.npy"), NPY_FLOAT64, 3, shape, data, &error),
                     SSM2D_OK);
    unsigned char *bytes = io_get(io_path("w.npy"), &size);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

static void unwritable_arrays_are_refused(void **state)
{
    (void)state;
    size_t shape[9] = {SIZE_MAX / 2, 9};
    assert_int_equal(npy_write(context, io_path("w.npy"), NPY_UINT8, 2, shape, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("is too large");
    assert_int_equal(npy_write(context, io_path("w.npy"), NPY_UINT8, 9, shape, NULL, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("rank=9");
    assert_int_equal(npy_write(context, io_path("no/w.npy"), NPY_UINT8, 0, shape, "1", &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("no/w.npy: cannot be written");
    assert_int_equal(io_count_files(), 0);
}

static void elements_convert_to_float_and_double(void **state)
{
    (void)state;
    float f[] = {0.5f, -3}, f_out[2];
    double d[] = {0.25, 1e10}, d_out[2];
    int32_t i[] = {INT32_MIN, 7};
    int64_t l[] = {INT64_MIN, 1};
    uint8_t u[] = {0, 255};
    const npy_array a[] = {{NPY_FLOAT32, 1, {2}, 2, f},
                           {NPY_FLOAT64, 1, {2}, 2, d},
                           {NPY_INT32, 1, {2}, 2, i},
                           {NPY_INT64, 1, {2}, 2, l},
                           {NPY_UINT8, 1, {2}, 2, u}};
    const double expected[][2] = {
        {0.5, -3}, {0.25, 1e10}, {INT32_MIN, 7}, {-9223372036854775808.0, 1}, {0, 255}};
    for (int k = 0; k < 5; k++) {
        npy_to_double(&a[k], d_out);
        npy_to_float(&a[k], f_out);
        for (int n = 0; n < 2; n++) {
            assert_true(d_out[n] == expected[k][n]);
            assert_true(f_out[n] == (float)expected[k][n]);
        }
    }
}

static void shows_shapes(void **state)
{
    (void)state;
    char text[64];
    size_t shape[] = {2, 16, 8, 8};
    assert_string_equal(npy_shape_text(4, shape, text, sizeof text), "(2, 16, 8, 8)");
    assert_string_equal(npy_shape_text(1, shape, text, sizeof text), "(2,)");
    assert_string_equal(npy_shape_text(0, shape, text, sizeof text), "()");
    assert_string_equal(npy_shape_text(4, shape, text, 6), "(2, 1");
}

static ssm2d_status read_once(void)
{
    npy_array a;
    ssm2d_status status = npy_read(context, io_path("a.npy"), &a, &error);
    npy_free(context, &a);
    return status;
}

static ssm2d_status write_once(void)
{
    size_t shape[] = {3};
    return npy_write(context, io_path("a.npy"), NPY_UINT8, 1, shape, "abc", &error);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_int_equal(io_fail_everywhere(write_once), 2);
    assert_int_equal(io_fail_everywhere(read_once), 2);
    assert_int_equal(io_count_files(), 1);
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_version_and_type),
        TEST(refuses_bad_headers),
        TEST(refuses_bad_beginnings),
        TEST(refuses_every_truncation),
        TEST(non_files_are_refused),
        TEST(written_arrays_read_back),
        TEST(writes_what_numpy_writes),
        TEST(unwritable_arrays_are_refused),
        TEST(elements_convert_to_float_and_double),
        TEST(shows_shapes),
        TEST(survives_failing_allocations),
    };
    return cmocka_run_group_tests_name("npy", tests, io_setup, io_teardown);
}
