/* npy - NumPy's array files, versions 1 to 3, C order, little-endian
 * float32/float64/int32/int64/uint8. */
#ifndef SSM2D_IO_NPY_H
#define SSM2D_IO_NPY_H

#include "ssm2d.h"

enum { NPY_RANK = 8 };

typedef enum npy_type { NPY_FLOAT32, NPY_FLOAT64, NPY_INT32, NPY_INT64, NPY_UINT8 } npy_type;

typedef struct npy_array {
    npy_type type;
    int rank; /* 0 for a scalar */
    size_t shape[NPY_RANK];
    size_t count; /* number of elements */
    void *data;   /* the context's memory; freed by npy_free */
} npy_array;

size_t npy_type_size(npy_type type); /* bytes per element */
/* Reads an array, which the caller frees with npy_free. The file is hostile until checked: header,
 * order, type, and that the data has exactly the promised length; nothing is allocated for data
 * that the file does not have. On failure *array is empty, and may be given to npy_free. */
ssm2d_status npy_read(const ssm2d_context *context, const char *path, npy_array *array,
                      ssm2d_error *error);
/* The same from memory; name is used in messages. */
ssm2d_status npy_parse(const ssm2d_context *context, const char *name, const void *bytes,
                       size_t size, npy_array *array, ssm2d_error *error);
/* Writes an array to path, which appears complete or not at all. */
ssm2d_status npy_write(const ssm2d_context *context, const char *path, npy_type type, int rank,
                       const size_t *shape, const void *data, ssm2d_error *error);
void npy_free(const ssm2d_context *context, npy_array *array);
/* Convert array->count elements of any type. */
void npy_to_double(const npy_array *array, double *out);
void npy_to_float(const npy_array *array, float *out);
/* Computes *count, the number of elements of a shape. Returns 0 when they take more than
 * PTRDIFF_MAX bytes, also if another size is zero. */
int npy_shape_count(int rank, const size_t *shape, size_t element_bytes, size_t *count);
/* Writes a shape as messages show it, "(2, 16, 8, 8)", to text and returns text. */
const char *npy_shape_text(int rank, const size_t *shape, char *text, size_t size);

#endif
