#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const type_names[2] = {"float", "double"};

double *doubles(size_t count)
{
    double *p = calloc(count ? count : 1, sizeof *p);
    if (!p) {
        fputs("the test has no memory\n", stderr);
        exit(1);
    }
    return p;
}

int below(rng *r, int n) { return (int)(rng_next(r) >> 33) % n; }

static int pick(rng *r, const int *list, int count) { return list[below(r, count)]; }

ssm2d_config random_config(rng *r)
{
    static const int channels[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 19, 24, 33, 37},
                     states[] = {1, 2, 3, 5, 16, 17};
    static const int systems[] = {1, 2, 3, 8}, directions[] = {1, 2, 2, 4};
    ssm2d_config c = ssm2d_config_default();
    c.channels = pick(r, channels, 14);
    c.d_state = pick(r, states, 6);
    c.n_ssm = pick(r, systems, 4);
    c.directions = pick(r, directions, 4);
    c.pair = below(r, 2) ? SSM2D_PAIR_COLUMNS : SSM2D_PAIR_BOTH;
    c.average = below(r, 2);
    c.norm = (ssm2d_norm)below(r, 4);
    c.values = (ssm2d_values)below(r, 3);
    c.share_directions = below(r, 2);
    c.c_per_channel = below(r, 2);
    c.skip = below(r, 2);
    /* over few channels it amplifies rounding errors */
    c.layer_norm = c.channels >= 7 && below(r, 3) == 0;
    c.trunc_rows = below(r, 3) ? 0 : 1 + below(r, 12);
    c.trunc_cols = below(r, 3) ? 0 : 1 + below(r, 12);
    c.assign = (ssm2d_assign)below(r, 3);
    return c;
}

static void fill_normal(rng *r, double *x, size_t count, double mean, double spread)
{
    for (size_t i = 0; i < count; i++) x[i] = (float)(mean + spread * rng_normal(r));
}

problem problem_make(ssm2d_config config, size_t batch, size_t rows, size_t cols, rng *r)
{
    problem p = {.config = config, .batch = batch, .rows = rows, .cols = cols};
    ssm2d_error error;
    if (config_check(&config, &error)) fail_msg("%s", error.line);
    p.total = param_total(&config);
    p.cells = batch * rows * cols * (size_t)config.channels;
    p.taps = (size_t)config.directions * (size_t)config.channels * rows * cols;
    p.params = doubles(p.total);
    p.u = doubles(p.cells);
    p.dy = doubles(p.cells);
    ssm2d_param q;
    for (int i = 0; param_get(&config, i, &q); i++)
        fill_normal(r, p.params + q.offset, q.count, strcmp(q.name, "gamma") == 0, 0.7);
    fill_normal(r, p.u, p.cells, 0, 1);
    fill_normal(r, p.dy, p.cells, 0, 1);
    return p;
}

void problem_free(problem *p)
{
    free(p->params);
    free(p->u);
    free(p->dy);
}

const char *problem_text(const problem *p)
{
    static const char *const norms[] = {"none", "half", "relaxed", "paper"}, *const values[] = {
                                                                                 "real", "polar",
                                                                                 "cartesian"};
    static const char *const assigns[] = {"", " distinct", " paper"};
    static char text[320];
    const ssm2d_config *c = &p->config;
    snprintf(text, sizeof text,
             "%zux%zux%zu channels=%d d_state=%d n_ssm=%d directions=%d%s%s norm=%s "
             "values=%s%s%s%s%s%s trunc=%dx%d",
             p->batch, p->rows, p->cols, c->channels, c->d_state, c->n_ssm, c->directions,
             c->directions == 2 ? (c->pair == SSM2D_PAIR_COLUMNS ? " columns" : " both") : "",
             c->average ? " average" : "", norms[c->norm], values[c->values],
             c->share_directions ? " shared" : "", c->c_per_channel ? " c_per_channel" : "",
             assigns[c->assign], c->skip ? " skip" : "", c->layer_norm ? " layer_norm" : "",
             c->trunc_rows, c->trunc_cols);
    return text;
}

ssm2d_context *context_of(int threads)
{
    ssm2d_context_options options = {.size = sizeof options, .threads = threads};
    ssm2d_context *context;
    ssm2d_error error;
    if (ssm2d_context_create(&options, &context, &error)) fail_msg("%s", error.line);
    return context;
}

void skip_without_cpu(void)
{
    ssm2d_context *context;
    ssm2d_error error;
    ssm2d_status status = ssm2d_context_create(NULL, &context, &error);
    if (status) {
        const int skipped = status == SSM2D_ERROR_UNSUPPORTED;
        fprintf(stderr, "%s%s\n", skipped ? "SKIPPED: " : "", error.line);
        exit(skipped ? SKIPPED : 1);
    }
    ssm2d_context_destroy(context);
}

