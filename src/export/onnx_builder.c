/* onnx_builder - memory, constants and nodes of an ONNX graph; messages are structs of protobuf-c
 * in an arena that is freed as a whole. */
#include "core/context.h"
#include "core/hash.h"
#include "core/status.h"
#include "export/onnx_builder_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 16, ALIGNMENT = 64 };

/* A block of the arena. */
typedef struct onnx_chunk {
    struct onnx_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
} onnx_chunk;

/* An entry of the hash tables of nodes and constants. */
struct onnx_entry {
    const void *message;
    onnx_entry *next;
};

ssm2d_status onnx_status(const onnx_builder *b) { return b->status; }
const quantized_linear *onnx_quantized(const onnx_builder *b, const tensor *weights)
{
    return quantization_find(b->quantized, weights->name);
}

const ssm2d_context *onnx_context(const onnx_builder *b) { return b->context; }

void *onnx_fail(onnx_builder *b, ssm2d_status status, const char *format, ...)
{
    if (b->status) return NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(b->error.line, sizeof b->error.line, format, args);
    va_end(args);
    b->status = status;
    return NULL;
}

void *onnx_no_memory(onnx_builder *b)
{
    if (!b->status) b->status = fail_memory(&b->error, "ONNX graph of %zu nodes", b->nodes.count);
    return NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

ssm2d_status onnx_builder_create(ssm2d_context *context, const graph *g, const float *params,
                                 onnx_builder **out, ssm2d_error *error)
{
    onnx_builder *b = *out = mem_alloc(context, sizeof *b);
    if (!b) return fail_memory(error, "ONNX graph");
    *b = (onnx_builder){.context = context, .graph = g, .params = params};
    b->values = onnx_memory(b, (size_t)g->tensor_count, sizeof *b->values);
    if (!b->status) return SSM2D_OK;
    onnx_builder_destroy(b);
    *out = NULL;
    return fail_memory(error, "ONNX graph");
}

void onnx_builder_destroy(onnx_builder *b)
{
    if (!b) return;
    for (onnx_chunk *c = b->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(b->context, c);
    }
    mem_free(b->context, b->nodes.at);
    mem_free(b->context, b->constants.at);
    mem_free(b->context, b->inputs.at);
    mem_free(b->context, b);
}

static int is_too_large(size_t count, size_t size) { return size && count > SIZE_MAX / 4 / size; }

void *onnx_memory(onnx_builder *b, size_t count, size_t size)
{
    if (b->status) return NULL;
    if (is_too_large(count, size)) return onnx_no_memory(b);
    const size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    onnx_chunk *c = b->chunks;
    if (!c || bytes > c->size - c->used) {
        const size_t wanted = bytes > CHUNK ? bytes : CHUNK;
        c = mem_alloc(b->context, sizeof *c + wanted);
        if (!c) return onnx_no_memory(b);
        c->size = wanted;
        c->next = b->chunks;
        b->chunks = c;
    }
    void *found = c->bytes + c->used;
    c->used += bytes;
    return found;
}

void *onnx_scratch(onnx_builder *b, size_t count, size_t size)
{
    if (b->status) return NULL;
    void *memory = is_too_large(count, size) ? NULL : mem_alloc(b->context, count * size);
    return memory ? memory : onnx_no_memory(b);
}

const char *onnx_text(onnx_builder *b, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = onnx_memory(b, strlen(text) + 1, 1);
    return copy ? strcpy(copy, text) : NULL;
}

void onnx_list_add(onnx_builder *b, onnx_list *list, const void *message)
{
    if (b->status) return;
    void **at = mem_grow(b->context, list->at, sizeof *at, list->count, 1, &list->capacity);
    if (!at) {
        onnx_no_memory(b);
        return;
    }
    list->at = at;
    list->at[list->count++] = (void *)message;
}

static void remember(onnx_builder *b, onnx_entry **bucket, const void *message)
{
    onnx_entry *e = onnx_memory(b, 1, sizeof *e);
    if (!e) return;
    *e = (onnx_entry){message, *bucket};
    *bucket = e;
}

/* ---- constants ------------------------------------------------------------------------------- */

static int same_constant(const Onnx__TensorProto *a, const Onnx__TensorProto *t)
{
    return a->data_type == t->data_type && a->n_dims == t->n_dims
           && (!a->n_dims || !memcmp(a->dims, t->dims, a->n_dims * sizeof *a->dims))
           && a->raw_data.len == t->raw_data.len
           && !memcmp(a->raw_data.data, t->raw_data.data, t->raw_data.len);
}

/* Protobuf's limit, less some space for nodes and names. */
static const size_t max_bytes = INT32_MAX - (1 << 24);

int onnx_has_space(onnx_builder *b, size_t count, size_t size)
{
    if (b->status) return 0;
    if (!is_too_large(count, size) && count * size <= max_bytes - b->bytes) return 1;
    onnx_fail(b, SSM2D_ERROR_UNSUPPORTED,
              "the model needs more than 2 GB, the limit of an ONNX file: use a smaller "
              "image size");
    return 0;
}

static Onnx__TensorProto *new_constant(onnx_builder *b, int type, int rank, const size_t *shape,
                                       const void *elements, size_t size)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    if (!onnx_has_space(b, count, size)) return NULL;
    Onnx__TensorProto *t = onnx_memory(b, 1, sizeof *t);
    int64_t *dims = onnx_memory(b, (size_t)rank, sizeof *dims);
    if (b->status) return NULL;
    onnx__tensor_proto__init(t);
    for (int i = 0; i < rank; i++) dims[i] = (int64_t)shape[i];
    t->n_dims = (size_t)rank;
    t->dims = dims;
    t->has_data_type = 1;
    t->data_type = type;
    t->has_raw_data = 1;
    t->raw_data = (ProtobufCBinaryData){count * size, (uint8_t *)elements};
    return t;
}

