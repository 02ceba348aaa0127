/* rearrange - tokens of an image in another order: y[b][t] = x[b][index[t]], or zeros where
 * index[t] is -1; a token may be read several times, or not at all.
 *
 * x: [images*I][..][D], tokens of an image in the order of memory; y: the same with other axes. Of
 * k tokens that share a row of y, element d of the i-th is element i*D + d of the row, or, where
 * they are interleaved, element d*k + i. The gradient of an input token is the sum over the output
 * tokens that are copies of it, in their order: a gather as well, by lists that are made once, so
 * that it does not depend on threads. */
#include "core/tasks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

#include <string.h>

enum { PIECE = 16384 }; /* elements per task, about */

/* Copies of input token s are the output tokens copies[first_copy[s]] .. copies[first_copy[s+1]-1].
 * The arrays stand behind the struct, in the node's memory. */
typedef struct rearrange_attributes {
    size_t images, in_tokens, out_tokens; /* tokens of an image */
    size_t interleaved;                   /* tokens whose elements alternate in a row; 1: none */
    int *index, *first_copy, *copies;
} rearrange_attributes;

static const rearrange_attributes *attributes_of(const node *n) { return n->attributes; }

static const op_attribute attributes[] = {
    {"images", ATTRIBUTE_SIZE, offsetof(rearrange_attributes, images)},
    {"in_tokens", ATTRIBUTE_SIZE, offsetof(rearrange_attributes, in_tokens)},
    {"out_tokens", ATTRIBUTE_SIZE, offsetof(rearrange_attributes, out_tokens)},
    {"interleaved", ATTRIBUTE_SIZE, offsetof(rearrange_attributes, interleaved)},
    {"index", ATTRIBUTE_INTS, offsetof(rearrange_attributes, index)},
    {0}};

typedef struct job {
    const node *n;
    size_t tokens, tasks; /* tokens over all images */
} job;

/* Where the first element of output token t is, tokens being counted over all images; the others
 * follow at distances of a->interleaved. */
static size_t place_of(const rearrange_attributes *a, size_t t, size_t D)
{
    const size_t next = t % a->interleaved;
    return (t - next) * D + next;
}

static void forward_tokens(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const tensor *x = j->n->in[0];
    const rearrange_attributes *a = attributes_of(j->n);
    const size_t D = last_axis(x), first = task_begin(j->tokens, j->tasks, task, 1),
                 end = task_begin(j->tokens, j->tasks, task + 1, 1);
    for (size_t t = first; t < end; t++) {
        const int from = a->index[t % a->out_tokens];
        const real *row =
            from < 0 ? NULL : row_data(x, t / a->out_tokens * a->in_tokens + (size_t)from);
        real *y = j->n->out->data + place_of(a, t, D);
        if (a->interleaved > 1)
            for (size_t d = 0; d < D; d++) y[d * a->interleaved] = row ? row[d] : 0;
        else if (row)
            memcpy(y, row, D * sizeof(real));
        else
            memset(y, 0, D * sizeof(real));
    }
}

static void backward_tokens(void *arg, size_t task, int worker)
{
    (void)worker;
    const job *j = arg;
    const tensor *x = j->n->in[0];
    const rearrange_attributes *a = attributes_of(j->n);
    const size_t D = last_axis(x), first = task_begin(j->tokens, j->tasks, task, 1),
                 end = task_begin(j->tokens, j->tasks, task + 1, 1);
    for (size_t s = first; s < end; s++) {
        const size_t image = s / a->in_tokens, token = s % a->in_tokens;
        real *dx = row_grad(x, s);
        int c = a->first_copy[token], adds = j->n->adds[0];
        if (c == a->first_copy[token + 1] && !adds) memset(dx, 0, D * sizeof(real));
        for (; c < a->first_copy[token + 1]; c++, adds = 1) {
            const size_t t = image * a->out_tokens + (size_t)a->copies[c], step = a->interleaved;
            const real *dy = j->n->out->grad + place_of(a, t, D);
            if (step > 1)
                for (size_t d = 0; d < D; d++) dx[d] = dy[d * step] + (adds ? dx[d] : 0);
            else if (adds)
                for (size_t d = 0; d < D; d++) dx[d] += dy[d];
            else
                memcpy(dx, dy, D * sizeof(real));
        }
    }
}

static void run(const graph *g, const node *n, size_t tokens, pool_task task)
{
    job j = {n, tokens, task_count(tokens, div_up_size(PIECE, last_axis(n->in[0])))};
    pool_run(g->context->pool, j.tasks, task, &j);
}

static void forward(const graph *g, const node *n)
{
    run(g, n, attributes_of(n)->images * attributes_of(n)->out_tokens, forward_tokens);
}

static void backward(const graph *g, const node *n)
{
    run(g, n, attributes_of(n)->images * attributes_of(n)->in_tokens, backward_tokens);
}

const op op_rearrange = {.name = "rearrange",
                         .cheap = 1,
                         .strided_in = 1,
                         .forward = forward,
                         .backward = backward,
                         .attributes = attributes};

