#include "graph/intervals.h"

#include "core/arith.h"

#include <string.h>

void interval_pool_free(interval_pool *p) { mem_free(p->context, p->all); }

static int new_interval(interval_pool *p)
{
    const int reused = p->unused;
    if (reused) {
        p->unused = p->all[reused].next;
        return reused;
    }
    /* 0 is the empty set, which takes the first place */
    const size_t count = p->all ? (size_t)p->used + 1 : 0;
    interval *all = mem_grow(p->context, p->all, sizeof *all, count, 2, &p->capacity);
    if (!all) return p->failed = 1, 0;
    p->all = all;
    return ++p->used;
}

void interval_add(interval_pool *p, int *set, size_t begin, size_t end)
{
    int before = 0, at = *set;
    while (at && p->all[at].end < begin) {
        before = at;
        at = p->all[at].next;
    }
    if (!at || p->all[at].begin > end) { /* it touches none */
        const int made = new_interval(p);
        if (!made) return;
        p->all[made] = (interval){begin, end, at};
        *(before ? &p->all[before].next : set) = made;
        return;
    }
    interval *grown = &p->all[at];
    grown->begin = min_size(grown->begin, begin);
    grown->end = max_size(grown->end, end);
    for (int next = grown->next; next && p->all[next].begin <= grown->end; next = grown->next) {
        grown->end = max_size(grown->end, p->all[next].end);
        grown->next = p->all[next].next;
        p->all[next].next = p->unused;
        p->unused = next;
    }
}

size_t interval_lowest_fit(const interval_pool *p, int set, size_t from, size_t size)
{
    for (int at = set; at && p->all[at].begin < from + size; at = p->all[at].next)
        from = max_size(from, p->all[at].end);
    return from;
}

int interval_gap(const interval_pool *p, int set, size_t *begin, size_t end, size_t *gap_end)
{
    int at = set;
    for (; at && p->all[at].begin <= *begin; at = p->all[at].next)
        *begin = max_size(*begin, p->all[at].end);
    *gap_end = at ? min_size(p->all[at].begin, end) : end;
    return *begin < end;
}
