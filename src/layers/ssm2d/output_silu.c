/* output_silu - the activation at the end of the layer: y = z * sigmoid(z), for each element. z and
 * dz are dense; y and dy have the strides of the plan. */
#include "core/arith.h"
#include "core/tasks.h"
#include "layers/ssm2d/ssm2d_internal.h"

#include <string.h>

enum { PARTS = 2 * TASKS_THREADS, BLOCK = 256 }; /* parts of the cells; elements in a block */

typedef struct job {
    const ssm2d_kind_plan *plan;
    ssm2d_workspace *ws;
    real *y;
    const real *dy;
} job;

/* Index of element i of z in arrays with the plan's strides. run: number of elements from it to the
 * end of its cell. */
static ptrdiff_t place(const ssm2d_plan *p, size_t i, size_t *run)
{
    const size_t H = (size_t)p->channels, cols = (size_t)p->cols, rows = (size_t)p->rows;
    const size_t cell = i / H, h = i % H;
    *run = H - h;
    return (ptrdiff_t)(cell / (rows * cols)) * p->out.batch
           + (ptrdiff_t)(cell / cols % rows) * p->out.row + (ptrdiff_t)(cell % cols) * p->out.col
           + (ptrdiff_t)h * p->out.channel;
}

/* Copy elements [first, first + count) of z to and from an array with the plan's strides. */
static void copy_out(const ssm2d_plan *p, real *y, const real *block, size_t first, size_t count)
{
    for (size_t i = 0, run; i < count; i += run) {
        real *to = y + place(p, first + i, &run);
        run = min_size(run, count - i);
        for (size_t k = 0; k < run; k++) to[(ptrdiff_t)k * p->out.channel] = block[i + k];
    }
}

static void copy_in(const ssm2d_plan *p, real *block, const real *dy, size_t first, size_t count)
{
    for (size_t i = 0, run; i < count; i += run) {
        const real *from = dy + place(p, first + i, &run);
        run = min_size(run, count - i);
        for (size_t k = 0; k < run; k++) block[i + k] = from[(ptrdiff_t)k * p->out.channel];
    }
}

static size_t part_begin(const ssm2d_plan *p, size_t part)
{
    const size_t cells = p->options.batch * (size_t)p->rows * (size_t)p->cols;
    return cells * part / PARTS * (size_t)p->channels;
}

static void run_part(void *arg, size_t part, int worker)
{
    (void)worker;
    const job *t = arg;
    const ssm2d_plan *p = &t->plan->base;
    const simd_table *simd = p->simd;
    const size_t end = part_begin(p, part + 1), vectors = BLOCK / (size_t)p->lanes;
    const real *z = REGION(real, t->ws, z);
    for (size_t i = part_begin(p, part); i < end; i += BLOCK) {
        const size_t count = min_size(BLOCK, end - i);
        real value[BLOCK] = {0}, gradient[BLOCK] = {0}, out[BLOCK];
        memcpy(value, z + i, count * sizeof(real));
        if (t->y) {
            simd->ema.activate(out, value, vectors);
            copy_out(p, t->y, out, i, count);
        } else {
            copy_in(p, gradient, t->dy, i, count);
            simd->ema.activate_back(out, gradient, value, vectors);
            memcpy(REGION(real, t->ws, dz) + i, out, count * sizeof(real));
        }
    }
}

void output_silu_apply(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, real *y)
{
    job t = {.plan = plan, .ws = ws, .y = y};
    pool_run(plan->base.context->pool, PARTS, run_part, &t);
}

void output_silu_backward(const ssm2d_kind_plan *plan, ssm2d_workspace *ws, const real *dy)
{
    job t = {.plan = plan, .ws = ws, .dy = dy};
    pool_run(plan->base.context->pool, PARTS, run_part, &t);
}
