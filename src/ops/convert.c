/* convert - y = x with elements of another type: bfloat16 or int8 from real, or real from them.
 *
 * bfloat16: rounded to nearest, halves to even. int8: scale = largest |x| / 127, over a row or over
 * all, and y = x / scale, rounded in the same way; where a NaN or an infinity is among them, the
 * scale is one, and with it all that comes back. The gradient is handed on as it is: rounding is
 * seen as the identity, and gradients are real whatever the type. */
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <float.h>
#include <string.h>

typedef struct job {
    const node *n;
    const simd_ops *simd;
    size_t tasks;
} job;

enum { TASK_ELEMENTS = 16384 };

/* `count` rows, the first of which is row `row` of the tensors, at x and y. */
static void convert_rows(const simd_ops *simd, const node *n, size_t row, size_t count,
                         const void *x, void *y)
{
    const tensor *in = n->in[0], *out = n->out;
    const size_t width = last_axis(out), x_row = in->row_stride, y_row = out->row_stride;
    for (size_t r = 0; r < count; r++)
        if (out->type == ELEMENT_BFLOAT16)
            simd->real_to_bfloat16((bfloat16 *)y + r * y_row, (const real *)x + r * x_row, width);
        else if (in->type == ELEMENT_BFLOAT16)
            simd->bfloat16_to_real((real *)y + r * y_row, (const bfloat16 *)x + r * x_row, width);
        else
            simd->int8_to_real((real *)y + r * y_row, (const int8_t *)x + r * x_row, width,
                               in->scales[in->scale_count > 1 ? row + r : 0]);
}

static void convert_task(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const tensor *in = j->n->in[0], *out = j->n->out;
    const size_t rows = rows_of(out), first = task_begin(rows, j->tasks, task, 1),
                 end = task_begin(rows, j->tasks, task + 1, 1);
    convert_rows(j->simd, j->n, first, end - first,
                 (const char *)in->memory + first * in->row_stride * element_size(in->type),
                 (char *)out->memory + first * out->row_stride * element_size(out->type));
}

/* ---- int8 ------------------------------------------------------------------------------------ */

/* Scales below FLT_MIN could not be divided by: what needs one is as good as zero. */
static real scale_for(real largest)
{
    const real scale = largest / 127;
    return scale < (real)FLT_MIN ? 0 : scale;
}

static void find_largest(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const size_t rows = rows_of(j->n->out), end = task_begin(rows, j->tasks, task + 1, 1);
    real *largest = j->n->scratch;
    for (size_t r = task_begin(rows, j->tasks, task, 1); r < end; r++)
        largest[r] = j->simd->largest_size(row_data(j->n->in[0], r), last_axis(j->n->out));
}

static void quantize_task(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const tensor *out = j->n->out;
    const size_t rows = rows_of(out), end = task_begin(rows, j->tasks, task + 1, 1);
    for (size_t r = task_begin(rows, j->tasks, task, 1); r < end; r++) {
        const real scale = out->scales[out->scale_count > 1 ? r : 0];
        j->simd->real_to_int8(out->int8 + r * out->row_stride, row_data(j->n->in[0], r),
                              last_axis(out), scale > 0 ? 1 / scale : 0);
    }
}

static void set_scales(const node *n)
{
    const size_t rows = rows_of(n->out);
    const real *largest = n->scratch;
    real top = 0, *scales = n->out->scales;
    for (size_t r = 0; r < rows; r++) {
        if (!(largest[r] <= top)) top = top != top ? top : largest[r]; /* a NaN stays */
        if (n->out->scale_count > 1) scales[r] = scale_for(largest[r]);
    }
    if (n->out->scale_count == 1) scales[0] = scale_for(top);
}

/* The largest size of each row. */
static size_t scratch(const graph *g, const node *n, int back)
{
    (void)g;
    return !back && n->out->type == ELEMENT_INT8 ? rows_of(n->out) * sizeof(real) : 0;
}

/* ---------------------------------------------------------------------------------------------- */

static void forward(const graph *g, const node *n)
{
    job j = {n, simd_ops_for(g->context->cpu),
             task_count(rows_of(n->out), div_up_size(TASK_ELEMENTS, last_axis(n->out)))};
    if (n->out->type != ELEMENT_INT8) {
        pool_run(g->context->pool, j.tasks, convert_task, &j);
        return;
    }
    pool_run(g->context->pool, j.tasks, find_largest, &j);
    set_scales(n);
    pool_run(g->context->pool, j.tasks, quantize_task, &j);
}

static void rows(const graph *g, const node *n, size_t count, const void *const *in, void *out)
{
    convert_rows(simd_ops_for(g->context->cpu), n, 0, count, in[0], out);
}

static void backward_part(const node *n, size_t row, size_t first, size_t end)
{
    const real *dy = row_grad(n->out, row);
    real *dx = row_grad(n->in[0], row);
    if (!n->adds[0])
        memcpy(dx + first, dy + first, (end - first) * sizeof(real));
    else
        for (size_t i = first; i < end; i++) dx[i] += dy[i];
}

static void backward(const graph *g, const node *n)
{
    if (n->adds[0] || n->in[0]->grad != n->out->grad) elementwise(g, n, backward_part);
}

#define ALL_TYPES                                                                                  \
    (ELEMENT_BIT(ELEMENT_REAL) | ELEMENT_BIT(ELEMENT_BFLOAT16) | ELEMENT_BIT(ELEMENT_INT8))

const op op_convert = {.name = "convert",
                       .passes = 1,
                       .strided_in = 1,
                       .takes = {ALL_TYPES},
                       .gives = ALL_TYPES,
                       .scratch = scratch,
                       .forward = forward,
                       .rows = rows,
                       .rows_in = 1,
                       .backward = backward};

tensor *convert_to(graph *g, tensor *x, element_type type, int scale_per_row)
{
    if (g->status || x->type == type) return x;
    if (x->type != ELEMENT_REAL && type != ELEMENT_REAL) x = convert_to(g, x, ELEMENT_REAL, 0);
    if (!x) return NULL;
    node *n = graph_add(g, &op_convert, 1, &x, 0, NULL, NULL, 0);
    const size_t scales = type != ELEMENT_INT8 ? 0 : scale_per_row ? rows_of(x) : 1;
    return n ? graph_set_type(g, n->out, type, scales) : NULL;
}

tensor *keep_narrow(graph *g, tensor *x)
{
    if (g->status || !g->keeps_bfloat16) return x;
    node *maker = x->producer;
    if (maker && maker->op->reads_out) return x; /* it keeps x for itself */
    if (maker && maker->op->gives >> ELEMENT_BFLOAT16 & 1 && maker == g->nodes[g->node_count - 1]
        && x->role == ROLE_VALUE)
        return graph_set_type(g, x, ELEMENT_BFLOAT16, 0); /* nothing has read it as real */
    return convert_to(g, x, ELEMENT_BFLOAT16, 0);
}

tensor *keep(graph *g, tensor *x)
{
    x = keep_narrow(g, x);
    return g->status || x->type == ELEMENT_REAL
               ? x
               : graph_recompute(convert_to(g, x, ELEMENT_REAL, 0));
}
