#include "graph/graph.h"

#include "core/arith.h"
#include "core/status.h"
#include "graph/graph_impl.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ssm2d_status graph_create(ssm2d_context *context, int training, graph **out, ssm2d_error *error)
{
    graph *g = mem_alloc(context, sizeof *g);
    *out = NULL;
    if (!g) return fail_memory(error, "graph");
    g->context = context;
    g->training = g->random = training;
    *out = g;
    return SSM2D_OK;
}

void graph_destroy(graph *g)
{
    if (!g) return;
    for (int i = 0; i < g->node_count; i++) {
        node *n = g->nodes[i];
        if (n->object && n->op->destroy) n->op->destroy(g, n);
        mem_free(g->context, n);
    }
    for (int i = 0; i < g->tensor_count; i++) mem_free(g->context, g->tensors[i]);
    mem_free(g->context, g->arrays);
    mem_free(g->context, g->blocks);
    mem_free(g->context, g->nodes);
    mem_free(g->context, g->tensors);
    mem_free(g->context, g->names);
    mem_free(g->context, g->plan);
    mem_free(g->context, g->memory);
    mem_free(g->context, g);
}

tensor *graph_fail(graph *g, const char *format, ...)
{
    if (g->status) return NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(g->error.line, sizeof g->error.line, format, args);
    va_end(args);
    g->status = SSM2D_ERROR_ARGUMENT;
    return NULL;
}

void *graph_no_memory(graph *g)
{
    if (!g->status) g->status = fail_memory(&g->error, "graph of %d nodes", g->node_count);
    return NULL;
}

/* Whether a set of types, of which 0 is real alone, has this one. */
static int types_allow(unsigned types, element_type type)
{
    return (types ? types : ELEMENT_BIT(ELEMENT_REAL)) >> type & 1;
}

tensor *graph_new_tensor(graph *g, role kind, int rank, const size_t *shape)
{
    if (g->status) return NULL;
    tensor **tensors = mem_grow(g->context, g->tensors, sizeof *tensors, (size_t)g->tensor_count, 1,
                                &g->tensor_capacity);
    if (!tensors) return graph_no_memory(g);
    g->tensors = tensors;
    if (!names_reserve(g)) return graph_no_memory(g);
    tensor *t = mem_alloc(g->context, sizeof *t);
    if (!t) return graph_no_memory(g);
    t->role = kind;
    t->rank = rank;
    t->count = 1;
    t->index = g->tensor_count;
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        if (!shape[i] || __builtin_mul_overflow(t->count, shape[i], &t->count)
            || t->count > PTRDIFF_MAX / sizeof(double)) {
            mem_free(g->context, t);
            return graph_fail(g, "axis %d of a tensor has size %zu: empty or too large", i,
                              shape[i]);
        }
    }
    t->row_stride = shape[rank - 1];
    g->tensors[g->tensor_count++] = t;
    return t;
}

/* Scales begin on a cache line of their own. */
static size_t element_bytes(const tensor *t)
{
    const size_t bytes = t->count * element_size(t->type);
    return t->scale_count ? line_bytes(bytes) : bytes;
}

size_t tensor_bytes(const tensor *t) { return element_bytes(t) + t->scale_count * sizeof(real); }

void tensor_place(tensor *t, void *memory)
{
    t->memory = memory;
    t->scales =
        memory && t->scale_count ? (real *)(void *)((char *)memory + element_bytes(t)) : NULL;
}

tensor *graph_set_type(graph *g, tensor *t, element_type type, size_t scales)
{
    if (g->status) return NULL;
    const op *maker = t->producer ? t->producer->op : NULL;
    const size_t rows = t->count / t->shape[t->rank - 1];
    if (maker && !types_allow(maker->gives, type))
        return graph_fail(g, "%s does not give %s", maker->name, element_name(type));
    if (type == ELEMENT_INT8 ? scales != 1 && scales != rows : scales != 0)
        return graph_fail(g, "\"%s\" is %s of %zu rows and cannot have %zu scales", t->name,
                          element_name(type), rows, scales);
    t->type = type;
    t->scale_count = scales;
    return t;
}

