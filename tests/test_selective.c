/* Selective scans: the golden cases, gradients against differences in every layout, float against
 * double, the same bits for any number of threads, ssm2d_selective against the 2-D SSM, refused
 * settings, and how far a NaN spreads. */
#include "baseline_trial.h"
#include "case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_layer layer_from(const char *kind, const char *settings)
{
    ssm2d_layer layer = layer_default(layer_kind_find(kind));
    ssm2d_error error;
    if (layer_parse(settings, &layer, &error)) fail_msg("%s", error.line);
    return layer;
}

/* ---- golden ---------------------------------------------------------------------------------- */

typedef struct golden {
    const char *folder, *kind, *settings;
    size_t batch, rows, cols;
} golden;

static const golden cases[] = {
    {"ss2d_01_5x3_N1", "ss2d", "channels=8 d_state=1 dt_rank=2", 2, 5, 3},
    {"ss2d_02_4x6_N4_ln", "ss2d", "channels=6 d_state=4 dt_rank=1 normalize=true", 2, 4, 6},
    {"ss2d_03_1x9_N4", "ss2d", "channels=8 d_state=4 dt_rank=2", 2, 1, 9},
    {"mamba2d_01_5x3_tl", "mamba2d", "channels=6 d_state=4 dt_rank=2", 2, 5, 3},
    {"mamba2d_02_4x6_br_N1", "mamba2d", "channels=8 d_state=1 dt_rank=1 corner=bottom_right", 2, 4,
     6},
    {"mamba2d_03_7x5_both", "mamba2d", "channels=8 d_state=3 dt_rank=2 directions=2 corner=both", 2,
     7, 5},
    {"scan2d_01_5x3_k1", "scan2d", "channels=6 d_state=4 dt_rank=2 directions=1", 2, 5, 3},
    {"scan2d_02_4x6_k4_ln", "scan2d", "channels=8 d_state=2 dt_rank=2 normalize=true", 2, 4, 6},
    {"ssm2d_selective_01_5x3_d1", "ssm2d_selective",
     "channels=6 d_state=4 directions=1 dt_rank=2 input_dt=false", 2, 5, 3},
    {"ssm2d_selective_02_4x7_d2", "ssm2d_selective",
     "channels=8 d_state=4 directions=2 dt_rank=3 input_dt=false", 2, 4, 7},
    {"ssm2d_selective_03_6x5_d4_ccell", "ssm2d_selective",
     "channels=8 d_state=3 directions=4 dt_rank=2 input_dt=false c_cell=true", 2, 6, 5},
    {"ssm2d_selective_04_7x4_d2_half_indt", "ssm2d_selective",
     "channels=6 d_state=2 n_ssm=3 directions=2 dt_rank=2 norm=half", 2, 7, 4},
    {"ssm2d_selective_05_5x8_d4_indt", "ssm2d_selective",
     "channels=8 d_state=4 directions=4 dt_rank=3", 2, 5, 8},
    {"roesser_02_5x6_P_d4", "roesser", "channels=12 heads=3 d_qk=3 d_v=4 mode=P transition=tanh", 2,
     5, 6},
    {"chimera_02_4x6_proj", "chimera", "channels=12 heads=3 d_qk=5", 2, 4, 6},
};

/* Golden arrays are channel-first. */
static double *golden_grid(ssm2d_context *context, const golden *c, const char *name, size_t H)
{
    const size_t shape[] = {c->batch, H, c->rows, c->cols}, cells = c->rows * c->cols;
    double *from = case_array(context, c->folder, name, 4, shape),
           *to = doubles(c->batch * cells * H);
    for (size_t b = 0; b < c->batch; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < cells; i++)
                to[(b * cells + i) * H + h] = from[(b * H + h) * cells + i];
    free(from);
    return to;
}

