/* directions - flips and sums are linear, so all directions together are one two-sided kernel; D
 * joins it at offset (0, 0). */
#include "core/arith.h"
#include "layer/assign.h"
#include "layer/layer_internal.h"

#include <string.h>

typedef struct job {
    const ssm2d_plan *plan;
    ssm2d_workspace *ws;
} job;

/* Channels take the rows of C in turn (assign.h). The table's rows repeat their first `lanes`
 * numbers at the end, so that any vector of channels is one contiguous load; `start` says where. */
static size_t start(const ssm2d_plan *p, int r, int vector)
{
    return (size_t)c_row_of(&p->config, r, vector * p->lanes);
}

void directions_reach(const ssm2d_plan *p, conv_reach reach[REACH_SIGNS])
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

void directions_plan(ssm2d_plan *p)
{
    const size_t cells = (size_t)p->trunc_rows * (size_t)p->trunc_cols;
    const size_t size = two_sided_size(conv_plan_layout(p->conv));
    p->ktable_stride = (size_t)p->c_rows + (size_t)p->lanes;
    p->at.krows = plan_reserve(p, (size_t)p->c_rows * cells, sizeof(real));
    p->at.ktable = plan_reserve(p, p->ktable_stride * cells, sizeof(real));
    p->at.k2 = plan_reserve(p, size, (size_t)p->vectors * sizeof(real));
    if (!p->options.inference) p->at.dk2 = plan_reserve(p, size, (size_t)p->vectors * sizeof(real));
}

static void tabulate_row(void *arg, size_t i, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const size_t cells = (size_t)p->trunc_rows * (size_t)p->trunc_cols, C = (size_t)p->c_rows;
    for (size_t cell = i * (size_t)p->trunc_cols; cell < (i + 1) * (size_t)p->trunc_cols; cell++) {
        const real *k = REGION(real, t->ws, krows) + cell;
        real *out = REGION(real, t->ws, ktable) + cell * p->ktable_stride;
        for (size_t c = 0; c < C; c++) out[c] = k[c * cells];
        for (size_t e = C; e < p->ktable_stride; e++) out[e] = out[e - C];
    }
}

static void assemble_vector(void *arg, size_t vector, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const int lanes = p->lanes, H = p->config.channels, first = (int)vector * lanes;
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

void directions_prepare(const ssm2d_plan *plan, ssm2d_workspace *ws)
{
    job t = {plan, ws};
    pool_run(plan->context->pool, (size_t)plan->trunc_rows, tabulate_row, &t);
    pool_run(plan->context->pool, (size_t)plan->vectors, assemble_vector, &t);
}

static void collect_row(void *arg, size_t row, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = t->plan;
    const two_sided *k = conv_plan_layout(p->conv);
    const int lanes = p->lanes, i = (int)row;
    for (int j = 0; j < p->trunc_cols; j++) {
        real *table = REGION(real, t->ws, ktable)
                      + (row * (size_t)p->trunc_cols + (size_t)j) * p->ktable_stride;
        memset(table, 0, p->ktable_stride * sizeof(real));
        for (int r = 0; r < p->config.directions; r++) {
            flip f = config_flip(&p->config, r);
            ptrdiff_t at = two_sided_at(k, f.rows ? -i : i, f.cols ? -j : j);
            for (int v = 0; v < p->vectors; v++) {
                const real *from = REGION(real, t->ws, dk2) + (size_t)v * two_sided_size(k) + at;
                real *to = table + start(p, r, v);
                for (int l = 0; l < lanes; l++) to[l] += from[l];
            }
        }
        for (size_t e = p->ktable_stride - 1; e >= (size_t)p->c_rows; e--)
            table[e - (size_t)p->c_rows] += table[e];
    }
}

void directions_adjoint(const ssm2d_plan *plan, ssm2d_workspace *ws)
{
    job t = {plan, ws};
    pool_run(plan->context->pool, (size_t)plan->trunc_rows, collect_row, &t);
    if (!plan->config.skip) return;
    const two_sided *k = conv_plan_layout(plan->conv);
    const real *dk2 = REGION(real, ws, dk2) + two_sided_at(k, 0, 0);
    real *dd = REGION(real, ws, dd);
    for (int h = 0; h < plan->config.channels; h++)
        dd[h] = dk2[(size_t)(h / plan->lanes) * two_sided_size(k) + (size_t)(h % plan->lanes)];
}

void directions_fetch(const ssm2d_plan *p, const real *table, int c, int i, real *row)
{
    const real *from = table + (size_t)i * (size_t)p->trunc_cols * p->ktable_stride + (size_t)c;
    for (int j = 0; j < p->trunc_cols; j++) row[j] = from[(size_t)j * p->ktable_stride];
}