tensor *columns(graph *g, tensor *x, size_t first, size_t count)
{
    if (g->status) return NULL;
    const size_t all = x->shape[x->rank - 1];
    if (!count || first > all || count > all - first)
        return graph_fail(g, "columns: %s has no columns [%zu, %zu) but only %zu", x->name, first,
                          first + count, all);
    if (count == all) return x;
    size_t shape[GRAPH_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = count;
    tensor *t = graph_new_tensor(g, ROLE_VIEW, x->rank, shape);
    if (!t) return NULL;
    t->base = storage_of(x);
    t->column = x->column + first;
    t->type = x->type;
    t->scale_count = x->scale_count;
    t->row_stride = x->row_stride;
    t->needs_grad = x->needs_grad;
    t->grid = x->grid;
    t->next_view = t->base->views;
    t->base->views = t;
    g->view_count++;
    snprintf(t->name, sizeof t->name, "%d:columns %zu..%zu of %.40s", t->index, t->column,
             t->column + count - 1, t->base->name);
    return t;
}

tensor *graph_input(graph *g, const char *name, int rank, const size_t *shape)
{
    tensor *t = graph_new_tensor(g, ROLE_INPUT, rank, shape);
    if (t) snprintf(t->name, sizeof t->name, "%s", name);
    return t;
}

node *graph_add(graph *g, const op *what, int inputs, tensor *const *in, int rank,
                const size_t *shape, const void *attributes, size_t bytes)
{
    for (int i = 0; i < inputs && !g->status; i++) {
        if (in[i] && in[i]->role == ROLE_VIEW && !(what->strided_in >> i & 1))
            graph_fail(g, "%s cannot take \"%s\" as its input %d: make it contiguous() before",
                       what->name, in[i]->name, i);
        if (in[i] && !types_allow(what->takes[i], in[i]->type))
            graph_fail(g, "%s does not take %s as its input %d (\"%s\"): convert_to() it before",
                       what->name, element_name(in[i]->type), i, in[i]->name);
    }
    if (g->status) return NULL;
    node **nodes =
        mem_grow(g->context, g->nodes, sizeof *nodes, (size_t)g->node_count, 1, &g->node_capacity);
    if (!nodes) return graph_no_memory(g);
    g->nodes = nodes;
    const size_t head = div_up_size(sizeof(node), alignof(max_align_t)) * alignof(max_align_t);
    char *memory = mem_alloc(g->context, head + bytes);
    if (!memory) return graph_no_memory(g);
    node *n = (node *)(void *)memory;
    n->attributes = memory + head;
    if (attributes) memcpy(n->attributes, attributes, bytes);
    n->op = what;
    n->index = g->node_count;
    n->inputs = inputs;
    n->recompute = what->cheap;
    for (int i = 0; i < inputs; i++) n->in[i] = in[i];
    n->out = shape ? graph_new_tensor(g, ROLE_VALUE, rank, shape)
                   : graph_new_tensor(g, ROLE_VALUE, in[0]->rank, in[0]->shape);
    if (!n->out) {
        mem_free(g->context, n);
        return NULL;
    }
    snprintf(n->out->name, sizeof n->out->name, "%d:%s", n->index, what->name);
    n->out->producer = n;
    if (inputs && in[0]->rank == n->out->rank && in[0]->rank > 1
        && in[0]->shape[in[0]->rank - 2] == n->out->shape[n->out->rank - 2])
        n->out->grid = in[0]->grid;
    for (int i = 0; i < inputs; i++)
        if (what->backward && in[i] && in[i]->needs_grad) n->out->needs_grad = 1;
    g->nodes[g->node_count++] = n;
    return n;
}

static const void *attribute_at(const node *n, const char *name, int type)
{
    const op_attribute *a = n->op->attributes;
    while (a && a->name && strcmp(a->name, name)) a++;
    assert(a && a->name && (int)a->type == type);
    (void)type;
    return (const char *)n->attributes + a->offset;
}

size_t node_size(const node *n, const char *name)
{
    return *(const size_t *)attribute_at(n, name, ATTRIBUTE_SIZE);
}

double node_real(const node *n, const char *name)
{
    return *(const double *)attribute_at(n, name, ATTRIBUTE_REAL);
}

const int *node_ints(const node *n, const char *name)
{
    return *(int *const *)attribute_at(n, name, ATTRIBUTE_INTS);
}

tensor *graph_recompute(tensor *x)
{
    if (x && x->producer) x->producer->recompute = 1;
    return x;
}