static int check_golden(ssm2d_context *context, const golden *c)
{
    static const double allowed[2] = {1e-5, 1e-12};
    const ssm2d_layer layer = layer_from(c->kind, c->settings);
    const size_t H = (size_t)ssm2d_layer_channels(&layer);
    trial t = trial_shape(layer, c->batch, c->rows, c->cols);
    double *dparams = doubles(t.total);
    ssm2d_param p;
    int wrong = 0;
    t.params = doubles(t.total);
    t.u = golden_grid(context, c, "u", H);
    t.dy = golden_grid(context, c, "dy", H);
    double *y = golden_grid(context, c, "y", H), *du = golden_grid(context, c, "du", H);
    for (int i = 0; ssm2d_layer_param(&layer, i, &p); i++) {
        char gradient[32];
        const int skip = layer.kind == &layer_ssm2d_selective && !strcmp(p.name, "D");
        const char *name = skip ? "omega" : p.name;
        snprintf(gradient, sizeof gradient, "d%s", name);
        double *x = case_array(context, c->folder, name, p.rank, p.shape),
               *dx = case_array(context, c->folder, gradient, p.rank, p.shape);
        memcpy(t.params + p.offset, x, p.count * sizeof *x);
        memcpy(dparams + p.offset, dx, p.count * sizeof *dx);
        free(x), free(dx);
    }
    for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
        for (layout l = DENSE; l < LAYOUTS; l++) {
            char what[128], part[160];
            snprintf(what, sizeof what, "%s %s layout %d", c->folder, type_names[type], (int)l);
            answer a = run_trial(context, &t, (ssm2d_type)type, "scan", l, l);
            snprintf(part, sizeof part, "%s y", what);
            wrong += differs(part, a.y, y, t.grid.cells, allowed[type]);
            snprintf(part, sizeof part, "%s du", what);
            wrong += differs(part, a.du, du, t.grid.cells, allowed[type]);
            wrong += params_differ(&t, what, a.dparams, dparams, allowed[type]);
            answer_free(&a);
        }
    free(y), free(du), free(dparams);
    trial_free(&t);
    return wrong;
}

