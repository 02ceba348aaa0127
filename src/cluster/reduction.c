#include "cluster/reduction.h"

#include "core/arith.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/status.h"

#include <assert.h>

enum { MAX_STAGES = 15, ALIGN = 16 }; /* elements: parts begin on cache lines */
enum { PIECE = 1 << 14 };             /* elements that one task adds */

/* The stages of a bucket: 0 to n - 1 halve it (reduce-scatter), n to 2n - 1 reassemble it
 * (all-gather). */
typedef struct lane {
    reduction_bucket bucket;
    int stage; /* -1: not begun */
    transport_request requests[2];
    size_t scratch; /* where the received half is put */
} lane;

struct reduction {
    cluster *cluster;
    const ssm2d_context *context;
    float *values, *scratch;
    int unordered, stages; /* log2 of the number of processes */
    int count, active;
    lane *lanes; /* [count] */
    ssm2d_status status;
    ssm2d_error error;
    reduction_times spent;
};

/* The part of a bucket that a rank works on after `stages` halvings, as positions in it. */
typedef struct part {
    size_t first, end;
} part;

static part part_of(const lane *l, int rank, int stages)
{
    part p = {0, l->bucket.count};
    for (int s = 0; s < stages; s++) {
        const size_t middle =
            min_size(p.end, p.first + div_up_size((p.end - p.first) / 2, ALIGN) * ALIGN);
        if (rank >> s & 1)
            p.first = middle;
        else
            p.end = middle;
    }
    return p;
}

/* ---- adding ---------------------------------------------------------------------------------- */

typedef struct addition {
    float *to;
    const float *from;
    size_t count;
} addition;

static void add_piece(void *arg, size_t task, int worker)
{
    const addition *a = arg;
    float *restrict to = a->to;
    const float *restrict from = a->from;
    (void)worker;
    for (size_t i = task * PIECE; i < min_size((task + 1) * PIECE, a->count); i++) to[i] += from[i];
}

void add_arrays(const ssm2d_context *context, float *to, const float *from, size_t count)
{
    addition a = {to, from, count};
    pool_run(context->pool, div_up_size(count, PIECE), add_piece, &a);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static int tag_of(const reduction *r, const lane *l, int stage)
{
    return TAG_REDUCTION + (int)(l - r->lanes) * 2 * r->stages + stage;
}

/* Begins the exchange of the lane's stage with its partner. */
static void exchange(reduction *r, lane *l)
{
    cluster *c = r->cluster;
    const int halving = l->stage < r->stages;
    const int bit = halving ? l->stage : 2 * r->stages - 1 - l->stage;
    const int partner = c->rank ^ 1 << bit, tag = tag_of(r, l, l->stage);
    const part own = part_of(l, c->rank, bit + 1), other = part_of(l, partner, bit + 1);
    float *values = r->values + l->bucket.first;
    const part in = halving ? own : other, out = halving ? other : own;
    float *to = halving ? r->scratch + l->scratch : values + in.first;
    const size_t in_bytes = (in.end - in.first) * sizeof *to,
                 out_bytes = (out.end - out.first) * sizeof *to;
    if (in_bytes)
        r->status = cluster_receive(c, to, in_bytes, partner, tag, &l->requests[0], &r->error);
    if (out_bytes && !r->status)
        r->status = cluster_send(c, values + out.first, out_bytes, partner, tag, &l->requests[1],
                                 &r->error);
}

/* Adds the received half, while halving. */
static void add_received(reduction *r, lane *l)
{
    if (l->stage >= r->stages) return;
    const part own = part_of(l, r->cluster->rank, l->stage + 1);
    add_arrays(r->context, r->values + l->bucket.first + own.first, r->scratch + l->scratch,
               own.end - own.first);
}

static int is_active(const lane *l) { return l->requests[0].active || l->requests[1].active; }

/* Tests a lane, and advances it as far as possible. */
static void advance(reduction *r, lane *l)
{
    const int last = r->unordered ? 1 : 2 * r->stages;
    while (l->stage >= 0 && !r->status) {
        for (int i = 0; i < 2 && !r->status; i++)
            r->status = cluster_test(r->cluster, &l->requests[i], &r->error);
        if (r->status || is_active(l)) return;
        if (!r->unordered) add_received(r, l);
        if (++l->stage == last) {
            l->stage = -1;
            r->active--;
        } else {
            exchange(r, l);
        }
    }
}

/* The rank that the first waiting lane waits for, or -1. */
static int partner_of(const reduction *r)
{
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < 2; k++)
            if (r->lanes[i].requests[k].active) return r->lanes[i].requests[k].peer;
    return -1;
}

