/* selective_execute - planning, forward and backward of ssm2d_selective, for one number type. */
#include "core/status.h"
#include "layers/scan/scan_internal.h"
#include "layers/ssm2d_selective/selective_plan.h"

#include <math.h>
#include <string.h>

static const selective_plan *own(const ssm2d_plan *plan) { return (const selective_plan *)plan; }

static size_t lanes_of(const selective_plan *p) { return (size_t)p->scan.base.lanes; }
/* States are scanned in blocks, so that a row of them and of their gates fits the first cache. */
enum { STATE_BLOCK = 4 };
static size_t states_of(const selective_plan *p) /* of a block */
{
    return (size_t)min_int(p->config.core.d_state, STATE_BLOCK) * lanes_of(p);
}
static size_t all_states(const selective_plan *p)
{
    return (size_t)p->config.core.d_state * lanes_of(p);
}
static size_t cols_of(const selective_plan *p) { return (size_t)p->scan.base.cols; }

/* Elements of one vector: of the carry (states, inputs), which is also what is kept of a row. */
static size_t carry_size(const selective_plan *p)
{
    return cols_of(p) * (4 * states_of(p) + lanes_of(p));
}
/* Of one pattern and row: steps and slopes, gates, C of cells. */
static size_t steps_size(const selective_plan *p) { return 2 * cols_of(p) * lanes_of(p); }
static size_t gates_size(const selective_plan *p) { return cols_of(p) * 4 * states_of(p); }
static size_t c_cell_size(const selective_plan *p)
{
    return p->config.c_cell ? cols_of(p) * 2 * states_of(p) : 0;
}
static size_t shared_size(const selective_plan *p) { return (size_t)p->at.shared * lanes_of(p); }
static size_t own_size(const selective_plan *p) { return (size_t)p->at.own * lanes_of(p); }
static size_t partial_size(const selective_plan *p) /* of a chunk */
{
    return (size_t)(p->config.core.directions * p->scan.base.vectors)
           * (shared_size(p) + own_size(p));
}
static size_t padded_ranks(const selective_plan *p)
{
    return div_up_size((size_t)p->ranks, lanes_of(p)) * lanes_of(p);
}
static size_t back_size(const selective_plan *p) /* of a pattern */
{
    return (lanes_of(p) + (p->config.c_cell ? 2 * all_states(p) : 0)) * padded_ranks(p);
}

/* ---- scratch of one worker ------------------------------------------------------------------- */

typedef struct scratch {
    real *u, *y, *du; /* y: backward has dy in it */
    real *carry, *saved, *kept, *steps, *raw, *gates, *c_cell;
    real *dx, *ddown, *dx_down, *dgates, *dc_cell, *ddt, *dranks;
} scratch;

static real *take(real *memory, size_t *used, size_t elements)
{
    real *at = memory ? memory + *used : NULL;
    const size_t line = 64 / sizeof(real);
    *used += div_up_size(elements, line) * line;
    return at;
}

static int block_of(const selective_plan *p, size_t count)
{
    return scan_rows_block(p->scan.base.rows, count * carry_size(p) * sizeof(real));
}

/* Returns its size in elements; memory may be NULL. */
static size_t place_scratch(const selective_plan *p, size_t count, real *memory, scratch *s)
{
    const size_t lanes = lanes_of(p), cols = cols_of(p), states = states_of(p),
                 patterns = min_size((size_t)p->patterns, count),
                 block = (size_t)block_of(p, count), rows = (size_t)p->scan.base.rows;
    const int training = !p->scan.base.options.inference;
    size_t used = 0;
    s->u = take(memory, &used, count * p->scan.tile);
    s->y = take(memory, &used, count * p->scan.tile);
    s->carry = take(memory, &used, count * carry_size(p));
    s->raw = take(memory, &used, cols * lanes);
    s->gates = take(memory, &used, patterns * gates_size(p));
    s->c_cell = take(memory, &used, patterns * c_cell_size(p));
    s->steps = take(memory, &used, (training ? block : 1) * patterns * steps_size(p));
    if (!training) return used;
    s->du = take(memory, &used, count * p->scan.tile);
    s->saved = take(memory, &used, div_up_size(rows, block) * count * carry_size(p));
    s->kept = take(memory, &used, block * count * carry_size(p));
    s->dx = take(memory, &used, cols * lanes);
    s->ddown = take(memory, &used, count * cols * 3 * states);
    s->dx_down = take(memory, &used, count * cols * lanes);
    s->dgates = take(memory, &used, patterns * gates_size(p));
    s->dc_cell = take(memory, &used, patterns * c_cell_size(p));
    s->ddt = take(memory, &used, patterns * cols * lanes);
    s->dranks = take(memory, &used, cols * padded_ranks(p));
    return used;
}

