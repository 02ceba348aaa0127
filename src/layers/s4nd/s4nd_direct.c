/* s4nd_direct - convolves lines directly, every position with every other, in register blocks
 * (simd/axis.h). For short sides. */
#include "layers/s4nd/s4nd_internal.h"
#include "core/arith.h"

#include <string.h>

static side_cut cut(int side, int limit)
{
    const int parts = div_up(side, limit);
    return (side_cut){parts, side % parts, side / parts};
}

static size_t taps_size(const s4nd_plan *p) { return (size_t)p->taps * (size_t)p->base.lanes; }

static void plan(s4nd_plan *p)
{
    s4nd_plan *s = p;
    const simd_table *simd = p->base.simd;
    s->max_a = CORRELATE_MAX_A;
    while (!simd->axis.convolve[s->max_a][1]) s->max_a--;
    for (int A = 1; A <= s->max_a; A++) {
        int C = CORRELATE_MAX_C;
        while (!simd->axis.convolve[A][C]) C--;
        for (int axis = 0; axis < 2; axis++) s->positions[A][axis] = cut(s4nd_side(p, axis), C);
    }
    s->sums = taps_size(p);
    s->transformed = plan_reserve(&p->base, taps_size(p) * (size_t)p->base.vectors, sizeof(real));
}

static double cost(const s4nd_plan *p)
{
    const double cells = (double)p->base.options.batch * p->base.rows * p->base.cols;
    return cells * p->base.vectors * p->base.lanes * (p->base.rows + p->base.cols);
}

static real *plain_taps(const s4nd_pass *t)
{
    return REGION_AT(real, t->ws, t->plan->vector_taps) + t->vector * taps_size(t->plan);
}

static real *mirrored_taps(const s4nd_pass *t)
{
    return REGION_AT(real, t->ws, t->plan->transformed) + t->vector * taps_size(t->plan);
}

/* Stores the mirror image of the taps: offset o at -o. */
static void prepare(const s4nd_pass *t)
{
    const size_t lanes = (size_t)t->plan->base.lanes;
    const real *plain = plain_taps(t);
    real *mirrored = mirrored_taps(t);
    for (int axis = 0; axis < 2; axis++) {
        const int L = s4nd_side(t->plan, axis), centre = s4nd_centre(t->plan, axis);
        for (int o = 1 - L; o < L; o++)
            memcpy(mirrored + (size_t)(centre - o) * lanes, plain + (size_t)(centre + o) * lanes,
                   lanes * sizeof(real));
    }
}

/* out[j] = sum over q of taps[q-j] * in[q] along an axis (+ scale * out), for all lines. centre
 * points to the tap at offset 0. */
static void lines(const s4nd_plan *p, int axis, real *out, const real *in, const real *centre,
                  const real *scale)
{
    const simd_table *simd = p->base.simd;
    const s4nd_walk w = s4nd_walk_of(p, axis);
    for (int line = 0, A = min_int(p->max_a, w.lines); line < w.lines;) {
        while (A > w.lines - line) A--;
        const int blocks = (w.lines - line) / A;
        const side_cut c = p->positions[A][axis];
        for (int part = 0, at = 0; part < c.parts; part++) {
            const int C = c.size + (part < c.larger);
            simd->axis.convolve[A][C](out + line * w.line + at * w.step, w.line, w.step,
                                      centre - at * p->base.lanes, in + line * w.line, w.line,
                                      w.step, w.n, blocks, scale);
            at += C;
        }
        line += A * blocks;
    }
}

/* dtaps[i-p] += sum across of dy[i] * x[p]. */
static void gradient(const s4nd_plan *p, int axis, real *centre, const real *dy, const real *x)
{
    const simd_table *simd = p->base.simd;
    const s4nd_walk w = s4nd_walk_of(p, axis);
    for (int at = 0, A = min_int(p->max_a, w.n); at < w.n;) {
        while (A > w.n - at) A--;
        const int blocks = (w.n - at) / A;
        const side_cut c = p->positions[A][axis];
        for (int part = 0, other = 0; part < c.parts; part++) {
            const int C = c.size + (part < c.larger);
            simd->axis.gradient[A][C](centre + (at - other) * p->base.lanes, dy + at * w.step,
                                      w.step, w.line, x + other * w.step, w.step, w.line, w.lines,
                                      blocks);
            other += C;
        }
        at += A * blocks;
    }
}

static real *centre_of(const s4nd_pass *t, int axis, real *taps)
{
    return taps + (size_t)s4nd_centre(t->plan, axis) * (size_t)t->plan->base.lanes;
}

static void convolve(const s4nd_pass *t, int axis, real *out, const real *in, const real *scale)
{
    lines(t->plan, axis, out, in, centre_of(t, axis, mirrored_taps(t)), scale);
}

static void adjoint(const s4nd_pass *t, int axis, real *out, const real *dy, const real *x,
                    const real *scale)
{
    if (x) gradient(t->plan, axis, centre_of(t, axis, t->sums), dy, x);
    if (out) lines(t->plan, axis, out, dy, centre_of(t, axis, plain_taps(t)), scale);
}

static void collect(const s4nd_pass *t, real *dtaps)
{
    memcpy(dtaps, t->sums, t->plan->sums * sizeof(real));
}

const s4nd_algorithm s4nd_direct = {.name = "direct",
                                    .plan = plan,
                                    .cost = cost,
                                    .prepare = prepare,
                                    .convolve = convolve,
                                    .adjoint = adjoint,
                                    .collect = collect};
