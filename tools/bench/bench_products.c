/* bench_products - `ssm2d bench linear`: the three matrix products of every Linear layer of the
 * models, ours and oneDNN's.
 *
 * Ours are timed as the operator runs them: packing, bias and all. oneDNN's sgemm is used in the
 * way that is fastest here, as in bench_sgemm.c: blocks of 512 rows for y = x W^T and dx = dy W,
 * each on one thread; dW = dy^T x cut by its columns. It has no bias to add or to sum. */
#include "bench.h"

#include "core/arith.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"
#include "models/model.h"
#include "ops/ops.h"
#include "tools/model_names.h"
#include "train/onednn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHAPES = 256, NAMES = 80, BLOCK = 512, RUNS = 3, MAX_ROUNDS = 50, MIN_ROUNDS = 3 };
/* More rows do not change the speed, only the time that measuring takes. */
enum { MAX_ROWS = 16384, LARGE_IMAGE = 64, BATCH = 128, LARGE_BATCH = 32 };

typedef enum product_kind { PRODUCT_Y, PRODUCT_DX, PRODUCT_DW, PRODUCTS } product_kind;
static const char *const product_names[] = {"y", "dx", "dw"};

/* x: [m][k], W: [n][k], y: [m][n] */
typedef struct shape {
    size_t m, n, k;
    char models[NAMES];
} shape;

typedef struct values {
    const char *model;
    long rows, out, in, batch;
    int json, quick;
} values;

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), "print JSON instead of a table"},
    {"quick", OPTION_FLAG, offsetof(values, quick), "a tenth of the time, less accurate"},
    {"model", OPTION_CHOICE, offsetof(values, model), "the shapes of one model alone",
     .choice = model_name_at},
    {"batch", OPTION_INT, offsetof(values, batch),
     "images per batch (default: 128, or 32 for images of more than 64 pixels)", .low = 1,
     .high = 65536},
    {"rows", OPTION_INT, offsetof(values, rows), "rows of x, for a shape of your own", .low = 1,
     .high = 1e6},
    {"out", OPTION_INT, offsetof(values, out), "columns of y", .low = 1, .high = 65536},
    {"in", OPTION_INT, offsetof(values, in), "columns of x", .low = 1, .high = 65536},
    {0}};

static int given(long value) { return value != OPTION_UNSET; }

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    const int count = given(o->rows) + given(o->out) + given(o->in);
    if (count && count < 3)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "a shape of your own needs all of --rows, --out and --in");
    if (count && (o->model || given(o->batch)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--rows, --out and --in define a shape of your own: leave out --model and "
                    "--batch");
    return SSM2D_OK;
}

/* ---- the shapes of models -------------------------------------------------------------------- */

static void add_name(shape *s, const char *name)
{
    const size_t length = strlen(s->models);
    if (length >= strlen(name) && !strcmp(s->models + length - strlen(name), name)) return;
    snprintf(s->models + length, sizeof s->models - length, "%s%s", length ? " " : "", name);
}

static int add_shape(shape *shapes, int count, size_t m, size_t n, size_t k, const char *name)
{
    int i = 0;
    m = min_size(m, MAX_ROWS);
    while (i < count && !(shapes[i].m == m && shapes[i].n == n && shapes[i].k == k)) i++;
    if (i == MAX_SHAPES) return count;
    if (i == count) shapes[count++] = (shape){m, n, k, ""};
    add_name(&shapes[i], name);
    return count;
}

static ssm2d_status add_model(ssm2d_context *context, const char *name, long batch, shape *shapes,
                              int *count, ssm2d_error *error)
{
    model_config config;
    graph *g = NULL;
    ssm2d_status status = model_config_named(name, &config, error);
    if (!status) status = model_config_finish(&config, error);
    if (!status) status = graph_create(context, 1, &g, error);
    if (status) return status;
    const long usual = config.image[0] > LARGE_IMAGE ? LARGE_BATCH : BATCH;
    model_build(g, &config, (size_t)(given(batch) ? batch : usual));
    if (g->status) {
        status = fail(error, g->status, "%s", g->error.line);
    } else {
        for (int i = 0; i < g->node_count; i++) {
            const node *n = g->nodes[i];
            if (n->op != &op_linear) continue;
            const size_t out = n->out->shape[n->out->rank - 1];
            *count = add_shape(shapes, *count, n->out->count / out, out,
                               n->in[0]->shape[n->in[0]->rank - 1], name);
        }
    }
    graph_destroy(g);
    return status;
}

