/* directions - combines all directions into one two-sided kernel, which is possible because flips
 * and sums are linear; D is added at offset (0, 0). */
#include "core/arith.h"
#include "layers/ssm2d/assign.h"
#include "layers/ssm2d/ssm2d_internal.h"

#include <string.h>

typedef struct job {
    const ssm2d_kind_plan *plan;
    ssm2d_workspace *ws;
} job;

/* Channels use `period` rows of C in turn (assign.h). The table has a segment for every period,
 * which repeats its first `lanes` elements at its end, so that any vector of channels is one
 * contiguous load. */
static size_t period(const ssm2d_kind_plan *p)
{
    return (size_t)assign_c_rows(&p->config, 0).period;
}
static size_t segments(const ssm2d_kind_plan *p) { return (size_t)p->c_rows / period(p); }
static size_t segment_size(const ssm2d_kind_plan *p) { return period(p) + (size_t)p->base.lanes; }

/* Index of a row of C in the table. */
static size_t place(const ssm2d_kind_plan *p, int c)
{
    const size_t row = (size_t)c, n = period(p);
    return row / n * segment_size(p) + row % n;
}

/* Index of the first channel of a vector in the table. */
static size_t start(const ssm2d_kind_plan *p, int r, int vector)
{
    return place(p, c_row_of(&p->config, r, vector * p->base.lanes));
}

void directions_reach(const ssm2d_kind_plan *p, conv_reach reach[REACH_SIGNS])
{
    for (int sign = REACH_BEFORE; sign < REACH_SIGNS; sign++) {
        conv_reach all = {1, 0};
        for (int r = 0; r < p->config.directions; r++) {
            const flip f = config_flip(&p->config, r);
            if (sign != REACH_CENTRE && f.rows != (sign == REACH_BEFORE)) continue;
            const conv_reach one = {f.cols ? 1 - p->trunc_cols : 0, f.cols ? 0 : p->trunc_cols - 1};
            if (all.low > all.high) all = one;
            all.low = min_int(all.low, one.low);
            all.high = max_int(all.high, one.high);
        }
        reach[sign] = all;
    }
}

void directions_plan(ssm2d_kind_plan *p)
{
    const size_t cells = (size_t)p->trunc_rows * (size_t)p->trunc_cols;
    const size_t size = two_sided_size(conv_plan_layout(p->conv));
    p->ktable_stride = segments(p) * segment_size(p);
    p->at.krows = plan_reserve(&p->base, (size_t)p->c_rows * cells, sizeof(real));
    p->at.ktable = plan_reserve(&p->base, p->ktable_stride * cells, sizeof(real));
    p->at.k2 = plan_reserve(&p->base, size, (size_t)p->base.vectors * sizeof(real));
    if (!p->base.options.inference)
        p->at.dk2 = plan_reserve(&p->base, size, (size_t)p->base.vectors * sizeof(real));
}

static void tabulate_row(void *arg, size_t i, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const size_t cells = (size_t)p->trunc_rows * (size_t)p->trunc_cols, n = period(p);
    for (size_t cell = i * (size_t)p->trunc_cols; cell < (i + 1) * (size_t)p->trunc_cols; cell++) {
        const real *k = REGION(real, t->ws, krows) + cell;
        real *out = REGION(real, t->ws, ktable) + cell * p->ktable_stride;
        for (size_t s = 0; s < segments(p); s++, k += n * cells, out += segment_size(p)) {
            for (size_t c = 0; c < n; c++) out[c] = k[c * cells];
            for (size_t e = n; e < segment_size(p); e++) out[e] = out[e - n];
        }
    }
}

static void assemble_vector(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const int lanes = p->base.lanes, H = p->config.channels, first = (int)vector * lanes;
    const int count = first + lanes <= H ? lanes : H - first;
    const two_sided *k = conv_plan_layout(p->conv);
    real *k2 = REGION(real, t->ws, k2) + vector * two_sided_size(k);
    memset(k2, 0, two_sided_size(k) * sizeof(real));
    for (int r = 0; r < p->config.directions; r++) {
        flip f = config_flip(&p->config, r);
        const real *table = REGION(real, t->ws, ktable) + start(p, r, (int)vector);
        for (int i = 0; i < p->trunc_rows; i++)
            for (int j = 0; j < p->trunc_cols; j++, table += p->ktable_stride) {
                real *to = k2 + two_sided_at(k, f.rows ? -i : i, f.cols ? -j : j);
                for (int l = 0; l < count; l++) to[l] += table[l];
            }
    }
    if (!p->config.skip) return;
    real *centre = k2 + two_sided_at(k, 0, 0);
    for (int l = 0; l < count; l++) centre[l] += REGION(real, t->ws, d)[first + l];
}

void directions_prepare(const ssm2d_kind_plan *plan, ssm2d_workspace *ws)
{
    job t = {plan, ws};
    pool_run(plan->base.context->pool, (size_t)plan->trunc_rows, tabulate_row, &t);
    pool_run(plan->base.context->pool, (size_t)plan->base.vectors, assemble_vector, &t);
}

static void collect_row(void *arg, size_t row, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const two_sided *k = conv_plan_layout(p->conv);
    const int lanes = p->base.lanes, i = (int)row;
    for (int j = 0; j < p->trunc_cols; j++) {
        real *table = REGION(real, t->ws, ktable)
                      + (row * (size_t)p->trunc_cols + (size_t)j) * p->ktable_stride;
        memset(table, 0, p->ktable_stride * sizeof(real));
        for (int r = 0; r < p->config.directions; r++) {
            flip f = config_flip(&p->config, r);
            ptrdiff_t at = two_sided_at(k, f.rows ? -i : i, f.cols ? -j : j);
            for (int v = 0; v < p->base.vectors; v++) {
                const real *from = REGION(real, t->ws, dk2) + (size_t)v * two_sided_size(k) + at;
                real *to = table + start(p, r, v);
                for (int l = 0; l < lanes; l++) to[l] += from[l];
            }
        }
        for (size_t s = 0; s < segments(p); s++, table += segment_size(p))
            for (size_t e = segment_size(p) - 1; e >= period(p); e--)
                table[e - period(p)] += table[e];
    }
}

void directions_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws)
{
    job t = {plan, ws};
    pool_run(plan->base.context->pool, (size_t)plan->trunc_rows, collect_row, &t);
    if (!plan->config.skip) return;
    const two_sided *k = conv_plan_layout(plan->conv);
    const real *dk2 = REGION(real, ws, dk2) + two_sided_at(k, 0, 0);
    real *dd = REGION(real, ws, dd);
    for (int h = 0; h < plan->config.channels; h++)
        dd[h] = dk2[(size_t)(h / plan->base.lanes) * two_sided_size(k)
                    + (size_t)(h % plan->base.lanes)];
}

void directions_fetch(const ssm2d_kind_plan *p, const real *table, int c, int i, real *row)
{
    const real *from = table + (size_t)i * (size_t)p->trunc_cols * p->ktable_stride + place(p, c);
    for (int j = 0; j < p->trunc_cols; j++) row[j] = from[(size_t)j * p->ktable_stride];
}
