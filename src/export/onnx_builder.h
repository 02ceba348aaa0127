/* onnx_builder - builds an ONNX graph; used by the exporters of operators (ops/ops.def).
 *
 * Values are identified by their names. As in our own graph, the first error is kept and later
 * calls do nothing: they return NULL and accept NULL values, so that an exporter reads like its
 * formula.
 *
 * A node or constant that already exists, with the same inputs and attributes or the same contents,
 * is not added again. No constant may depend on the number of images, which may vary: shapes have 0
 * for it. */
#ifndef SSM2D_EXPORT_ONNX_BUILDER_H
#define SSM2D_EXPORT_ONNX_BUILDER_H

#include "graph/graph.h"
#include "graph/quantization.h"

typedef struct onnx_builder onnx_builder;

enum { ONNX_RANK = 6 };

/* An integer, a float, or a list of integers. */
typedef struct onnx_attribute {
    const char *name;
    enum { ONNX_INT, ONNX_FLOAT, ONNX_INTS } kind;
    int64_t integer;
    double real;
    int count;
    int64_t list[ONNX_RANK];
} onnx_attribute;

/* ---- values of our graph --------------------------------------------------------------------- */

/* The value of a tensor: an input, a parameter under its own name and with its shape in files
 * (reshaped to that of the graph by a node), some columns of another tensor, or the value that an
 * exporter returned for its node. */
const char *onnx_value(onnx_builder *b, const tensor *t);
/* The elements of a parameter; fails and returns NULL for any other tensor. */
const float *onnx_params(onnx_builder *b, const tensor *t);

/* How a layer with these weights is quantised; NULL: it is not. */
const quantized_linear *onnx_quantized(const onnx_builder *b, const tensor *weights);

/* ---- constants ------------------------------------------------------------------------------- */

/* These are copied. Integers are for shapes, indices for Gather. */
const char *onnx_integers(onnx_builder *b, int count, const int64_t *elements);
const char *onnx_indices(onnx_builder *b, int rank, const size_t *shape, const int32_t *elements);
const char *onnx_index(onnx_builder *b, size_t index); /* a scalar */
const char *onnx_scalar(onnx_builder *b, double value);
/* name: name of a new constant, unused if one with the same contents exists; NULL: any name. */
const char *onnx_array(onnx_builder *b, const char *name, int rank, const size_t *shape,
                       const float *elements);
/* The same of int8_t, or of uint8_t. */
const char *onnx_int8(onnx_builder *b, const char *name, int rank, const size_t *shape,
                      const int8_t *elements);
const char *onnx_uint8(onnx_builder *b, int rank, const size_t *shape, const uint8_t *elements);
/* Whether the file has space for `count` more elements of this size; if not, that is an error. Call
 * this before allocating large arrays. */
int onnx_has_space(onnx_builder *b, size_t count, size_t size);
/* Adds a constant under this name, which must be new. Elements and name are borrowed. */
const char *onnx_floats(onnx_builder *b, const char *name, int rank, const size_t *shape,
                        const float *elements);
/* Zeroed memory for count elements, freed with the builder; NULL after an error. */
void *onnx_memory(onnx_builder *b, size_t count, size_t size);
/* A formatted text in such memory. */
const char *onnx_text(onnx_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Memory that the caller frees with mem_free. */
void *onnx_scratch(onnx_builder *b, size_t count, size_t size);

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Adds a node with one output and returns that. An attribute list ends with an entry without a
 * name. */
const char *onnx_node(onnx_builder *b, const char *type, int inputs, const char *const *in,
                      const onnx_attribute *attributes);

/* Nodes without attributes, of one and of two inputs. */
const char *onnx_map(onnx_builder *b, const char *type, const char *x);
const char *onnx_join(onnx_builder *b, const char *type, const char *x, const char *y);
/* In a shape, 0 keeps the axis and -1 is inferred from the rest. */
const char *onnx_reshape(onnx_builder *b, const char *x, int rank, const int64_t *shape);
const char *onnx_transpose(onnx_builder *b, const char *x, int rank, const int64_t *axes);
/* [first, end) of an axis. */
const char *onnx_slice(onnx_builder *b, const char *x, int axis, size_t first, size_t end);
const char *onnx_gather(onnx_builder *b, const char *x, int axis, const char *indices);
/* Pads x with zeros: `before` and `after` have the count for each axis. */
const char *onnx_pad(onnx_builder *b, const char *x, int rank, const int64_t *before,
                     const int64_t *after);
const char *onnx_concat(onnx_builder *b, int axis, int count, const char *const *in);
/* Over the last axis. */
const char *onnx_layer_norm(onnx_builder *b, const char *x, const char *gamma, const char *beta,
                            double eps);
const char *onnx_silu(onnx_builder *b, const char *x);

#define ONNX_SHAPE(...)                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

/* ---- errors ---------------------------------------------------------------------------------- */

ssm2d_status onnx_status(const onnx_builder *b);
/* Keep the first error; return NULL. */
void *onnx_fail(onnx_builder *b, ssm2d_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void *onnx_no_memory(onnx_builder *b);
const ssm2d_context *onnx_context(const onnx_builder *b);

#endif
