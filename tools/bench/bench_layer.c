/* bench_layer - times one case of the layer beside a Linear layer on the same tokens, and beside
 * S4ND and EMA; and how the cost of the kernels grows with the grid. */
#include "bench.h"

#include "core/arith.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/rng.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ROUNDS = 3, RUNS = 3, COPY_BLOCK = 1 << 18 };

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

int bench_rounds(const bench_item *items, int count, double seconds, bench_samples *samples)
{
    int rounds = 0;
    double start = bench_now();
    /* warms up caches, and shows whether this case is slow */
    for (int i = 0; i < count; i++)
        if (items[i].on) items[i].run(items[i].on);
    const int runs = (bench_now() - start) * RUNS * MIN_ROUNDS < seconds * 1e3 ? RUNS : 1;
    start = bench_now();
    while (rounds < MIN_ROUNDS || (rounds < BENCH_ROUNDS && bench_now() - start < seconds * 1e3)) {
        for (int i = 0; i < count; i++)
            samples[i][rounds] = items[i].on ? bench_time(items[i].run, items[i].on, runs) : 0;
        rounds++;
    }
    return rounds;
}

double bench_ratio(const double *a, const double *b, int rounds)
{
    bench_samples ratios;
    for (int i = 0; i < rounds; i++) ratios[i] = b[i] > 0 ? a[i] / b[i] : 0;
    return bench_median(ratios, rounds);
}

/* ---- layers ---------------------------------------------------------------------------------- */

void bench_subject_forward(void *arg)
{
    bench_subject *s = arg;
    layer_forward(s->plan, s->workspace, s->type, s->params, s->u, s->y);
}

void bench_subject_input_gradient(void *arg)
{
    bench_subject *s = arg;
    layer_backward(s->plan, s->workspace, s->type, s->params, s->u, s->dy, s->du, NULL);
}

void bench_subject_train(void *arg)
{
    bench_subject *s = arg;
    bench_subject_forward(s);
    layer_backward(s->plan, s->workspace, s->type, s->params, s->u, s->dy, s->du, s->dparams);
}

static void kernel(void *arg)
{
    bench_subject *s = arg;
    layer_kernel(s->plan, s->workspace, s->type, s->params, s->kernel);
}

static void kernel_train(void *arg)
{
    bench_subject *s = arg;
    layer_kernel(s->plan, s->workspace, s->type, s->params, s->kernel);
    layer_kernel_backward(s->plan, s->workspace, s->type, s->params, s->kernel, s->dparams);
}

static void copy_block(void *arg, size_t task, int worker)
{
    bench_subject *s = arg;
    const size_t first = task * COPY_BLOCK, n = min_size(s->bytes - first, COPY_BLOCK);
    (void)worker;
    memcpy((char *)s->y + first, (const char *)s->u + first, n);
}

static void copy(void *arg)
{
    bench_subject *s = arg;
    pool_run(s->context->pool, div_up_size(s->bytes, COPY_BLOCK), copy_block, s);
}

void bench_subject_close(bench_subject *s)
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

/* Allocates u, y, dy and du, and fills u and dy with random values. */
static ssm2d_status make_arrays(bench_subject *s, size_t count, ssm2d_error *error)
{
    rng r = rng_seed(1);
    s->u = mem_alloc(s->context, s->bytes);
    s->y = mem_alloc(s->context, s->bytes);
    s->dy = mem_alloc(s->context, s->bytes);
    s->du = mem_alloc(s->context, s->bytes);
    if (!s->u || !s->y || !s->dy || !s->du)
        return fail_memory(error, "arrays of %zu elements", count);
    fill(&r, s->type, count, s->u);
    fill(&r, s->type, count, s->dy);
    return SSM2D_OK;
}

ssm2d_status bench_subject_open(ssm2d_context *context, const ssm2d_layer *layer,
                                const ssm2d_plan_options *options, const bench_subject *on,
                                bench_subject *s, ssm2d_error *error)
{
    const size_t element_size = options->type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    const size_t params = ssm2d_layer_param_count(layer);
    const size_t count = options->batch * options->grid.extent[0] * options->grid.extent[1]
                         * (size_t)ssm2d_layer_channels(layer);
    size_t shape[SSM2D_KERNEL_RANK], kernels = 1;
    *s = (bench_subject){
        .context = context, .type = options->type, .bytes = count * element_size, .borrows = !!on};
    ssm2d_status status = ssm2d_plan_create(context, layer, options, &s->plan, error);
    if (!status) status = ssm2d_workspace_create(s->plan, &s->workspace, error);
    if (status) return status;
    const int rank = ssm2d_kernel_shape(s->plan, shape);
    for (int i = 0; i < rank; i++) kernels *= shape[i];
    s->params = mem_alloc(context, params * element_size);
    s->dparams = mem_alloc(context, params * element_size);
    s->kernel = mem_alloc(context, kernels * element_size);
    if (!s->params || !s->dparams || !s->kernel)
        return fail_memory(error, "%zu parameters and their kernels", params);
    if ((status = layer_params_init(layer, 1, s->type, s->params, error))) return status;
    if (!on) return make_arrays(s, count, error);
    s->u = on->u;
    s->y = on->y;
    s->dy = on->dy;
    s->du = on->du;
    return SSM2D_OK;
}

