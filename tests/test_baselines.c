/* S4ND and EMA: the golden cases, algorithms against each other and against plain sums, gradients
 * against differences, every memory layout, the same bits for any number of threads. */
#include "baseline_trial.h"
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed[2] = {1e-5, 1e-12};

/* ---- golden ---------------------------------------------------------------------------------- */

typedef struct golden {
    const char *folder;
    size_t batch, rows, cols;
    int arrays; /* number of arrays that case.json lists */
    ssm2d_layer layer;
} golden;

/* Arrays are (batch, H, rows, cols) of S4ND, and (cells, batch, H) of EMA. */
static double *golden_grid(ssm2d_context *context, const golden *c, const char *name)
{
    const size_t H = (size_t)ssm2d_layer_channels(&c->layer), cells = c->rows * c->cols,
                 B = c->batch;
    const int ema = c->layer.kind == &layer_ema;
    const size_t shape[2][4] = {{B, H, c->rows, c->cols}, {cells, B, H}};
    double *from = case_array(context, c->folder, name, ema ? 3 : 4, shape[ema]);
    double *to = doubles(B * cells * H);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < cells; i++)
                to[(b * cells + i) * H + h] =
                    ema ? from[(i * B + b) * H + h] : from[(b * H + h) * cells + i];
    free(from);
    return to;
}

static int check_golden(ssm2d_context *context, const golden *c)
{
    trial t = trial_shape(c->layer, c->batch, c->rows, c->cols);
    double *dparams = doubles(t.total);
    ssm2d_param p;
    int wrong = 0, used = 5; /* u, dy, y, du, K */
    t.params = doubles(t.total);
    t.u = golden_grid(context, c, "u");
    t.dy = golden_grid(context, c, "dy");
    double *y = golden_grid(context, c, "y"), *du = golden_grid(context, c, "du");
    for (int i = 0; ssm2d_layer_param(&c->layer, i, &p); i++, used += 2) {
        char gradient[32];
        snprintf(gradient, sizeof gradient, "d%s", p.name);
        double *x = case_array(context, c->folder, p.name, p.rank, p.shape),
               *dx = case_array(context, c->folder, gradient, p.rank, p.shape);
        memcpy(t.params + p.offset, x, p.count * sizeof *x);
        memcpy(dparams + p.offset, dx, p.count * sizeof *dx);
        free(x), free(dx);
    }
    assert_int_equal(c->arrays, used);
    ssm2d_plan *plan = plan_for(context, &t, SSM2D_DOUBLE, NULL, DENSE, DENSE, 0);
    size_t shape[SSM2D_KERNEL_RANK];
    const int rank = ssm2d_kernel_shape(plan, shape);
    const size_t taps = kernel_count(plan);
    double *kernel = case_array(context, c->folder, "K", rank, shape);
    ssm2d_plan_destroy(plan);
    const char *algorithm;
    for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
        for (int k = 0; (algorithm = algorithm_for(&t, &k)); k++)
            for (layout l = DENSE; l < LAYOUTS; l++) {
                char what[256], part[300];
                snprintf(what, sizeof what, "%s %s %s layout %d", c->folder, type_names[type],
                         algorithm, (int)l);
                answer a = run_trial(context, &t, (ssm2d_type)type, algorithm, l, l);
                snprintf(part, sizeof part, "%s K", what);
                wrong += differs(part, a.kernel, kernel, taps, allowed[type]);
                snprintf(part, sizeof part, "%s y", what);
                wrong += differs(part, a.y, y, t.grid.cells, allowed[type]);
                snprintf(part, sizeof part, "%s du", what);
                wrong += differs(part, a.du, du, t.grid.cells, allowed[type]);
                wrong += params_differ(&t, what, a.dparams, dparams, allowed[type]);
                answer_free(&a);
            }
    free(y), free(du), free(kernel), free(dparams);
    trial_free(&t);
    return wrong;
}