static void golden_cases_agree(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        wrong += check_golden(context, &cases[i]);
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* ---- random problems ------------------------------------------------------------------------- */

/* Random settings of one of these kinds. */
static ssm2d_layer random_layer(rng *r, int kind)
{
    static const char *const names[] = {"ssm2d_selective", "ss2d",    "mamba2d",
                                        "scan2d",          "chimera", "roesser"};
    static const char *const corners[] = {"directions=1 corner=top_left",
                                          "directions=1 corner=bottom_right",
                                          "directions=2 corner=both"};
    static const char *const norms[] = {"relaxed", "half", "none"},
                             *const assigns[] = {"distinct", "authors", "paper"},
                             *const flags[] = {"false", "true"};
    char settings[512];
    const int channels = 1 + below(r, 40), N = 1 + below(r, 6);
    const int rank = 1 + below(r, channels < 7 ? channels : 7), a = below(r, 3), b = below(r, 3);
    const int bits = below(r, 64), directions = 1 << below(r, 3), systems = 1 + below(r, 5);
    const int heads = 1 + below(r, 4), wide = 1 + below(r, 10);
    int used =
        snprintf(settings, sizeof settings, "channels=%d ", kind > 3 ? heads * wide : channels);
    char *end = settings + used;
    const size_t left = sizeof settings - (size_t)used;
    if (kind == 4)
        snprintf(end, left, "heads=%d d_qk=%d", heads, N);
    else if (kind == 5)
        snprintf(end, left, "heads=%d d_qk=%d directions=%d mode=%s chirality=%s transition=%s",
                 heads, N, directions, bits & 1 ? "P" : "D", bits & 2 ? "L" : "R",
                 bits & 4 ? "tanh" : "sigmoid");
    else if (kind == 0)
        snprintf(end, left,
                 "d_state=%d dt_rank=%d n_ssm=%d directions=%d norm=%s assign=%s c_cell=%s "
                 "input_dt=%s skip=%s share_directions=%s c_per_channel=%s",
                 N, rank, systems, directions, norms[a], assigns[b], flags[bits & 1],
                 flags[bits >> 1 & 1], flags[bits >> 2 & 1], flags[bits >> 3 & 1],
                 flags[bits >> 4 & 1]);
    else
        snprintf(end, left, "d_state=%d dt_rank=%d %s%s", N, rank,
                 kind == 2   ? corners[a]
                 : kind == 3 ? a ? "directions=4 normalize=" : "directions=1 normalize="
                             : "normalize=",
                 kind == 2 ? "" : flags[bits & 1]);
    return layer_from(names[kind], settings);
}

enum { KINDS = 6 };

static double *param_of(const ssm2d_layer *layer, double *params, const char *name, size_t *count)
{
    ssm2d_param p;
    for (int i = 0; ssm2d_layer_param(layer, i, &p); i++)
        if (!strcmp(p.name, name)) {
            *count = p.count;
            return params + p.offset;
        }
    return NULL;
}

/* With random arrays; initial values have many zeros. */
static trial random_trial(ssm2d_layer layer, size_t batch, size_t rows, size_t cols, rng *r)
{
    trial t = trial_make(layer, batch, rows, cols, r);
    for (size_t i = 0; i < t.total; i++) t.params[i] = (float)(t.params[i] + 0.2 * rng_normal(r));
    return t;
}

static double loss(ssm2d_context *context, const trial *t)
{
    ssm2d_plan *plan = plan_for(context, t, SSM2D_DOUBLE, NULL, DENSE, DENSE, 1);
    ssm2d_workspace *ws = workspace_for(plan);
    double *y = doubles(t->grid.cells), sum = 0;
    plan_forward(plan, ws, t->params, t->u, y);
    for (size_t i = 0; i < t->grid.cells; i++) sum += t->dy[i] * y[i];
    free(y);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
    return sum;
}

/* The gradient along a random direction in the array x, against differences. */
static int gradient_wrong(ssm2d_context *context, trial *t, const char *what, double *x,
                          const double *gradient, size_t count, rng *r)
{
    static const double steps[4] = {1e-4, -1e-4, 2e-4, -2e-4};
    double *direction = doubles(count), *kept = doubles(count), at[4], got = 0, size = 0;
    memcpy(kept, x, count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        direction[i] = rng_normal(r) / sqrt((double)count);
        got += gradient[i] * direction[i];
        size = fmax(size, fabs(gradient[i]));
    }
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < count; i++) x[i] = kept[i] + steps[k] * direction[i];
        at[k] = loss(context, t);
    }
    memcpy(x, kept, count * sizeof *x);
    free(kept), free(direction);
    const double want = (8 * (at[0] - at[1]) - (at[2] - at[3])) / 12e-4;
    if (fabs(got - want) <= 1e-7 * (1 + size)) return 0;
    printf("%s: gradient %.12g, differences %.12g\n", what, got, want);
    return 1;
}

static int check_trial(ssm2d_context *context, trial *t, rng *r)
{
    char what[512], part[560], settings[400];
    int wrong = 0;
    const layout in = (layout)below(r, LAYOUTS), out = (layout)below(r, LAYOUTS);
    ssm2d_layer_settings(&t->layer, settings, sizeof settings);
    snprintf(what, sizeof what, "%s %zux%zux%zu %s", t->layer.kind->name, t->grid.batch,
             t->grid.rows, t->grid.cols, settings);
    answer a = run_trial(context, t, SSM2D_DOUBLE, "scan", in, out);
    snprintf(part, sizeof part, "%s du", what);
    wrong += gradient_wrong(context, t, part, t->u, a.du, t->grid.cells, r);
    ssm2d_param p;
    for (int n = 0; ssm2d_layer_param(&t->layer, n, &p); n++) {
        snprintf(part, sizeof part, "%s d%s", what, p.name);
        wrong += gradient_wrong(context, t, part, t->params + p.offset, a.dparams + p.offset,
                                p.count, r);
    }
    answer single = run_trial(context, t, SSM2D_FLOAT, "scan", out, in);
    snprintf(part, sizeof part, "%s in float", what);
    wrong += differs(part, single.y, a.y, t->grid.cells, 3e-5);
    wrong += differs(part, single.du, a.du, t->grid.cells, 3e-5);
    wrong += params_differ(t, part, single.dparams, a.dparams, 2e-4);
    answer_free(&single);
    answer_free(&a);
    return wrong;
}