/* ---- planning -------------------------------------------------------------------------------- */

static const char *algorithm(int i) { return i ? NULL : "scan"; }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    selective_plan *p = (selective_plan *)base;
    scratch none = {0};
    (void)i, (void)error;
    const size_t R = (size_t)p->config.core.directions, V = (size_t)base->vectors,
                 size = sizeof(real);
    p->scan.cells = (size_t)base->rows * (size_t)base->cols;
    p->scan.tile = p->scan.cells * lanes_of(p);
    scan_layout_plan(&p->scan, place_scratch(p, 1, NULL, &none) * size);
    scan_projection_plan(&p->scan);
    p->shared = plan_reserve(base, R * (size_t)p->patterns, shared_size(p) * size);
    p->own = plan_reserve(base, R * V, own_size(p) * size);
    p->one = plan_reserve(base, 1, size);
    if (!base->options.inference) {
        p->back = plan_reserve(base, R * (size_t)p->patterns, back_size(p) * size);
        p->partial = plan_reserve(base, (size_t)p->scan.groups.chunks, partial_size(p) * size);
    }
    const size_t group = (size_t)p->scan.groups.group;
    p->scan.worker = max_size(place_scratch(p, group, NULL, &none), 2 * group * p->scan.tile);
    p->scan.scratch =
        plan_reserve(base, (size_t)pool_threads(base->context->pool), p->scan.worker * size);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *base)
{
    const selective_plan *p = own(base);
    const double cells = (double)base->options.batch * (double)base->rows * base->cols;
    return cells * base->channels * p->config.core.directions * 25.0 * p->config.core.d_state;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* How a coefficient is computed from its parameter; its derivative. */
typedef enum form { SCALED, RATE, SIGMOID } form;

typedef struct origin {
    size_t index; /* SIZE_MAX: the coefficient is 0 */
    double scale;
    form form;
} origin;

static double logistic(double x) { return 1 / (1 + exp(-x)); }

static double value_of(const origin *o, const real *params)
{
    const double x = o->index == SIZE_MAX ? 0 : (double)params[o->index];
    if (o->form == RATE) return fmax(-x, 0) + log1p(exp(-fabs(x)));
    return o->form == SIGMOID ? logistic(x) : o->scale * x;
}

static double slope_of(const origin *o, const real *params)
{
    const double x = (double)params[o->index];
    if (o->form == RATE) return -logistic(-x);
    return o->form == SIGMOID ? logistic(x) * logistic(-x) : o->scale;
}

/* Coefficient e of channel h: of the shared ones, or of its own. */
static origin shared_origin(const selective_plan *p, int walk, int e, int h)
{
    const ssm2d_config *c = &p->config.core;
    const size_t N = (size_t)c->d_state, K = (size_t)config_systems(c), J = (size_t)p->ranks,
                 k = (size_t)system_of(c, walk, h), i = (size_t)e;
    if (e < p->at.b) return (origin){p->a + (i % 4 * K + k) * N + i / 4, 1, RATE};
    if (e < p->at.w2) {
        const size_t in = i - (size_t)p->at.b;
        return (origin){p->b + (in % 2 * K + k) * N + in / 2, 1, SIGMOID};
    }
    if (e < p->at.bias) return (origin){p->w2 + k * J + i - (size_t)p->at.w2, 1, SCALED};
    if (e < p->at.wc) return (origin){p->bias + k, 1, SCALED};
    const size_t in = i - (size_t)p->at.wc, j = in / (2 * N), n = in / 2 % N, m = in % 2;
    return (origin){p->wc + ((m * K + k) * N + n) * J + j, sqrt(1 / (double)N), SCALED};
}

static origin own_origin(const selective_plan *p, int walk, int e, int h)
{
    const ssm2d_config *c = &p->config.core;
    const size_t N = (size_t)c->d_state, rows = (size_t)config_c_rows(c), i = (size_t)e;
    if (e == p->at.d) return (origin){walk || !c->skip ? SIZE_MAX : p->d + (size_t)h, 1, SCALED};
    const size_t row = (size_t)c_row_of(c, walk, h);
    return (origin){p->c + (i % 2 * rows + row) * N + i / 2, sqrt(1 / (double)N), SCALED};
}

typedef struct params_job {
    const selective_plan *plan;
    ssm2d_workspace *ws;
    const real *params;
} params_job;

/* The shared coefficients of one direction and pattern, also those of backward. */
static void prepare_pattern(const params_job *t, int walk, int pattern)
{
    const selective_plan *p = t->plan;
    const int lanes = p->scan.base.lanes, slot = walk * p->patterns + pattern;
    const size_t J = (size_t)p->ranks, padded = padded_ranks(p);
    real *to = REGION_AT(real, t->ws, p->shared) + (size_t)slot * shared_size(p);
    for (int e = 0; e < p->at.shared; e++)
        for (int l = 0; l < lanes; l++) {
            const origin o = shared_origin(p, walk, e, pattern * lanes + l);
            to[e * lanes + l] = (real)value_of(&o, t->params);
        }
    if (!p->back) return;
    real *back = REGION_AT(real, t->ws, p->back) + (size_t)slot * back_size(p);
    memset(back, 0, back_size(p) * sizeof(real));
    const size_t wc = p->config.c_cell ? 2 * all_states(p) : 0;
    for (size_t j = 0; j < J; j++) {
        const real *w2 = to + ((size_t)p->at.w2 + j) * lanes_of(p);
        for (size_t l = 0; l < lanes_of(p); l++) back[l * padded + j] = w2[l];
        const real *from = to + (size_t)p->at.wc * lanes_of(p) + j * wc;
        for (size_t i = 0; i < wc; i++) back[(lanes_of(p) + i) * padded + j] = from[i];
    }
}

static void prepare_vector(void *arg, size_t task, int worker)
{
    (void)worker;
    const params_job *t = arg;
    const selective_plan *p = t->plan;
    const int lanes = p->scan.base.lanes, V = p->scan.base.vectors, walk = (int)task / V,
              v = (int)task % V;
    real *to = REGION_AT(real, t->ws, p->own) + task * own_size(p);
    memset(to, 0, own_size(p) * sizeof(real));
    for (int e = 0; e < p->at.own; e++)
        for (int l = 0; l < lanes && v * lanes + l < p->scan.base.channels; l++) {
            const origin o = own_origin(p, walk, e, v * lanes + l);
            to[e * lanes + l] = (real)value_of(&o, t->params);
        }
    if (v < p->patterns) prepare_pattern(t, walk, v);
}

static void prepare(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params)
{
    const selective_plan *p = own(base);
    params_job t = {p, ws, params};
    *REGION_AT(real, ws, p->one) = 1;
    scan_projection_prepare(&p->scan, ws, params);
    pool_run(base->context->pool, (size_t)(p->config.core.directions * base->vectors),
             prepare_vector, &t);
}

/* Sums the gradients of the chunks of one direction and vector into those of the first chunk. */
static void sum_chunks(void *arg, size_t task, int worker)
{
    (void)worker;
    const params_job *t = arg;
    const selective_plan *p = t->plan;
    const size_t size = shared_size(p) + own_size(p);
    real *to = REGION_AT(real, t->ws, p->partial) + task * size;
    for (int c = 1; c < p->scan.groups.chunks; c++) {
        const real *from = to + (size_t)c * partial_size(p);
        for (size_t i = 0; i < size; i++) to[i] += from[i];
    }
}

/* The gradient of shared coefficients is with the first vectors of each group. */
static void add_gradients(const selective_plan *p, ssm2d_workspace *ws, const real *params,
                          real *dparams)
{
    const int lanes = p->scan.base.lanes, V = p->scan.base.vectors,
              walks = p->config.core.directions;
    const real *from = REGION_AT(real, ws, p->partial);
    params_job t = {p, ws, params};
    pool_run(p->scan.base.context->pool, (size_t)(walks * V), sum_chunks, &t);
    for (int task = 0; task < walks * V; task++) {
        const int v = task % V, walk = task / V;
        const int shared = v % p->scan.groups.group < p->patterns ? p->at.shared : 0;
        for (int e = 0; e < p->at.shared + p->at.own; e++, from += lanes) {
            if (e < p->at.shared && e >= shared) continue;
            for (int l = 0; l < lanes && v * lanes + l < p->scan.base.channels; l++) {
                const origin o = e < shared ? shared_origin(p, walk, e, v * lanes + l)
                                            : own_origin(p, walk, e - p->at.shared, v * lanes + l);
                if (o.index != SIZE_MAX)
                    dparams[o.index] += (real)((double)from[l] * slope_of(&o, params));
            }
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct selective_job {
    const selective_plan *plan;
    ssm2d_workspace *ws;
    const real *u, *dy;
    real *y, *du;
} selective_job;

/* The scan of one image and direction, for a group of vectors. */
typedef struct scan {
    const selective_job *job;
    int walk;
    tile_task k;
    size_t image, count, patterns; /* vectors, and the first of them that have different systems */
    size_t state, states;          /* first state of the block, and number of them */
    int emits;                     /* whether y is computed */
    scratch s;
} scan;

/* Coefficients of the i-th pattern of the group. */
static const real *shared_at(const scan *t, size_t i)
{
    const selective_plan *p = t->job->plan;
    const size_t pattern = ((size_t)t->k.first + i) % (size_t)p->patterns;
    return REGION_AT(real, t->job->ws, p->shared)
           + ((size_t)(t->walk * p->patterns) + pattern) * shared_size(p);
}

static real *partial_at(const scan *t, size_t v)
{
    const selective_plan *p = t->job->plan;
    const size_t vector = (size_t)(t->walk * p->scan.base.vectors + t->k.first) + v;
    return REGION_AT(real, t->job->ws, p->partial) + t->k.chunk * partial_size(p)
           + vector * (shared_size(p) + own_size(p));
}

static real *steps_at(const scan *t, int slot, size_t i)
{
    return t->s.steps + ((size_t)max_int(slot, 0) * t->patterns + i) * steps_size(t->job->plan);
}

static real *kept_at(const scan *t, int slot, size_t v)
{
    return t->s.kept + ((size_t)slot * t->count + v) * carry_size(t->job->plan);
}

static ptrdiff_t first_cell(const scan *t, int row)
{
    const scan_walk *w = &t->job->plan->walk[t->walk];
    return w->first + row * w->row;
}

/* Steps of a row if `steps`, gates and C of cells, for every pattern of the group. */
static void make_gates(const scan *t, int row, int slot, int steps)
{
    const selective_plan *p = t->job->plan;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t lanes = lanes_of(p), cols = cols_of(p), n = t->states;
    const ptrdiff_t width = p->scan.projection.width, step = p->walk[t->walk].col * width,
                    pair = (ptrdiff_t)(2 * lanes);
    const real *z = scan_map(&p->scan, t->job->ws, t->image) + first_cell(t, row) * width;
    for (size_t i = 0; i < t->patterns; i++) {
        const real *c = shared_at(t, i);
        real *dt = steps_at(t, slot, i);
        if (steps) {
            f->product(t->s.raw, (ptrdiff_t)lanes, z, step, 1, c + (size_t)p->at.w2 * lanes,
                       (ptrdiff_t)lanes, cols, (size_t)p->ranks, 0);
            f->softplus(dt, dt + cols * lanes, t->s.raw, c + (size_t)p->at.bias * lanes, cols);
        }
        f->gates(t->s.gates + i * gates_size(p), dt, c + 4 * t->state * lanes, (int)cols, (int)n);
        real *cell = t->s.c_cell + i * c_cell_size(p);
        const real *wc = c + ((size_t)p->at.wc + 2 * t->state) * lanes;
        for (size_t e = 0; p->config.c_cell && e < 2 * n; e++)
            f->product(cell + (e / 2 * cols * 2 + e % 2) * lanes, pair, z, step, 1, wc + e * lanes,
                       (ptrdiff_t)(2 * all_states(p)), cols, (size_t)p->ranks, 0);
    }
}

static scan_step_row row_of(const scan *t, int row, int slot, const real *before, size_t v)
{
    const selective_plan *p = t->job->plan;
    const ssm2d_config *c = &p->config.core;
    const scan_walk *w = &p->walk[t->walk];
    const size_t lanes = lanes_of(p), i = v % t->patterns, inputs = cols_of(p) * 4 * states_of(p);
    const ptrdiff_t cell = first_cell(t, row) * p->scan.base.lanes;
    const real *mine = REGION_AT(real, t->job->ws, p->own)
                       + ((size_t)(t->walk * p->scan.base.vectors + t->k.first) + v) * own_size(p);
    real *now = slot < 0 ? t->s.carry + v * carry_size(p) : kept_at(t, slot, v);
    const real *last = slot > 0 ? kept_at(t, slot - 1, v) : before + v * carry_size(p);
    return (scan_step_row){.cols = w->cols,
                           .states = (int)t->states,
                           .step = w->col * p->scan.base.lanes,
                           .u = t->s.u + v * p->scan.tile + cell,
                           .y = t->emits ? t->s.y + v * p->scan.tile + cell : NULL,
                           .dt = p->config.input_dt ? steps_at(t, slot, i) : NULL,
                           .gates = t->s.gates + i * gates_size(p),
                           .b = shared_at(t, i) + ((size_t)p->at.b + 2 * t->state) * lanes,
                           .c = mine + 2 * t->state * lanes,
                           .c_cell = p->config.c_cell ? t->s.c_cell + i * c_cell_size(p) : NULL,
                           .skip = t->state ? NULL : mine + (size_t)p->at.d * lanes,
                           .same = c->norm == SSM2D_NORM_HALF ? (real)0.5 : 1,
                           .other = c->norm == SSM2D_NORM_NONE ? 1 : (real)0.5,
                           .before = last,
                           .x_before = last + inputs,
                           .now = now,
                           .x_now = slot < 0 ? t->s.raw : now + inputs};
}

static void forward_row(void *arg, int row, int slot)
{
    const scan *t = arg;
    const selective_plan *p = t->job->plan;
    make_gates(t, row, slot, 1);
    for (size_t v = 0; v < t->count; v++) {
        const scan_step_row s = row_of(t, row, slot, t->s.carry, v);
        scan_simd(&p->scan)->step_forward(&s);
        /* the row reads the inputs of the one before to its end */
        if (slot < 0)
            memcpy(t->s.carry + v * carry_size(p) + (s.x_before - s.before), s.x_now,
                   cols_of(p) * lanes_of(p) * sizeof(real));
    }
}

/* From the gradient of a row's gates, steps and C of cells to that of z and of parameters. */
static void gates_back(const scan *t, int row, int slot)
{
    const selective_plan *p = t->job->plan;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t lanes = lanes_of(p), cols = cols_of(p), n = t->states, J = (size_t)p->ranks,
                 padded = padded_ranks(p);
    const ptrdiff_t width = p->scan.projection.width, step = p->walk[t->walk].col * width,
                    at = first_cell(t, row) * width, pair = (ptrdiff_t)(2 * lanes);
    const real *z = scan_map(&p->scan, t->job->ws, t->image) + at;
    real *dz = scan_dmap(&p->scan, t->job->ws, t->k.first / p->scan.groups.group, t->image) + at;
    for (size_t i = 0; i < t->patterns; i++) {
        const real *dt = steps_at(t, slot, i), *slope = dt + cols * lanes;
        const size_t pattern = ((size_t)t->k.first + i) % (size_t)p->patterns;
        const real *back = REGION_AT(real, t->job->ws, p->back)
                           + ((size_t)(t->walk * p->patterns) + pattern) * back_size(p);
        real *partial = partial_at(t, i), *draw = t->s.ddt + i * cols * lanes;
        const real *dc = t->s.dc_cell + i * c_cell_size(p);
        const size_t first = 4 * t->state * lanes;
        f->gates_back(draw, partial + first, t->s.dgates + i * gates_size(p),
                      t->s.gates + i * gates_size(p), dt, shared_at(t, i) + first, (int)cols,
                      (int)n);
        for (size_t l = 0; l < cols * lanes; l++) draw[l] *= slope[l];
        f->product(partial + (size_t)p->at.w2 * lanes, (ptrdiff_t)lanes, z, 1, step, draw,
                   (ptrdiff_t)lanes, J, cols, 1);
        f->product(partial + (size_t)p->at.bias * lanes, (ptrdiff_t)lanes,
                   REGION_AT(real, t->job->ws, p->one), 0, 0, draw, (ptrdiff_t)lanes, 1, cols, 1);
        for (size_t j = 0; j < padded; j += lanes)
            f->product(t->s.dranks + j, (ptrdiff_t)padded, draw, (ptrdiff_t)lanes, 1, back + j,
                       (ptrdiff_t)padded, cols, lanes, 0);
        if (p->config.c_cell) {
            for (size_t e = 0; e < 2 * n; e++)
                f->product(partial + ((size_t)p->at.wc + 2 * t->state + e) * lanes,
                           (ptrdiff_t)(2 * all_states(p)), z, 1, step,
                           dc + (e / 2 * cols * 2 + e % 2) * lanes, pair, J, cols, 1);
            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j < padded; j += lanes)
                    f->product(t->s.dranks + j, (ptrdiff_t)padded, dc + k * cols * 2 * lanes, pair,
                               1, back + (1 + 2 * (t->state + k)) * lanes * padded + j,
                               (ptrdiff_t)padded, cols, 2 * lanes, 1);
        }
        for (size_t j = 0; j < cols; j++)
            for (size_t r = 0; r < J; r++)
                dz[(ptrdiff_t)j * step + (ptrdiff_t)r] += t->s.dranks[j * padded + r];
    }
}

static void backward_row(void *arg, int row, int slot, const real *before)
{
    const scan *t = arg;
    const selective_plan *p = t->job->plan;
    const size_t lanes = lanes_of(p), cols = cols_of(p), states = states_of(p),
                 shared = shared_size(p);
    const ptrdiff_t cell = first_cell(t, row) * p->scan.base.lanes;
    make_gates(t, row, slot, 0);
    memset(t->s.dgates, 0, t->patterns * gates_size(p) * sizeof(real));
    memset(t->s.dc_cell, 0, t->patterns * c_cell_size(p) * sizeof(real));
    memset(t->s.ddt, 0, t->patterns * cols * lanes * sizeof(real));
    for (size_t v = 0; v < t->count; v++) {
        const size_t i = v % t->patterns;
        const scan_step_row s = row_of(t, row, slot, before, v);
        real *mine = partial_at(t, v) + shared;
        const scan_step_back r = {.dy = t->s.y + v * p->scan.tile + cell,
                                  .du = t->s.du + v * p->scan.tile + cell,
                                  .ddown = t->s.ddown + v * cols * 3 * states,
                                  .dx_down = t->s.dx_down + v * cols * lanes,
                                  .dx = t->s.dx,
                                  .dgates = t->s.dgates + i * gates_size(p),
                                  .db = partial_at(t, i) + ((size_t)p->at.b + 2 * t->state) * lanes,
                                  .dc = mine + 2 * t->state * lanes,
                                  .dc_cell =
                                      p->config.c_cell ? t->s.dc_cell + i * c_cell_size(p) : NULL,
                                  .ddt = t->s.ddt + i * cols * lanes,
                                  .dskip = mine + (size_t)p->at.d * lanes};
        scan_simd(&p->scan)->step_back(&s, &r);
    }
    gates_back(t, row, slot);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void begin_task(const selective_job *job, size_t task, int worker, scan *t)
{
    const selective_plan *p = job->plan;
    const tile_groups groups = scan_tiles(&p->scan);
    t->job = job;
    t->k = tile_task_at(&p->scan.base, &groups, task);
    t->count = (size_t)(t->k.end - t->k.first);
    t->patterns = min_size((size_t)p->patterns, t->count);
    place_scratch(p, t->count,
                  REGION_AT(real, job->ws, p->scan.scratch) + (size_t)worker * p->scan.worker,
                  &t->s);
}

static void run_walks(scan *t, void (*run)(const scan_rows *))
{
    const selective_plan *p = t->job->plan;
    const scan_rows rows = {.rows = p->scan.base.rows,
                            .block = block_of(p, t->count),
                            .size = t->count * carry_size(p),
                            .carry = t->s.carry,
                            .saved = t->s.saved,
                            .forward = forward_row,
                            .backward = backward_row,
                            .arg = t};
    const size_t N = (size_t)p->config.core.d_state;
    for (t->walk = 0; t->walk < p->config.core.directions; t->walk++)
        for (t->state = 0; t->state < N; t->state += STATE_BLOCK) {
            t->states = min_size(STATE_BLOCK, N - t->state);
            if (!t->emits) {
                memset(t->s.ddown, 0, t->count * cols_of(p) * 3 * states_of(p) * sizeof(real));
                memset(t->s.dx_down, 0, t->count * cols_of(p) * lanes_of(p) * sizeof(real));
            }
            run(&rows);
        }
}

static void forward_task(void *arg, size_t task, int worker)
{
    const selective_job *job = arg;
    const selective_plan *p = job->plan;
    const ssm2d_plan *base = &p->scan.base;
    const size_t row = cols_of(p) * lanes_of(p);
    scan t = {.emits = 1};
    begin_task(job, task, worker, &t);
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        tile_gather(base, &t.k, t.s.u, p->scan.tile, row, job->u, base->in, t.image);
        memset(t.s.y, 0, t.count * p->scan.tile * sizeof(real));
        run_walks(&t, scan_rows_forward);
        tile_scatter(base, &t.k, t.s.y, p->scan.tile, row, job->y, base->out, t.image, 0);
    }
}

static void apply(const ssm2d_plan *base, ssm2d_workspace *ws, const void *u, void *y)
{
    const selective_plan *p = own(base);
    selective_job t = {.plan = p, .ws = ws, .u = u, .y = y};
    scan_projection_forward(&p->scan, ws, u);
    pool_run(base->context->pool, scan_tasks(&p->scan), forward_task, &t);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const selective_job *job = arg;
    const selective_plan *p = job->plan;
    const ssm2d_plan *base = &p->scan.base;
    const size_t row = cols_of(p) * lanes_of(p);
    scan t = {0};
    begin_task(job, task, worker, &t);
    for (t.walk = 0; t.walk < p->config.core.directions; t.walk++)
        memset(partial_at(&t, 0), 0, t.count * (shared_size(p) + own_size(p)) * sizeof(real));
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        memset(scan_dmap(&p->scan, job->ws, t.k.first / p->scan.groups.group, t.image), 0,
               scan_map_size(&p->scan) * sizeof(real));
        tile_gather(base, &t.k, t.s.u, p->scan.tile, row, job->u, base->in, t.image);
        tile_gather(base, &t.k, t.s.y, p->scan.tile, row, job->dy, base->out, t.image);
        memset(t.s.du, 0, t.count * p->scan.tile * sizeof(real));
        run_walks(&t, scan_rows_backward);
        if (job->du)
            tile_scatter(base, &t.k, t.s.du, p->scan.tile, row, job->du, base->in, t.image, 1);
    }
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const selective_plan *p = own(base);
    selective_job t = {.plan = p, .ws = ws, .u = u, .dy = dy, .du = du};
    pool_run(base->context->pool, scan_tasks(&p->scan), backward_task, &t);
    scan_projection_backward(&p->scan, ws, u, du, dparams);
    if (dparams) add_gradients(p, ws, params, dparams);
}

const layer_functions selective_functions = {.size = sizeof(real),
                                             .algorithm = algorithm,
                                             .plan = plan,
                                             .cost = cost,
                                             .prepare = prepare,
                                             .apply = apply,
                                             .backward = backward};