static void golden_cases_agree(void **state)
{
    (void)state;
    const golden cases[] = {
        {"s4nd_01_8x8", 2, 8, 8, 15, s4nd_of(16, 8, 16, 1)},
        {"s4nd_02_5x7", 2, 5, 7, 15, s4nd_of(6, 2, 8, 1)},
        {"s4nd_03_1x9", 3, 1, 9, 15, s4nd_of(4, 4, 4, 1)},
        {"ema_01_uni_N2", 2, 3, 4, 15, ema_of(8, 2, 0, 1, 0)},
        {"ema_02_uni_N16_trunc5", 2, 4, 5, 15, ema_of(6, 16, 0, 1, 5)},
        {"ema_03_bi_N16", 2, 8, 8, 15, ema_of(12, 16, 1, 1, 0)},
        {"ema_04_bi_noshift_N4", 3, 5, 5, 15, ema_of(8, 4, 1, 0, 0)},
    };
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        wrong += check_golden(context, &cases[i]);
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* ---- random problems ------------------------------------------------------------------------- */

/* The output by plain sums over the kernel, without EMA's SiLU. */
static void plain_output(const trial *t, const double *kernel, size_t taps, double *y)
{
    const ssm2d_layer *c = &t->layer;
    const ptrdiff_t R = (ptrdiff_t)t->grid.rows, C = (ptrdiff_t)t->grid.cols;
    const size_t H = (size_t)ssm2d_layer_channels(c), cells = t->grid.rows * t->grid.cols;
    const int ema = c->kind == &layer_ema;
    const double *skip = t->params + t->total - H;
    for (size_t b = 0; b < t->grid.batch; b++)
        for (size_t h = 0; h < H; h++)
            for (ptrdiff_t to = 0; to < R * C; to++) {
                double sum = skip[h] * t->u[(b * cells + (size_t)to) * H + h];
                for (ptrdiff_t from = 0; from < R * C; from++) {
                    const ptrdiff_t di = to / C - from / C, dj = to % C - from % C, d = to - from;
                    double k = 0;
                    if (!ema)
                        k = kernel[((ptrdiff_t)(h % (size_t)s4nd_config_of(c)->n_ssm) * (2 * R - 1)
                                    + di + R - 1)
                                       * (2 * C - 1)
                                   + dj + C - 1];
                    if (ema && d >= 0 && d < (ptrdiff_t)taps) k = kernel[h * taps + (size_t)d];
                    const ptrdiff_t back = -d - (ema && ema_config_of(c)->shift ? 1 : 0);
                    if (ema && ema_config_of(c)->bidirectional && back >= 0
                        && back < (ptrdiff_t)taps)
                        k += kernel[(H + h) * taps + (size_t)back];
                    sum += k * t->u[(b * cells + (size_t)from) * H + h];
                }
                y[(b * cells + (size_t)to) * H + h] = ema ? sum / (1 + exp(-sum)) : sum;
            }
}

static ssm2d_layer random_any(rng *r, size_t cells)
{
    const int channels = 1 + below(r, 40), kind = below(r, 2), N = 1 + below(r, 21);
    const int n_ssm = 1 + below(r, 9), flags = below(r, 4), trunc = below(r, 3);
    if (kind == 0) return s4nd_of(channels, n_ssm, N + N % 2, flags ? 1 : 0.37);
    return ema_of(channels, N, flags & 1, flags >> 1, trunc ? 0 : 1 + (int)(cells / 3));
}

static double loss(ssm2d_context *context, const trial *t, const char *algorithm)
{
    ssm2d_plan *plan = plan_for(context, t, SSM2D_DOUBLE, algorithm, DENSE, DENSE, 1);
    ssm2d_workspace *ws = workspace_for(plan);
    double *y = doubles(t->grid.cells), sum = 0;
    plan_forward(plan, ws, t->params, t->u, y);
    for (size_t i = 0; i < t->grid.cells; i++) sum += t->dy[i] * y[i];
    free(y);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
    return sum;
}

/* Along one direction in the array x. */
static double slope(ssm2d_context *context, trial *t, const char *algorithm, double *x,
                    const double *direction, size_t count)
{
    static const double steps[4] = {1e-4, -1e-4, 2e-4, -2e-4};
    double *kept = doubles(count), at[4];
    memcpy(kept, x, count * sizeof *x);
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < count; i++) x[i] = kept[i] + steps[k] * direction[i];
        at[k] = loss(context, t, algorithm);
    }
    memcpy(x, kept, count * sizeof *x);
    free(kept);
    return (8 * (at[0] - at[1]) - (at[2] - at[3])) / 12e-4;
}

static int gradient_wrong(ssm2d_context *context, trial *t, const char *what, const char *algorithm,
                          double *x, const double *gradient, size_t count, rng *r)
{
    double *direction = doubles(count), got = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        direction[i] = rng_normal(r) / sqrt((double)count);
        got += gradient[i] * direction[i];
        size = fmax(size, fabs(gradient[i]));
    }
    const double want = slope(context, t, algorithm, x, direction, count);
    free(direction);
    if (fabs(got - want) <= 1e-7 * (1 + size)) return 0;
    printf("%s: gradient %.12g, differences %.12g\n", what, got, want);
    return 1;
}

