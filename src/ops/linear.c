/* linear - y = x W^T + b.  x: [m][k], W: [n][k], b: [n], y: [m][n].
 *
 * Tasks are blocks of rows (of dW: blocks of its rows over all of m), a function of the shape alone, so that the result does not
 * depend on the number of threads. */
#include "core/status.h"
#include "ops/elementwise.h"
#include "ops/gemm.h"
#include "ops/ops.h"
#include "ops/simd/simd_ops.h"

/* A block is tall enough that packing W for it does not count, and small enough to stay in the second-level cache. */
enum { TALL = 256, SHORT = 32, TASKS_WANTED = 8, WEIGHT_ROWS = 48 };

static size_t block_rows(size_t m)
{
    return m >= TALL * TASKS_WANTED ? TALL : m >= SHORT * TASKS_WANTED ? m / TASKS_WANTED : SHORT;
}
/* Few rows, as of one image, are left together, and the columns are cut: each part of W is packed once. */
static int few(size_t m) { return m < SHORT * TASKS_WANTED; }

/* Inference on few rows keeps W packed; the owner of the graph says when it has changed (graph.step). */
typedef struct packing {
    uint64_t packed; /* step + 1 for which it was done */
    _Alignas(64) real weights[];
} packing;

typedef struct job {
    const node *n;
    size_t rows, cols, across; /* of a block; blocks side by side */
} job;

static void forward_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *nd = j->n;
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const size_t i = task / j->across * j->rows, c = task % j->across * j->cols;
    const size_t rows = i + j->rows < m ? j->rows : m - i, cols = c + j->cols < n ? j->cols : n - c;
    real *y = nd->out->data + i * n + c;
    NAME(gemm)(PLAIN, TRANSPOSED, rows, cols, k, nd->in[0]->data + i * k, k, nd->in[1]->data + c * k, k, 0, y, n);
    if (nd->inputs < 3) return;
    const real *b = nd->in[2]->data + c;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < cols; l++) y[r * n + l] += b[l];
}

typedef struct packed_job {
    NAME(packed) product;
    const NAME(simd_ops) *simd;
    size_t cols;  /* of a task */
    real *packed; /* NULL when that is done */
    const real *weights;
} packed_job;

static void packed_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const packed_job *j = arg;
    const size_t n = j->product.n, first = task * j->cols, end = first + j->cols < n ? first + j->cols : n;
    if (j->packed) j->simd->pack(j->packed, j->weights, n, j->product.k, first, end);
    j->simd->packed_product(&j->product, first, end);
}

static void forward_packed(const graph *g, const node *nd, packing *p)
{
    const NAME(simd_ops) *simd = NAME(simd_ops_for)(g->context->cpu);
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out);
    const size_t cols = WEIGHT_ROWS > simd->strip ? WEIGHT_ROWS / simd->strip * simd->strip : simd->strip;
    const real *bias = nd->inputs < 3 ? NULL : nd->in[2]->data;
    packed_job j = {.product = {m, n, k, nd->in[0]->data, p->weights, bias, nd->out->data}, .simd = simd, .cols = cols};
    if (p->packed != g->step + 1) {
        j.packed = p->weights;
        j.weights = nd->in[1]->data;
        p->packed = g->step + 1;
    }
    pool_run(g->context->pool, (n + cols - 1) / cols, packed_block, &j);
}

static ssm2d_status prepare(graph *g, node *nd, ssm2d_error *error)
{
    const size_t k = last_axis(nd->in[0]), n = last_axis(nd->out);
    if (sizeof(real) == sizeof(double)) return SSM2D_OK; /* for checking, not for speed */
    if (g->training || !few(rows_of(nd->in[0])) || nd->in[1]->role != ROLE_PARAM) return SSM2D_OK;
    const size_t room = NAME(simd_ops_for)(g->context->cpu)->packed_room(n, k);
    nd->object = memory_take(g->context, sizeof(packing) + room * sizeof(real));
    return nd->object ? SSM2D_OK : fail(error, SSM2D_ERROR_MEMORY, "no memory for packed weights of %zu x %zu", n, k);
}

static void destroy(graph *g, node *nd) { memory_give(g->context, nd->object); }

static void forward(const graph *g, const node *nd)
{
    if (nd->object) {
        forward_packed(g, nd, nd->object);
        return;
    }
    const size_t m = rows_of(nd->in[0]), n = last_axis(nd->out);
    job j = {nd, few(m) ? m : block_rows(m), few(m) ? WEIGHT_ROWS : n, 0};
    j.across = (n + j.cols - 1) / j.cols;
    pool_run(g->context->pool, (m + j.rows - 1) / j.rows * j.across, forward_block, &j);
}

static void input_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *nd = j->n;
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out), i = task * j->rows;
    const size_t rows = i + j->rows < m ? j->rows : m - i;
    NAME(gemm)
    (PLAIN, PLAIN, rows, k, n, nd->out->grad + i * n, n, nd->in[1]->data, k, nd->adds[0] ? 1 : 0, nd->in[0]->grad + i * k, k);
}

static void weight_block(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const node *nd = j->n;
    const size_t m = rows_of(nd->in[0]), k = last_axis(nd->in[0]), n = last_axis(nd->out), c = task * j->cols;
    const size_t cols = c + j->cols < n ? j->cols : n - c;
    const real *dy = nd->out->grad + c;
    if (nd->in[1]->needs_grad)
        NAME(gemm)(TRANSPOSED, PLAIN, cols, k, m, dy, n, nd->in[0]->data, k, 1, nd->in[1]->grad + c * k, k);
    if (nd->inputs < 3 || !nd->in[2]->needs_grad) return;
    real *db = nd->in[2]->grad + c;
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < cols; l++) db[l] += dy[i * n + l];
}

static void backward(const graph *g, const node *nd)
{
    const size_t m = rows_of(nd->in[0]), n = last_axis(nd->out);
    job j = {nd, block_rows(m), WEIGHT_ROWS, 0};
    if (nd->in[0]->needs_grad) pool_run(g->context->pool, (m + j.rows - 1) / j.rows, input_block, &j);
    pool_run(g->context->pool, (n + j.cols - 1) / j.cols, weight_block, &j);
}

const op NAME(op_linear) = {.name = "linear", .reads_in = 3, .prepare = prepare, .forward = forward, .backward = backward, .destroy = destroy};

tensor *NAME(linear)(graph *g, tensor *x, tensor *w, tensor *b)
{
    char one[64], two[64];
    if (g->status) return NULL;
    if (w->rank != 2 || last_axis(w) != last_axis(x) || (b && b->count != w->shape[0]))
        return NAME(graph_fail)(g, "linear: input %s does not fit weights %s", NAME(shape_text)(x, one),
                                NAME(shape_text)(w, two));
    if (w->role == ROLE_VALUE
        || (b && b->role == ROLE_VALUE)) /* their gradients are added to, which nobody clears for a value */
        return NAME(graph_fail)(g, "linear: weights and bias must be parameters or inputs, not %s",
                                w->role == ROLE_VALUE ? w->name : b->name);
    size_t shape[GRAPH_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = w->shape[0];
    node *n = NAME(graph_add)(g, &NAME(op_linear), b ? 3 : 2, (tensor *[]){x, w, b}, x->rank, shape);
    return n ? n->out : NULL;
}
