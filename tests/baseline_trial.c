#include "baseline_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ssm2d_layer s4nd_of(int channels, int n_ssm, int d_state, double rate)
{
    const s4nd_config c = {channels, LAYER_INIT_AUTHORS, d_state, n_ssm, rate};
    return layer_of(&layer_s4nd, &c);
}

ssm2d_layer ema_of(int channels, int d_state, int bidirectional, int shift, int trunc)
{
    const ema_config c = {channels, d_state, bidirectional, shift, trunc};
    return layer_of(&layer_ema, &c);
}

trial trial_shape(ssm2d_layer layer, size_t batch, size_t rows, size_t cols)
{
    trial t = {.layer = layer, .total = ssm2d_layer_param_count(&layer)};
    t.grid = (problem){.batch = batch, .rows = rows, .cols = cols};
    t.grid.config.channels = ssm2d_layer_channels(&layer);
    t.grid.cells = batch * rows * cols * (size_t)ssm2d_layer_channels(&layer);
    assert_true(t.total > 0);
    return t;
}

trial trial_make(ssm2d_layer layer, size_t batch, size_t rows, size_t cols, rng *r)
{
    trial t = trial_shape(layer, batch, rows, cols);
    ssm2d_error error;
    t.params = doubles(t.total);
    t.u = doubles(t.grid.cells);
    t.dy = doubles(t.grid.cells);
    if (ssm2d_params_init_double(&layer, rng_next(r), t.params, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < t.total; i++) t.params[i] = (float)t.params[i];
    for (size_t i = 0; i < t.grid.cells; i++) t.u[i] = (float)rng_normal(r);
    for (size_t i = 0; i < t.grid.cells; i++) t.dy[i] = (float)rng_normal(r);
    return t;
}

void trial_free(trial *t) { free(t->params), free(t->u), free(t->dy); }

ssm2d_plan *plan_for(ssm2d_context *context, const trial *t, ssm2d_type type, const char *algorithm,
                     layout in, layout out, int inference)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    ssm2d_plan *plan;
    ssm2d_error error;
    o.batch = t->grid.batch;
    o.grid = ssm2d_grid_2d(t->grid.rows, t->grid.cols);
    o.type = type;
    o.algorithm = algorithm;
    o.inference = inference;
    o.in = layout_strides(in, &t->grid);
    o.out = layout_strides(out, &t->grid);
    if (ssm2d_plan_create(context, &t->layer, &o, &plan, &error)) fail_msg("%s", error.line);
    return plan;
}

ssm2d_workspace *workspace_for(const ssm2d_plan *plan)
{
    ssm2d_workspace *ws;
    ssm2d_error error;
    if (ssm2d_workspace_create(plan, &ws, &error)) fail_msg("%s", error.line);
    return ws;
}

size_t kernel_count(const ssm2d_plan *plan)
{
    size_t shape[SSM2D_KERNEL_RANK], count = 1;
    const int rank = ssm2d_kernel_shape(plan, shape);
    for (int i = 0; i < rank; i++) count *= shape[i];
    return count;
}

answer run_trial(ssm2d_context *context, const trial *t, ssm2d_type type, const char *algorithm,
                 layout in, layout out)
{
    const problem *g = &t->grid;
    ssm2d_plan *plan = plan_for(context, t, type, algorithm, in, out, 0);
    ssm2d_workspace *ws = workspace_for(plan);
    const size_t taps = kernel_count(plan);
    answer a = {doubles(taps), doubles(g->cells), doubles(g->cells), doubles(t->total)};
    void *params = convert(type, t->params, t->total),
         *dparams = convert(type, a.dparams, t->total);
    void *kernel = convert(type, a.kernel, taps);
    void *u = pack(type, in, g, t->u), *dy = pack(type, out, g, t->dy);
    void *y = pack(type, out, g, a.y), *du = pack(type, in, g, a.du);
    plan_kernel(plan, ws, params, kernel);
    void *u0 = array_at(type, u, layout_start(in, g)),
         *y0 = array_at(type, y, layout_start(out, g));
    plan_forward(plan, ws, params, u0, y0);
    plan_backward(plan, ws, params, u0, array_at(type, dy, layout_start(out, g)),
                  array_at(type, du, layout_start(in, g)), dparams);
    convert_back(type, kernel, a.kernel, taps);
    convert_back(type, dparams, a.dparams, t->total);
    unpack(type, out, g, y, a.y);
    unpack(type, in, g, du, a.du);
    free(params), free(dparams), free(kernel), free(u), free(dy), free(y), free(du);
    ssm2d_workspace_destroy(ws);
    ssm2d_plan_destroy(plan);
    return a;
}

int params_differ(const trial *t, const char *what, const double *got, const double *want,
                  double tolerance)
{
    ssm2d_param p;
    int wrong = 0;
    for (int i = 0; ssm2d_layer_param(&t->layer, i, &p); i++) {
        char part[320];
        snprintf(part, sizeof part, "%s d%s", what, p.name);
        wrong += differs(part, got + p.offset, want + p.offset, p.count, tolerance);
    }
    return wrong;
}

const char *algorithm_for(const trial *t, int *k)
{
    const char *kind = ssm2d_layer_kind(&t->layer);
    const int trunc = t->layer.kind == &layer_ema ? ema_config_of(&t->layer)->trunc : 0;
    const int cut = trunc && (size_t)trunc < t->grid.rows * t->grid.cols;
    const char *name = ssm2d_kind_algorithm(kind, *k);
    return name && cut && !strcmp(name, "scan") ? ssm2d_kind_algorithm(kind, ++*k) : name;
}