static int is_taken(const onnx_builder *b, const char *name)
{
    for (size_t i = 0; i < b->constants.count; i++)
        if (!strcmp(((const Onnx__TensorProto *)b->constants.at[i])->name, name)) return 1;
    return 0;
}

/* A new unique name: the wanted one, or one with a suffix. */
static char *free_name(onnx_builder *b, const char *wanted)
{
    const char *name = wanted ? onnx_text(b, "%s", wanted) : NULL;
    if (wanted && (!name || !is_taken(b, name))) return (char *)name;
    return (char *)onnx_text(b, "%s_%zu", wanted ? wanted : "constant", b->constants.count);
}

static void add_constant(onnx_builder *b, const Onnx__TensorProto *t)
{
    onnx_list_add(b, &b->constants, t);
    b->bytes += t->raw_data.len;
}

/* Adds a constant unless one with the same contents exists; the contents are copied. */
static const char *by_contents(onnx_builder *b, const char *name, int type, int rank,
                               const size_t *shape, const void *elements, size_t size)
{
    Onnx__TensorProto *t = new_constant(b, type, rank, shape, elements, size);
    if (!t) return NULL;
    uint64_t hash = HASH_START;
    hash_add(&hash, elements, t->raw_data.len);
    onnx_entry **bucket = &b->constant_bucket[hash % ONNX_BUCKETS];
    for (const onnx_entry *e = *bucket; e; e = e->next)
        if (same_constant(e->message, t)) return ((const Onnx__TensorProto *)e->message)->name;
    t->raw_data.data = onnx_memory(b, t->raw_data.len, 1);
    t->name = free_name(b, name);
    if (b->status) return NULL;
    memcpy(t->raw_data.data, elements, t->raw_data.len);
    add_constant(b, t);
    remember(b, bucket, t);
    return b->status ? NULL : t->name;
}

const char *onnx_integers(onnx_builder *b, int count, const int64_t *elements)
{
    return by_contents(b, NULL, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, (size_t[]){(size_t)count},
                       elements, sizeof *elements);
}

const char *onnx_indices(onnx_builder *b, int rank, const size_t *shape, const int32_t *elements)
{
    return by_contents(b, NULL, ONNX__TENSOR_PROTO__DATA_TYPE__INT32, rank, shape, elements,
                       sizeof *elements);
}

const char *onnx_index(onnx_builder *b, size_t index)
{
    const int32_t n = (int32_t)index;
    return onnx_indices(b, 0, NULL, &n);
}

const char *onnx_scalar(onnx_builder *b, double value)
{
    const float n = (float)value;
    return by_contents(b, NULL, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 0, NULL, &n, sizeof n);
}

const char *onnx_array(onnx_builder *b, const char *name, int rank, const size_t *shape,
                       const float *elements)
{
    return by_contents(b, name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, shape, elements,
                       sizeof *elements);
}

const char *onnx_int8(onnx_builder *b, const char *name, int rank, const size_t *shape,
                      const int8_t *elements)
{
    return by_contents(b, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT8, rank, shape, elements,
                       sizeof *elements);
}

const char *onnx_uint8(onnx_builder *b, int rank, const size_t *shape, const uint8_t *elements)
{
    return by_contents(b, NULL, ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, rank, shape, elements,
                       sizeof *elements);
}

