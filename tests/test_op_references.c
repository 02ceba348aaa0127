/* Operators against loops that say what they compute, in double: attention with bias, mask and the
 * Laplace function. */
#include "graph_helpers.h"
#include "problem.h"

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

enum { B = 6, HEADS = 2, WIDTH = 3, V_WIDTH = 5, WINDOW_ROWS = 2, WINDOW_COLS = 3, GROUPS = 3 };
enum { T = WINDOW_ROWS * WINDOW_COLS, P = 8 };

typedef struct reference {
    const double *q, *k, *v; /* of image 0 */
    size_t q_row, v_row;     /* numbers from token to token */
    int heads, width, v_width;
    double scale;
    const double *table; /* (entries, heads), or NULL */
    int window;          /* whether the bias is that of a window, not of a sequence */
    const float *mask;
    int laplace;
} reference;

static int entry(const reference *f, int i, int j)
{
    if (!f->window) return P - 1 + j - i;
    const int row = i / WINDOW_COLS - j / WINDOW_COLS, col = i % WINDOW_COLS - j % WINDOW_COLS;
    return (row + WINDOW_ROWS - 1) * (2 * WINDOW_COLS - 1) + (col + WINDOW_COLS - 1);
}

static double score(const reference *f, int b, int h, int i, int j)
{
    double s = 0;
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
    double *want = doubles((size_t)(B * T * f->heads * f->v_width));
    for (int b = 0; b < B; b++)
        for (int h = 0; h < f->heads; h++)
            for (int i = 0; i < T; i++) {
                double p[T], sum = 0;
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

static void fill_mask(float *mask)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                mask[(g * T + i) * T + j] = i % (g + 1) == j % (g + 1) ? 0 : -100;
}

/* Windows of an image, of which some cells do not see each other. */
static void attention_in_windows(void **state)
{
    (void)state;
    once o = once_open();
    int position[T];
    float mask[GROUPS * T * T];
    const size_t entries = (2 * WINDOW_ROWS - 1) * (2 * WINDOW_COLS - 1);
    fill_mask(mask);
    for (int t = 0; t < T; t++)
        position[t] = t / WINDOW_COLS * (2 * WINDOW_COLS - 1) + t % WINDOW_COLS;
    tensor *q = param(&o, 3, B, T, HEADS * WIDTH, "q"), *k = param(&o, 3, B, T, HEADS * WIDTH, "k"),
           *v = param(&o, 3, B, T, HEADS * V_WIDTH, "v"),
           *table = param(&o, 2, entries, HEADS, 0, "table");
    tensor *y = attention_of(
        o.g, q, k, v,
        &(attention_options){.heads = HEADS,
                             .bias = table,
                             .position = position,
                             .center = (WINDOW_ROWS - 1) * (2 * WINDOW_COLS - 1) + WINDOW_COLS - 1,
                             .mask = mask,
                             .groups = GROUPS});
    memset(position, 0xff, sizeof position); /* both have been copied */
    memset(mask, 0xff, sizeof mask);
    once_run(&o, y);
    fill_mask(mask);
    compare(&(reference){.q = q->data,
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

/* Sequences with one head; q, k and v stand side by side in one tensor. */
static void attention_along_a_sequence(void **state)
{
    (void)state;
    for (int laplace = 0; laplace < 2; laplace++) {
        enum { WIDE = 2 * WIDTH + V_WIDTH + 1 };
        once o = once_open();
        int position[T];
        for (int t = 0; t < T; t++) position[t] = -t;
        tensor *all = param(&o, 3, B, T, WIDE, "all"),
               *table = param(&o, 1, 2 * P - 1, 0, 0, "table");
        tensor *v = columns(o.g, all, 0, V_WIDTH), *q = columns(o.g, all, V_WIDTH + 1, WIDTH),
               *k = columns(o.g, all, V_WIDTH + 1 + WIDTH, WIDTH);
        tensor *y = attention_of(
            o.g, q, k, v,
            &(attention_options){.heads = 1,
                                 .scale = 1.0 / T,
                                 .scores = laplace ? ATTENTION_LAPLACE : ATTENTION_SOFTMAX,
                                 .bias = table,
                                 .position = position,
                                 .center = P - 1});
        once_run(&o, y);
        compare(&(reference){.q = all->data + V_WIDTH + 1,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_in_windows),
        cmocka_unit_test(attention_along_a_sequence),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
