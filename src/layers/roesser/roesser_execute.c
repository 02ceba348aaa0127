/* roesser_execute - planning, forward and backward of the selective Roesser model, for one number
 * type. Gates, keys and queries belong to heads; a row spreads them to channels, and adds up
 * gradients of the channels of a head. */
#include "core/status.h"
#include "layers/roesser/roesser_plan.h"
#include "layers/scan/scan_internal.h"

#include <math.h>
#include <string.h>

static const roesser_plan *own(const ssm2d_plan *plan) { return (const roesser_plan *)plan; }

static size_t lanes_of(const roesser_plan *p) { return (size_t)p->scan.base.lanes; }
static size_t cols_of(const roesser_plan *p) { return (size_t)p->scan.base.cols; }
static size_t heads_of(const roesser_plan *p) { return (size_t)p->config.heads; }
static size_t carry_size(const roesser_plan *p) /* also of keys and queries of a row */
{
    return cols_of(p) * (size_t)p->config.d_qk * lanes_of(p);
}
static size_t biases_size(const roesser_plan *p)
{
    return (size_t)(roesser_linear(&p->config) * p->config.directions + 1) * heads_of(p);
}
/* Elements of one value of a row, in whole vectors. */
static size_t values_size(const roesser_plan *p)
{
    return div_up_size(cols_of(p) * heads_of(p), lanes_of(p)) * lanes_of(p);
}

typedef struct scratch {
    real *y, *carry, *saved, *left, *kept;
    real *values, *heads, *gates, *q, *k, *direct; /* of a row */
    real *dright, *ddown, *dq, *dk, *dgates, *collected, *dheads;
} scratch;

static real *take(real *memory, size_t *used, size_t elements)
{
    real *at = memory ? memory + *used : NULL;
    const size_t line = 64 / sizeof(real);
    *used += div_up_size(elements, line) * line;
    return at;
}

static int block_of(const roesser_plan *p, size_t count)
{
    return scan_rows_block(p->scan.base.rows, 2 * count * carry_size(p) * sizeof(real));
}

static size_t place_scratch(const roesser_plan *p, size_t count, real *memory, scratch *s)
{
    const size_t lanes = lanes_of(p), cols = cols_of(p), states = (size_t)p->config.d_qk,
                 block = (size_t)block_of(p, count), rows = (size_t)p->scan.base.rows,
                 padded = (size_t)p->padded_heads;
    size_t used = 0;
    s->y = take(memory, &used, count * p->scan.tile);
    s->carry = take(memory, &used, count * carry_size(p));
    s->left = take(memory, &used, states * lanes);
    s->values = take(memory, &used, (size_t)roesser_linear(&p->config) * values_size(p));
    s->heads = take(memory, &used, cols * ROESSER_GATES * heads_of(p));
    s->gates = take(memory, &used, cols * ROESSER_GATES * lanes);
    s->q = take(memory, &used, carry_size(p));
    s->k = take(memory, &used, carry_size(p));
    s->direct = take(memory, &used, 2 * values_size(p) + cols * lanes);
    if (p->scan.base.options.inference) return used;
    s->saved = take(memory, &used, div_up_size(rows, block) * count * carry_size(p));
    s->kept = take(memory, &used, 2 * block * count * carry_size(p));
    s->dright = take(memory, &used, states * lanes);
    s->ddown = take(memory, &used, count * carry_size(p));
    s->dq = take(memory, &used, carry_size(p));
    s->dk = take(memory, &used, carry_size(p));
    s->dgates = take(memory, &used, cols * ROESSER_GATES * lanes);
    s->collected = take(memory, &used, cols * max_size(ROESSER_GATES, states) * padded);
    s->dheads = take(memory, &used, cols * ROESSER_GATES * heads_of(p));
    return used;
}

/* ---- planning -------------------------------------------------------------------------------- */

static const char *algorithm(int i) { return i ? NULL : "scan"; }

