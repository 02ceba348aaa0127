/* Properties of every kind of layer, through its public functions: algorithms agree, backward is
 * the derivative of forward, float is double rounded, the number of threads changes no bit,
 * gradients are added, kernels have the declared shape. A kind without a line in `cases` fails. */
#include "ssm2d.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct kind_case {
    const char *kind, *settings;
    size_t batch, rows, cols;
} kind_case;

static const kind_case cases[] = {
    {"ssm2d", "channels=5 d_state=3 n_ssm=2", 2, 4, 5},
    {"ssm2d", "channels=4 d_state=2 n_ssm=1 values=polar layer_norm=true", 2, 3, 4},
    {"ssm2d", "channels=5 d_state=2 n_ssm=2 assign=paper activation=silu", 3, 3, 4},
    {"s4nd", "channels=5 d_state=4 n_ssm=2", 2, 4, 5},
    {"s4nd", "channels=5 d_state=4 n_ssm=2 dt_per_channel=true dt_min=0.05 dt_max=0.5", 2, 4, 5},
    {"s4nd", "channels=5 d_state=6 n_ssm=2 form=dplr init_rows=4 init_cols=5", 2, 4, 5},
    {"s4nd", "channels=3 d_state=4 n_ssm=4 form=dplr rate=0.5", 1, 1, 6},
    {"s4nd", "channels=2 d_state=2 n_ssm=1 form=dplr dt_min=0.2 dt_max=1 init=identity", 3, 7, 2},
    {"ema", "channels=5 d_state=3", 2, 4, 3},
    {"conv", "channels=5 kernel=3", 2, 4, 5},
    {"conv", "channels=16 kernel=7", 2, 9, 13},
    {"conv", "channels=3 kernel=7 bias=false", 2, 2, 3},
    {"conv", "channels=2 kernel=1", 1, 1, 1},
    {"ssm2d_selective", "channels=5 d_state=3 n_ssm=2 c_cell=true", 2, 4, 5},
    {"ssm2d_selective", "channels=4 d_state=2 directions=1 input_dt=false", 1, 1, 1},
    {"ss2d", "channels=5 d_state=2 normalize=true", 2, 4, 5},
    {"ss2d", "channels=2", 1, 6, 1},
    {"mamba2d", "channels=5 directions=2 corner=both", 2, 4, 5},
    {"scan2d", "channels=5 d_state=3", 2, 4, 5},
    {"chimera", "channels=6 heads=3 d_qk=2", 2, 4, 5},
    {"chimera", "channels=2 heads=1", 1, 1, 1},
    {"roesser", "channels=6 heads=3 d_qk=2 mode=P", 2, 4, 5},
    {"roesser", "channels=6 heads=2 d_qk=3", 1, 5, 1},
};

enum { CASES = sizeof cases / sizeof *cases };

static uint64_t state = 88172645463325252ULL;
static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / (double)(1ULL << 52) - 1;
}

static double *values(size_t count)
{
    double *p = malloc((count + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++) p[i] = uniform();
    return p;
}

typedef struct trial {
    const kind_case *c;
    ssm2d_context *context;
    ssm2d_layer *layer;
    size_t params, cells; /* elements */
    double *w, *u, *dy;
} trial;

static ssm2d_context *context_of(int threads)
{
    ssm2d_context_options o = ssm2d_context_options_default();
    ssm2d_context *context;
    ssm2d_error error;
    o.threads = threads;
    if (ssm2d_context_create(&o, &context, &error)) fail_msg("%s", error.line);
    return context;
}

static trial begin(const kind_case *c, int threads)
{
    trial t = {.c = c, .context = context_of(threads)};
    ssm2d_error error;
    if (ssm2d_layer_create(t.context, c->kind, c->settings, &t.layer, &error))
        fail_msg("%s: %s", c->settings, error.line);
    state = 88172645463325252ULL;
    t.params = ssm2d_layer_param_count(t.layer);
    t.cells = c->batch * c->rows * c->cols * (size_t)ssm2d_layer_channels(t.layer);
    t.w = values(t.params), t.u = values(t.cells), t.dy = values(t.cells);
    if (ssm2d_params_init_double(t.layer, 7, t.w, &error)) fail_msg("%s", error.line);
    return t;
}

static void end(trial *t)
{
    free(t->w), free(t->u), free(t->dy);
    ssm2d_layer_destroy(t->layer);
    ssm2d_context_destroy(t->context);
}

static ssm2d_plan *plan_of(const trial *t, const char *algorithm, ssm2d_type type,
                           ssm2d_workspace **workspace)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    ssm2d_plan *plan;
    ssm2d_error error;
    o.batch = t->c->batch;
    o.grid = ssm2d_grid_2d(t->c->rows, t->c->cols);
    o.type = type;
    o.algorithm = algorithm;
    if (ssm2d_plan_create(t->context, t->layer, &o, &plan, &error)
        || ssm2d_workspace_create(plan, workspace, &error))
        fail_msg("%s %s: %s", t->c->kind, t->c->settings, error.line);
    return plan;
}

typedef struct result {
    double *y, *du, *dw;
} result;

static void result_free(result *r) { free(r->y), free(r->du), free(r->dw); }