static void random_problems_agree(void **state)
{
    (void)state;
    rng r = rng_seed(31);
    ssm2d_context *context = context_of(2);
    const int trials = short_tests() ? 20 : 100;
    int wrong = 0;
    for (int i = 0; i < trials; i++) {
        const ssm2d_layer layer = random_layer(&r, i % KINDS);
        const size_t rows = 1 + (size_t)below(&r, 8), cols = 1 + (size_t)below(&r, 8);
        const size_t batch = 1 + (size_t)below(&r, 3);
        trial t = random_trial(layer, batch, rows, cols, &r);
        wrong += check_trial(context, &t, &r);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Grids whose states do not fit the cache, so that backward runs in blocks of rows. */
static void blocks_of_rows_agree(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *settings;
    } layers[] = {{"ssm2d_selective", "channels=9 d_state=6 directions=2 c_cell=true dt_rank=2"},
                  {"ss2d", "channels=9 d_state=17 dt_rank=1"},
                  {"mamba2d", "channels=9 d_state=17 dt_rank=1"},
                  {"scan2d", "channels=9 d_state=13 dt_rank=1"},
                  {"chimera", "channels=9 heads=3 d_qk=17"},
                  {"roesser", "channels=9 heads=3 d_qk=9"}};
    rng r = rng_seed(32);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const ssm2d_layer layer = layer_from(layers[i].kind, layers[i].settings);
        trial t = random_trial(layer, 1, 37, 29, &r);
        size_t count; /* Chimera sums so many paths that small steps would make states huge */
        double *bias = param_of(&layer, t.params, "dt_bias", &count);
        for (size_t k = 0; !strcmp(layers[i].kind, "chimera") && k < count; k++) bias[k] += 6;
        double *w = param_of(&layer, t.params, "tr_weight", &count); /* the same of roesser */
        for (size_t k = 0; w && k < count; k++) w[k] = 0.01 * w[k];
        wrong += check_trial(context, &t, &r);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    rng r = rng_seed(33);
    int wrong = 0;
    for (int kind = 0; kind < 2 * KINDS; kind++) {
        trial t = random_trial(random_layer(&r, kind % KINDS), 5, 9, 6, &r);
        answer want = {0};
        for (int threads = 1; threads <= 4; threads++) {
            ssm2d_context *context = context_of(threads);
            answer got = run_trial(context, &t, SSM2D_FLOAT, NULL, DENSE, DENSE);
            ssm2d_context_destroy(context);
            if (threads == 1) {
                want = got;
                continue;
            }
            wrong += bits_differ(t.layer.kind->name, got.y, want.y, t.grid.cells);
            wrong += bits_differ(t.layer.kind->name, got.du, want.du, t.grid.cells);
            wrong += bits_differ(t.layer.kind->name, got.dparams, want.dparams, t.total);
            answer_free(&got);
        }
        answer_free(&want);
        trial_free(&t);
    }
    assert_int_equal(wrong, 0);
}

/* ---- ssm2d_selective with constant steps is the 2-D SSM -------------------------------------- */

static int array_differs(const trial *a, double *got, const trial *b, double *want,
                         const char *name, const char *what)
{
    char part[200];
    size_t n, m;
    const double *x = param_of(&a->layer, got, name, &n), *y = param_of(&b->layer, want, name, &m);
    assert_true(x && y && n == m);
    snprintf(part, sizeof part, "%s %s", what, name);
    return differs(part, x, y, n, 1e-11);
}

/* Steps of 1 compare everything; other constant steps, y and du with A such that a becomes
 * a^step. */
static int check_constant(ssm2d_context *context, const char *settings, double step, rng *r)
{
    static const char *const shared[] = {"A", "B", "C", "D"};
    char selective[300];
    int wrong = 0;
    const size_t rows = 1 + (size_t)below(r, 9), cols = 1 + (size_t)below(r, 9);
    snprintf(selective, sizeof selective, "%s input_dt=%s dt_rank=3", settings,
             step == 1 && below(r, 2) ? "true" : "false");
    trial t = trial_make(layer_from("ssm2d_selective", selective), 2, rows, cols, r);
    trial lti = trial_make(layer_from("ssm2d", settings), 2, rows, cols, r);
    size_t count, same;
    for (int i = 0; i < 4; i++) {
        double *from = param_of(&t.layer, t.params, shared[i], &count);
        memcpy(param_of(&lti.layer, lti.params, shared[i], &same), from, count * sizeof *from);
        assert_true(count == same);
    }
    if (step != 1) {
        double *bias = param_of(&t.layer, t.params, "dt_bias", &count);
        for (size_t i = 0; i < count; i++) bias[i] = log(expm1(step));
        double *a = param_of(&lti.layer, lti.params, "A", &count);
        for (size_t i = 0; i < count; i++) {
            const double raised = pow(1 / (1 + exp(-a[i])), step);
            a[i] = log(raised / (1 - raised));
        }
    } else { /* the initial value, which is rounded to float */
        double *bias = param_of(&t.layer, t.params, "dt_bias", &count);
        for (size_t i = 0; i < count; i++) bias[i] = log(expm1(1));
    }
    memcpy(lti.u, t.u, t.grid.cells * sizeof *t.u);
    memcpy(lti.dy, t.dy, t.grid.cells * sizeof *t.dy);
    answer a = run_trial(context, &t, SSM2D_DOUBLE, "scan", DENSE, DENSE);
    answer b = run_trial(context, &lti, SSM2D_DOUBLE, "direct", DENSE, DENSE);
    wrong += differs(selective, a.y, b.y, t.grid.cells, 1e-12);
    if (step == 1)
        for (int i = 0; i < 4; i++)
            wrong += array_differs(&t, a.dparams, &lti, b.dparams, shared[i], selective);
    answer_free(&a), answer_free(&b);
    trial_free(&t), trial_free(&lti);
    return wrong;
}

static void constant_steps_are_the_2d_ssm(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "channels=7 d_state=3 n_ssm=2 directions=4",
        "channels=21 d_state=2 n_ssm=3 directions=2 norm=half",
        "channels=5 d_state=4 n_ssm=1 directions=1 norm=none c_per_channel=true",
        "channels=9 d_state=2 n_ssm=2 directions=4 share_directions=true",
        "channels=18 d_state=3 n_ssm=2 directions=4 assign=authors",
        "channels=8 d_state=3 n_ssm=2 directions=4 assign=paper c_per_channel=true"};
    rng r = rng_seed(34);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        for (int k = 0; k < 3; k++) wrong += check_constant(context, settings[i], 1, &r);
        wrong += check_constant(context, settings[i], 1.7, &r);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* ---- refusals and NaN ------------------------------------------------------------------------ */

static void bad_settings_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][4] = {
        {"ss2d", "channels=8 d_state=0", "d_state", "0"},
        {"ss2d", "channels=8 dt_rank=9", "dt_rank=9", "channels=8"},
        {"ss2d", "channels=8 directions=2", "directions", "4"},
        {"mamba2d", "channels=8 dt_rank=9", "dt_rank=9", "channels=8"},
        {"mamba2d", "channels=8 corner=both", "directions=1", "directions=2"},
        {"mamba2d", "channels=8 directions=2", "directions=2", "directions=1"},
        {"scan2d", "channels=8 directions=2", "directions", "1"},
        {"chimera", "channels=8 heads=3", "heads=3", "channels=8"},
        {"chimera", "channels=8 d_qk=0", "d_qk", "0"},
        {"roesser", "channels=8 heads=3", "heads=3", "channels=8"},
        {"roesser", "channels=8 heads=2 d_v=3", "d_v=3", "channels=8"},
        {"ssm2d_selective", "channels=8 dt_rank=9", "dt_rank=9", "channels=8"},
        {"ssm2d_selective", "channels=8 d_state=0", "d_state", "0"},
        {"ssm2d_selective", "channels=8 norm=paper", "norm", "relaxed"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ssm2d_layer layer = layer_default(layer_kind_find(wrong[i][0]));
        ssm2d_error error;
        assert_int_equal(layer_parse(wrong[i][1], &layer, &error), SSM2D_ERROR_ARGUMENT);
        says(&error, wrong[i][2], wrong[i][3]);
    }
}

