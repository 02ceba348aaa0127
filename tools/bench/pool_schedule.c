#include "pool_schedule.h"

#include "core/arith.h"
#include "core/pool.h"

/* A thread, and when it is free. */
typedef struct hand {
    double free;
    int group, groups_left; /* where it takes tasks, and how many groups it will check after it */
} hand;

typedef struct hand_group {
    size_t next, end;
    double free; /* when its counter is */
} hand_group;

size_t pool_schedule_bytes(int threads)
{
    return (size_t)threads * sizeof(hand) + POOL_GROUPS * sizeof(hand_group);
}

/* hands is a heap with the one that is free first at the top, which `value` replaces. */
static void replace_top(hand *hands, int count, hand value)
{
    int at = 0;
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && hands[child + 1].free < hands[child].free) child++;
        if (hands[child].free >= value.free) break;
        hands[at] = hands[child];
    }
    hands[at] = value;
}

double pool_schedule(const double *seconds, size_t tasks, int threads, const pool_costs *costs,
                     void *scratch)
{
    const int size = (int)pool_group_size((size_t)threads), groups = div_up(threads, size);
    hand_group *group = scratch;
    hand *hands = (hand *)(void *)(group + groups);
    double end = 0;
    if (tasks < 2 || threads == 1) { /* the caller does them, without opening a round */
        for (size_t i = 0; i < tasks; i++) end += seconds[i];
        return end;
    }
    for (int i = 0; i < groups; i++)
        group[i] = (hand_group){i ? group[i - 1].end : 0,
                                pool_group_end(tasks, (size_t)threads, (size_t)i), 0};
    const double opened = costs->line * groups;
    for (int i = 0; i < threads; i++)
        hands[i] = (hand){opened + (i ? costs->signal : 0), i / size, groups - 1};
    for (int active = threads; active;) {
        hand h = hands[0];
        hand_group *g = &group[h.group];
        if (g->next < g->end) {
            const double begin = h.free > g->free ? h.free : g->free;
            g->free = begin + costs->counter;
            h.free = g->free + seconds[g->next++];
            end = h.free > end ? h.free : end;
            replace_top(hands, active, h);
        } else if (h.groups_left) {
            h.group = (h.group + 1) % groups;
            h.groups_left--;
            h.free += costs->line;
            replace_top(hands, active, h);
        } else {
            end = h.free > end ? h.free : end;
            active--;
            replace_top(hands, active, hands[active]);
        }
    }
    return end + costs->line * (threads - 1);
}
