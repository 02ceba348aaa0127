/* kernel - computes the kernel of every row of C by the linear-time recursion, and its adjoint.
 *
 * There is one task per system, which holds the states of one row of cells at a time. The adjoint
 * needs the states of all rows, last to first: it keeps one row of every `state_block` and
 * recomputes a block from there, so that memory grows with the square root of the number of
 * rows. */
#include "core/arith.h"
#include "layers/ssm2d/assign.h"
#include "layers/ssm2d/ssm2d_internal.h"

#include <math.h>
#include <string.h>

/* If all rows need at most this many bytes, all are kept: they stay in the second-level cache. */
enum { SMALL_STATES = 256 << 10 };

typedef struct job {
    const ssm2d_kind_plan *plan;
    ssm2d_workspace *ws;
    kernel_view out;
    kernel_fetch *fetch;
    const real *source;
} job;

static size_t row_elements(const ssm2d_kind_plan *p)
{
    return (size_t)p->trunc_cols * 2 * (size_t)p->wide;
}
static int blocks(const ssm2d_kind_plan *p) { return div_up(p->trunc_rows, p->state_block); }

/* Scratch of one worker: inference [2 rows]; else [block][kept rows][2 gradient rows][one row of
 * the gradient]. */
size_t kernel_states(ssm2d_kind_plan *p, int inference)
{
    size_t row = row_elements(p);
    p->state_block = p->trunc_rows;
    if (inference) return 2 * row;
    if ((size_t)p->trunc_rows * row * sizeof(real) > SMALL_STATES)
        p->state_block = (int)ceil(sqrt(p->trunc_rows));
    return ((size_t)p->state_block + (size_t)blocks(p) + 2) * row + (size_t)p->trunc_cols;
}

static const state_functions *functions(const ssm2d_kind_plan *p)
{
    return &((const simd_table *)p->base.simd)->state[p->config.values != SSM2D_REAL];
}

static void generate_system(void *arg, size_t k, int worker)
{
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const state_functions *f = functions(p);
    const real border = (real)system_border(p);
    const size_t W = (size_t)p->wide;
    const real *coef = REGION(real, t->ws, coef) + k * COEFS * W;
    real *now = REGION(real, t->ws, states) + (size_t)worker * p->states_per_worker,
         *before = now + row_elements(p);
    for (int i = 0; i < p->trunc_rows; i++) {
        f->kernel_row(now, before, coef, i, p->trunc_cols, p->width);
        for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
             c = next_c_row(&p->config, k, c)) {
            const ptrdiff_t place = t->out.place ? t->out.place(p, (int)c) : (ptrdiff_t)c;
            if (place < 0) continue;
            real *out = t->out.base + place * t->out.c_step + i * t->out.i_step;
            f->kernel_emit(out, t->out.j_step, now, REGION(real, t->ws, c) + 2 * c * W, i == 0,
                           p->trunc_cols, p->width);
            if (i == 0) out[0] = (real)REGION(double, t->ws, centre)[c];
            if (border == 1) continue;
            if (i > 0) out[0] *= border;
            for (int j = 1; i == 0 && j < p->trunc_cols; j++) out[j * t->out.j_step] *= border;
        }
        real *swap = now;
        now = before;
        before = swap;
    }
}

void kernel_generate(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_view out)
{
    job t = {plan, ws, out, NULL, NULL};
    pool_run(plan->base.context->pool, (size_t)plan->systems, generate_system, &t);
}

static void adjoint_system(void *arg, size_t k, int worker)
{
    const job *t = arg;
    const ssm2d_kind_plan *p = t->plan;
    const state_functions *f = functions(p);
    const real border = (real)system_border(p);
    const size_t W = (size_t)p->wide, row = row_elements(p);
    const int m = p->state_block, T1 = p->trunc_rows, T2 = p->trunc_cols;
    const real *coef = REGION(real, t->ws, coef) + k * COEFS * W;
    real *dcoef = REGION(real, t->ws, dcoef) + k * COEFS * W;
    real *block = REGION(real, t->ws, states) + (size_t)worker * p->states_per_worker;
    real *kept = block + (size_t)m * row; /* kept[b]: the last row of block b */
    real *dnow = kept + (size_t)blocks(p) * row, *dbefore = dnow + row,
         *dkernel_row = dbefore + row;

    memset(dcoef, 0, COEFS * W * sizeof(real));
    for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
         c = next_c_row(&p->config, k, c))
        memset(REGION(real, t->ws, dc) + 2 * c * W, 0, 2 * W * sizeof(real));
    for (int b = 0; b + 1 < blocks(p); b++) {
        for (int i = b * m; i < (b + 1) * m; i++) {
            const real *before = i > b * m ? block + (size_t)(i - b * m - 1) * row
                                 : b       ? kept + (size_t)(b - 1) * row
                                           : NULL;
            f->kernel_row(block + (size_t)(i - b * m) * row, before, coef, i, T2, p->width);
        }
        memcpy(kept + (size_t)b * row, block + (size_t)(m - 1) * row, row * sizeof(real));
    }
    memset(dnow, 0, row * sizeof(real));
    for (int b = blocks(p) - 1; b >= 0; b--) {
        int first = b * m, end = min_int(first + m, T1);
        const real *above = b ? kept + (size_t)(b - 1) * row : NULL; /* the row before the block */
        for (int i = first; i < end; i++) {
            real *now = block + (size_t)(i - first) * row;
            f->kernel_row(now, i > first ? now - row : above, coef, i, T2, p->width);
        }
        for (int i = end - 1; i >= first; i--) {
            real *now = block + (size_t)(i - first) * row;
            for (size_t c = first_c_row(&p->config, k); c < (size_t)p->c_rows;
                 c = next_c_row(&p->config, k, c)) {
                t->fetch(p, t->source, (int)c, i, dkernel_row);
                if (i == 0) REGION(real, t->ws, dcentre)[c] = dkernel_row[0];
                if (i > 0) dkernel_row[0] *= border;
                for (int j = 1; i == 0 && j < T2; j++) dkernel_row[j] *= border;
                f->kernel_emit_back(dnow, REGION(real, t->ws, dc) + 2 * c * W, dkernel_row, 1, now,
                                    REGION(real, t->ws, c) + 2 * c * W, i == 0, T2, p->width);
            }
            memset(dbefore, 0, row * sizeof(real));
            f->kernel_row_back(dbefore, dcoef, dnow, now, i > first ? now - row : above, coef, i,
                               T2, p->width);
            real *swap = dnow;
            dnow = dbefore;
            dbefore = swap;
        }
    }
}

void kernel_adjoint(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, kernel_fetch *fetch,
                    const real *source)
{
    job t = {plan, ws, {0}, fetch, source};
    pool_run(plan->base.context->pool, (size_t)plan->systems, adjoint_system, &t);
}