static ssm2d_status plan(ssm2d_plan *base, int i, ssm2d_error *error)
{
    roesser_plan *p = (roesser_plan *)base;
    scratch none = {0};
    (void)i, (void)error;
    const size_t V = (size_t)base->vectors, size = sizeof(real);
    p->scan.cells = (size_t)base->rows * cols_of(p);
    p->scan.tile = p->scan.cells * lanes_of(p);
    scan_layout_plan(&p->scan, place_scratch(p, 1, NULL, &none) * size);
    scan_projection_plan(&p->scan);
    p->biases = plan_reserve(base, biases_size(p), size);
    p->spread = plan_reserve(base, V * heads_of(p), lanes_of(p) * size);
    p->collect = plan_reserve(base, V * lanes_of(p), (size_t)p->padded_heads * size);
    if (!base->options.inference)
        p->dbiases = plan_reserve(base, (size_t)(p->scan.groups.chunks * p->scan.groups.groups),
                                  biases_size(p) * size);
    const size_t group = (size_t)p->scan.groups.group;
    p->scan.worker = max_size(place_scratch(p, group, NULL, &none), 2 * group * p->scan.tile);
    p->scan.scratch =
        plan_reserve(base, (size_t)pool_threads(base->context->pool), p->scan.worker * size);
    return SSM2D_OK;
}

static double cost(const ssm2d_plan *base)
{
    const roesser_plan *p = own(base);
    const double cells = (double)base->options.batch * (double)base->rows * base->cols;
    return cells * base->channels * p->config.directions * 10.0 * p->config.d_qk;
}