static void advance_all(reduction *r)
{
    for (int i = 0; i < r->count && r->active && !r->status; i++) advance(r, &r->lanes[i]);
}

/* ---- the caller ------------------------------------------------------------------------------ */

void reduction_begin(reduction *r, int bucket)
{
    const double start = clock_seconds();
    lane *l = &r->lanes[bucket];
    assert(l->stage < 0);
    if (r->status || r->cluster->size == 1 || !l->bucket.count) return;
    l->stage = 0;
    r->active++;
    if (r->unordered) {
        const double bytes = (double)(l->bucket.count * sizeof *r->values);
        r->cluster->bytes += 2 * bytes * (1 - 1 / (double)r->cluster->size);
        l->requests[0].peer = -1;
        cluster_enter(r->cluster, -1);
        const int bad = r->cluster->transport.sum(r->values + l->bucket.first, l->bucket.count,
                                                  &l->requests[0]);
        cluster_exit(r->cluster);
        r->status = cluster_failed(r->cluster, bad, &r->error);
    } else {
        exchange(r, l);
    }
    r->spent.working += clock_seconds() - start;
}

void reduction_progress(reduction *r)
{
    if (!r->active || r->status) return;
    const double start = clock_seconds();
    advance_all(r);
    r->spent.working += clock_seconds() - start;
}

ssm2d_status reduction_finish(reduction *r, ssm2d_error *error)
{
    const double start = clock_seconds();
    while (r->active && !r->status) {
        const int before = r->active;
        cluster_wait wait = cluster_wait_begin(r->cluster, partner_of(r));
        while (r->active == before && !r->status) {
            advance_all(r);
            if (r->active == before && !r->status)
                r->status = cluster_wait_more(r->cluster, &wait, partner_of(r), &r->error);
        }
        cluster_exit(r->cluster);
    }
    r->spent.waiting += clock_seconds() - start;
    return r->status ? fail(error, r->status, "%s", r->error.line) : SSM2D_OK;
}

reduction_times reduction_spent(const reduction *r) { return r->spent; }

ssm2d_status reduction_create(cluster *c, const ssm2d_context *context, float *values, int buckets,
                              const reduction_bucket *bucket, int unordered, reduction **out,
                              ssm2d_error *error)
{
    *out = NULL;
    int stages = 0;
    while (1 << stages < c->size) stages++;
    assert(unordered || 1 << stages == c->size);
    assert(buckets <= REDUCTION_MAX_BUCKETS && stages <= MAX_STAGES);
    reduction *r = mem_alloc(context, sizeof *r);
    if (!r) return fail_memory(error, "summing gradients");
    *r = (reduction){.cluster = c,
                     .context = context,
                     .values = values,
                     .unordered = unordered,
                     .stages = stages,
                     .count = buckets};
    r->lanes = mem_alloc(context, (size_t)buckets * sizeof *r->lanes);
    size_t scratch = 0;
    for (int i = 0; r->lanes && i < buckets; i++) {
        r->lanes[i] = (lane){.bucket = bucket[i], .stage = -1, .scratch = scratch};
        scratch += div_up_size(bucket[i].count / 2 + ALIGN, ALIGN) * ALIGN;
    }
    if (!unordered && c->size > 1) r->scratch = mem_alloc(context, scratch * sizeof *r->scratch);
    if (r->lanes && (r->scratch || unordered || c->size == 1)) {
        *out = r;
        return SSM2D_OK;
    }
    reduction_destroy(r);
    return fail_memory(error, "summing %zu gradients over processes", 2 * scratch);
}

void reduction_destroy(reduction *r)
{
    if (!r) return;
    mem_free(r->context, r->lanes);
    mem_free(r->context, r->scratch);
    mem_free(r->context, r);
}
