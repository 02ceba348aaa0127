/* onnx_graph - runs the exporters of a graph's nodes and writes the ONNX file. */
#include "export/onnx_graph.h"

#include "core/context.h"
#include "core/status.h"
#include "export/onnx_builder_impl.h"
#include "export/onnx_ops.h"
#include "io/file.h"
#include "io/text.h"
#include "ops/ops.h"

#include <string.h>

/* IR version 8 and opset 17 belong together: ONNX 1.12. */
enum { IR_VERSION = 8, OPSET = 17 };

static const struct {
    const op *op;
    onnx_exporter *exporter;
} exporters[] = {
#define ENTRY_ONNX(name) {&op_##name, onnx_from_##name},
#define ENTRY_NO_ONNX(name)
#define OP(name, exported, ...) ENTRY_##exported(name)
#include "ops/ops.def"
#undef OP
};

static onnx_exporter *exporter_of(const op *o)
{
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++)
        if (exporters[i].op == o) return exporters[i].exporter;
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void need(char *needed, const tensor *t)
{
    const node *producer = t ? (t->base ? t->base : t)->producer : NULL;
    if (producer) needed[producer->index] = 1;
}

/* Exports the nodes that outputs depend on, in their order. */
static void export_nodes(onnx_builder *b, const onnx_file *file)
{
    const graph *g = b->graph;
    char *needed = onnx_memory(b, (size_t)g->node_count, 1);
    if (!needed) return;
    for (int i = 0; i < file->outputs; i++) need(needed, file->output[i].value);
    for (int i = g->node_count - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->nodes[i]->inputs; k++) need(needed, g->nodes[i]->in[k]);
    for (int i = 0; i < g->node_count && !b->status; i++) {
        const node *n = g->nodes[i];
        onnx_exporter *exporter = exporter_of(n->op);
        if (file->progress) file->progress(file->user, (size_t)i, (size_t)g->node_count);
        if (!needed[i]) continue;
        if (exporter)
            b->values[n->out->index] = exporter(b, n);
        else
            onnx_fail(b, SSM2D_ERROR_UNSUPPORTED, "the operator %s cannot be exported to ONNX",
                      n->op->name);
    }
}

static int is_made_by_node(const onnx_builder *b, const char *value)
{
    for (size_t i = 0; i < b->nodes.count; i++)
        if (((const Onnx__NodeProto *)b->nodes.at[i])->output[0] == value) return 1;
    return 0;
}