static void prepare(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params)
{
    const roesser_plan *p = own(base);
    const real *from = params;
    const size_t lanes = lanes_of(p), heads = heads_of(p),
                 each = (size_t)p->config.directions * heads;
    real *biases = REGION_AT(real, ws, p->biases);
    scan_projection_prepare(&p->scan, ws, from);
    for (int i = 0; i < roesser_linear(&p->config); i++, biases += each)
        memcpy(biases, from + p->bias[i], each * sizeof(real));
    memcpy(biases, from + p->direct_bias, heads * sizeof(real));
    real *spread = REGION_AT(real, ws, p->spread), *collect = REGION_AT(real, ws, p->collect);
    memset(spread, 0, (size_t)base->vectors * heads * lanes * sizeof(real));
    memset(collect, 0, (size_t)base->vectors * lanes * (size_t)p->padded_heads * sizeof(real));
    for (size_t c = 0; c < (size_t)base->channels; c++) {
        const size_t head = c / (size_t)p->config.d_v;
        spread[(c / lanes * heads + head) * lanes + c % lanes] = 1;
        collect[c * (size_t)p->padded_heads + head] = 1;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct roesser_job {
    const roesser_plan *plan;
    ssm2d_workspace *ws;
    const real *dy;
    real *y;
} roesser_job;

typedef struct scan {
    const roesser_job *job;
    int walk;
    tile_task k;
    size_t image, count;
    int emits;
    scratch s;
} scan;

static ptrdiff_t map_row(const scan *t, int row)
{
    const roesser_plan *p = t->job->plan;
    const scan_walk *w = &p->walk[t->walk];
    return (w->first + row * w->row) * p->scan.projection.width;
}

static ptrdiff_t map_step(const scan *t)
{
    const roesser_plan *p = t->job->plan;
    return p->walk[t->walk].col * p->scan.projection.width;
}

static const real *map_of(const scan *t, int row)
{
    return scan_map(&t->job->plan->scan, t->job->ws, t->image) + map_row(t, row);
}

static real *dmap_of(const scan *t, int row)
{
    const roesser_plan *p = t->job->plan;
    return scan_dmap(&p->scan, t->job->ws, t->k.first / p->scan.groups.group, t->image)
           + map_row(t, row);
}

/* The column of value i of this direction, and the factor of the product with the input. */
static int column_of(const scan *t, int i)
{
    const roesser_config *c = &t->job->plan->config;
    return t->job->plan->linear_at + (i * c->directions + t->walk) * c->heads;
}
static real factor_of(const roesser_config *c, int i)
{
    return c->mode == ROESSER_P && i == 0 ? (real)(0.5 / c->channels) : 1;
}
static real slope_at(const roesser_config *c, int i, real y)
{
    if (roesser_is_transition(c, i) && c->transition == ROESSER_TANH) return 5 * (1 - y * y);
    return y * (1 - y);
}

/* The gates of a head from its values, which are `step` elements apart; and the adjoint. */
static void gates_of(const roesser_config *c, const real *x, size_t step, real *g, size_t heads)
{
    real out[ROESSER_GATES];
    if (c->mode == ROESSER_P) {
        const real o = x[0], s = o * x[step], t = o * x[2 * step], m = x[3 * step];
        const real all[ROESSER_GATES] = {s, 1 - s, m, m, t, t, 1 - t, 1 - t};
        memcpy(out, all, sizeof out);
    } else {
        const real turn = x[6 * step];
        const real all[ROESSER_GATES] = {x[0],
                                         x[step],
                                         x[2 * step],
                                         x[3 * step],
                                         x[4 * step],
                                         c->chirality ? 0 : turn,
                                         c->chirality ? turn : 0,
                                         x[5 * step]};
        memcpy(out, all, sizeof out);
    }
    for (int i = 0; i < ROESSER_GATES; i++) g[(size_t)i * heads] = out[i];
}

static void gates_adjoint(const roesser_config *c, const real *x, size_t step, const real *dg,
                          size_t heads, real *dx)
{
    real d[ROESSER_GATES];
    for (int i = 0; i < ROESSER_GATES; i++) d[i] = dg[(size_t)i * heads];
    if (c->mode == ROESSER_P) {
        const real ds = d[ROESSER_S_R] - d[ROESSER_S_D];
        const real dt = (d[ROESSER_T_RL] + d[ROESSER_T_RU]) - (d[ROESSER_T_DL] + d[ROESSER_T_DU]);
        dx[0] = ds * x[step] + dt * x[2 * step];
        dx[1] = ds * x[0];
        dx[2] = dt * x[0];
        dx[3] = d[ROESSER_M_L] + d[ROESSER_M_U];
    } else {
        const real all[ROESSER_LINEAR] = {d[ROESSER_S_R],
                                          d[ROESSER_S_D],
                                          d[ROESSER_M_L],
                                          d[ROESSER_M_U],
                                          d[ROESSER_T_RL],
                                          d[ROESSER_T_DU],
                                          d[c->chirality ? ROESSER_T_DL : ROESSER_T_RU]};
        memcpy(dx, all, sizeof all);
    }
}

/* Values and gates of the heads of a row. */
static void make_heads(const scan *t, int row)
{
    const roesser_plan *p = t->job->plan;
    const roesser_config *c = &p->config;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t heads = heads_of(p), cols = cols_of(p), size = values_size(p);
    const real *map = map_of(t, row);
    for (int i = 0; i < roesser_linear(c); i++) {
        real *x = t->s.values + (size_t)i * size;
        const int tanh_of = roesser_is_transition(c, i) && c->transition == ROESSER_TANH;
        const real *bias =
            REGION_AT(real, t->job->ws, p->biases) + (size_t)(i * c->directions + t->walk) * heads;
        for (size_t j = 0; j < cols; j++)
            for (size_t h = 0; h < heads; h++)
                x[j * heads + h] =
                    (tanh_of ? 5 : 1)
                    * (bias[h]
                       + factor_of(c, i)
                             * map[(ptrdiff_t)j * map_step(t) + column_of(t, i) + (ptrdiff_t)h]);
        (tanh_of ? f->tanh : f->sigmoid)(x, x, size / lanes_of(p));
    }
    for (size_t j = 0; j < cols; j++)
        for (size_t h = 0; h < heads; h++)
            gates_of(c, t->s.values + j * heads + h, size,
                     t->s.heads + j * ROESSER_GATES * heads + h, heads);
}

/* The same for the channels of vector v, with keys and queries. */
static scan_roesser_row row_of(const scan *t, int row, int slot, size_t v)
{
    const roesser_plan *p = t->job->plan;
    const roesser_config *c = &p->config;
    const scan_functions *f = scan_simd(&p->scan);
    const size_t lanes = lanes_of(p), heads = heads_of(p), cols = cols_of(p),
                 states = (size_t)c->d_qk;
    const real *spread =
        REGION_AT(real, t->job->ws, p->spread) + ((size_t)t->k.first + v) * heads * lanes;
    const real *map = map_of(t, row);
    const scan_walk *w = &p->walk[t->walk];
    const ptrdiff_t cell = (w->first + row * w->row) * p->scan.base.lanes;
    f->product(t->s.gates, (ptrdiff_t)lanes, t->s.heads, (ptrdiff_t)heads, 1, spread,
               (ptrdiff_t)lanes, cols * ROESSER_GATES, heads, 0);
    for (size_t n = 0; n < states; n++) {
        f->product(t->s.q + n * lanes, (ptrdiff_t)(states * lanes), map + n, map_step(t), c->d_qk,
                   spread, (ptrdiff_t)lanes, cols, heads, 0);
        f->product(t->s.k + n * lanes, (ptrdiff_t)(states * lanes), map + p->k_at + n, map_step(t),
                   c->d_qk, spread, (ptrdiff_t)lanes, cols, heads, 0);
    }
    return (scan_roesser_row){
        .cols = w->cols,
        .states = c->d_qk,
        .step = w->col * p->scan.base.lanes,
        .v_step = map_step(t),
        .scale = (real)(1 / sqrt(c->d_qk)),
        .v = map + p->v_at + ((size_t)t->k.first + v) * lanes,
        .y = t->emits ? t->s.y + v * p->scan.tile + cell : NULL,
        .q = t->s.q,
        .k = t->s.k,
        .gates = t->s.gates,
        .left = t->s.left,
        .up = t->s.carry + v * carry_size(p),
        .kept = slot < 0 ? NULL : t->s.kept + 2 * ((size_t)slot * t->count + v) * carry_size(p)};
}

/* direct and z*(q.k) of the heads of a row: [cols][heads] each. */
static void make_direct(const scan *t, int row)
{
    const roesser_plan *p = t->job->plan;
    const size_t heads = heads_of(p), cols = cols_of(p), states = (size_t)p->config.d_qk;
    const real scale = (real)(1 / sqrt(p->config.d_qk));
    real *direct = t->s.direct, *product = direct + values_size(p);
    const real *bias = REGION_AT(real, t->job->ws, p->biases) + biases_size(p) - heads;
    for (size_t j = 0; j < cols; j++) {
        const real *map = map_of(t, row) + (ptrdiff_t)j * map_step(t);
        for (size_t h = 0; h < heads; h++) {
            const real *q = map + h * states, *k = q + p->k_at;
            real sum = 0;
            for (size_t n = 0; n < states; n++) sum += q[n] * k[n];
            direct[j * heads + h] = bias[h] + map[(size_t)p->direct_at + h];
            product[j * heads + h] = scale * sum;
        }
    }
    scan_simd(&p->scan)->sigmoid(direct, direct, values_size(p) / lanes_of(p));
}

/* y += direct*z*(q.k)*v; leaves the factor of v in t->s.direct, after its two parts. */
static real *direct_factors(const scan *t, size_t v)
{
    const roesser_plan *p = t->job->plan;
    const size_t heads = heads_of(p), cols = cols_of(p), lanes = lanes_of(p);
    const real *direct = t->s.direct, *product = direct + values_size(p);
    real *factor = t->s.direct + 2 * values_size(p);
    const real *spread =
        REGION_AT(real, t->job->ws, p->spread) + ((size_t)t->k.first + v) * heads * lanes;
    memset(factor, 0, cols * lanes * sizeof(real));
    for (size_t j = 0; j < cols; j++)
        for (size_t h = 0; h < heads; h++)
            for (size_t l = 0; l < lanes; l++)
                factor[j * lanes + l] +=
                    direct[j * heads + h] * product[j * heads + h] * spread[h * lanes + l];
    return factor;
}

static void forward_row(void *arg, int row, int slot)
{
    const scan *t = arg;
    const roesser_plan *p = t->job->plan;
    const size_t lanes = lanes_of(p);
    make_heads(t, row);
    if (t->emits && !t->walk) make_direct(t, row);
    for (size_t v = 0; v < t->count; v++) {
        const scan_roesser_row s = row_of(t, row, slot, v);
        scan_simd(&p->scan)->roesser_forward(&s);
        if (!t->emits || t->walk) continue;
        const real *factor = direct_factors(t, v);
        for (ptrdiff_t j = 0; j < s.cols; j++)
            for (size_t l = 0; l < lanes; l++)
                s.y[j * s.step + (ptrdiff_t)l] +=
                    factor[(size_t)j * lanes + l] * s.v[j * s.v_step + (ptrdiff_t)l];
    }
}

/* The direct term of a row for vector v: adds to dmap, and to the gradient of its bias. */
static void direct_back(const scan *t, int row, size_t v, const scan_roesser_row *s, const real *dy,
                        real *dbias)
{
    const roesser_plan *p = t->job->plan;
    const size_t heads = heads_of(p), lanes = lanes_of(p), states = (size_t)p->config.d_qk;
    const real scale = (real)(1 / sqrt(p->config.d_qk));
    const real *factor = direct_factors(t, v);
    const real *collect = REGION_AT(real, t->job->ws, p->collect)
                          + ((size_t)t->k.first + v) * lanes * (size_t)p->padded_heads;
    for (ptrdiff_t j = 0; j < s->cols; j++) {
        const real *map = map_of(t, row) + j * map_step(t), *d = dy + j * s->step;
        const real *values = s->v + j * s->v_step;
        real *dmap = dmap_of(t, row) + j * map_step(t);
        real *dv = dmap + p->v_at + ((size_t)t->k.first + v) * lanes;
        for (size_t l = 0; l < lanes; l++) dv[l] += factor[(size_t)j * lanes + l] * d[l];
        for (size_t h = 0; h < heads; h++) {
            const real direct = t->s.direct[(size_t)j * heads + h],
                       product = t->s.direct[values_size(p) + (size_t)j * heads + h];
            real along = 0; /* v.dy */
            for (size_t l = 0; l < lanes; l++)
                along += collect[l * (size_t)p->padded_heads + h] * values[l] * d[l];
            const real dlinear = along * product * direct * (1 - direct);
            dmap[(size_t)p->direct_at + h] += dlinear;
            dbias[h] += dlinear;
            for (size_t n = 0; n < states; n++) {
                const size_t q = h * states + n, k = (size_t)p->k_at + q;
                dmap[q] += scale * direct * along * map[k];
                dmap[k] += scale * direct * along * map[q];
            }
        }
    }
}

/* Adds a gradient of keys or queries, summed over the channels of each head, to columns of dmap. */
static void collect_states(const scan *t, int row, size_t v, const real *d, int column)
{
    const roesser_plan *p = t->job->plan;
    const size_t lanes = lanes_of(p), heads = heads_of(p), cols = cols_of(p),
                 states = (size_t)p->config.d_qk, padded = (size_t)p->padded_heads;
    const real *collect =
        REGION_AT(real, t->job->ws, p->collect) + ((size_t)t->k.first + v) * lanes * padded;
    for (size_t h = 0; h < padded; h += lanes)
        scan_simd(&p->scan)->product(t->s.collected + h, (ptrdiff_t)padded, d, (ptrdiff_t)lanes, 1,
                                     collect + h, (ptrdiff_t)padded, cols * states, lanes, 0);
    for (size_t j = 0; j < cols; j++) {
        real *dmap = dmap_of(t, row) + (ptrdiff_t)j * map_step(t) + column;
        for (size_t n = 0; n < states; n++)
            for (size_t h = 0; h < heads; h++)
                dmap[h * states + n] += t->s.collected[(j * states + n) * padded + h];
    }
}

/* Adds the gradient of a vector's gates to that of the heads'. */
static void collect_gates(const scan *t, size_t v)
{
    const roesser_plan *p = t->job->plan;
    const size_t lanes = lanes_of(p), heads = heads_of(p), rows = cols_of(p) * ROESSER_GATES,
                 padded = (size_t)p->padded_heads;
    const real *collect =
        REGION_AT(real, t->job->ws, p->collect) + ((size_t)t->k.first + v) * lanes * padded;
    for (size_t h = 0; h < padded; h += lanes)
        scan_simd(&p->scan)->product(t->s.collected + h, (ptrdiff_t)padded, t->s.dgates,
                                     (ptrdiff_t)lanes, 1, collect + h, (ptrdiff_t)padded, rows,
                                     lanes, 0);
    for (size_t i = 0; i < rows; i++)
        for (size_t h = 0; h < heads; h++)
            t->s.dheads[i * heads + h] += t->s.collected[i * padded + h];
}

static real *dbiases_of(const scan *t)
{
    const roesser_plan *p = t->job->plan;
    const size_t group = (size_t)(t->k.first / p->scan.groups.group);
    return REGION_AT(real, t->job->ws, p->dbiases)
           + (t->k.chunk * (size_t)p->scan.groups.groups + group) * biases_size(p);
}

/* From gates of heads to columns of dmap and biases. */
static void heads_back(const scan *t, int row)
{
    const roesser_plan *p = t->job->plan;
    const roesser_config *c = &p->config;
    const size_t heads = heads_of(p), size = values_size(p);
    real dx[ROESSER_LINEAR];
    for (size_t j = 0; j < cols_of(p); j++)
        for (size_t h = 0; h < heads; h++) {
            const real *x = t->s.values + j * heads + h;
            real *dmap = dmap_of(t, row) + (ptrdiff_t)j * map_step(t);
            gates_adjoint(c, x, size, t->s.dheads + j * ROESSER_GATES * heads + h, heads, dx);
            for (int i = 0; i < roesser_linear(c); i++) {
                const real d = dx[i] * slope_at(c, i, x[(size_t)i * size]);
                dmap[(size_t)column_of(t, i) + h] += factor_of(c, i) * d;
                dbiases_of(t)[(size_t)(i * c->directions + t->walk) * heads + h] += d;
            }
        }
}

static void backward_row(void *arg, int row, int slot, const real *before)
{
    const scan *t = arg;
    const roesser_plan *p = t->job->plan;
    const scan_walk *w = &p->walk[t->walk];
    const size_t lanes = lanes_of(p), cols = cols_of(p);
    (void)before; /* a cell keeps what it saw of the row before */
    make_heads(t, row);
    if (!t->walk) make_direct(t, row);
    memset(t->s.dheads, 0, cols * ROESSER_GATES * heads_of(p) * sizeof(real));
    for (size_t v = 0; v < t->count; v++) {
        const scan_roesser_row s = row_of(t, row, slot, v);
        const real *dy = t->s.y + v * p->scan.tile + (w->first + row * w->row) * p->scan.base.lanes;
        const scan_roesser_back r = {.dy = dy,
                                     .dv = dmap_of(t, row) + p->v_at
                                           + ((size_t)t->k.first + v) * lanes,
                                     .dright = t->s.dright,
                                     .ddown = t->s.ddown + v * carry_size(p),
                                     .dq = t->s.dq,
                                     .dk = t->s.dk,
                                     .dgates = t->s.dgates};
        scan_simd(&p->scan)->roesser_back(&s, &r);
        collect_states(t, row, v, t->s.dq, 0);
        collect_states(t, row, v, t->s.dk, p->k_at);
        collect_gates(t, v);
        if (!t->walk) direct_back(t, row, v, &s, dy, dbiases_of(t) + biases_size(p) - heads_of(p));
    }
    heads_back(t, row);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void begin_task(const roesser_job *job, size_t task, int worker, scan *t)
{
    const roesser_plan *p = job->plan;
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
    const roesser_plan *p = t->job->plan;
    const scan_rows rows = {.rows = p->scan.base.rows,
                            .block = block_of(p, t->count),
                            .size = t->count * carry_size(p),
                            .carry = t->s.carry,
                            .saved = t->s.saved,
                            .forward = forward_row,
                            .backward = backward_row,
                            .arg = t};
    for (t->walk = 0; t->walk < p->config.directions; t->walk++) {
        if (!t->emits) memset(t->s.ddown, 0, t->count * carry_size(p) * sizeof(real));
        run(&rows);
    }
}

static void forward_task(void *arg, size_t task, int worker)
{
    const roesser_job *job = arg;
    const roesser_plan *p = job->plan;
    const ssm2d_plan *base = &p->scan.base;
    const size_t row = cols_of(p) * lanes_of(p);
    scan t = {.emits = 1};
    begin_task(job, task, worker, &t);
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        memset(t.s.y, 0, t.count * p->scan.tile * sizeof(real));
        run_walks(&t, scan_rows_forward);
        tile_scatter(base, &t.k, t.s.y, p->scan.tile, row, job->y, base->out, t.image, 0);
    }
}

static void apply(const ssm2d_plan *base, ssm2d_workspace *ws, const void *u, void *y)
{
    const roesser_plan *p = own(base);
    roesser_job t = {.plan = p, .ws = ws, .y = y};
    scan_projection_forward(&p->scan, ws, u);
    pool_run(base->context->pool, scan_tasks(&p->scan), forward_task, &t);
}

static void backward_task(void *arg, size_t task, int worker)
{
    const roesser_job *job = arg;
    const roesser_plan *p = job->plan;
    const ssm2d_plan *base = &p->scan.base;
    const size_t row = cols_of(p) * lanes_of(p);
    scan t = {0};
    begin_task(job, task, worker, &t);
    memset(dbiases_of(&t), 0, biases_size(p) * sizeof(real));
    for (t.image = t.k.image; t.image < t.k.image_end; t.image++) {
        memset(scan_dmap(&p->scan, job->ws, t.k.first / p->scan.groups.group, t.image), 0,
               scan_map_size(&p->scan) * sizeof(real));
        tile_gather(base, &t.k, t.s.y, p->scan.tile, row, job->dy, base->out, t.image);
        run_walks(&t, scan_rows_backward);
    }
}

static void backward(const ssm2d_plan *base, ssm2d_workspace *ws, const void *params, const void *u,
                     const void *dy, void *du, void *dparams)
{
    const roesser_plan *p = own(base);
    const size_t heads = heads_of(p), each = (size_t)p->config.directions * heads;
    const int L = roesser_linear(&p->config);
    roesser_job t = {.plan = p, .ws = ws, .dy = dy};
    real *to = dparams;
    (void)params;
    pool_run(base->context->pool, scan_tasks(&p->scan), backward_task, &t);
    scan_projection_backward(&p->scan, ws, u, du, to);
    const real *from = REGION_AT(real, ws, p->dbiases);
    for (size_t part = 0; to && part < scan_tasks(&p->scan); part++)
        for (int i = 0; i <= L; i++) {
            const size_t count = i < L ? each : heads;
            real *bias = to + (i < L ? p->bias[i] : p->direct_bias);
            for (size_t k = 0; k < count; k++) bias[k] += *from++;
        }
}

const layer_functions roesser_functions = {.size = sizeof(real),
                                           .algorithm = algorithm,
                                           .plan = plan,
                                           .cost = cost,
                                           .prepare = prepare,
                                           .apply = apply,
                                           .backward = backward};