/* They have no kernel and cannot be streamed, and say so. */
static void what_they_cannot_do_is_refused(void **state)
{
    (void)state;
    static const char *const kinds[] = {"ssm2d_selective", "ss2d",    "mamba2d",
                                        "scan2d",          "chimera", "roesser"};
    ssm2d_context *context = context_of(1);
    rng r = rng_seed(35);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = trial_make(layer_from(kinds[i], "channels=4"), 1, 3, 3, &r);
        ssm2d_plan *plan = plan_for(context, &t, SSM2D_DOUBLE, NULL, DENSE, DENSE, 0);
        ssm2d_workspace *ws = workspace_for(plan);
        ssm2d_stream *stream;
        ssm2d_error error;
        double kernel;
        assert_int_equal(ssm2d_kind_capabilities(kinds[i]), SSM2D_CAN_GRID_2D);
        assert_int_equal(plan_kernel(plan, ws, t.params, &kernel), SSM2D_ERROR_UNSUPPORTED);
        assert_int_equal(
            ssm2d_stream_create_double(context, &t.layer, 1, 3, t.params, &stream, &error),
            SSM2D_ERROR_UNSUPPORTED);
        says(&error, kinds[i], "stream");
        ssm2d_workspace_destroy(ws);
        ssm2d_plan_destroy(plan);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
}

