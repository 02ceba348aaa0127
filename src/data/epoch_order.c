#include "data/epoch_order.h"

#include "data/keyed_rng.h"

enum { DEIT_MULTIPLE = 256 };

size_t epoch_order_length(const epoch_order *o)
{
    if (o->kind == REPEAT_PASSES || o->repeats == 1) return o->count * o->repeats;
    return o->count < DEIT_MULTIPLE ? o->count : o->count / DEIT_MULTIPLE * DEIT_MULTIPLE;
}

/* Computes the permutation of a pass. */
static void shuffle(epoch_order *o, uint64_t epoch, size_t pass)
{
    if (o->known && o->epoch == epoch && o->pass == pass) return;
    rng r = keyed_rng(o->seed, RNG_ORDER, epoch, pass);
    for (size_t i = 0; i < o->count; i++) o->permutation[i] = (uint32_t)i;
    rng_shuffle(&r, o->permutation, o->count);
    o->epoch = epoch;
    o->pass = pass;
    o->known = 1;
}

epoch_sample epoch_order_at(epoch_order *o, uint64_t epoch, size_t position)
{
    const int passes = o->kind == REPEAT_PASSES;
    const size_t pass = passes ? position / o->count : 0;
    shuffle(o, epoch, pass);
    if (passes) return (epoch_sample){o->permutation[position % o->count], (uint32_t)pass};
    return (epoch_sample){o->permutation[position / o->repeats], (uint32_t)(position % o->repeats)};
}
