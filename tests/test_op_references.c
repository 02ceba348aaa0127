/* Operators against reference loops in double: attention with bias, mask and the Laplace function,
 * and the order of rearranged and merged tokens. */
#include "graph_helpers.h"
#include "problem.h"

#include "graph_helpers.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- running a graph once -------------------------------------------------------------------- */

typedef struct once {
    ssm2d_context *context;
    graph *g;
    double *params;
} once;

static once once_open(void)
{
    once o = {.context = context_of(2)};
    ssm2d_error error;
    if (graph_create(o.context, 0, &o.g, &error)) fail_msg("%s", error.line);
    return o;
}

static tensor *param(once *o, int rank, size_t a, size_t b, size_t c, const char *name)
{
    return graph_param(o->g, spec_of(rank, (size_t[]){a, b, c}), "%s", name);
}

static void once_run(once *o, tensor *out)
{
    ssm2d_error error;
    rng r = rng_seed(3);
    if (graph_finish(o->g, out, &error)) fail_msg("%s", error.line);
    o->params = doubles(o->g->param_count);
    for (size_t i = 0; i < o->g->param_count; i++) o->params[i] = rng_normal(&r);
    graph_bind(o->g, o->params, NULL);
    graph_forward(o->g);
}

static void once_close(once *o)
{
    graph_destroy(o->g);
    free(o->params);
    ssm2d_context_destroy(o->context);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { B = 6, HEADS = 2, WIDTH = 3, V_WIDTH = 5, WINDOW_COLS = 3, GROUPS = 3 };
/* Tokens of an image; different operators handle few and many. */
enum { FEW = 6, MANY = 75 };

typedef struct reference {
    int tokens;
    const double *q, *k, *v; /* of image 0 */
    size_t q_row, v_row;     /* elements from token to token */
    int heads, width, v_width;
    double scale;
    const double *table; /* (entries, heads), or NULL */
    int window;          /* whether the bias is that of a window, not of a sequence */
    const float *mask;
    int laplace;
} reference;

static int entry(const reference *f, int i, int j)
{
    if (!f->window) return f->tokens + 1 + j - i;
    const int row = i / WINDOW_COLS - j / WINDOW_COLS, col = i % WINDOW_COLS - j % WINDOW_COLS;
    return (row + f->tokens / WINDOW_COLS - 1) * (2 * WINDOW_COLS - 1) + (col + WINDOW_COLS - 1);
}

static double score(const reference *f, int b, int h, int i, int j)
{
    double s = 0;
    const int T = f->tokens;
    const size_t from = (size_t)(b * T + i) * f->q_row + (size_t)(h * f->width),
                 to = (size_t)(b * T + j) * f->q_row + (size_t)(h * f->width);
    for (int d = 0; d < f->width; d++) s += f->q[from + (size_t)d] * f->k[to + (size_t)d];
    s *= f->scale;
    if (f->table) s += f->table[entry(f, i, j) * f->heads + h];
    if (f->mask) s += (double)f->mask[(b % GROUPS * T + i) * T + j];
    return s;
}

static void compare(const reference *f, const double *got)
{
    const int T = f->tokens;
    double *want = doubles((size_t)(B * T * f->heads * f->v_width));
    for (int b = 0; b < B; b++)
        for (int h = 0; h < f->heads; h++)
            for (int i = 0; i < T; i++) {
                double p[MANY], sum = 0;
                for (int j = 0; j < T; j++) {
                    double s = score(f, b, h, i, j);
                    p[j] =
                        f->laplace ? (1 + erf((s - 0.707107) / (0.282095 * sqrt(2)))) / 2 : exp(s);
                    sum += p[j];
                }
                for (int j = 0; j < T; j++)
                    for (int d = 0; d < f->v_width; d++)
                        want[((b * T + i) * f->heads + h) * f->v_width + d] +=
                            p[j] / (f->laplace ? 1 : sum)
                            * f->v[(size_t)(b * T + j) * f->v_row + (size_t)(h * f->v_width + d)];
            }
    assert_int_equal(
        differs("attention", got, want, (size_t)(B * T * f->heads * f->v_width), 1e-13), 0);
    free(want);
}

static void fill_mask(float *mask, int T)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                mask[(g * T + i) * T + j] = i % (g + 1) == j % (g + 1) ? 0 : -100;
}