/* Gives the value of an output its name. */
static void name_output(onnx_builder *b, const onnx_output *o)
{
    const char *value = onnx_value(b, o->value);
    if (value && !is_made_by_node(b, value)) value = onnx_map(b, "Identity", value);
    if (!value) return;
    for (size_t i = 0; i < b->nodes.count; i++) {
        Onnx__NodeProto *n = b->nodes.at[i];
        if (n->output[0] == value) n->output[0] = (char *)o->name;
        for (size_t k = 0; k < n->n_input; k++)
            if (n->input[k] == value) n->input[k] = (char *)o->name;
    }
    b->values[o->value->index] = o->name;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The name, type and shape of an input or output. */
static Onnx__ValueInfoProto *describe(onnx_builder *b, const char *name, const tensor *t, int any)
{
    Onnx__ValueInfoProto *info = onnx_memory(b, 1, sizeof *info);
    Onnx__TypeProto *type = onnx_memory(b, 1, sizeof *type);
    Onnx__TypeProto__Tensor *of = onnx_memory(b, 1, sizeof *of);
    Onnx__TensorShapeProto *shape = onnx_memory(b, 1, sizeof *shape);
    const size_t rank = (size_t)t->rank;
    Onnx__TensorShapeProto__Dimension **dim = onnx_memory(b, rank, sizeof *dim),
                                      *dims = onnx_memory(b, rank, sizeof *dims);
    if (b->status) return NULL;
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(of);
    onnx__tensor_shape_proto__init(shape);
    for (size_t i = 0; i < rank; i++) {
        onnx__tensor_shape_proto__dimension__init(dim[i] = &dims[i]);
        if (any && i == 0) {
            dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dims[i].dim_param = (char *)"N";
        } else {
            dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dims[i].dim_value = (int64_t)t->shape[i];
        }
    }
    shape->n_dim = rank;
    shape->dim = dim;
    of->has_elem_type = 1;
    of->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    of->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = of;
    info->name = (char *)name;
    info->type = type;
    return info;
}

static Onnx__GraphProto *describe_graph(onnx_builder *b, const onnx_file *file)
{
    Onnx__GraphProto *g = onnx_memory(b, 1, sizeof *g);
    Onnx__ValueInfoProto **inputs = onnx_memory(b, b->inputs.count, sizeof *inputs),
                         **outputs = onnx_memory(b, (size_t)file->outputs, sizeof *outputs);
    if (b->status) return NULL;
    onnx__graph_proto__init(g);
    for (size_t i = 0; i < b->inputs.count; i++) {
        const tensor *t = b->inputs.at[i];
        inputs[i] = describe(b, t->name, t, file->any_batch);
    }
    for (int i = 0; i < file->outputs; i++)
        outputs[i] = describe(b, file->output[i].name, file->output[i].value, file->any_batch);
    g->name = (char *)file->name;
    g->n_node = b->nodes.count;
    g->node = (Onnx__NodeProto **)b->nodes.at;
    g->n_initializer = b->constants.count;
    g->initializer = (Onnx__TensorProto **)b->constants.at;
    g->n_input = b->inputs.count;
    g->input = inputs;
    g->n_output = (size_t)file->outputs;
    g->output = outputs;
    return g;
}

static Onnx__ModelProto *describe_model(onnx_builder *b, const onnx_file *file)
{
    Onnx__ModelProto *m = onnx_memory(b, 1, sizeof *m);
    Onnx__OperatorSetIdProto *set = onnx_memory(b, 1, sizeof *set),
                             **sets = onnx_memory(b, 1, sizeof *sets);
    const size_t notes = (size_t)file->notes;
    Onnx__StringStringEntryProto *note = onnx_memory(b, notes, sizeof *note),
                                 **list = onnx_memory(b, notes, sizeof *list);
    if (b->status) return NULL;
    onnx__model_proto__init(m);
    onnx__operator_set_id_proto__init(sets[0] = set);
    set->domain = (char *)"";
    set->has_version = 1;
    set->version = OPSET;
    for (size_t i = 0; i < notes; i++) {
        onnx__string_string_entry_proto__init(list[i] = &note[i]);
        note[i].key = (char *)file->note[i].key;
        note[i].value = (char *)file->note[i].text;
    }
    m->has_ir_version = 1;
    m->ir_version = IR_VERSION;
    m->producer_name = (char *)"ssm2d";
    m->producer_version = (char *)SSM2D_VERSION;
    m->n_opset_import = 1;
    m->opset_import = sets;
    m->graph = describe_graph(b, file);
    m->n_metadata_props = notes;
    m->metadata_props = list;
    return m;
}

/* ---- file ------------------------------------------------------------------------------------ */

/* Receives the bytes of protobuf-c; the first error is kept. */
typedef struct sink {
    ProtobufCBuffer base; /* must be first: protobuf-c passes a pointer to it */
    atomic_file file;
    ssm2d_status status;
    ssm2d_error *error;
} sink;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    sink *s = (sink *)(void *)buffer;
    if (!s->status) s->status = atomic_write(&s->file, bytes, size, s->error);
}

static ssm2d_status write_model(const onnx_builder *b, const onnx_file *file,
                                const Onnx__ModelProto *m, ssm2d_error *error)
{
    sink s = {.base = {append}, .error = error};
    if (onnx__model_proto__get_packed_size(m) > INT32_MAX)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "the model needs more than 2 GB, the limit of an ONNX file");
    ssm2d_status status = atomic_open(b->context, file->path, &s.file, error);
    if (status) return status;
    onnx__model_proto__pack_to_buffer(m, &s.base);
    return atomic_end(&s.file, s.status, error);
}

ssm2d_status onnx_graph_write(ssm2d_context *context, const graph *g, const float *params,
                              const onnx_file *file, ssm2d_error *error)
{
    onnx_builder *b;
    if (g->status) return fail(error, g->status, "%s", g->error.line);
    if (g->training || g->random)
        return fail(error, SSM2D_ERROR_ARGUMENT, "a training graph cannot be exported to ONNX");
    ssm2d_status status = onnx_builder_create(context, g, params, &b, error);
    if (status) return status;
    b->quantized = file->quantized;
    export_nodes(b, file);
    for (int i = 0; i < file->outputs; i++) name_output(b, &file->output[i]);
    const Onnx__ModelProto *m = describe_model(b, file);
    if (b->status)
        status = fail(error, b->status, "%s", b->error.line);
    else
        status = write_model(b, file, m, error);
    onnx_builder_destroy(b);
    return status;
}
