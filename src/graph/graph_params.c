#include "core/arith.h"
#include "core/status.h"
#include "graph/graph_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Reserves space for `more` arrays; returns 0 if out of memory. */
static int reserve_arrays(graph *g, int more)
{
    param_array *arrays = mem_grow(g->context, g->arrays, sizeof *arrays, (size_t)g->array_count,
                                   (size_t)more, &g->array_capacity);
    if (!arrays) return graph_no_memory(g), 0;
    g->arrays = arrays;
    return 1;
}

static int reserve_block(graph *g)
{
    param_block *blocks = mem_grow(g->context, g->blocks, sizeof *blocks, (size_t)g->block_count, 1,
                                   &g->block_capacity);
    if (!blocks) return graph_no_memory(g), 0;
    g->blocks = blocks;
    return 1;
}

/* Writes an array down as it is in files. */
static void add_array(graph *g, const param_spec *spec, const char *name, size_t offset, int block)
{
    param_array *a = &g->arrays[g->array_count++];
    *a = (param_array){.spec = *spec, .offset = offset, .block = block};
    a->spec.name = NULL;
    snprintf(a->name, sizeof a->name, "%s", name);
    a->rank = spec->file_rank ? spec->file_rank : spec->rank;
    memcpy(a->shape, spec->file_rank ? spec->file_shape : spec->shape, sizeof a->shape);
    a->count = 1;
    for (int i = 0; i < a->rank; i++) a->count *= a->shape[i];
}

/* A parameter declared before under this name, or NULL; refuses another shape or type. */
static tensor *known(graph *g, const char *name, element_type type, int rank, const size_t *shape)
{
    tensor *t = graph_find(g, name);
    if (!t) return NULL;
    if (t->role == ROLE_PARAM && t->type == type && t->rank == rank
        && !memcmp(t->shape, shape, (size_t)rank * sizeof *shape))
        return t;
    return graph_fail(g, "parameter %s is declared twice with different shapes or types", name);
}

static tensor *declare(graph *g, const char *name, int rank, const size_t *shape, int is_learned)
{
    tensor *t = graph_new_tensor(g, ROLE_PARAM, rank, shape);
    if (!t) return NULL;
    snprintf(t->name, sizeof t->name, "%s", name);
    t->needs_grad = g->training && is_learned;
    t->offset = g->param_count;
    g->param_count += t->count;
    return t;
}

/* A parameter of another type than real takes as many whole elements of the flat array as its
 * bytes need. */
static tensor *declare_typed(graph *g, tensor *t, const param_spec *spec)
{
    if (!t || spec->type == ELEMENT_REAL) return t;
    if (g->training)
        return graph_fail(g, "parameter %s is %s: only %s can be trained", t->name,
                          element_name(spec->type), element_name(ELEMENT_REAL));
    if (!graph_set_type(g, t, spec->type, spec->scales)) return NULL;
    g->param_count = t->offset + div_up_size(tensor_bytes(t), sizeof(real));
    return t;
}

tensor *graph_param(graph *g, const param_spec *spec, const char *format, ...)
{
    char name[sizeof((tensor *)0)->name];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (g->status) return NULL;
    tensor *t = known(g, name, spec->type, spec->rank, spec->shape);
    if (t || g->status) return t;
    if (!reserve_arrays(g, 1)) return NULL;
    t = declare(g, name, spec->rank, spec->shape, spec->group != PARAM_STATE);
    t = declare_typed(g, t, spec);
    if (t) add_array(g, spec, name, t->offset, -1);
    return t;
}

tensor *graph_param_block(graph *g, const param_block *b, int count, const param_spec *specs)
{
    char name[sizeof((tensor *)0)->name], array[PARAM_NAME];
    size_t total = 0;
    if (g->status) return NULL;
    for (int i = 0; i < count; i++) {
        size_t elements = 1;
        for (int k = 0; k < specs[i].rank; k++) elements *= specs[i].shape[k];
        if (specs[i].group == PARAM_STATE || specs[i].type != ELEMENT_REAL)
            return graph_fail(g, "%s.%s: an array of a block cannot be %s", b->name, specs[i].name,
                              specs[i].type ? element_name(specs[i].type) : "state");
        total += elements;
    }
    snprintf(name, sizeof name, "%.80s.%.12s", b->name, b->part ? b->part : "mixer");
    tensor *t = known(g, name, ELEMENT_REAL, 1, &total);
    if (t || g->status) return t;
    if (!reserve_arrays(g, count) || !reserve_block(g)) return NULL;
    t = declare(g, name, 1, &total, 1);
    if (!t) return NULL;
    param_block *block = &g->blocks[g->block_count];
    *block = *b;
    block->first_array = g->array_count;
    block->arrays = count;
    block->offset = t->offset;
    block->count = total;
    for (int i = 0; i < count; i++) {
        const size_t offset =
            i ? g->arrays[g->array_count - 1].offset + g->arrays[g->array_count - 1].count
              : t->offset;
        snprintf(array, sizeof array, "%.90s.%.16s", name, specs[i].name);
        add_array(g, &specs[i], array, offset, g->block_count);
    }
    g->block_count++;
    return t;
}