/* Windows of an image, of which some cells do not see each other. */
static void check_windows(int T)
{
    once o = once_open();
    int position[MANY];
    float mask[GROUPS * MANY * MANY];
    const int rows = T / WINDOW_COLS;
    const size_t tokens = (size_t)T, entries = (size_t)(2 * rows - 1) * (2 * WINDOW_COLS - 1);
    fill_mask(mask, T);
    for (int t = 0; t < T; t++)
        position[t] = t / WINDOW_COLS * (2 * WINDOW_COLS - 1) + t % WINDOW_COLS;
    tensor *q = param(&o, 3, B, tokens, HEADS * WIDTH, "q"),
           *k = param(&o, 3, B, tokens, HEADS * WIDTH, "k"),
           *v = param(&o, 3, B, tokens, HEADS * V_WIDTH, "v"),
           *table = param(&o, 2, entries, HEADS, 0, "table");
    tensor *y = attention_of(
        o.g, q, k, v,
        &(attention_options){.heads = HEADS,
                             .bias = table,
                             .position = position,
                             .center = (rows - 1) * (2 * WINDOW_COLS - 1) + WINDOW_COLS - 1,
                             .mask = mask,
                             .groups = GROUPS});
    memset(position, 0xff, sizeof position); /* both have been copied */
    memset(mask, 0xff, sizeof mask);
    once_run(&o, y);
    fill_mask(mask, T);
    compare(&(reference){.tokens = T,
                         .q = q->data,
                         .k = k->data,
                         .v = v->data,
                         .q_row = HEADS * WIDTH,
                         .v_row = HEADS * V_WIDTH,
                         .heads = HEADS,
                         .width = WIDTH,
                         .v_width = V_WIDTH,
                         .scale = 1 / sqrt(WIDTH),
                         .table = table->data,
                         .window = 1,
                         .mask = mask},
            y->data);
    once_close(&o);
}

static void attention_in_windows(void **state)
{
    (void)state;
    check_windows(FEW);
    check_windows(MANY);
}

/* Sequences with one head; q, k and v stand side by side in one tensor. */
static void attention_along_a_sequence(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        enum { WIDE = 2 * WIDTH + V_WIDTH + 1 };
        once o = once_open();
        int position[MANY];
        const int laplace = way % 2, T = way / 2 ? MANY : FEW;
        const size_t entries = 2 * (size_t)T + 3;
        for (int t = 0; t < T; t++) position[t] = -t;
        tensor *all = param(&o, 3, B, (size_t)T, WIDE, "all"),
               *table = param(&o, 1, entries, 0, 0, "table");
        tensor *v = columns(o.g, all, 0, V_WIDTH), *q = columns(o.g, all, V_WIDTH + 1, WIDTH),
               *k = columns(o.g, all, V_WIDTH + 1 + WIDTH, WIDTH);
        tensor *y = attention_of(
            o.g, q, k, v,
            &(attention_options){.heads = 1,
                                 .scale = 1.0 / T,
                                 .scores = laplace ? ATTENTION_LAPLACE : ATTENTION_SOFTMAX,
                                 .bias = table,
                                 .position = position,
                                 .center = T + 1});
        once_run(&o, y);
        compare(&(reference){.tokens = T,
                             .q = all->data + V_WIDTH + 1,
                             .k = all->data + V_WIDTH + 1 + WIDTH,
                             .v = all->data,
                             .q_row = WIDE,
                             .v_row = WIDE,
                             .heads = 1,
                             .width = WIDTH,
                             .v_width = V_WIDTH,
                             .scale = 1.0 / T,
                             .table = table->data,
                             .laplace = laplace},
                y->data);
        once_close(&o);
    }
}

/* Tokens in a given order: the same as rearranging them and back. Different operators handle few
 * and many. */