/* ---- ours ------------------------------------------------------------------------------------ */

/* y = linear(x), x being a value that needs a gradient, or an input that does not. */
typedef struct ours {
    ssm2d_context *context;
    graph *graph;
    tensor *y;
    float *params, *grads;
    double times[2][2]; /* seconds of each node, forward and backward; the last is the Linear */
} ours;

static void ours_run(ours *o)
{
    memset(o->times, 0, sizeof o->times);
    o->graph->step++;
    graph_forward(o->graph);
    graph_backward(o->graph);
}

static void ours_destroy(ours *o)
{
    if (o->graph) graph_destroy(o->graph);
    mem_free(o->context, o->params);
    mem_free(o->context, o->grads);
}

static ssm2d_status ours_create(ssm2d_context *context, const shape *s, int needs_dx, float *x,
                                ours *o, ssm2d_error *error)
{
    const param_spec rows = {.rank = 2, .shape = {s->m, s->k}}, bias = {.rank = 1, .shape = {s->n}},
                     weights = {.rank = 2, .shape = {s->n, s->k}};
    *o = (ours){.context = context};
    ssm2d_status status = graph_create(context, 1, &o->graph, error);
    if (status) return status;
    graph *g = o->graph;
    tensor *in = needs_dx ? scale(g, graph_param(g, &rows, "x"), 1)
                          : graph_input(g, "x", 2, (size_t[]){s->m, s->k});
    o->y = linear(g, in, graph_param(g, &weights, "w"), graph_param(g, &bias, "b"));
    status = graph_finish(g, o->y, error);
    if (status) return status;
    o->params = mem_alloc(context, g->param_count * sizeof *o->params);
    o->grads = mem_alloc(context, g->param_count * sizeof *o->grads);
    if (!o->params || !o->grads)
        return fail_memory(error, "Linear of %zu x %zu x %zu", s->m, s->n, s->k);
    rng r = rng_seed(2);
    for (size_t i = 0; i < g->param_count; i++) o->params[i] = (float)rng_uniform(&r, -1, 1);
    if (!needs_dx) in->data = x;
    graph_bind(g, o->params, o->grads);
    for (size_t i = 0; i < o->y->count; i++) o->y->grad[i] = x[i % (s->m * s->k)];
    graph_time(g, &o->times[needs_dx ? 0 : 1][0]);
    return SSM2D_OK;
}

/* ---- oneDNN's -------------------------------------------------------------------------------- */

typedef struct theirs {
    ssm2d_context *context;
    product_kind kind;
    size_t m, n, k, tasks;
    const float *x, *w, *dy;
    float *y, *dx, *dw;
} theirs;

static size_t part(size_t whole, size_t parts, size_t i, size_t *first)
{
    *first = whole * i / parts;
    return whole * (i + 1) / parts - *first;
}

/* A block of rows of y or dx, or of columns of dW. */
static void their_block(void *arg, size_t task, int worker)
{
    const theirs *t = arg;
    const int is_dw = t->kind == PRODUCT_DW;
    const size_t n = t->n, k = t->k;
    size_t first, count = part(is_dw ? k : t->m, t->tasks, task, &first);
    const float *x = t->x + first * k, *dy = t->dy + first * n;
    (void)worker;
    if (!count) return;
    if (is_dw)
        onednn_sgemm(
            &(sgemm_args){1, 0, n, count, t->m, t->dy, t->x + first, t->dw + first, n, k, k, 1});
    else if (t->kind == PRODUCT_DX)
        onednn_sgemm(&(sgemm_args){0, 0, count, k, n, dy, t->w, t->dx + first * k, n, k, k, 0});
    else
        onednn_sgemm(&(sgemm_args){0, 1, count, n, k, x, t->w, t->y + first * n, k, k, n, 0});
}

