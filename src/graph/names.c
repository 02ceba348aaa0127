/* names - graph_find by a hash table, which is updated when a name is looked up: a tensor gets
 * its name after it has been made.
 *
 * Open addressing: an entry is 1 + the tensor's index, 0 where there is none. Of several tensors
 * with the same name the first is found. */
#include "graph/graph_impl.h"

#include "core/hash.h"

#include <string.h>

struct name_table {
    int count; /* tensors [0, count) are in the table */
    int size;  /* a power of two, at least twice the number of tensors */
    int entry[];
};

int names_reserve(graph *g)
{
    int size = 2;
    while ((size_t)size < 2 * g->tensor_capacity) size *= 2;
    if (g->names && g->names->size >= size) return 1;
    name_table *n = mem_alloc(g->context, sizeof *n + (size_t)size * sizeof *n->entry);
    if (!n) return 0;
    n->size = size;
    mem_free(g->context, g->names);
    g->names = n;
    return 1;
}

static int *entry_of(const graph *g, const char *name)
{
    name_table *n = g->names;
    uint64_t hash = HASH_START;
    hash_add(&hash, name, strlen(name));
    int at = (int)(hash & (uint64_t)(n->size - 1));
    while (n->entry[at] && strcmp(g->tensors[n->entry[at] - 1]->name, name))
        at = (at + 1) & (n->size - 1);
    return &n->entry[at];
}

tensor *graph_find(const graph *g, const char *name)
{
    if (!g->names) return NULL;
    for (; g->names->count < g->tensor_count; g->names->count++) {
        int *entry = entry_of(g, g->tensors[g->names->count]->name);
        if (!*entry) *entry = g->names->count + 1;
    }
    const int found = *entry_of(g, name);
    return found ? g->tensors[found - 1] : NULL;
}
