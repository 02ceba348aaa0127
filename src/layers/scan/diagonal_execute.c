/* diagonal_execute - planning, forward and backward of selective scans with a diagonal state, for
 * one number type. */
#include "core/status.h"
#include "layers/scan/diagonal_plan.h"
#include "layers/scan/scan_internal.h"

#include <math.h>
#include <string.h>

static const diagonal_plan *own(const ssm2d_plan *plan) { return (const diagonal_plan *)plan; }

static size_t lanes_of(const diagonal_plan *p) { return (size_t)p->scan.base.lanes; }
static size_t states_of(const diagonal_plan *p) { return (size_t)p->states * lanes_of(p); }

/* Elements of one vector of channels: of the carry, of the states of a row that are kept, and of
 * the steps and slopes of a row. */
static size_t carry_size(const diagonal_plan *p, const scan_walk *w)
{
    return states_of(p) * (p->form == SCAN_LINE ? 1 : (size_t)w->cols);
}
static size_t kept_size(const diagonal_plan *p, const scan_walk *w)
{
    return states_of(p) * (p->form == SCAN_TWICE ? 2 : 1) * (size_t)w->cols;
}
static size_t steps_size(const diagonal_plan *p, const scan_walk *w)
{
    return 2 * (size_t)p->gates * lanes_of(p) * (size_t)w->cols;
}
static size_t map_columns(const diagonal_plan *p) /* whose gradients are sums over channels */
{
    return (size_t)(p->sources + 1) * (size_t)p->states;
}
static int padded_ranks(const diagonal_plan *p)
{
    return div_up(p->ranks, p->scan.base.lanes) * p->scan.base.lanes;
}
static size_t coefs_size(const diagonal_plan *p) /* of one walk and vector */
{
    return (size_t)p->elements * lanes_of(p);
}
static size_t all_coefs_size(const diagonal_plan *p)
{
    return (size_t)p->walks * (size_t)p->scan.base.vectors * coefs_size(p);
}

/* ---- scratch of one worker ------------------------------------------------------------------- */

/* Tiles of `count` vectors, and rows. */
typedef struct scratch {
    real *u, *y, *du; /* y: backward has dy in it */
    real *carry, *saved, *left, *kept, *steps, *raw;
    real *dleft, *dup, *ddt, *draw, *dmap, *sums, *dranks;
} scratch;

static real *take(real *memory, size_t *used, size_t elements)
{
    real *at = memory ? memory + *used : NULL;
    const size_t line = 64 / sizeof(real);
    *used += div_up_size(elements, line) * line;
    return at;
}

static int block_of(const diagonal_plan *p, const scan_walk *w, size_t count)
{
    return scan_rows_block(w->rows, count * (kept_size(p, w) + steps_size(p, w)) * sizeof(real));
}

/* Returns its size in elements; memory may be NULL. */
static size_t place_scratch(const diagonal_plan *p, size_t count, real *memory, scratch *s)
{
    const size_t lanes = lanes_of(p);
    size_t used = 0, carry = 0, saved = 0, kept = 0, steps = 0, cols = 0;
    for (int k = 0; k < p->walks; k++) {
        const scan_walk *w = &p->walk[k].cells;
        const size_t block = (size_t)block_of(p, w, count), c = count * carry_size(p, w);
        carry = max_size(carry, c);
        saved = max_size(saved, div_up_size((size_t)w->rows, block) * c);
        kept = max_size(kept, block * count * kept_size(p, w));
        steps = max_size(steps, block * count * steps_size(p, w));
        cols = max_size(cols, (size_t)w->cols);
    }
    const int training = !p->scan.base.options.inference;
    const size_t sums = div_up_size(cols * map_columns(p), lanes) * lanes;
    s->u = take(memory, &used, count * p->scan.tile);
    s->y = take(memory, &used, count * p->scan.tile);
    s->carry = take(memory, &used, carry);
    s->left = take(memory, &used, states_of(p));
    s->raw = take(memory, &used, cols * lanes);
    s->steps = take(memory, &used, training ? steps : count * cols * 4 * lanes);
    if (!training) return used;
    s->du = take(memory, &used, count * p->scan.tile);
    s->saved = take(memory, &used, saved);
    s->kept = take(memory, &used, kept);
    s->dleft = take(memory, &used, count * states_of(p));
    s->dup = take(memory, &used, carry);
    s->ddt = take(memory, &used, 2 * cols * lanes);
    s->draw = take(memory, &used, (size_t)p->gates * cols * count * lanes);
    s->dmap = take(memory, &used, cols * map_columns(p) * lanes);
    s->sums = take(memory, &used, sums);
    s->dranks = take(memory, &used, cols * (size_t)padded_ranks(p));
    return used;
}

