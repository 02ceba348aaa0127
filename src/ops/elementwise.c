#include "ops/elementwise.h"

#include "core/tasks.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 16384, UNIT = 16 }; /* elements per task, about; and in whole cache lines */

typedef struct job {
    const node *node;
    int whole_rows; /* tasks are rows of this width, else elements of one row */
    size_t rows, width, tasks;
    elementwise_part *part;
    simd_part *simd_part;
    const simd_ops *simd;
    const tensor *given;
    void (*body)(real *y, const real *x, size_t n);
    void (*body_back)(real *dx, const real *dy, const real *given, size_t n, int adds);
} job;

/* Elements that are converted at once. */
enum { NARROW = 256 };

/* Where elements of t are, `first` after `from`, the first of a row or of some rows. */
static const void *elements_at(const tensor *t, const void *from, size_t first)
{
    return (const char *)from + first * element_size(t->type);
}

/* `count` elements of t at `from`, as real. */
static const real *reals_of(const simd_ops *simd, const tensor *t, const void *from, size_t count,
                            real here[NARROW])
{
    if (t->type == ELEMENT_REAL) return from;
    simd->bfloat16_to_real(here, from, count);
    return here;
}

/* How many of n elements of t are done at once. */
static size_t piece_of(const tensor *t, size_t n)
{
    return t->type == ELEMENT_REAL ? n : min_size(n, NARROW);
}

static void map_part(const simd_ops *simd, const tensor *t, real *y, const void *x, size_t n,
                     void (*body)(real *y, const real *x, size_t n))
{
    real here[NARROW];
    for (size_t i = 0, count; i < n; i += count) {
        count = piece_of(t, n - i);
        body(y + i, reals_of(simd, t, elements_at(t, x, i), count, here), count);
    }
}

static void map_back_part(const simd_ops *simd, const node *n, const tensor *given, size_t row,
                          size_t first, size_t end,
                          void (*body)(real *dx, const real *dy, const real *given, size_t n,
                                       int adds))
{
    real here[NARROW];
    real *dx = row_grad(n->in[0], row);
    const real *dy = row_grad(n->out, row);
    const size_t from = row * given->row_stride;
    for (size_t i = first, count; i < end; i += count) {
        count = piece_of(given, end - i);
        body(dx + i, dy + i,
             reals_of(simd, given, elements_at(given, given->memory, from + i), count, here), count,
             n->adds[0]);
    }
}

static int has_views(const node *n)
{
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i] && n->in[i]->role == ROLE_VIEW) return 1;
    return 0;
}

static void run_elements(const job *j, size_t row, size_t first, size_t end)
{
    const node *n = j->node;
    if (j->part)
        j->part(n, row, first, end);
    else if (j->simd_part)
        j->simd_part(j->simd, n, row, first, end);
    else if (j->body)
        map_part(j->simd, n->in[0], row_data(n->out, row) + first,
                 elements_at(n->in[0], n->in[0]->memory, row * n->in[0]->row_stride + first),
                 end - first, j->body);
    else
        map_back_part(j->simd, n, j->given, row, first, end, j->body_back);
}

static void run_piece(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    if (!j->whole_rows) {
        run_elements(j, 0, task_begin(j->width, j->tasks, task, UNIT),
                     task_begin(j->width, j->tasks, task + 1, UNIT));
        return;
    }
    const size_t end = task_begin(j->rows, j->tasks, task + 1, 1);
    for (size_t r = task_begin(j->rows, j->tasks, task, 1); r < end; r++)
        run_elements(j, r, 0, j->width);
}

/* Rows of views are not cut, however long they are: views of overlapping columns add their
 * gradients to the same elements, which two tasks would do at once. */
static void run(const graph *g, job *j)
{
    const tensor *out = j->node->out;
    j->whole_rows = has_views(j->node);
    j->rows = j->whole_rows ? rows_of(out) : 1;
    j->width = out->count / j->rows;
    j->tasks = j->whole_rows ? task_count(j->rows, div_up_size(PIECE, j->width))
                             : task_count(j->width, PIECE);
    pool_run(g->context->pool, j->tasks, run_piece, j);
}

void elementwise(const graph *g, const node *n, elementwise_part *part)
{
    run(g, &(job){.node = n, .part = part});
}

void elementwise_simd(const graph *g, const node *n, simd_part *part)
{
    run(g, &(job){.node = n, .simd_part = part, .simd = simd_ops_for(g->context->cpu)});
}

void map(const graph *g, const node *n, void (*body)(real *y, const real *x, size_t n))
{
    run(g, &(job){.node = n, .body = body, .simd = simd_ops_for(g->context->cpu)});
}

void map_back(const graph *g, const node *n, const tensor *given,
              void (*body)(real *dx, const real *dy, const real *given, size_t n, int adds))
{
    run(g,
        &(job){
            .node = n, .given = given, .body_back = body, .simd = simd_ops_for(g->context->cpu)});
}

void map_rows(const graph *g, const node *n, size_t rows, const void *const *in, void *out,
              void (*body)(real *y, const real *x, size_t n))
{
    const simd_ops *simd = simd_ops_for(g->context->cpu);
    const tensor *t = n->in[0];
    const size_t width = last_axis(n->out), stride = t->row_stride;
    real *y = out;
    if (stride == width)
        map_part(simd, t, y, in[0], rows * width, body);
    else
        for (size_t r = 0; r < rows; r++)
            map_part(simd, t, y + r * width, elements_at(t, in[0], r * stride), width, body);
}

int columns_overlap(const tensor *a, const tensor *b)
{
    if ((a->base ? a->base : a) != (b->base ? b->base : b) || !a->needs_grad) return 0;
    const size_t a_end = a->column + last_axis(a), b_end = b->column + last_axis(b);
    if (a->column == b->column && a_end == b_end) return 0;
    return a->column < b_end && b->column < a_end;
}

int fit_together(graph *g, const char *name, int count, tensor *const *in)
{
    char one[64], two[64];
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++) {
            if (!same_shape(in[i], in[k]))
                graph_fail(g, "%s: shapes %s and %s differ", name, shape_text(in[k], one),
                           shape_text(in[i], two));
            else if (columns_overlap(in[i], in[k]))
                graph_fail(g, "%s: \"%s\" and \"%s\" overlap", name, in[k]->name, in[i]->name);
        }
    return !g->status;
}

int same_shape(const tensor *a, const tensor *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

const char *shape_text(const tensor *t, char text[64])
{
    size_t used = 0;
    for (int i = 0; i < t->rank && used < 48; i++)
        used += (size_t)snprintf(text + used, 64 - used, "%s%zu", i ? ", " : "(", t->shape[i]);
    snprintf(text + used, 64 - used, ")");
    return text;
}