/* Sorts the output tokens by the input token that they are a copy of. */
static void list_copies(rearrange_attributes *a)
{
    for (size_t t = 0; t < a->out_tokens; t++)
        if (a->index[t] >= 0) a->first_copy[a->index[t] + 1]++;
    for (size_t s = 0; s < a->in_tokens; s++) a->first_copy[s + 1] += a->first_copy[s];
    for (size_t t = 0; t < a->out_tokens; t++) /* first_copy[s] moves to the end of the list of s */
        if (a->index[t] >= 0) a->copies[a->first_copy[a->index[t]]++] = (int)t;
    for (size_t s = a->in_tokens; s > 0; s--) a->first_copy[s] = a->first_copy[s - 1];
    a->first_copy[0] = 0;
}

tensor *rearrange(graph *g, tensor *x, const int *index, size_t count, const rearrange_shape *to)
{
    char one[64];
    if (g->status) return NULL;
    const size_t rows = x->rank == 3 ? rows_of(x) : 0, images = to->images,
                 wide = to->tokens * to->tokens_per_row;
    if (!rows || !images || !wide || rows % images || count != to->groups * wide
        || count > INT32_MAX || rows / images > INT32_MAX)
        return graph_fail(
            g,
            "rearrange: %zu tokens of each of %zu images in %s cannot be %zu groups of "
            "%zu rows of %zu",
            count, images, shape_text(x, one), to->groups, to->tokens, to->tokens_per_row);
    const size_t in = rows / images;
    for (size_t t = 0; t < count; t++)
        if (index[t] < -1 || (index[t] >= 0 && (size_t)index[t] >= in))
            return graph_fail(g, "rearrange: token %zu is to be token %d of %zu", t, index[t], in);
    const size_t shape[] = {images * to->groups, to->tokens, last_axis(x) * to->tokens_per_row};
    node *n = graph_add(g, &op_rearrange, 1, &x, 3, shape, NULL,
                        sizeof(rearrange_attributes) + (2 * count + in + 1) * sizeof(int));
    if (!n) return NULL;
    rearrange_attributes *a = n->attributes;
    int *indices = (int *)(void *)(a + 1);
    *a = (rearrange_attributes){images,
                                in,
                                count,
                                to->is_interleaved ? to->tokens_per_row : 1,
                                indices,
                                indices + count,
                                indices + count + in + 1};
    memcpy(a->index, index, count * sizeof *index);
    list_copies(a);
    n->out->grid = to->grid;
    return n->out;
}

/* Row of merged cell (i, j): cells (2i, 2j), (2i+1, 2j), (2i, 2j+1), (2i+1, 2j+1). */
tensor *merge(graph *g, tensor *x, int rows, int cols)
{
    char one[64];
    if (g->status) return NULL;
    if (x->rank != 3 || rows < 1 || cols < 1 || rows > INT16_MAX || cols > INT16_MAX
        || x->shape[1] != (size_t)rows * (size_t)cols)
        return graph_fail(g, "merge: tokens %s are not a grid of %d x %d", shape_text(x, one), rows,
                          cols);
    const int down = div_up(rows, 2), across = div_up(cols, 2), count = 4 * down * across;
    int *index = mem_alloc(g->context, (size_t)count * sizeof *index);
    if (!index) return graph_no_memory(g);
    for (int t = 0; t < count; t++) {
        const int row = t / 4 / across * 2 + (t & 1), col = t / 4 % across * 2 + (t >> 1 & 1);
        index[t] = row < rows && col < cols ? row * cols + col : -1;
    }
    const rearrange_shape to = {.images = x->shape[0],
                                .groups = 1,
                                .tokens = (size_t)(down * across),
                                .tokens_per_row = 4,
                                .grid = {0, ssm2d_grid_2d((size_t)down, (size_t)across)}};
    tensor *y = rearrange(g, x, index, (size_t)count, &to);
    mem_free(g->context, index);
    return y;
}

/* Row of patch (i, j): its cells by rows, each channel of all of them together. */
tensor *token_patches(graph *g, tensor *x, int rows, int cols, int side)
{
    char one[64];
    if (g->status) return NULL;
    if (x->rank != 3 || side < 1 || rows < side || cols < side || rows > INT16_MAX
        || cols > INT16_MAX || x->shape[1] != (size_t)rows * (size_t)cols)
        return graph_fail(g,
                          "token_patches: tokens %s of a grid of %d x %d have no %d x %d patches",
                          shape_text(x, one), rows, cols, side, side);
    const int down = rows / side, across = cols / side, cells = side * side,
              count = cells * down * across;
    int *index = mem_alloc(g->context, (size_t)count * sizeof *index);
    if (!index) return graph_no_memory(g);
    for (int t = 0; t < count; t++) {
        const int patch = t / cells, cell = t % cells;
        const int row = patch / across * side + cell / side,
                  col = patch % across * side + cell % side;
        index[t] = row * cols + col;
    }
    const rearrange_shape to = {.images = x->shape[0],
                                .groups = 1,
                                .tokens = (size_t)(down * across),
                                .tokens_per_row = (size_t)cells,
                                .is_interleaved = 1,
                                .grid = {0, ssm2d_grid_2d((size_t)down, (size_t)across)}};
    tensor *y = rearrange(g, x, index, (size_t)count, &to);
    mem_free(g->context, index);
    return y;
}
