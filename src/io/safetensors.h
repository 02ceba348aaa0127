/* safetensors - many named arrays in one file: u64 little-endian header length, JSON header, data.
 * C order, little-endian.
 *
 * Data goes straight between the file and the caller's memory, so that a file of any size needs no
 * memory but its header's. An open file may be read by several threads at once. */
#ifndef SSM2D_IO_SAFETENSORS_H
#define SSM2D_IO_SAFETENSORS_H

#include "ssm2d.h"

enum { SAFETENSORS_RANK = 8 };

typedef enum safetensors_type {
    SAFETENSORS_F32,
    SAFETENSORS_F64,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_I32,
    SAFETENSORS_I16,
    SAFETENSORS_I8,
    SAFETENSORS_U64,
    SAFETENSORS_U32,
    SAFETENSORS_U16,
    SAFETENSORS_U8,
    SAFETENSORS_BOOL
} safetensors_type;

typedef struct safetensors safetensors; /* a file that is open for reading */

typedef struct safetensors_array {
    const char *name;
    safetensors_type type;
    int rank; /* 0 for a scalar */
    size_t shape[SAFETENSORS_RANK];
    size_t count;         /* number of elements */
    size_t offset, bytes; /* position within the file's data */
} safetensors_array;

const char *safetensors_type_name(safetensors_type type);
size_t safetensors_type_size(safetensors_type type);

/* Opens a file, which the caller closes with safetensors_close. The file is hostile until checked:
 * the header's length and JSON, that every array has a name of its own, a known type and as many
 * bytes as its shape needs, and that the arrays cover the data without gap or overlap. */
ssm2d_status safetensors_open(const ssm2d_context *context, const char *path, safetensors **file,
                              ssm2d_error *error);
/* The same from memory, which must outlive the file; name is used in messages. */
ssm2d_status safetensors_parse(const ssm2d_context *context, const char *name, const void *bytes,
                               size_t size, safetensors **file, ssm2d_error *error);
void safetensors_close(safetensors *file);

/* Names, arrays and metadata belong to the file and live until it is closed. */
size_t safetensors_count(const safetensors *file);
/* Returns array i < count, in the order of the data. */
const safetensors_array *safetensors_get(const safetensors *file, size_t i);
/* Returns the array of this name, or NULL. */
const safetensors_array *safetensors_find(const safetensors *file, const char *name);
/* Returns the metadata's value for key, or NULL. */
const char *safetensors_metadata(const safetensors *file, const char *key);
/* Finds the array `name`; a missing array or another shape is an error. */
ssm2d_status safetensors_expect(const safetensors *file, const char *name, int rank,
                                const size_t *shape, const safetensors_array **array,
                                ssm2d_error *error);
/* Read array->count elements, converted from any type. */
ssm2d_status safetensors_read_float(const safetensors *file, const safetensors_array *array,
                                    float *out, ssm2d_error *error);
ssm2d_status safetensors_read_double(const safetensors *file, const safetensors_array *array,
                                     double *out, ssm2d_error *error);
/* Reads array->bytes bytes without conversion. */
ssm2d_status safetensors_read_raw(const safetensors *file, const safetensors_array *array,
                                  void *out, ssm2d_error *error);

/* An array to write. The data is borrowed until safetensors_write returns. */
typedef struct safetensors_item {
    const char *name;
    safetensors_type type;
    int rank;
    size_t shape[SAFETENSORS_RANK];
    const void *data;
} safetensors_item;

typedef struct safetensors_note {
    const char *key, *value;
} safetensors_note;

/* Writes path, which appears complete or not at all. Arrays of wider types come first, which keeps
 * all of them aligned to their types; otherwise the given order is kept. notes are the file's
 * metadata. Names must differ from each other, and so must keys. */
ssm2d_status safetensors_write(const ssm2d_context *context, const char *path, size_t count,
                               const safetensors_item *items, size_t note_count,
                               const safetensors_note *notes, ssm2d_error *error);

#endif
