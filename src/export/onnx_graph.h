/* onnx_graph - writes a graph as an ONNX file. */
#ifndef SSM2D_EXPORT_ONNX_GRAPH_H
#define SSM2D_EXPORT_ONNX_GRAPH_H

#include "graph/graph.h"
#include "graph/quantization.h"

/* A named output of the ONNX graph. */
typedef struct onnx_output {
    const char *name;
    const tensor *value;
} onnx_output;

/* A line of the file's metadata. */
typedef struct onnx_note {
    const char *key, *text;
} onnx_note;

typedef struct onnx_file {
    const char *path, *name; /* name: of the ONNX graph */
    int outputs;
    const onnx_output *output;
    const quantization *quantized; /* linear layers to write in 8 bits; or NULL */
    int notes;
    const onnx_note *note;
    /* The first axis of inputs and outputs is variable, regardless of its size in our graph. */
    int any_batch;
    /* Called before each operator with the count already written; may be NULL. */
    void (*progress)(void *user, size_t done, size_t all);
    void *user;
} onnx_file;

/* Writes a graph that was built for inference; it need not be finished. params: its parameters.
 * Refuses operators without an exporter and models that are too large. The file is written
 * atomically. */
ssm2d_status onnx_graph_write(ssm2d_context *context, const graph *g, const float *params,
                              const onnx_file *file, ssm2d_error *error);

#endif