const char *serves(const problem *p, int *k)
{
    int cut = (p->config.trunc_rows && (size_t)p->config.trunc_rows < p->rows)
              || (p->config.trunc_cols && (size_t)p->config.trunc_cols < p->cols);
    const char *name = ssm2d_kind_algorithm("ssm2d", *k);
    if (name && cut && strcmp(name, "scan") == 0) name = ssm2d_kind_algorithm("ssm2d", ++*k);
    return name;
}

static ssm2d_plan *plan_with(ssm2d_context *context, const problem *p, ssm2d_type type,
                             const char *algorithm, ssm2d_strides in, ssm2d_strides out)
{
    ssm2d_plan_options options = ssm2d_plan_options_default();
    options.batch = p->batch;
    options.grid = ssm2d_grid_2d(p->rows, p->cols);
    options.type = type;
    options.algorithm = algorithm;
    options.in = in;
    options.out = out;
    ssm2d_plan *plan;
    ssm2d_error error;
    if (plan_create(context, &p->config, &options, &plan, &error))
        fail_msg("%s: %s", problem_text(p), error.line);
    return plan;
}

ssm2d_plan *plan_of(ssm2d_context *context, const problem *p, ssm2d_type type,
                    const char *algorithm)
{
    const ssm2d_strides dense = {0};
    return plan_with(context, p, type, algorithm, dense, dense);
}

ssm2d_workspace *workspace_of(const ssm2d_plan *plan)
{
    ssm2d_workspace *workspace;
    ssm2d_error error;
    if (ssm2d_workspace_create(plan, &workspace, &error)) fail_msg("%s", error.line);
    return workspace;
}

ssm2d_strides layout_strides(layout l, const problem *p)
{
    ptrdiff_t H = p->config.channels, R = (ptrdiff_t)p->rows, C = (ptrdiff_t)p->cols;
    switch (l) {
    case CHANNEL_FIRST:
        return (ssm2d_strides){.batch = H * R * C, .axis = {C, 1}, .channel = R * C};
    case TOKENS: return (ssm2d_strides){.batch = (1 + R * C) * H, .axis = {C * H, H}, .channel = 1};
    case PADDED:
        return (ssm2d_strides){.batch = (R + 1) * ((C + 2) * (H + 3) + 1),
                               .axis = {(C + 2) * (H + 3) + 1, H + 3},
                               .channel = 1};
    case TRANSPOSED: return (ssm2d_strides){.batch = R * C * H, .axis = {H, R * H}, .channel = 1};
    case SPREAD:
        return (ssm2d_strides){.batch = R * C * H * 2, .axis = {C * H * 2, H * 2}, .channel = 2};
    case BOTTOM_UP: return (ssm2d_strides){.batch = R * C * H, .axis = {-C * H, H}, .channel = 1};
    default: return (ssm2d_strides){0};
    }
}

/* Offset of the first element: after a token that is not part of the image, or in the last row. */
size_t layout_start(layout l, const problem *p)
{
    size_t H = (size_t)p->config.channels;
    return l == TOKENS ? H : l == BOTTOM_UP ? (p->rows - 1) * p->cols * H : 0;
}

/* Offset of element `at` of the dense tensor. */
static size_t place(layout l, const problem *p, size_t at)
{
    size_t H = (size_t)p->config.channels, channel = at % H, col = at / H % p->cols,
           row = at / H / p->cols % p->rows;
    size_t batch = at / H / p->cols / p->rows;
    if (l == DENSE) return at;
    /* a negative one wraps around, and back with the start */
    ssm2d_strides s = layout_strides(l, p);
    return layout_start(l, p) + batch * (size_t)s.batch + row * (size_t)s.axis[0]
           + col * (size_t)s.axis[1] + channel * (size_t)s.channel;
}

/* Ends exactly after the last element, so that a sanitizer detects any access beyond it. */
static size_t span(layout l, const problem *p)
{
    return l == BOTTOM_UP ? p->cells : place(l, p, p->cells - 1) + 1;
}

static void put(ssm2d_type type, void *memory, size_t at, double x)
{
    if (type == SSM2D_FLOAT)
        ((float *)memory)[at] = (float)x;
    else
        ((double *)memory)[at] = x;
}

static double get(ssm2d_type type, const void *memory, size_t at)
{
    return type == SSM2D_FLOAT ? ((const float *)memory)[at] : ((const double *)memory)[at];
}

static size_t width(ssm2d_type type)
{
    return type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
}