static ssm2d_plan_options plan_options(const bench_case *c)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = c->batch;
    o.grid = ssm2d_grid_2d(c->rows, c->cols);
    o.type = c->type;
    o.algorithm = c->algorithm;
    return o;
}

static ssm2d_layer layer_of_case(const bench_case *c)
{
    ssm2d_config config = c->config;
    config.init = LAYER_INIT_AUTHORS;
    return layer_of(&layer_ssm2d, &config);
}

/* A layer of another kind, with its defaults, on the same arrays. It chooses its own algorithm. */
static ssm2d_status open_peer(const bench_case *c, const layer_kind *kind, const bench_subject *on,
                              bench_subject *s, ssm2d_error *error)
{
    ssm2d_layer layer = layer_default(kind);
    ssm2d_plan_options options = plan_options(c);
    options.algorithm = NULL;
    layer_set_channels(&layer, c->config.channels);
    return bench_subject_open(on->context, &layer, &options, on, s, error);
}

/* ---- measuring ------------------------------------------------------------------------------- */

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

static bench_baseline_result baseline_result(const bench_subject *s, const bench_samples *samples,
                                             int first, int rounds)
{
    bench_baseline_result r = {
        .name = s->plan->kind->name,
        .forward_ratio = bench_ratio(samples[first], samples[FORWARD], rounds),
        .train_ratio = bench_ratio(samples[first + 1], samples[TRAIN], rounds)};
    strncpy(r.algorithm, ssm2d_plan_algorithm(s->plan), sizeof r.algorithm - 1);
    return r;
}

ssm2d_status bench_layer(ssm2d_context *context, const bench_case *c, bench_result *result,
                         ssm2d_error *error)
{
    static const layer_kind *const kinds[BENCH_BASELINES] = {&layer_s4nd, &layer_ema};
    const ssm2d_layer layer = layer_of_case(c);
    const ssm2d_plan_options options = plan_options(c);
    bench_samples samples[WORKS];
    double median[WORKS];
    bench_subject s, peers[BENCH_BASELINES] = {{.context = context}, {.context = context}};
    bench_linear *linear = NULL;
    bench_peak *peak = NULL;
    ssm2d_status status = bench_subject_open(context, &layer, &options, NULL, &s, error);
    for (int i = 0; i < BENCH_BASELINES && !status; i++)
        status = open_peer(c, kinds[i], &s, &peers[i], error);
    if (!status && c->type == SSM2D_FLOAT)
        status = bench_linear_create(context, c->batch * c->rows * c->cols,
                                     (size_t)c->config.channels, s.u, s.dy, &linear, error);
    if (!status && c->type == SSM2D_FLOAT) status = bench_peak_create(context, &peak, error);
    if (status) goto done;

    const bench_item items[WORKS] = {[FORWARD] = {bench_subject_forward, &s},
                                     [TRAIN] = {bench_subject_train, &s},
                                     [LINEAR_FORWARD] = {bench_linear_forward, linear},
                                     [LINEAR_TRAIN] = {bench_linear_train, linear},
                                     [COPY] = {copy, &s},
                                     [PEAK] = {bench_peak_run, peak},
                                     [KERNEL] = {kernel, &s},
                                     [KERNEL_TRAIN] = {kernel_train, &s},
                                     [S4ND_FORWARD] = {bench_subject_forward, &peers[0]},
                                     [S4ND_TRAIN] = {bench_subject_train, &peers[0]},
                                     [EMA_FORWARD] = {bench_subject_forward, &peers[1]},
                                     [EMA_TRAIN] = {bench_subject_train, &peers[1]}};
    const int rounds = bench_rounds(items, WORKS, c->seconds, samples);
    *result = (bench_result){
        .bytes = ssm2d_plan_bytes(s.plan),
        .rounds = rounds,
        .forward_ratio = bench_ratio(samples[FORWARD], samples[LINEAR_FORWARD], rounds),
        .train_ratio = bench_ratio(samples[TRAIN], samples[LINEAR_TRAIN], rounds)};
    for (int i = 0; i < BENCH_BASELINES; i++)
        result->baselines[i] = baseline_result(&peers[i], samples, S4ND_FORWARD + 2 * i, rounds);
    /* bench_median sorts the samples, so all ratios within rounds are taken before this */
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
    for (int i = 0; i < BENCH_BASELINES; i++) bench_subject_close(&peers[i]);
    bench_linear_destroy(linear);
    bench_peak_destroy(peak);
    bench_subject_close(&s);
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
        c.config.channels = c.config.n_ssm = 8;
        c.config.directions = 1;
        const ssm2d_layer layer = layer_of_case(&c);
        const ssm2d_plan_options options = plan_options(&c);
        const bench_subject no_arrays = {0};
        bench_subject s;
        const ssm2d_status status =
            bench_subject_open(context, &layer, &options, &no_arrays, &s, error);
        if (status) {
            bench_subject_close(&s);
            return status;
        }
        /* The shortest of all, as long runs are disturbed more often than short ones. */
        double start = bench_now(), best = bench_time(kernel_train, &s, 1);
        for (int k = 0;
             k < MIN_ROUNDS || (k < BENCH_ROUNDS && bench_now() - start < seconds * 1e3 / n); k++)
            best = fmin(best, bench_time(kernel_train, &s, 1));
        bench_subject_close(&s);
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