static void random_problems_agree(void **state)
{
    (void)state;
    rng r = rng_seed(77);
    ssm2d_context *context = context_of(2);
    const int trials = short_tests() ? 12 : 60;
    int wrong = 0;
    for (int i = 0; i < trials; i++) {
        const size_t rows = 1 + (size_t)below(&r, 13), cols = 1 + (size_t)below(&r, 13);
        const size_t batch = 1 + (size_t)below(&r, 5);
        const ssm2d_layer layer = random_any(&r, rows * cols);
        trial t = trial_make(layer, batch, rows, cols, &r);
        double *y = doubles(t.grid.cells);
        const char *algorithm;
        for (int k = 0; (algorithm = algorithm_for(&t, &k)); k++) {
            char what[160], part[200];
            snprintf(what, sizeof what, "trial %d: %s %s %zux%zux%zux%d", i,
                     ssm2d_layer_kind(&layer), algorithm, batch, rows, cols,
                     ssm2d_layer_channels(&layer));
            const layout in = (layout)below(&r, LAYOUTS), out = (layout)below(&r, LAYOUTS);
            answer a = run_trial(context, &t, SSM2D_DOUBLE, algorithm, in, out);
            const size_t all = rows * cols;
            const size_t cut = layer.kind == &layer_ema ? (size_t)ema_config_of(&layer)->trunc : 0;
            plain_output(&t, a.kernel, cut && cut < all ? cut : all, y);
            snprintf(part, sizeof part, "%s y", what);
            wrong += differs(part, a.y, y, t.grid.cells, 1e-12);
            snprintf(part, sizeof part, "%s du", what);
            wrong += gradient_wrong(context, &t, part, algorithm, t.u, a.du, t.grid.cells, &r);
            ssm2d_param p;
            for (int n = 0; ssm2d_layer_param(&layer, n, &p); n++) {
                snprintf(part, sizeof part, "%s d%s", what, p.name);
                wrong += gradient_wrong(context, &t, part, algorithm, t.params + p.offset,
                                        a.dparams + p.offset, p.count, &r);
            }
            answer single = run_trial(context, &t, SSM2D_FLOAT, algorithm, out, in);
            snprintf(part, sizeof part, "%s in float", what);
            wrong += differs(part, single.y, a.y, t.grid.cells, 2e-5);
            wrong += differs(part, single.du, a.du, t.grid.cells, 2e-5);
            wrong += params_differ(&t, part, single.dparams, a.dparams, 2e-4);
            answer_free(&single);
            answer_free(&a);
        }
        free(y);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Grids with several stages of a transform, and several blocks of states. */
static void algorithms_agree_on_larger_grids(void **state)
{
    (void)state;
    rng r = rng_seed(78);
    static const size_t sides[][2] = {{50, 37}, {1, 130}, {97, 2}};
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int kind = 0; kind < 2; kind++) {
            const ssm2d_layer c = kind ? ema_of(19, 20, 1, 1, 0) : s4nd_of(19, 3, 6, 1);
            trial t = trial_make(c, 3, sides[i][0], sides[i][1], &r);
            answer want = {0};
            const char *algorithm;
            for (int k = 0; (algorithm = algorithm_for(&t, &k)); k++) {
                char what[96];
                answer got = run_trial(context, &t, SSM2D_DOUBLE, algorithm, TOKENS, DENSE);
                snprintf(what, sizeof what, "%s %s %zux%zu", ssm2d_layer_kind(&c), algorithm,
                         sides[i][0], sides[i][1]);
                if (k) {
                    wrong += differs(what, got.y, want.y, t.grid.cells, 1e-12);
                    wrong += differs(what, got.du, want.du, t.grid.cells, 1e-12);
                    wrong += params_differ(&t, what, got.dparams, want.dparams, 1e-11);
                    answer_free(&got);
                } else {
                    want = got;
                }
            }
            answer_free(&want);
            trial_free(&t);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    const ssm2d_layer configs[] = {s4nd_of(37, 8, 16, 1), ema_of(37, 5, 1, 1, 0)};
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        trial t = trial_make(configs[i], 7, 9, 6, &r);
        const char *algorithm;
        for (int k = 0; (algorithm = algorithm_for(&t, &k)); k++) {
            answer want = {0};
            for (int threads = 1; threads <= 4; threads++) {
                ssm2d_context *context = context_of(threads);
                answer got = run_trial(context, &t, SSM2D_FLOAT, algorithm, DENSE, DENSE);
                ssm2d_context_destroy(context);
                if (threads == 1) {
                    want = got;
                    continue;
                }
                wrong += bits_differ(algorithm, got.y, want.y, t.grid.cells);
                wrong += bits_differ(algorithm, got.du, want.du, t.grid.cells);
                wrong += bits_differ(algorithm, got.dparams, want.dparams, t.total);
                answer_free(&got);
            }
            answer_free(&want);
        }
        trial_free(&t);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_cases_agree),
                                       cmocka_unit_test(random_problems_agree),
                                       cmocka_unit_test(algorithms_agree_on_larger_grids),
                                       cmocka_unit_test(threads_change_no_bit)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
