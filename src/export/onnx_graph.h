/* onnx_graph - a graph of ours written as an ONNX file. */
#ifndef SSM2D_EXPORT_ONNX_GRAPH_H
#define SSM2D_EXPORT_ONNX_GRAPH_H

#include "graph/graph.h"

/* A value that the ONNX graph gives, under a name. */
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
    int notes;
    const onnx_note *note;
    /* The first axis of inputs and outputs may be of any size, whatever it is in our graph. */
    int any_batch;
    /* Called before each operator with how many were written; NULL: no progress is reported. */
    void (*progress)(void *user, size_t done, size_t all);
    void *user;
} onnx_file;

/* Writes a graph that was built for inference; it need not have been finished. params: its
 * parameters. Refuses operators without an exporter, and what does not fit a file. The file appears
 * whole or not at all. */
ssm2d_status onnx_graph_write(ssm2d_context *context, const graph *g, const float *params,
                              const onnx_file *file, ssm2d_error *error);

#endif
