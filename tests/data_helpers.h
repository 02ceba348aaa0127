/* data_helpers - for the tests of src/data: folders of small files, as data sets have them. */
#ifndef SSM2D_TESTS_DATA_HELPERS_H
#define SSM2D_TESTS_DATA_HELPERS_H

#include "io_helpers.h"

#include "data/dataset.h"
#include "data/picture.h"
#include "io/file.h"
#include "io/image.h"

#include <zlib.h>

static inline void data_empty(const char *path)
{
    char below[1024];
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(below, sizeof below, "%.700s/%.255s", path, entry->d_name);
        if (remove(below)) {
            data_empty(below);
            remove(below);
        }
    }
    if (dir) closedir(dir);
}

static inline int data_begin(void **state)
{
    data_empty(folder);
    return io_begin(state);
}

static inline int data_end(void **state)
{
    data_empty(folder);
    return io_teardown(state);
}

/* Like io_put, after creating the folders. */
static inline const char *data_put(const char *name, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s", io_path(name));
    *strrchr(path, '/') = 0;
    assert_int_equal(folder_make(path, &error), SSM2D_OK);
    return io_put(name, bytes, size);
}

static inline void data_put_gz(const char *name, const void *bytes, size_t size)
{
    gzFile file = gzopen(io_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static inline void data_put_png(const char *name, size_t rows, size_t cols, int channels,
                                const uint8_t *pixels)
{
    image_writer *writer;
    image_info info = {rows, cols, channels};
    data_put(name, "", 0);
    assert_int_equal(image_create(context, io_path(name), &info, NULL, &writer, &error), SSM2D_OK);
    for (size_t i = 0; i < rows; i++)
        assert_int_equal(image_write_row(writer, pixels + i * cols * (size_t)channels, &error),
                         SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
}

static inline void put_u32(uint8_t *out, size_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Writes an idx file of these sizes to out: a header, then the bytes. Returns its length. */
static inline size_t make_idx(uint8_t *out, int rank, const size_t *sizes, const uint8_t *bytes)
{
    size_t length = 1;
    memcpy(out, "\0\0\10", 3);
    out[3] = (uint8_t)rank;
    for (int i = 0; i < rank; i++) {
        put_u32(out + 4 + 4 * i, sizes[i]);
        length *= sizes[i];
    }
    memcpy(out + 4 + 4 * rank, bytes, length);
    return 4 + 4 * (size_t)rank + length;
}

/* Reads image i of a data set unchanged; pixels must be large enough. */
static inline ssm2d_status fetch_as(const dataset *d, size_t i, size_t rows, size_t cols,
                                    int channels, uint8_t *pixels)
{
    resize *to;
    ssm2d_status status = resize_create(context, rows, cols, channels, &to, &error);
    if (!status) status = dataset_fetch(d, i, to, pixels, &error);
    resize_destroy(to);
    return status;
}

static inline dataset *open_data(const char *where, dataset_split split)
{
    dataset *d;
    if (dataset_open(context, where, split, &d, &error)) fail_msg("%s: %s", where, error.line);
    return d;
}

static inline ssm2d_status try_data(const char *where, dataset_split split)
{
    dataset *d;
    error.line[0] = 0;
    ssm2d_status status = dataset_open(context, where, split, &d, &error);
    assert_true(!status == !!d);
    dataset_close(d);
    return status;
}

#define TEST(f) cmocka_unit_test_setup(f, data_begin)

#endif