static void check_order(int T)
{
    enum { WINDOWS = 2, MOST = WINDOWS * MANY };
    once o = once_open();
    int order[MOST], back[MOST], position[MANY];
    float mask[MANY * MANY];
    const int places = WINDOWS * T, which[WINDOWS] = {-1, 0};
    int count = 0;
    for (int i = 0; i < places; i++) order[i] = i % T == 1 ? -1 : count++;
    for (int i = 0; i < places; i++)
        if (order[i] >= 0) order[i] = count - 1 - (order[i] + 3) % count;
    for (int i = 0; i < places; i++)
        if (order[i] >= 0) back[order[i]] = i;
    for (int t = 0; t < T; t++) position[t] = -t;
    for (int i = 0; i < T * T; i++) mask[i] = i % T == 1 || i % 5 == 0 ? -3 : 0;
    const size_t tokens = (size_t)T, all = (size_t)count, D = HEADS * WIDTH;
    tensor *x = param(&o, 3, B, all, 3 * D, "x"),
           *table = param(&o, 2, 2 * tokens - 1, HEADS, 0, "table");
    attention_options options = {.heads = HEADS,
                                 .bias = table,
                                 .position = position,
                                 .center = T - 1,
                                 .order = order,
                                 .tokens = T,
                                 .mask = mask,
                                 .mask_of = which,
                                 .masks = 1,
                                 .groups = WINDOWS};
    tensor *y = attention_of(o.g, columns(o.g, x, 0, D), columns(o.g, x, D, D),
                             columns(o.g, x, 2 * D, D), &options);
    options.order = NULL;
    tensor *z =
        rearrange(o.g, x, order, (size_t)places, &(rearrange_shape){B, WINDOWS, tokens, 1, {0}});
    z = attention_of(o.g, columns(o.g, z, 0, D), columns(o.g, z, D, D), columns(o.g, z, 2 * D, D),
                     &options);
    z = rearrange(o.g, z, back, all, &(rearrange_shape){B, 1, all, 1, {0}});
    once_run(&o, add(o.g, y, scale(o.g, z, -1)));
    for (size_t i = 0; i < y->count; i++)
        assert_true(fabs(o.g->nodes[o.g->node_count - 1]->out->data[i]) < 1e-14);
    once_close(&o);
}

static void attention_in_an_order(void **state)
{
    (void)state;
    check_order(FEW);
    check_order(MANY);
}

/* ---- order of tokens ------------------------------------------------------------------------- */

/* A 4 x 6 map rolled by (-1, -2) and cut into windows of 2 x 3, and back. */
static void windows_of_a_rolled_map(void **state)
{
    (void)state;
    enum { R = 4, S = 6, W_R = 2, W_C = 3, D = 5, IMAGES = 2, ACROSS = S / W_C };
    once o = once_open();
    int there[R * S], back[R * S], t = 0;
    for (int w = 0; w < R * S / (W_R * W_C); w++)
        for (int r = 0; r < W_R; r++)
            for (int c = 0; c < W_C; c++, t++) {
                const int row = w / ACROSS * W_R + r, col = w % ACROSS * W_C + c;
                there[t] = (row + 1) % R * S + (col + 2) % S;
                back[there[t]] = t;
            }
    tensor *x = param(&o, 3, IMAGES, R * S, D, "x");
    const rearrange_shape windows = {IMAGES, R * S / (W_R * W_C), W_R * W_C, 1, {0}},
                          whole = {IMAGES, 1, R * S, 1, {0, {2, {R, S, 0}}}};
    tensor *y = rearrange(o.g, x, there, R * S, &windows);
    tensor *z = rearrange(o.g, y, back, R * S, &whole), *out = add(o.g, scale(o.g, y, 1), y);
    assert_int_equal(y->shape[0], IMAGES * 4);
    assert_int_equal(y->shape[1], 6);
    assert_int_equal(y->grid.shape.axes, 0);
    assert_int_equal(grid_rows(z->grid.shape), R);
    assert_int_equal(grid_cols(z->grid.shape), S);
    tensor *sum = add(o.g, z, rearrange(o.g, out, back, R * S, &whole));
    once_run(&o, sum);
    for (size_t i = 0; i < x->count; i++)
        assert_true(sum->data[i] == x->data[i] + (x->data[i] + x->data[i]));
    once_close(&o);

    o = once_open();
    x = param(&o, 3, IMAGES, R * S, D, "x");
    y = rearrange(o.g, x, there, R * S, &windows);
    once_run(&o, y);
    /* the second window's cell (1, 0) is cell (1, 3) of the rolled map, which was (2, 5) */
    assert_true(y->data[(6 + 3) * D + 1] == x->data[(2 * S + 5) * D + 1]);
    /* the last cell of the last image was (0, 1) */
    assert_true(y->data[y->count - 1] == x->data[(R * S + 1) * D + D - 1]);
    once_close(&o);
}

