/* bench_layer - times one case of the layer beside a Linear layer on the same tokens, and beside
 * S4ND and EMA; and the growth of the kernels' cost.
 *
 * The speed of a machine varies over time. So every round times all kinds of work one after the
 * other, and ratios are taken within a round. A time in a round is the shortest of a few runs; the
 * result is the median over all rounds. */
#include "bench.h"

#include "core/arith.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 200, MIN_ROUNDS = 3, RUNS = 3, COPY_BLOCK = 1 << 18 };

double bench_now(void) { return 1e3 * clock_seconds(); }

double bench_time(bench_work work, void *arg, int times)
{
    double best = INFINITY;
    for (int i = 0; i < times; i++) {
        double start = bench_now();
        work(arg);
        double took = bench_now() - start;
        if (took < best) best = took;
    }
    return best;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* A layer with its plan and arrays. u, y, dy, du: [batch][rows][cols][channels] */
typedef struct subject {
    ssm2d_context *context;
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    ssm2d_type type;
    size_t bytes; /* of u */
    int borrows;  /* u, y, dy and du belong to another subject */
    void *params, *dparams, *u, *y, *dy, *du, *kernel;
} subject;

static void forward(void *arg)
{
    subject *s = arg;
    layer_forward(s->plan, s->workspace, s->type, s->params, s->u, s->y);
}

static void train(void *arg)
{
    subject *s = arg;
    layer_forward(s->plan, s->workspace, s->type, s->params, s->u, s->y);
    layer_backward(s->plan, s->workspace, s->type, s->params, s->u, s->dy, s->du, s->dparams);
}

static void kernel(void *arg)
{
    subject *s = arg;
    layer_kernel(s->plan, s->workspace, s->type, s->params, s->kernel);
}

static void kernel_train(void *arg)
{
    subject *s = arg;
    layer_kernel(s->plan, s->workspace, s->type, s->params, s->kernel);
    layer_kernel_backward(s->plan, s->workspace, s->type, s->params, s->kernel, s->dparams);
}

static void copy_block(void *arg, size_t task, int worker)
{
    subject *s = arg;
    const size_t first = task * COPY_BLOCK, n = min_size(s->bytes - first, COPY_BLOCK);
    (void)worker;
    memcpy((char *)s->y + first, (const char *)s->u + first, n);
}

static void copy(void *arg)
{
    subject *s = arg;
    pool_run(s->context->pool, div_up_size(s->bytes, COPY_BLOCK), copy_block, s);
}

static void close_subject(subject *s)
{
    void *const arrays[] = {s->params, s->dparams, s->kernel, s->u, s->y, s->dy, s->du};
    const size_t count = sizeof arrays / sizeof *arrays - (s->borrows ? 4 : 0);
    for (size_t i = 0; i < count; i++) mem_free(s->context, arrays[i]);
    ssm2d_workspace_destroy(s->workspace);
    ssm2d_plan_destroy(s->plan);
}

static void fill(rng *r, ssm2d_type type, size_t count, void *values)
{
    for (size_t i = 0; i < count; i++) {
        double x = rng_uniform(r, -1, 1);
        if (type == SSM2D_FLOAT)
            ((float *)values)[i] = (float)x;
        else
            ((double *)values)[i] = x;
    }
}

/* Makes plan, parameters and kernel of a subject, which the caller closes in any case. */
static ssm2d_status plan_subject(const bench_case *c, const ssm2d_layer *layer,
                                 const char *algorithm, subject *s, ssm2d_error *error)
{
    const size_t element_size = c->type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    const size_t params = ssm2d_layer_param_count(layer);
    size_t shape[SSM2D_KERNEL_RANK], kernels = 1;
    ssm2d_plan_options options = ssm2d_plan_options_default();
    options.batch = c->batch;
    options.grid = ssm2d_grid_2d(c->rows, c->cols);
    options.type = s->type = c->type;
    options.algorithm = algorithm;
    ssm2d_status status = ssm2d_plan_create(s->context, layer, &options, &s->plan, error);
    if (!status) status = ssm2d_workspace_create(s->plan, &s->workspace, error);
    if (status) return status;
    const int rank = ssm2d_kernel_shape(s->plan, shape);
    for (int i = 0; i < rank; i++) kernels *= shape[i];
    s->params = mem_alloc(s->context, params * element_size);
    s->dparams = mem_alloc(s->context, params * element_size);
    s->kernel = mem_alloc(s->context, kernels * element_size);
    if (!s->params || !s->dparams || !s->kernel)
        return fail_memory(error, "%zu parameters and their kernels", params);
    return layer_params_init(layer, 1, c->type, s->params, error);
}

/* Creates a subject of the case's layer. kernels_only: without u, y and their gradients. */
static ssm2d_status open_subject(ssm2d_context *context, const bench_case *c, int kernels_only,
                                 subject *s, ssm2d_error *error)
{
    size_t element_size = c->type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    size_t channels = (size_t)c->config.channels, count = c->batch * c->rows * c->cols * channels;
    ssm2d_config config = c->config;
    config.init = LAYER_INIT_AUTHORS;
    const ssm2d_layer layer = layer_of(&layer_ssm2d, &config);
    rng r = rng_seed(1);
    *s = (subject){.context = context, .bytes = count * element_size};
    ssm2d_status status = plan_subject(c, &layer, c->algorithm, s, error);
    if (status || kernels_only) goto done;
    s->u = mem_alloc(context, s->bytes);
    s->y = mem_alloc(context, s->bytes);
    s->dy = mem_alloc(context, s->bytes);
    s->du = mem_alloc(context, s->bytes);
    if (!s->u || !s->y || !s->dy || !s->du) {
        status = fail_memory(error, "arrays of %zu x %zux%zu x %zu elements", c->batch, c->rows,
                             c->cols, channels);
        goto done;
    }
    fill(&r, c->type, count, s->u);
    fill(&r, c->type, count, s->dy);
done:
    if (status) close_subject(s);
    return status;
}

/* A layer of another kind, with its defaults, on the same arrays. It chooses its own algorithm. */
static ssm2d_status open_peer(const bench_case *c, const layer_kind *kind, const subject *on,
                              subject *s, ssm2d_error *error)
{
    ssm2d_layer layer = layer_default(kind);
    layer_set_channels(&layer, c->config.channels);
    *s = (subject){.context = on->context,
                   .bytes = on->bytes,
                   .borrows = 1,
                   .u = on->u,
                   .y = on->y,
                   .dy = on->dy,
                   .du = on->du};
    return plan_subject(c, &layer, NULL, s, error);
}

enum {
    FORWARD,
    TRAIN,
    LINEAR_FORWARD,
    LINEAR_TRAIN,
    COPY,
    PEAK,
    KERNEL,
    KERNEL_TRAIN,
    S4ND_FORWARD,
    S4ND_TRAIN,
    EMA_FORWARD,
    EMA_TRAIN,
    WORKS
};

/* A kind of work and its subject; NULL: it is left out. */
typedef struct work {
    bench_work run;
    void *on;
} work;

/* The median over rounds of the ratio between the times of two kinds of work; 0 if one of them was
 * left out. */
static double ratio(double (*samples)[MAX_ROUNDS], int a, int b, int rounds)
{
    double ratios[MAX_ROUNDS];
    for (int i = 0; i < rounds; i++)
        ratios[i] = samples[b][i] > 0 ? samples[a][i] / samples[b][i] : 0;
    return bench_median(ratios, rounds);
}

static bench_baseline_result baseline_result(const subject *s, double (*samples)[MAX_ROUNDS],
                                             int first, int rounds)
{
    bench_baseline_result r = {.name = s->plan->kind->name,
                               .forward_ratio = ratio(samples, first, FORWARD, rounds),
                               .train_ratio = ratio(samples, first + 1, TRAIN, rounds)};
    strncpy(r.algorithm, ssm2d_plan_algorithm(s->plan), sizeof r.algorithm - 1);
    return r;
}

ssm2d_status bench_layer(ssm2d_context *context, const bench_case *c, bench_result *result,
                         ssm2d_error *error)
{
    static const layer_kind *const kinds[BENCH_BASELINES] = {&layer_s4nd, &layer_ema};
    double samples[WORKS][MAX_ROUNDS], median[WORKS];
    subject s;
    bench_linear *linear = NULL;
    bench_peak *peak = NULL;
    subject peers[BENCH_BASELINES] = {{.context = context}, {.context = context}};
    ssm2d_status status = open_subject(context, c, 0, &s, error);
    if (status) return status;
    for (int i = 0; i < BENCH_BASELINES && !status; i++)
        status = open_peer(c, kinds[i], &s, &peers[i], error);
    if (status) goto done;
    if (c->type == SSM2D_FLOAT) {
        size_t tokens = c->batch * c->rows * c->cols;
        status = bench_linear_create(context, tokens, (size_t)c->config.channels, s.u, s.dy,
                                     &linear, error);
        if (!status) status = bench_peak_create(context, &peak, error);
        if (status) goto done;
    }

    const work works[WORKS] = {[FORWARD] = {forward, &s},
                               [TRAIN] = {train, &s},
                               [LINEAR_FORWARD] = {bench_linear_forward, linear},
                               [LINEAR_TRAIN] = {bench_linear_train, linear},
                               [COPY] = {copy, &s},
                               [PEAK] = {bench_peak_run, peak},
                               [KERNEL] = {kernel, &s},
                               [KERNEL_TRAIN] = {kernel_train, &s},
                               [S4ND_FORWARD] = {forward, &peers[0]},
                               [S4ND_TRAIN] = {train, &peers[0]},
                               [EMA_FORWARD] = {forward, &peers[1]},
                               [EMA_TRAIN] = {train, &peers[1]}};
    static const int warm[] = {TRAIN, LINEAR_TRAIN, S4ND_TRAIN, EMA_TRAIN};
    double start = bench_now();
    /* warms up caches, and shows whether this case is slow */
    for (size_t i = 0; i < sizeof warm / sizeof *warm; i++)
        if (works[warm[i]].on) bench_time(works[warm[i]].run, works[warm[i]].on, 1);
    int runs = (bench_now() - start) * RUNS * MIN_ROUNDS < c->seconds * 1e3 ? RUNS : 1, rounds = 0;
    start = bench_now();
    while (rounds < MIN_ROUNDS || (rounds < MAX_ROUNDS && bench_now() - start < c->seconds * 1e3)) {
        for (int w = 0; w < WORKS; w++)
            samples[w][rounds] = works[w].on ? bench_time(works[w].run, works[w].on, runs) : 0;
        rounds++;
    }
    *result = (bench_result){.bytes = ssm2d_plan_bytes(s.plan),
                             .rounds = rounds,
                             .forward_ratio = ratio(samples, FORWARD, LINEAR_FORWARD, rounds),
                             .train_ratio = ratio(samples, TRAIN, LINEAR_TRAIN, rounds)};
    for (int i = 0; i < BENCH_BASELINES; i++)
        result->baselines[i] = baseline_result(&peers[i], samples, S4ND_FORWARD + 2 * i, rounds);
    /* sorts the samples, so that nothing is taken within rounds after it */
    for (int w = 0; w < WORKS; w++) median[w] = bench_median(samples[w], rounds);
    result->forward = median[FORWARD];
    result->train = median[TRAIN];
    result->linear_forward = median[LINEAR_FORWARD];
    result->linear_train = median[LINEAR_TRAIN];
    result->memory = median[COPY];
    result->kernel = median[KERNEL];
    result->kernel_train = median[KERNEL_TRAIN];
    result->spread = median[TRAIN] / samples[TRAIN][0]; /* sorted: the shortest */
    for (int i = 0; i < BENCH_BASELINES; i++) {
        result->baselines[i].forward = median[S4ND_FORWARD + 2 * i];
        result->baselines[i].train = median[S4ND_TRAIN + 2 * i];
    }
    strncpy(result->algorithm, ssm2d_plan_algorithm(s.plan), sizeof result->algorithm - 1);
    bench_find_bounds(c, peak ? bench_peak_products(peak) / median[PEAK] : 0, result);
done:
    for (int i = 0; i < BENCH_BASELINES; i++) close_subject(&peers[i]);
    bench_linear_destroy(linear);
    bench_peak_destroy(peak);
    close_subject(&s);
    return status;
}

ssm2d_status bench_kernel_growth(ssm2d_context *context, double seconds, bench_growth *growth,
                                 ssm2d_error *error)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = BENCH_SIDES;
    for (int i = 0; i < BENCH_SIDES; i++) {
        size_t side = (size_t)16 << i;
        /* scan: a plan without memory for convolutions, which are not run */
        bench_case c = {ssm2d_config_default(), 1, side, side, SSM2D_FLOAT, "scan", 0};
        subject s;
        c.config.channels = 8;
        c.config.directions = 1;
        c.config.n_ssm = 8;
        ssm2d_status status = open_subject(context, &c, 1, &s, error);
        if (status) return status;
        /* The shortest of all, as long runs are disturbed more often than short ones. */
        double start = bench_now(), best = bench_time(kernel_train, &s, 1);
        for (int k = 0;
             k < MIN_ROUNDS || (k < MAX_ROUNDS && bench_now() - start < seconds * 1e3 / n); k++)
            best = fmin(best, bench_time(kernel_train, &s, 1));
        close_subject(&s);
        growth->side[i] = side;
        growth->time[i] = best;
        double x = log((double)(side * side)), y = log(growth->time[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    growth->exponent = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    return SSM2D_OK;
}