static void *new_array(ssm2d_type type, size_t count)
{
    void *memory = calloc(count ? count : 1, width(type));
    if (!memory) {
        fputs("the test has no memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *pack(ssm2d_type type, layout l, const problem *p, const double *dense)
{
    size_t size = span(l, p);
    void *memory = new_array(type, size);
    for (size_t i = 0; i < size; i++) put(type, memory, i, NAN);
    for (size_t i = 0; i < p->cells; i++) put(type, memory, place(l, p, i), dense ? dense[i] : 0);
    return memory;
}

void unpack(ssm2d_type type, layout l, const problem *p, const void *memory, double *dense)
{
    size_t size = span(l, p), touched = 0;
    unsigned char *ours = calloc(size, 1);
    for (size_t i = 0; i < p->cells; i++) {
        ours[place(l, p, i)] = 1;
        dense[i] = get(type, memory, place(l, p, i));
    }
    for (size_t i = 0; i < size; i++) touched += !ours[i] && !isnan(get(type, memory, i));
    free(ours);
    if (touched)
        fail_msg("%s: %zu elements between those of the tensor were written", problem_text(p),
                 touched);
}

void *convert(ssm2d_type type, const double *from, size_t count)
{
    void *memory = new_array(type, count);
    for (size_t i = 0; i < count; i++) put(type, memory, i, from[i]);
    return memory;
}

void convert_back(ssm2d_type type, const void *from, double *to, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = get(type, from, i);
}

void *array_at(ssm2d_type type, void *memory, size_t count)
{
    return (char *)memory + count * width(type);
}

answer run(ssm2d_context *context, const problem *p, ssm2d_type type, const char *algorithm,
           layout in, layout out)
{
    ssm2d_plan *plan =
        plan_with(context, p, type, algorithm, layout_strides(in, p), layout_strides(out, p));
    ssm2d_workspace *workspace = workspace_of(plan);
    void *params = convert(type, p->params, p->total), *kernel = new_array(type, p->taps),
         *dparams = new_array(type, p->total);
    void *u = pack(type, in, p, p->u), *du = pack(type, in, p, NULL),
         *dy = pack(type, out, p, p->dy), *y = pack(type, out, p, p->u);
    size_t i0 = layout_start(in, p), o0 = layout_start(out, p);
    plan_kernel(plan, workspace, params, kernel);
    plan_forward(plan, workspace, params, array_at(type, u, i0), array_at(type, y, o0));
    plan_backward(plan, workspace, params, array_at(type, u, i0), array_at(type, dy, o0),
                  array_at(type, du, i0), dparams);

    answer a = {doubles(p->taps), doubles(p->cells), doubles(p->cells), doubles(p->total)};
    convert_back(type, kernel, a.kernel, p->taps);
    convert_back(type, dparams, a.dparams, p->total);
    unpack(type, out, p, y, a.y);
    unpack(type, in, p, du, a.du);
    free(params), free(kernel), free(dparams), free(u), free(du), free(dy), free(y);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return a;
}

void answer_free(answer *a) { free(a->kernel), free(a->y), free(a->du), free(a->dparams); }

int differs(const char *what, const double *got, const double *want, size_t count, double tolerance)
{
    double largest = 0, worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs(got[i] - want[i]);
        if (fabs(want[i]) > largest) largest = fabs(want[i]);
        if (!(d <= worst)) {
            worst = d;
            where = i;
            if (isnan(d)) break;
        }
    }
    if (worst <= tolerance * (largest > 0 ? largest : 1)) return 0;
    print_error("%s: [%zu] is %.17g, not %.17g (error %.2g of the largest %.3g, allowed %.1g)\n",
                what, where, got[where], want[where], worst / (largest > 0 ? largest : 1), largest,
                tolerance);
    return 1;
}

int gradients_differ(const problem *p, const char *what, const double *got, const double *want,
                     double tolerance)
{
    ssm2d_param q;
    int wrong = 0;
    for (int i = 0; param_get(&p->config, i, &q); i++) {
        char name[512];
        snprintf(name, sizeof name, "%s d%s", what, q.name);
        wrong += differs(name, got + q.offset, want + q.offset, q.count, tolerance);
    }
    return wrong;
}

int bits_differ(const char *what, const double *got, const double *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            print_error("%s: [%zu] is %a, not %a\n", what, i, got[i], want[i]);
            return 1;
        }
    return 0;
}

void says(const ssm2d_error *error, const char *a, const char *b)
{
    if (!error->line[0] || strchr(error->line, '\n')) fail_msg("not one line: '%s'", error->line);
    if (!strstr(error->line, a) || !strstr(error->line, b))
        fail_msg("'%s' does not name both '%s' and '%s'", error->line, a, b);
}