/* ---- planning -------------------------------------------------------------------------------- */

static const char *algorithm(int i) { return i ? NULL : "scan"; }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    diagonal_plan *p = (diagonal_plan *)base;
    scratch none = {0};
    (void)i, (void)error;
    const size_t H = (size_t)base->channels, batch = base->options.batch, size = sizeof(real);
    const size_t cells = (size_t)base->rows * (size_t)base->cols;
    const int training = !base->options.inference;
    p->elements = p->gates * (p->ranks + 1 + (p->heads ? 0 : p->states)) + 1;
    p->scan.cells = cells;
    p->scan.tile = cells * lanes_of(p);
    scan_layout_plan(&p->scan, place_scratch(p, 1, NULL, &none) * size);
    scan_projection_plan(&p->scan);
    p->coefs = plan_reserve(base, all_coefs_size(p), size);
    p->one = plan_reserve(base, 1, size);
    if (training) {
        p->transposed = plan_reserve(base, (size_t)(p->walks * p->gates * padded_ranks(p)),
                                     (size_t)base->vectors * lanes_of(p) * size);
        p->partial = plan_reserve(base, (size_t)p->scan.groups.chunks, all_coefs_size(p) * size);
    }
    if (p->layer_norm) {
        p->norm.values = plan_reserve(base, 2 * H, size);
        p->norm.z = plan_reserve(base, batch, cells * H * size);
        if (training) p->norm.dz = plan_reserve(base, batch, cells * H * size);
        if (training) p->norm.sums = plan_reserve(base, output_norm_sums(base), size);
    }
    const size_t group = (size_t)p->scan.groups.group;
    p->scan.worker = max_size(place_scratch(p, group, NULL, &none), 2 * group * p->scan.tile);
    p->scan.scratch =
        plan_reserve(base, (size_t)pool_threads(base->context->pool), p->scan.worker * size);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *base)
{
    const diagonal_plan *p = own(base);
    const double cells = (double)base->options.batch * (double)base->rows * base->cols;
    return cells * base->channels * p->walks * (20.0 * p->states * p->gates + p->ranks);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Where element e of the coefficients of a channel comes from: a parameter, if `index` is not
 * SIZE_MAX, times `scale`, or -exp of it (is_rate); else the constant `scale`. */
typedef struct origin {
    size_t index;
    double scale;
    int is_rate;
} origin;

static origin origin_of(const diagonal_plan *p, int walk, int e, int c)
{
    const size_t H = (size_t)p->scan.base.channels, at = (size_t)walk * H + (size_t)c;
    const int part = p->ranks + 1 + (p->heads ? 0 : p->states), g = e / part, in = e % part;
    const int head = p->heads ? c / (p->scan.base.channels / p->heads) : 0;
    if (g == p->gates) {
        if (!p->heads) return (origin){p->d + at, p->gain, 0};
        return walk ? (origin){SIZE_MAX, 0, 0} : (origin){p->d + (size_t)head, 1, 0};
    }
    if (in < p->ranks)
        return p->heads ? (origin){SIZE_MAX, in == head, 0}
                        : (origin){p->w[g] + at * (size_t)p->ranks + (size_t)in, 1, 0};
    if (in == p->ranks) return (origin){p->bias[g] + (p->heads ? (size_t)head : at), 1, 0};
    return (origin){p->rate[g] + at * (size_t)p->states + (size_t)(in - p->ranks - 1), 1, 1};
}

typedef struct params_job {
    const diagonal_plan *plan;
    ssm2d_workspace *ws;
    const real *params;
} params_job;

/* The coefficients of one walk and vector. */
static void prepare_vector(void *arg, size_t task, int worker)
{
    (void)worker;
    const params_job *t = arg;
    const diagonal_plan *p = t->plan;
    const int lanes = p->scan.base.lanes, V = p->scan.base.vectors, walk = (int)task / V,
              first = (int)task % V * lanes, ranks = padded_ranks(p);
    real *coefs = REGION_AT(real, t->ws, p->coefs) + task * coefs_size(p);
    memset(coefs, 0, coefs_size(p) * sizeof(real));
    for (int e = 0; e < p->elements; e++)
        for (int l = 0; l < lanes && first + l < p->scan.base.channels; l++) {
            const origin o = origin_of(p, walk, e, first + l);
            const double x = o.index == SIZE_MAX ? 1 : (double)t->params[o.index];
            coefs[e * lanes + l] = (real)(o.is_rate ? -exp(x) : o.scale * x);
        }
    if (!p->transposed) return;
    for (int g = 0; g < p->gates; g++) {
        const real *w = coefs + (size_t)(g * (p->elements - 1) / p->gates) * lanes_of(p);
        real *to = REGION_AT(real, t->ws, p->transposed)
                   + (row_major(walk, p->gates, g) * (size_t)V * lanes_of(p) + (size_t)first)
                         * (size_t)ranks;
        for (int l = 0; l < lanes; l++)
            for (int r = 0; r < ranks; r++) to[l * ranks + r] = r < p->ranks ? w[r * lanes + l] : 0;
    }
}

static void prepare(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params)
{
    const diagonal_plan *p = own(base);
    const size_t H = (size_t)base->channels;
    const params_job t = {p, ws, params};
    *REGION_AT(real, ws, p->one) = 1;
    scan_projection_prepare(&p->scan, ws, params);
    pool_run(base->context->pool, (size_t)p->walks * (size_t)base->vectors, prepare_vector,
             (void *)&t);
    if (!p->layer_norm) return;
    memcpy(REGION_AT(real, ws, p->norm.values), t.params + p->norm.gamma, H * sizeof(real));
    memcpy(REGION_AT(real, ws, p->norm.values) + H, t.params + p->norm.beta, H * sizeof(real));
}

/* Sums the gradients of the chunks of one walk and vector into those of the first chunk. */
static void sum_chunks(void *arg, size_t task, int worker)
{
    (void)worker;
    const params_job *t = arg;
    const diagonal_plan *p = t->plan;
    real *to = REGION_AT(real, t->ws, p->partial) + task * coefs_size(p);
    for (int c = 1; c < p->scan.groups.chunks; c++) {
        const real *from = to + (size_t)c * all_coefs_size(p);
        for (size_t i = 0; i < coefs_size(p); i++) to[i] += from[i];
    }
}

static void add_gradients(const diagonal_plan *p, ssm2d_workspace *ws, const real *params,
                          real *dparams)
{
    const int lanes = p->scan.base.lanes, V = p->scan.base.vectors;
    const params_job t = {p, ws, params};
    pool_run(p->scan.base.context->pool, (size_t)(p->walks * V), sum_chunks, (void *)&t);
    for (int task = 0; task < p->walks * V; task++)
        for (int e = 0; e < p->elements; e++)
            for (int l = 0; l < lanes; l++) {
                const int c = task % V * lanes + l;
                if (c >= p->scan.base.channels) continue;
                const origin o = origin_of(p, task / V, e, c);
                const size_t at = (size_t)task * coefs_size(p) + (size_t)(e * lanes + l);
                if (o.index == SIZE_MAX) continue;
                const real d = REGION_AT(real, ws, p->partial)[at];
                const real rate = REGION_AT(real, ws, p->coefs)[at];
                dparams[o.index] += o.is_rate ? d * rate : (real)o.scale * d;
            }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct diagonal_job {
    const diagonal_plan *plan;
    ssm2d_workspace *ws;
    const real *u, *dy;
    real *y, *du;
    plane_strides out; /* of y and dy */
} diagonal_job;

/* The scan of one image, direction and group of vectors. */
typedef struct scan {
    const diagonal_job *job;
    const diagonal_walk *walk;
    int index; /* of the walk */
    tile_task k;
    size_t image, count; /* vectors */
    int emits;           /* whether y is computed */
    scratch s;
} scan;

static const real *coefs_at(const scan *t, size_t v)
{
    const diagonal_plan *p = t->job->plan;
    const size_t vector = (size_t)t->k.first + v;
    return REGION_AT(real, t->job->ws, p->coefs)
           + ((size_t)t->index * (size_t)p->scan.base.vectors + vector) * coefs_size(p);
}

static real *partial_at(const scan *t, size_t v)
{
    const diagonal_plan *p = t->job->plan;
    return REGION_AT(real, t->job->ws, p->partial) + t->k.chunk * all_coefs_size(p)
           + (coefs_at(t, v) - REGION_AT(real, t->job->ws, p->coefs));
}

/* Offsets of gate g's W, bias and A in the coefficients. */
static size_t gate_at(const diagonal_plan *p, int g)
{
    return (size_t)(g * (p->elements - 1) / p->gates) * lanes_of(p);
}
static size_t bias_at(const diagonal_plan *p, int g)
{
    return gate_at(p, g) + (size_t)p->ranks * lanes_of(p);
}

static real *slot_of(const scan *t, real *memory, size_t size, int slot, size_t v)
{
    return memory + ((size_t)max_int(slot, 0) * t->count + v) * size;
}

/* The row's first value in the map of a direction. */
static ptrdiff_t map_row(const scan *t, int row)
{
    const scan_walk *w = &t->walk->cells;
    const scan_layer_plan *p = &t->job->plan->scan;
    return (t->walk->map * (ptrdiff_t)p->cells + w->first + row * w->row) * p->projection.width;
}

static void set_factors(const diagonal_plan *p, int row, scan_line *s)
{
    const real inside = (real)p->inside, corner = (real)p->corner;
    s->first[0] = row ? 1 : 0;
    s->first[1] = row ? 0 : corner;
    s->rest[0] = row ? inside : 0;
    s->rest[1] = row ? inside : 1;
}

static scan_line line_of(const scan *t, int row, int slot, size_t v)
{
    const diagonal_plan *p = t->job->plan;
    const diagonal_walk *k = t->walk;
    const scan_walk *w = &k->cells;
    const size_t lanes = lanes_of(p), cols = (size_t)w->cols;
    const ptrdiff_t cell = (w->first + row * w->row) * p->scan.base.lanes;
    const real *map = scan_map(&p->scan, t->job->ws, t->image) + map_row(t, row);
    const real *coefs = coefs_at(t, v);
    real *steps = slot_of(t, t->s.steps, steps_size(p, w), slot, v);
    scan_line s = {.cols = w->cols,
                   .states = p->states,
                   .step = w->col * p->scan.base.lanes,
                   .map_step = w->col * p->scan.projection.width,
                   .u = t->s.u + v * p->scan.tile + cell,
                   .y = t->emits ? t->s.y + v * p->scan.tile + cell : NULL,
                   .c = map + k->c,
                   .d = coefs + coefs_size(p) - lanes,
                   .gain = (real)p->gain,
                   .left = t->s.left,
                   .up = t->s.carry + v * carry_size(p, w),
                   .kept = slot < 0 ? NULL : slot_of(t, t->s.kept, kept_size(p, w), slot, v)};
    if (p->form == SCAN_LINE) s.left = s.up;
    for (int g = 0; g < DIAGONAL_GATES; g++) {
        const int gate = min_int(g, p->gates - 1);
        s.b[g] = map + k->b[min_int(g, p->sources - 1)];
        s.dt[g] = steps + (size_t)(2 * gate) * cols * lanes;
        s.a[g] = coefs + bias_at(p, gate) + lanes;
    }
    set_factors(p, row, &s);
    return s;
}

static void forward_row(void *arg, int row, int slot)
{
    const scan *t = arg;
    const diagonal_plan *p = t->job->plan;
    const scan_walk *w = &t->walk->cells;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t lanes = lanes_of(p), cols = (size_t)w->cols;
    const real *map = scan_map(&p->scan, t->job->ws, t->image) + map_row(t, row);
    for (size_t v = 0; v < t->count; v++) {
        const real *coefs = coefs_at(t, v);
        real *steps = slot_of(t, t->s.steps, steps_size(p, w), slot, v);
        for (int g = 0; g < p->gates; g++, steps += 2 * cols * lanes) {
            f->product(t->s.raw, (ptrdiff_t)lanes, map + t->walk->rank[g],
                       w->col * p->scan.projection.width, t->walk->rank_step, coefs + gate_at(p, g),
                       (ptrdiff_t)lanes, cols, (size_t)p->ranks, 0);
            f->softplus(steps, steps + cols * lanes, t->s.raw, coefs + bias_at(p, g), cols);
        }
        const scan_line s = line_of(t, row, slot, v);
        f->forward[p->form](&s);
    }
}

/* Gradients of the ranks and of W and bias, from that of dt of every vector. */
static void ranks_back(const scan *t, int row)
{
    const diagonal_plan *p = t->job->plan;
    const scan_walk *w = &t->walk->cells;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t lanes = lanes_of(p), cols = (size_t)w->cols, wide = t->count * lanes;
    const ptrdiff_t step = w->col * p->scan.projection.width;
    const ptrdiff_t at = map_row(t, row);
    const real *map = scan_map(&p->scan, t->job->ws, t->image) + at;
    real *dmap =
        scan_dmap(&p->scan, t->job->ws, (int)(t->k.first / p->scan.groups.group), t->image) + at;
    const size_t padded = (size_t)padded_ranks(p);
    for (int g = 0; g < p->gates; g++) {
        const real *draw = t->s.draw + (size_t)g * cols * wide;
        const real *weights =
            REGION_AT(real, t->job->ws, p->transposed)
            + (row_major(t->index, p->gates, g) * (size_t)p->scan.base.vectors + (size_t)t->k.first)
                  * lanes * padded;
        for (size_t r = 0; r < padded; r += lanes)
            f->product(t->s.dranks + r, (ptrdiff_t)padded, draw, (ptrdiff_t)wide, 1, weights + r,
                       (ptrdiff_t)padded, cols, wide, 0);
        for (size_t j = 0; j < cols; j++)
            for (int r = 0; r < p->ranks; r++)
                dmap[(ptrdiff_t)j * step + t->walk->rank[g] + r * t->walk->rank_step] +=
                    t->s.dranks[j * padded + (size_t)r];
        for (size_t v = 0; v < t->count; v++) {
            real *partial = partial_at(t, v);
            if (!p->heads)
                f->product(partial + gate_at(p, g), (ptrdiff_t)lanes, map + t->walk->rank[g],
                           t->walk->rank_step, step, draw + v * lanes, (ptrdiff_t)wide,
                           (size_t)p->ranks, cols, 1);
            f->product(partial + bias_at(p, g), (ptrdiff_t)lanes,
                       REGION_AT(real, t->job->ws, p->one), 0, 0, draw + v * lanes, (ptrdiff_t)wide,
                       1, cols, 1);
        }
    }
}

/* Adds the gradients of B and C, summed over the channels of the group, to those of the map. */
static void map_back(const scan *t, int row)
{
    const diagonal_plan *p = t->job->plan;
    const scan_walk *w = &t->walk->cells;
    const size_t M = map_columns(p), N = (size_t)p->states, count = (size_t)w->cols * M;
    real *dmap = scan_dmap(&p->scan, t->job->ws, (int)(t->k.first / p->scan.groups.group), t->image)
                 + map_row(t, row);
    memset(t->s.sums, 0, count * sizeof(real));
    scan_simd(&p->scan)->sum_lanes(t->s.sums, t->s.dmap, p->scan.base.lanes, count);
    const real *from = t->s.sums;
    for (int j = 0; j < w->cols; j++, dmap += w->col * p->scan.projection.width) {
        for (int g = 0; g < p->sources; g++)
            for (size_t n = 0; n < N; n++) dmap[(size_t)t->walk->b[g] + n] += *from++;
        for (size_t n = 0; n < N; n++) dmap[(size_t)t->walk->c + n] += *from++;
    }
}

static void backward_row(void *arg, int row, int slot, const real *before)
{
    const scan *t = arg;
    const diagonal_plan *p = t->job->plan;
    const scan_walk *w = &t->walk->cells;
    const size_t lanes = lanes_of(p), cols = (size_t)w->cols, wide = t->count * lanes;
    const size_t states = states_of(p), slots = kept_size(p, w) / cols;
    const ptrdiff_t cell = (w->first + row * w->row) * p->scan.base.lanes;
    memset(t->s.dmap, 0, cols * map_columns(p) * lanes * sizeof(real));
    for (size_t v = 0; v < t->count; v++) {
        const scan_line s = line_of(t, row, slot, v);
        const real *last = slot_of(t, t->s.kept, kept_size(p, w), slot - 1, v);
        real *partial = partial_at(t, v);
        scan_line_back r = {.kept = s.kept,
                            .up_before = slot ? last : before + v * carry_size(p, w),
                            .up_step = (ptrdiff_t)(slot ? slots : states),
                            .dy = t->s.y + v * p->scan.tile + cell,
                            .du = t->s.du + v * p->scan.tile + cell,
                            .dleft = t->s.dleft + v * states,
                            .dup = t->s.dup + v * carry_size(p, w),
                            .ddt = {t->s.ddt, t->s.ddt + cols * lanes},
                            .dmap = t->s.dmap,
                            .dd = partial + coefs_size(p) - lanes};
        if (p->form == SCAN_LINE)
            r.left_before = slot ? last + (cols - 1) * slots : before + v * states;
        for (int g = 0; g < DIAGONAL_GATES; g++)
            r.da[g] = partial + bias_at(p, min_int(g, p->gates - 1)) + lanes;
        scan_simd(&p->scan)->back[p->form](&s, &r);
        for (int g = 0; g < p->gates; g++) {
            const real *slope = s.dt[g] + cols * lanes;
            real *draw = t->s.draw + (size_t)g * cols * wide + v * lanes;
            for (size_t j = 0; j < cols; j++)
                for (size_t l = 0; l < lanes; l++)
                    draw[j * wide + l] = r.ddt[g][j * lanes + l] * slope[j * lanes + l];
        }
    }
    map_back(t, row);
    ranks_back(t, row);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void begin_task(const diagonal_job *job, size_t task, int worker, scan *t)
{
    const diagonal_plan *p = job->plan;
    const tile_groups groups = scan_tiles(&p->scan);
    t->job = job;
    t->k = tile_task_at(&p->scan.base, &groups, task);
    t->count = (size_t)(t->k.end - t->k.first);
    place_scratch(p, t->count,
                  REGION_AT(real, job->ws, p->scan.scratch) + (size_t)worker * p->scan.worker,
                  &t->s);
}

static void run_walks(scan *t, void (*run)(const scan_rows *))
{
    const diagonal_plan *p = t->job->plan;
    for (t->index = 0; t->index < p->walks; t->index++) {
        t->walk = &p->walk[t->index];
        const scan_walk *w = &t->walk->cells;
        const size_t carry = t->count * carry_size(p, w);
        const scan_rows rows = {.rows = w->rows,
                                .block = block_of(p, w, t->count),
                                .size = carry,
                                .carry = t->s.carry,
                                .saved = t->s.saved,
                                .forward = forward_row,
                                .backward = backward_row,
                                .arg = t};
        if (!t->emits) {
            memset(t->s.dleft, 0, t->count * states_of(p) * sizeof(real));
            memset(t->s.dup, 0, carry * sizeof(real));
        }
        run(&rows);
    }
}

static void forward_task(void *arg, size_t task, int worker)
{
    const diagonal_job *job = arg;
    const diagonal_plan *p = job->plan;
    const size_t row = (size_t)p->scan.base.cols * lanes_of(p);
    scan t = {.emits = 1};
    begin_task(job, task, worker, &t);
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        tile_gather(&p->scan.base, &t.k, t.s.u, p->scan.tile, row, job->u, p->scan.base.in,
                    t.image);
        memset(t.s.y, 0, t.count * p->scan.tile * sizeof(real));
        run_walks(&t, scan_rows_forward);
        tile_scatter(&p->scan.base, &t.k, t.s.y, p->scan.tile, row, job->y, job->out, t.image, 0);
    }
}

static plane_strides norm_strides(const diagonal_plan *p)
{
    const ptrdiff_t H = p->scan.base.channels, cols = p->scan.base.cols;
    return (plane_strides){H * cols * p->scan.base.rows, H * cols, H, 1};
}

static void apply(const ssm2d_plan *base, ssm2d_workspace *ws, const void *u, void *y)
{
    const diagonal_plan *p = own(base);
    diagonal_job t = {.plan = p, .ws = ws, .u = u, .y = y, .out = base->out};
    if (p->layer_norm) t.y = REGION_AT(real, ws, p->norm.z), t.out = norm_strides(p);
    scan_projection_forward(&p->scan, ws, u);
    pool_run(base->context->pool, scan_tasks(&p->scan), forward_task, &t);
    if (p->layer_norm) output_norm_apply(base, &p->norm, ws, y);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const diagonal_job *job = arg;
    const diagonal_plan *p = job->plan;
    const size_t row = (size_t)p->scan.base.cols * lanes_of(p);
    scan t = {0};
    begin_task(job, task, worker, &t);
    for (t.index = 0; t.index < p->walks; t.index++)
        memset(partial_at(&t, 0), 0, t.count * coefs_size(p) * sizeof(real));
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        memset(scan_dmap(&p->scan, job->ws, t.k.first / p->scan.groups.group, t.image), 0,
               scan_map_size(&p->scan) * sizeof(real));
        tile_gather(&p->scan.base, &t.k, t.s.u, p->scan.tile, row, job->u, p->scan.base.in,
                    t.image);
        tile_gather(&p->scan.base, &t.k, t.s.y, p->scan.tile, row, job->dy, job->out, t.image);
        memset(t.s.du, 0, t.count * p->scan.tile * sizeof(real));
        run_walks(&t, scan_rows_backward);
        if (job->du)
            tile_scatter(&p->scan.base, &t.k, t.s.du, p->scan.tile, row, job->du, p->scan.base.in,
                         t.image, 1);
    }
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const diagonal_plan *p = own(base);
    diagonal_job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du, .out = base->out};
    if (p->layer_norm) {
        output_norm_backward(base, &p->norm, ws, dy, dparams);
        t.dy = REGION_AT(real, ws, p->norm.dz), t.out = norm_strides(p);
    }
    pool_run(base->context->pool, scan_tasks(&p->scan), backward_task, &t);
    scan_projection_backward(&p->scan, ws, u, du, dparams);
    if (dparams) add_gradients(p, ws, params, dparams);
}

const layer_functions diagonal_functions = {.size = sizeof(real),
                                            .algorithm = algorithm,
                                            .plan = plan,
                                            .cost = cost,
                                            .prepare = prepare,
                                            .apply = apply,
                                            .backward = backward};
