/* share - the gradient of an operator's input may be the very memory of its output's gradient, when
 * the operator hands it on unchanged (add), and so on through a chain of them.
 *
 * A gradient lives from the first node that writes it, in backward order, to the node that made its
 * tensor. Gradients that share memory are a group, named after the one whose memory it is. Node n
 * makes t's gradient as a copy of what the group holds then; t can join the group unless
 *   - a node that runs after n, and before t's gradient is read, writes that of a member: t's would
 *     change with it; or
 *   - such a node writes t's while a member's is still to be read.
 * Nodes are looked at in backward order, so each group needs to know only the first node of all its
 * members, and the writes to them that are still to come. */
#include "graph/planner.h"

#include "core/arith.h"

/* A place is input i of node n: GRAPH_INPUTS * n + i. Lists of places are in backward order and end
 * with NO_PLACE. */
enum { NO_PLACE = -1 };

typedef struct sharing {
    planner *p;
    int *writers, *next_writer;         /* of each tensor, the places that write its gradient */
    int *pending_writes, *next_pending; /* of each group, the places that write a member's */
    int *producer;                      /* of each group, the first node that made a member */
} sharing;

static int node_of(int place) { return place / GRAPH_INPUTS; }

static void list_writers(sharing *s)
{
    const graph *g = s->p->g;
    for (int t = 0; t < g->tensor_count; t++) s->writers[t] = s->pending_writes[t] = NO_PLACE;
    for (int k = 0; k < g->node_count; k++)
        for (int i = 0; i < g->nodes[k]->inputs; i++) {
            if (!writes_gradient(s->p, g->nodes[k], i)) continue;
            const int t = storage_of(g->nodes[k]->in[i])->index, place = GRAPH_INPUTS * k + i;
            s->next_writer[place] = s->writers[t];
            s->writers[t] = place;
        }
}

/* Puts the places of a list in the group's, which stays in order. */
static void add_pending(sharing *s, int group, int place)
{
    int *link = &s->pending_writes[group];
    for (; place != NO_PLACE; place = s->next_writer[place]) {
        while (*link > place) link = &s->next_pending[*link];
        s->next_pending[place] = *link;
        *link = place;
        link = &s->next_pending[place];
    }
}

static void try_to_share(sharing *s, const node *n, int i)
{
    const tensor *t = n->in[i];
    const int first_gradient = 2 * s->p->g->tensor_count;
    span *of_out = gradient(s->p, n->out);
    if (n->adds[i]) return;          /* another node has written it before n */
    if (t->base || t->views) return; /* its columns are written one by one */
    const int rest = s->next_writer[s->writers[t->index]];
    if (rest != NO_PLACE && node_of(rest) == n->index) return; /* n writes it twice */
    int group = n->out->index;
    if (of_out->same == SPAN_NONE)
        s->producer[group] = min_int(s->producer[group], n->index);
    else
        group = of_out->same - first_gradient;
    int *pending_writes = &s->pending_writes[group];
    while (*pending_writes != NO_PLACE && node_of(*pending_writes) >= n->index)
        *pending_writes = s->next_pending[*pending_writes];
    if (*pending_writes != NO_PLACE && node_of(*pending_writes) >= t->producer->index) return;
    if (rest != NO_PLACE && node_of(rest) >= s->producer[group]) return;
    gradient(s->p, t)->same = first_gradient + group;
    s->producer[group] = min_int(s->producer[group], t->producer->index);
    add_pending(s, group, rest);
}

int share_gradients(planner *p)
{
    const graph *g = p->g;
    const size_t T = (size_t)g->tensor_count, places = (size_t)g->node_count * GRAPH_INPUTS;
    int *memory = mem_alloc(g->context, (3 * T + 2 * places + 1) * sizeof *memory);
    if (!memory) return 0;
    sharing s = {p, memory, memory + 3 * T, memory + T, memory + 3 * T + places, memory + 2 * T};
    list_writers(&s);
    for (size_t t = 0; t < T; t++) s.producer[t] = g->node_count;
    for (int k = g->node_count - 1; k >= 0; k--) {
        const node *n = g->nodes[k];
        /* the gradient of the graph's output is the caller's and stays as it is */
        if (!n->op->passes || n->out == p->out || !in_use(gradient(p, n->out))) continue;
        for (int i = 0; i < n->inputs; i++)
            if (n->op->passes >> i & 1 && writes_gradient(p, n, i)) try_to_share(&s, n, i);
    }
    mem_free(g->context, memory);
    return 1;
}