static void their_product(void *arg)
{
    theirs *t = arg;
    pool_run(t->context->pool, t->tasks, their_block, t);
}

static double their_time(theirs *t, product_kind kind)
{
    const size_t threads = (size_t)ssm2d_context_threads(t->context);
    t->kind = kind;
    t->tasks = kind == PRODUCT_DW ? threads : threads * div_up_size(t->m, threads * BLOCK);
    return bench_time(their_product, t, RUNS);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Multiply-adds in a millisecond, medians over rounds. */
typedef struct speeds {
    double ours[PRODUCTS], theirs[PRODUCTS], peak;
    double our_share, their_share; /* of all three products in the peak */
} speeds;

static void measure(ours *both, ours *dw_alone, theirs *t, bench_peak *peak, double seconds,
                    speeds *s)
{
    static double times[2 * PRODUCTS + 1][MAX_ROUNDS];
    const double work = (double)t->m * (double)t->n * (double)t->k, start = bench_now();
    int n = 0;
    for (; n < MIN_ROUNDS || (n < MAX_ROUNDS && bench_now() - start < seconds * 1e3); n++) {
        double best[PRODUCTS] = {INFINITY, INFINITY, INFINITY};
        for (int i = 0; i < RUNS; i++) {
            ours_run(dw_alone);
            best[PRODUCT_DW] = fmin(best[PRODUCT_DW], 1e3 * dw_alone->times[1][1]);
            ours_run(both);
            best[PRODUCT_Y] = fmin(best[PRODUCT_Y], 1e3 * both->times[1][0]);
            best[PRODUCT_DX] = fmin(best[PRODUCT_DX], 1e3 * both->times[1][1]);
        }
        /* dx and dW were timed together; keep the difference positive despite noise */
        best[PRODUCT_DX] = fmax(best[PRODUCT_DX] - best[PRODUCT_DW], best[PRODUCT_DX] / 100);
        for (int p = 0; p < PRODUCTS; p++) {
            times[p][n] = best[p];
            times[PRODUCTS + p][n] = their_time(t, p);
        }
        times[2 * PRODUCTS][n] = bench_time(bench_peak_run, peak, RUNS);
    }
    double sum[2] = {0};
    for (int p = 0; p < PRODUCTS; p++) {
        const double one = bench_median(times[p], n), other = bench_median(times[PRODUCTS + p], n);
        s->ours[p] = work / one;
        s->theirs[p] = work / other;
        sum[0] += one;
        sum[1] += other;
    }
    s->peak = bench_peak_products(peak) / bench_median(times[2 * PRODUCTS], n);
    s->our_share = 3 * work / sum[0] / s->peak;
    s->their_share = 3 * work / sum[1] / s->peak;
}

static ssm2d_status run_shape(ssm2d_context *context, const shape *s, double seconds, speeds *out,
                              ssm2d_error *error)
{
    const size_t counts[] = {s->m * s->k, s->n * s->k, s->m * s->n,
                             s->m * s->n, s->m * s->k, s->n * s->k};
    float *a[6] = {0};
    ours both = {.context = context}, dw_alone = {.context = context};
    bench_peak *peak = NULL;
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < 6 && !status; i++) {
        a[i] = bench_array(context, counts[i]);
        if (!a[i]) status = fail_memory(error, "Linear of %zu x %zu x %zu", s->m, s->n, s->k);
    }
    if (!status) status = ours_create(context, s, 1, a[0], &both, error);
    if (!status) status = ours_create(context, s, 0, a[0], &dw_alone, error);
    if (!status) status = bench_peak_create(context, &peak, error);
    theirs t = {context, PRODUCT_Y, s->m, s->n, s->k, 0, a[0], a[1], a[2], a[3], a[4], a[5]};
    if (!status) measure(&both, &dw_alone, &t, peak, seconds, out);
    bench_peak_destroy(peak);
    ours_destroy(&both);
    ours_destroy(&dw_alone);
    for (int i = 0; i < 6; i++) mem_free(context, a[i]);
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static double gigaflops(double products_per_ms) { return 2e-6 * products_per_ms; }

static void print_json(const shape *s, const speeds *r, int first)
{
    printf("%s\n{\"rows\":%zu,\"out\":%zu,\"in\":%zu,\"models\":\"%s\"", first ? "" : ",", s->m,
           s->n, s->k, s->models);
    for (int p = 0; p < PRODUCTS; p++) {
        char key[32];
        snprintf(key, sizeof key, "%s_gflops", product_names[p]);
        bench_number(key, gigaflops(r->ours[p]));
        snprintf(key, sizeof key, "onednn_%s_gflops", product_names[p]);
        bench_number(key, gigaflops(r->theirs[p]));
    }
    bench_number("peak_gflops", gigaflops(r->peak));
    bench_number("share", r->our_share);
    bench_number("onednn_share", r->their_share);
    printf("}");
}

static void print_row(const shape *s, const speeds *r)
{
    char name[64];
    snprintf(name, sizeof name, "%zu x %zu x %zu", s->m, s->n, s->k);
    printf("%-20s", name);
    for (int p = 0; p < PRODUCTS; p++) printf(" %6.0f", gigaflops(r->ours[p]));
    printf("  |");
    for (int p = 0; p < PRODUCTS; p++) printf(" %6.0f", gigaflops(r->theirs[p]));
    printf("  | %6.0f %5.0f %% %5.0f %%  %s\n", gigaflops(r->peak), 100 * r->our_share,
           100 * r->their_share, s->models);
}

/* ---- the command ----------------------------------------------------------------------------- */

static ssm2d_status collect(ssm2d_context *context, const values *o, shape *shapes, int *count,
                            ssm2d_error *error)
{
    *count = 0;
    if (given(o->rows)) {
        shapes[(*count)++] = (shape){(size_t)o->rows, (size_t)o->out, (size_t)o->in, "-"};
        return SSM2D_OK;
    }
    if (o->model) return add_model(context, o->model, o->batch, shapes, count, error);
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; model_name_at(i) && !status; i++)
        status = add_model(context, model_name_at(i), o->batch, shapes, count, error);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    static shape shapes[MAX_SHAPES];
    int count;
    ssm2d_status status = collect(context, o, shapes, &count, error);
    if (!status) status = onednn_start(context, error);
    if (status) return status;
    if (o->json)
        printf("{\"threads\":%d,\"isa\":\"%s\",\"shapes\":[", ssm2d_context_threads(context),
               ssm2d_context_cpu(context));
    else
        printf("threads %d, %s; Gflop/s of ours (packing and bias included) | oneDNN's sgemm | its "
               "peak on large matrices, and the share of it that the three products reach: ours, "
               "oneDNN's\n%-20s %6s %6s %6s  | %6s %6s %6s  | %6s %7s %7s\n",
               ssm2d_context_threads(context), ssm2d_context_cpu(context), "rows x out x in", "y",
               "dx", "dW", "y", "dx", "dW", "peak", "ours", "oneDNN");
    for (int i = 0; i < count && !status; i++) {
        speeds s = {0};
        status = run_shape(context, &shapes[i], o->quick ? 0.2 : 2, &s, error);
        if (status) return status;
        if (o->json)
            print_json(&shapes[i], &s, i == 0);
        else
            print_row(&shapes[i], &s);
        fflush(stdout);
    }
    if (o->json) printf("\n]}\n");
    return status;
}

const command command_bench_linear = {
    "bench linear",
    "the matrix products of Linear layers, ours and oneDNN's",
    "Times y = x W^T + b, dx = dy W and dW = dy^T x for the shape of every Linear layer of every "
    "model, as our operator computes them and by oneDNN's sgemm in blocks on the same threads and "
    "instruction set, in alternation; prints medians. Of more than 16384 rows the first 16384 are "
    "taken.",
    options,
    check,
    run,
    0,
    NULL};