const char *onnx_floats(onnx_builder *b, const char *name, int rank, const size_t *shape,
                        const float *elements)
{
    if (b->status) return NULL;
    if (is_taken(b, name))
        return onnx_fail(b, SSM2D_ERROR_ARGUMENT, "there are two constants \"%.100s\"", name);
    Onnx__TensorProto *t = new_constant(b, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, shape,
                                        elements, sizeof *elements);
    if (!t) return NULL;
    t->name = (char *)name;
    add_constant(b, t);
    return b->status ? NULL : name;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static Onnx__AttributeProto *new_attribute(onnx_builder *b, const onnx_attribute *from)
{
    Onnx__AttributeProto *a = onnx_memory(b, 1, sizeof *a);
    int64_t *list = onnx_memory(b, (size_t)from->count, sizeof *list);
    if (b->status) return NULL;
    onnx__attribute_proto__init(a);
    a->name = (char *)from->name;
    a->has_type = 1;
    switch (from->kind) {
    case ONNX_INT:
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->has_i = 1;
        a->i = from->integer;
        break;
    case ONNX_FLOAT:
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        a->has_f = 1;
        a->f = (float)from->real;
        break;
    case ONNX_INTS:
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        a->n_ints = (size_t)from->count;
        a->ints = list;
        for (int i = 0; i < from->count; i++) list[i] = from->list[i];
        break;
    }
    return a;
}

static int same_attribute(const Onnx__AttributeProto *a, const onnx_attribute *o)
{
    if (strcmp(a->name, o->name)) return 0;
    if (o->kind == ONNX_INT) return a->has_i && a->i == o->integer;
    if (o->kind == ONNX_FLOAT) return a->has_f && a->f == (float)o->real;
    return a->n_ints == (size_t)o->count && !memcmp(a->ints, o->list, a->n_ints * sizeof *a->ints);
}

/* Equal names are the same pointer. */
static int same_node(const Onnx__NodeProto *n, const char *type, int inputs, const char *const *in,
                     size_t attributes, const onnx_attribute *a)
{
    if (strcmp(n->op_type, type) || n->n_input != (size_t)inputs || n->n_attribute != attributes)
        return 0;
    for (int i = 0; i < inputs; i++)
        if (n->input[i] != in[i]) return 0;
    for (size_t i = 0; i < attributes; i++)
        if (!same_attribute(n->attribute[i], &a[i])) return 0;
    return 1;
}

const char *onnx_node(onnx_builder *b, const char *type, int inputs, const char *const *in,
                      const onnx_attribute *attributes)
{
    if (b->status) return NULL;
    size_t count = 0;
    while (attributes && attributes[count].name) count++;
    uint64_t hash = HASH_START;
    hash_add(&hash, type, strlen(type));
    hash_add(&hash, in, (size_t)inputs * sizeof *in);
    onnx_entry **bucket = &b->node_bucket[hash % ONNX_BUCKETS];
    for (const onnx_entry *e = *bucket; e; e = e->next)
        if (same_node(e->message, type, inputs, in, count, attributes))
            return ((const Onnx__NodeProto *)e->message)->output[0];
    Onnx__NodeProto *n = onnx_memory(b, 1, sizeof *n);
    char **input = onnx_memory(b, (size_t)inputs, sizeof *input);
    char **output = onnx_memory(b, 1, sizeof *output);
    Onnx__AttributeProto **list = onnx_memory(b, count, sizeof *list);
    const char *name = onnx_text(b, "%s_%zu", type, b->nodes.count);
    if (b->status) return NULL;
    onnx__node_proto__init(n);
    memcpy(input, in, (size_t)inputs * sizeof *in);
    for (size_t i = 0; i < count; i++) list[i] = new_attribute(b, &attributes[i]);
    n->op_type = (char *)type;
    n->name = output[0] = (char *)name;
    n->n_input = (size_t)inputs;
    n->input = input;
    n->n_output = 1;
    n->output = output;
    n->n_attribute = count;
    n->attribute = list;
    onnx_list_add(b, &b->nodes, n);
    remember(b, bucket, n);
    return b->status ? NULL : name;
}

/* ---- our graph ------------------------------------------------------------------------------- */

const float *onnx_params(onnx_builder *b, const tensor *t)
{
    if (b->status) return NULL;
    if (t->role == ROLE_PARAM) return b->params + t->offset;
    return onnx_fail(b, SSM2D_ERROR_UNSUPPORTED,
                     "%s is not a parameter and cannot be written to a file", t->name);
}

/* Writes a parameter under its name and, if it is a separate array, with its shape in files. */
static const char *param_value(onnx_builder *b, const tensor *t)
{
    const param_array *found = NULL;
    const int rank = t->rank;
    int64_t shape[GRAPH_RANK];
    for (int i = 0; i < b->graph->array_count && !found; i++)
        if (!strcmp(b->graph->arrays[i].name, t->name)) found = &b->graph->arrays[i];
    if (!found) return onnx_floats(b, t->name, rank, t->shape, b->params + t->offset);
    const char *x = onnx_floats(b, found->name, found->rank, found->shape, b->params + t->offset);
    if (found->rank == rank && !memcmp(found->shape, t->shape, (size_t)rank * sizeof *t->shape))
        return x;
    for (int i = 0; i < rank; i++) shape[i] = (int64_t)t->shape[i];
    return onnx_reshape(b, x, rank, shape);
}

const char *onnx_value(onnx_builder *b, const tensor *t)
{
    if (b->status) return NULL;
    const char **value = &b->values[t->index];
    if (*value) return *value;
    if (t->role == ROLE_VIEW) {
        *value = onnx_slice(b, onnx_value(b, t->base), t->rank - 1, t->column,
                            t->column + t->shape[t->rank - 1]);
    } else if (t->role == ROLE_PARAM) {
        *value = param_value(b, t);
    } else if (t->role == ROLE_INPUT) {
        onnx_list_add(b, &b->inputs, t);
        *value = t->name;
    } else {
        onnx_fail(b, SSM2D_ERROR_ARGUMENT, "%s is used before it is computed", t->name);
    }
    return *value;
}
