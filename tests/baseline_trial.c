#include "baseline_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

any_config s4nd_of(int channels, int n_ssm, int d_state, double rate)
{
    any_config c = {.s4nd = ssm2d_s4nd_config_default()};
    c.base.channels = channels;
    c.s4nd.n_ssm = n_ssm;
    c.s4nd.d_state = d_state;
    c.s4nd.rate = rate;
    return c;
}

any_config ema_of(int channels, int d_state, int bidirectional, int shift, int trunc)
{
    any_config c = {.ema = ssm2d_ema_config_default()};
    c.base.channels = channels;
    c.ema.d_state = d_state;
    c.ema.bidirectional = bidirectional;
    c.ema.shift = shift;
    c.ema.trunc = trunc;
    return c;
}

trial trial_shape(any_config config, size_t batch, size_t rows, size_t cols)
{
    trial t = {.config = config, .total = ssm2d_baseline_param_total(&config.base)};
    t.grid = (problem){.batch = batch, .rows = rows, .cols = cols};
    t.grid.config.channels = config.base.channels;
    t.grid.cells = batch * rows * cols * (size_t)config.base.channels;
    assert_true(t.total > 0);
    return t;
}

trial trial_make(any_config config, size_t batch, size_t rows, size_t cols, rng *r)
{
    trial t = trial_shape(config, batch, rows, cols);
    ssm2d_error error;
    t.params = doubles(t.total);
    t.u = doubles(t.grid.cells);
    t.dy = doubles(t.grid.cells);
    if (ssm2d_baseline_params_init(&config.base, SSM2D_INIT_AUTHORS, rng_next(r), SSM2D_DOUBLE,
                                   t.params, &error))
        fail_msg("%s", error.line);
    for (size_t i = 0; i < t.total; i++) t.params[i] = (float)t.params[i];
    for (size_t i = 0; i < t.grid.cells; i++) t.u[i] = (float)rng_normal(r);
    for (size_t i = 0; i < t.grid.cells; i++) t.dy[i] = (float)rng_normal(r);
    return t;
}

void trial_free(trial *t) { free(t->params), free(t->u), free(t->dy); }

ssm2d_baseline_plan *plan_for(ssm2d_context *context, const trial *t, ssm2d_type type,
                              const char *algorithm, layout in, layout out, int inference)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    ssm2d_baseline_plan *plan;
    ssm2d_error error;
    o.batch = t->grid.batch;
    o.rows = t->grid.rows;
    o.cols = t->grid.cols;
    o.type = type;
    o.algorithm = algorithm;
    o.inference = inference;
    o.in = layout_strides(in, &t->grid);
    o.out = layout_strides(out, &t->grid);
    if (ssm2d_baseline_plan_create(context, &t->config.base, &o, &plan, &error))
        fail_msg("%s", error.line);
    return plan;
}

ssm2d_baseline_workspace *workspace_for(const ssm2d_baseline_plan *plan)
{
    ssm2d_baseline_workspace *ws;
    ssm2d_error error;
    if (ssm2d_baseline_workspace_create(plan, &ws, &error)) fail_msg("%s", error.line);
    return ws;
}

size_t kernel_count(const ssm2d_baseline_plan *plan)
{
    size_t shape[3], count = 1;
    const int rank = ssm2d_baseline_kernel_shape(plan, shape);
    for (int i = 0; i < rank; i++) count *= shape[i];
    return count;
}

answer run_trial(ssm2d_context *context, const trial *t, ssm2d_type type, const char *algorithm,
                 layout in, layout out)
{
    const problem *g = &t->grid;
    ssm2d_baseline_plan *plan = plan_for(context, t, type, algorithm, in, out, 0);
    ssm2d_baseline_workspace *ws = workspace_for(plan);
    const size_t taps = kernel_count(plan);
    answer a = {doubles(taps), doubles(g->cells), doubles(g->cells), doubles(t->total)};
    void *params = convert(type, t->params, t->total),
         *dparams = convert(type, a.dparams, t->total);
    void *kernel = convert(type, a.kernel, taps);
    void *u = pack(type, in, g, t->u), *dy = pack(type, out, g, t->dy);
    void *y = pack(type, out, g, a.y), *du = pack(type, in, g, a.du);
    ssm2d_baseline_kernel(plan, ws, params, kernel);
    void *u0 = array_at(type, u, layout_start(in, g)),
         *y0 = array_at(type, y, layout_start(out, g));
    ssm2d_baseline_forward(plan, ws, params, u0, y0);
    ssm2d_baseline_backward(plan, ws, params, u0, array_at(type, dy, layout_start(out, g)),
                            array_at(type, du, layout_start(in, g)), dparams);
    convert_back(type, kernel, a.kernel, taps);
    convert_back(type, dparams, a.dparams, t->total);
    unpack(type, out, g, y, a.y);
    unpack(type, in, g, du, a.du);
    free(params), free(dparams), free(kernel), free(u), free(dy), free(y), free(du);
    ssm2d_baseline_workspace_destroy(ws);
    ssm2d_baseline_plan_destroy(plan);
    return a;
}

int params_differ(const trial *t, const char *what, const double *got, const double *want,
                  double tolerance)
{
    ssm2d_baseline_param p;
    int wrong = 0;
    for (int i = 0; ssm2d_baseline_param_get(&t->config.base, i, &p); i++) {
        char part[320];
        snprintf(part, sizeof part, "%s d%s", what, p.name);
        wrong += differs(part, got + p.offset, want + p.offset, p.size, tolerance);
    }
    return wrong;
}

const char *algorithm_for(const trial *t, int *k)
{
    const ssm2d_baseline_kind kind = t->config.base.kind;
    const int cut = kind == SSM2D_EMA && t->config.ema.trunc
                    && (size_t)t->config.ema.trunc < t->grid.rows * t->grid.cols;
    const char *name = ssm2d_baseline_algorithm_name(kind, *k);
    return name && cut && !strcmp(name, "scan") ? ssm2d_baseline_algorithm_name(kind, ++*k) : name;
}
