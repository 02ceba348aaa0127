/* onnx_builder_impl - the internals of a builder, for the files that implement it. */
#ifndef SSM2D_EXPORT_ONNX_BUILDER_IMPL_H
#define SSM2D_EXPORT_ONNX_BUILDER_IMPL_H

#include "export/onnx_builder.h"
#include "onnx.pb-c.h"

enum { ONNX_BUCKETS = 1024 };

typedef struct onnx_entry onnx_entry;

/* A growing list of messages. */
typedef struct onnx_list {
    void **at;
    size_t count, capacity;
} onnx_list;

struct onnx_builder {
    ssm2d_context *context;
    const graph *graph;
    const float *params;
    const quantization *quantized; /* or NULL */
    const char **values;           /* [tensor_count], of our tensors; NULL: not exported yet */
    onnx_list nodes;               /* Onnx__NodeProto */
    onnx_list constants;           /* Onnx__TensorProto */
    onnx_list inputs;              /* const tensor: those of our graph's inputs that are used */
    onnx_entry *node_bucket[ONNX_BUCKETS], *constant_bucket[ONNX_BUCKETS];
    size_t bytes; /* of constants */
    struct onnx_chunk *chunks;
    ssm2d_status status;
    ssm2d_error error;
};

/* params: the graph's, in its order. Both are borrowed. */
ssm2d_status onnx_builder_create(ssm2d_context *context, const graph *g, const float *params,
                                 onnx_builder **out, ssm2d_error *error);
void onnx_builder_destroy(onnx_builder *b);
void onnx_list_add(onnx_builder *b, onnx_list *list, const void *message);

#endif