/* Scans from the top left corner only carry a NaN to cells below and on the right; the others keep
 * their bits. */
static void nan_goes_where_the_recursion_goes(void **state)
{
    (void)state;
    enum { ROWS = 5, COLS = 4, I = 2, J = 1, H = 6 };
    static const char *const layers[][2] = {
        {"ssm2d_selective", "channels=6 d_state=3 directions=1"},
        {"mamba2d", "channels=6 d_state=3"},
        {"scan2d", "channels=6 d_state=3 directions=1"}};
    ssm2d_context *context = context_of(1);
    rng r = rng_seed(36);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        trial t = random_trial(layer_from(layers[i][0], layers[i][1]), 1, ROWS, COLS, &r);
        answer clean = run_trial(context, &t, SSM2D_FLOAT, NULL, DENSE, DENSE);
        t.u[(I * COLS + J) * H + 2] = NAN;
        answer got = run_trial(context, &t, SSM2D_FLOAT, NULL, DENSE, DENSE);
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < COLS; col++) {
                const int at = (row * COLS + col) * H, reached = row >= I && col >= J;
                if (reached)
                    assert_true(isnan(got.y[at + 2]));
                else
                    assert_int_equal(bits_differ("y", got.y + at, clean.y + at, H), 0);
            }
        answer_free(&clean), answer_free(&got);
        trial_free(&t);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_cases_agree),
                                       cmocka_unit_test(random_problems_agree),
                                       cmocka_unit_test(blocks_of_rows_agree),
                                       cmocka_unit_test(threads_change_no_bit),
                                       cmocka_unit_test(constant_steps_are_the_2d_ssm),
                                       cmocka_unit_test(bad_settings_are_refused),
                                       cmocka_unit_test(what_they_cannot_do_is_refused),
                                       cmocka_unit_test(nan_goes_where_the_recursion_goes)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