/* Neighbours go down first, then across. */
static void merge_takes_two_by_two(void **state)
{
    (void)state;
    enum { R = 3, S = 5, D = 2, IMAGES = 2, DOWN = 2, ACROSS = 3 };
    static const int order[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    once o = once_open();
    tensor *x = param(&o, 3, IMAGES, R * S, D, "x"), *y = merge(o.g, x, R, S);
    assert_int_equal(y->shape[1], DOWN * ACROSS);
    assert_int_equal(y->shape[2], 4 * D);
    assert_int_equal(grid_rows(y->grid.shape), DOWN);
    assert_int_equal(grid_cols(y->grid.shape), ACROSS);
    once_run(&o, y);
    const double *got = y->data;
    for (int b = 0; b < IMAGES; b++)
        for (int t = 0; t < DOWN * ACROSS; t++)
            for (int k = 0; k < 4; k++)
                for (int d = 0; d < D; d++, got++) {
                    const int r = t / ACROSS * 2 + order[k][0], c = t % ACROSS * 2 + order[k][1];
                    assert_true(*got
                                == (r < R && c < S ? x->data[((b * R + r) * S + c) * D + d] : 0));
                }
    once_close(&o);
}

/* As patches of images: (channel, row, column); an odd row or column at the end is left out. */
static void token_patches_are_by_channel(void **state)
{
    (void)state;
    enum { R = 5, S = 4, D = 3, IMAGES = 2, DOWN = 2, ACROSS = 2, SIDE = 2 };
    once o = once_open();
    tensor *x = param(&o, 3, IMAGES, R * S, D, "x"), *y = token_patches(o.g, x, R, S, SIDE);
    assert_int_equal(y->shape[1], DOWN * ACROSS);
    assert_int_equal(y->shape[2], SIDE * SIDE * D);
    assert_int_equal(grid_rows(y->grid.shape), DOWN);
    assert_int_equal(grid_cols(y->grid.shape), ACROSS);
    once_run(&o, y);
    const double *got = y->data;
    for (int b = 0; b < IMAGES; b++)
        for (int t = 0; t < DOWN * ACROSS; t++)
            for (int d = 0; d < D; d++)
                for (int k = 0; k < SIDE * SIDE; k++, got++) {
                    const int r = t / ACROSS * SIDE + k / SIDE, c = t % ACROSS * SIDE + k % SIDE;
                    assert_true(*got == x->data[((b * R + r) * S + c) * D + d]);
                }
    once_close(&o);
}

/* ---- batch_norm ------------------------------------------------------------------------------ */

enum { ROWS = 300, WIDTH_BN = 5 };

typedef struct normed {
    graph *g;
    tensor *x, *y;
    double params[4 * WIDTH_BN + ROWS * WIDTH_BN], grads[4 * WIDTH_BN + ROWS * WIDTH_BN];
} normed;

/* Parameters in this order: gamma, beta, mean, variance, x. */
static void normed_open(normed *n, ssm2d_context *context, int training, int random)
{
    ssm2d_error error;
    const param_spec learned = {.rank = 1, .shape = {WIDTH_BN}},
                     state = {.rank = 1, .shape = {WIDTH_BN}, .group = PARAM_STATE};
    if (graph_create(context, training, &n->g, &error)) fail_msg("%s", error.line);
    n->g->random = random;
    const batch_norm_arrays a = {
        graph_param(n->g, &learned, "gamma"), graph_param(n->g, &learned, "beta"),
        graph_param(n->g, &state, "mean"), graph_param(n->g, &state, "variance")};
    n->x = graph_param(n->g, spec_of(3, (size_t[]){3, ROWS / 3, WIDTH_BN}), "x");
    n->y = batch_norm(n->g, n->x, &a, 0.1, 1e-3);
    if (graph_finish(n->g, n->y, &error)) fail_msg("%s", error.line);
    rng r = rng_seed(6);
    for (size_t i = 0; i < 4 * WIDTH_BN; i++) n->params[i] = 0.5 + rng_uniform(&r, 0, 1);
    /* far from zero, so that sums of squares alone would lose digits */
    for (size_t i = 0; i < ROWS * WIDTH_BN; i++)
        n->params[4 * WIDTH_BN + i] = 1e4 * (double)(i % WIDTH_BN) + rng_normal(&r);
    graph_bind(n->g, n->params, training ? n->grads : NULL);
}

/* y, and how the running moments move: by a tenth, once in a forward run, the variance unbiased;
 * with the running moments nothing moves. Whatever the number of threads, to the bit. */
static void batch_norm_moves_its_moments(void **state)
{
    (void)state;
    static normed first, n;
    for (int threads = 1; threads <= 4; threads++) {
        ssm2d_context *context = context_of(threads);
        for (int random = 0; random < 2; random++) {
            double old[4 * WIDTH_BN];
            normed_open(&n, context, 1, random);
            memcpy(old, n.params, sizeof old);
            graph_forward(n.g);
            for (size_t d = 0; d < WIDTH_BN; d++) {
                const double *x = n.x->data + d;
                double mean = 0, squares = 0;
                for (size_t r = 0; r < ROWS; r++) mean += x[r * WIDTH_BN] / ROWS;
                for (size_t r = 0; r < ROWS; r++)
                    squares += (x[r * WIDTH_BN] - mean) * (x[r * WIDTH_BN] - mean);
                const double old_mean = old[2 * WIDTH_BN + d], old_variance = old[3 * WIDTH_BN + d];
                const double used_mean = random ? mean : old_mean,
                             variance = random ? squares / ROWS : old_variance;
                for (size_t r = 0; r < ROWS; r++) {
                    const double want =
                                     (x[r * WIDTH_BN] - used_mean) / sqrt(variance + 1e-3) * old[d]
                                     + old[WIDTH_BN + d],
                                 got = n.y->data[r * WIDTH_BN + d];
                    if (fabs(got - want) > 1e-10 * (1 + fabs(want)))
                        fail_msg("y[%zu][%zu] is %.15g, not %.15g", r, d, got, want);
                }
                const double next_mean = random ? 0.9 * old_mean + 0.1 * mean : old_mean;
                const double next_variance =
                    random ? 0.9 * old_variance + 0.1 * squares / (ROWS - 1) : old_variance;
                assert_true(fabs(n.params[2 * WIDTH_BN + d] - next_mean)
                            <= 1e-12 * fabs(next_mean));
                assert_true(fabs(n.params[3 * WIDTH_BN + d] - next_variance) <= 1e-10);
            }
            memcpy(old, n.params, sizeof old);
            for (size_t i = 0; i < n.y->count; i++) n.y->grad[i] = 1;
            graph_backward(n.g); /* moves nothing */
            assert_memory_equal(old, n.params, sizeof old);
            if (threads == 1 && random) first = n;
            if (random) assert_memory_equal(first.params, n.params, sizeof n.params);
            graph_destroy(n.g);
        }
        ssm2d_context_destroy(context);
    }
}

/* A node that is recomputed before backward does not update the moments twice. */
static void batch_norm_is_recomputed_once(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_error error;
    double after[2];
    for (int back = 0; back < 2; back++) {
        graph *g;
        double params[64], grads[64] = {0};
        const param_spec learned = {.rank = 1, .shape = {2}},
                         kept = {.rank = 1, .shape = {2}, .group = PARAM_STATE};
        if (graph_create(context, 1, &g, &error)) fail_msg("%s", error.line);
        const batch_norm_arrays a = {
            graph_param(g, &learned, "gamma"), graph_param(g, &learned, "beta"),
            graph_param(g, &kept, "mean"), graph_param(g, &kept, "variance")};
        tensor *x = scale(g, graph_param(g, spec_of(2, (size_t[]){4, 2}), "x"), 2);
        tensor *w = graph_param(g, spec_of(2, (size_t[]){3, 2}), "w");
        tensor *y = linear(g, batch_norm(g, x, &a, 0.1, 1e-5), w, NULL); /* reads it in backward */
        if (graph_finish(g, y, &error)) fail_msg("%s", error.line);
        for (int i = 0; i < 64; i++) params[i] = sin(i + 1.0);
        graph_bind(g, params, grads);
        graph_forward(g);
        for (size_t i = 0; i < y->count; i++) y->grad[i] = 1;
        if (back) graph_backward(g);
        after[back] = params[4];
        graph_destroy(g);
    }
    assert_true(after[0] == after[1]);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_in_windows),
        cmocka_unit_test(attention_along_a_sequence),
        cmocka_unit_test(attention_in_an_order),
        cmocka_unit_test(windows_of_a_rolled_map),
        cmocka_unit_test(merge_takes_two_by_two),
        cmocka_unit_test(token_patches_are_by_channel),
        cmocka_unit_test(batch_norm_moves_its_moments),
        cmocka_unit_test(batch_norm_is_recomputed_once),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