static result run(const trial *t, const char *algorithm)
{
    ssm2d_workspace *workspace;
    ssm2d_plan *plan = plan_of(t, algorithm, SSM2D_DOUBLE, &workspace);
    result r = {calloc(t->cells, sizeof(double)), calloc(t->cells, sizeof(double)),
                calloc(t->params, sizeof(double))};
    assert_int_equal(ssm2d_forward_double(plan, workspace, t->w, t->u, r.y), SSM2D_OK);
    assert_int_equal(ssm2d_backward_double(plan, workspace, t->w, t->u, t->dy, r.du, r.dw),
                     SSM2D_OK);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return r;
}

static void near(const trial *t, const char *what, const double *got, const double *want,
                 size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("%s %s: %s[%zu] is %.17g, not %.17g", t->c->kind, t->c->settings, what, i,
                     got[i], want[i]);
}

static void every_kind_has_a_case(void **unused)
{
    (void)unused;
    for (int i = 0; ssm2d_kind_name(i); i++) {
        int found = 0;
        for (int k = 0; k < CASES; k++) found += !strcmp(cases[k].kind, ssm2d_kind_name(i));
        if (!found) fail_msg("%s has no case", ssm2d_kind_name(i));
    }
}

static void algorithms_agree(void **unused)
{
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        trial t = begin(&cases[i], 2);
        result first = {0};
        for (int k = 0; ssm2d_kind_algorithm(t.c->kind, k); k++) {
            result r = run(&t, ssm2d_kind_algorithm(t.c->kind, k));
            if (k) {
                near(&t, "y", r.y, first.y, t.cells, 1e-11);
                near(&t, "du", r.du, first.du, t.cells, 1e-11);
                near(&t, "dw", r.dw, first.dw, t.params, 1e-10);
                result_free(&r);
            } else {
                first = r;
            }
        }
        result_free(&first);
        end(&t);
    }
}

static double loss(const trial *t, const ssm2d_plan *plan, ssm2d_workspace *workspace, double *y)
{
    double sum = 0;
    assert_int_equal(ssm2d_forward_double(plan, workspace, t->w, t->u, y), SSM2D_OK);
    for (size_t i = 0; i < t->cells; i++) sum += y[i] * t->dy[i];
    return sum;
}

/* Central differences of fourth order of the loss by one element. */
static double slope(const trial *t, const ssm2d_plan *plan, ssm2d_workspace *workspace, double *y,
                    double *x)
{
    const double e = 1e-4, keep = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        static const int steps[4] = {-2, -1, 1, 2};
        *x = keep + steps[k] * e;
        at[k] = loss(t, plan, workspace, y);
    }
    *x = keep;
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * e);
}

static void backward_is_the_derivative(void **unused)
{
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        trial t = begin(&cases[i], 1);
        result r = run(&t, NULL);
        ssm2d_workspace *workspace;
        ssm2d_plan *plan = plan_of(&t, NULL, SSM2D_DOUBLE, &workspace);
        double *y = calloc(t.cells, sizeof *y);
        for (size_t k = 0; k < t.params; k += 1 + t.params / 200) {
            const double want = slope(&t, plan, workspace, y, &t.w[k]);
            near(&t, "dw", &r.dw[k], &want, 1, 1e-7);
        }
        for (size_t k = 0; k < t.cells; k += 1 + t.cells / 60) {
            const double want = slope(&t, plan, workspace, y, &t.u[k]);
            near(&t, "du", &r.du[k], &want, 1, 1e-8);
        }
        free(y);
        ssm2d_workspace_destroy(workspace);
        ssm2d_plan_destroy(plan);
        result_free(&r);
        end(&t);
    }
}

static void threads_change_no_bit(void **unused)
{
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        result all[2];
        size_t cells = 0, params = 0;
        for (int k = 0; k < 2; k++) {
            trial t = begin(&cases[i], 1 + 2 * k);
            all[k] = run(&t, NULL);
            cells = t.cells, params = t.params;
            end(&t);
        }
        assert_memory_equal(all[0].y, all[1].y, cells * sizeof(double));
        assert_memory_equal(all[0].du, all[1].du, cells * sizeof(double));
        assert_memory_equal(all[0].dw, all[1].dw, params * sizeof(double));
        result_free(&all[0]), result_free(&all[1]);
    }
}

static void float_is_double_rounded(void **unused)
{
    (void)unused;
    for (int i = 0; i < CASES; i++) {
        trial t = begin(&cases[i], 1);
        result r = run(&t, NULL);
        ssm2d_workspace *workspace;
        ssm2d_plan *plan = plan_of(&t, NULL, SSM2D_FLOAT, &workspace);
        float *w = calloc(t.params, sizeof *w), *u = calloc(t.cells, sizeof *u);
        float *y = calloc(t.cells, sizeof *y);
        double *wide = calloc(t.cells, sizeof *wide);
        for (size_t k = 0; k < t.params; k++) w[k] = (float)t.w[k];
        for (size_t k = 0; k < t.cells; k++) u[k] = (float)t.u[k];
        assert_int_equal(ssm2d_forward(plan, workspace, w, u, y), SSM2D_OK);
        for (size_t k = 0; k < t.cells; k++) wide[k] = (double)y[k];
        near(&t, "y", wide, r.y, t.cells, 2e-5);
        free(w), free(u), free(y), free(wide);
        ssm2d_workspace_destroy(workspace);
        ssm2d_plan_destroy(plan);
        result_free(&r);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_case), cmocka_unit_test(algorithms_agree),
        cmocka_unit_test(backward_is_the_derivative), cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(float_is_double_rounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
