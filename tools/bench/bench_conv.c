/* bench_conv - `ssm2d bench conv`: the kind `conv` beside oneDNN's depthwise convolution, at the
 * shapes of the ConvNeXt models. As in bench_layer, a round times all kinds of work one after the
 * other, and ratios are taken within it. */
#include "bench.h"
#include "onednn_conv.h"

#include "core/context.h"
#include "core/status.h"
#include "layers/conv/conv_layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROUNDS = 200, MIN_ROUNDS = 3, RUNS = 3, KERNEL = 7 };

typedef struct values {
    const char *algo;
    int json, quick;
} values;

static const char *algo_name(int i) { return i ? ssm2d_kind_algorithm("conv", i - 1) : "auto"; }

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), "print JSON instead of a table"},
    {"quick", OPTION_FLAG, offsetof(values, quick), "about ten seconds in all, less accurate"},
    {"algo", OPTION_CHOICE, offsetof(values, algo), "algorithm of ours", .choice = algo_name,
     .default_value = "auto"},
    {0}};

typedef struct conv_case {
    const char *model;
    size_t batch, side;
    int channels;
} conv_case;

static const conv_case cases[] = {
    {"convnext-mini", 128, 16, 48}, {"convnext-small", 32, 32, 64}, {"convnext-small", 32, 16, 128},
    {"convnext-small", 32, 8, 256}, {"convnext-small", 32, 4, 512}, {"convnext", 8, 56, 96},
    {"convnext", 8, 28, 192},       {"convnext", 8, 14, 384},       {"convnext", 8, 7, 768}};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- ours ------------------------------------------------------------------------------------ */

typedef struct ours {
    ssm2d_plan *plan;
    ssm2d_workspace *workspace;
    float *params, *dparams, *u, *y, *dy, *du;
} ours;

static void forward(void *arg)
{
    ours *o = arg;
    ssm2d_forward(o->plan, o->workspace, o->params, o->u, o->y);
}

static void input_gradient(void *arg)
{
    ours *o = arg;
    ssm2d_backward(o->plan, o->workspace, o->params, o->u, o->dy, o->du, NULL);
}

static void train(void *arg)
{
    ours *o = arg;
    forward(o);
    ssm2d_backward(o->plan, o->workspace, o->params, o->u, o->dy, o->du, o->dparams);
}

static float *numbers(ssm2d_context *context, size_t count)
{
    float *x = mem_alloc(context, count * sizeof *x);
    for (size_t i = 0; i < count && x; i++) x[i] = (float)(i % 13) / 13 - 0.5F;
    return x;
}

static void close_ours(ssm2d_context *context, ours *o)
{
    float *const arrays[] = {o->params, o->dparams, o->u, o->y, o->dy, o->du};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_free(context, arrays[i]);
    ssm2d_workspace_destroy(o->workspace);
    ssm2d_plan_destroy(o->plan);
}

static ssm2d_status open_ours(ssm2d_context *context, const conv_case *c, const char *algo, ours *o,
                              ssm2d_error *error)
{
    const conv_config config = {.channels = c->channels, .kernel = KERNEL, .bias = 1};
    const ssm2d_layer layer = layer_of(&layer_conv, &config);
    const size_t params = (KERNEL * KERNEL + 1) * (size_t)c->channels,
                 count = c->batch * c->side * c->side * (size_t)c->channels;
    ssm2d_plan_options p = ssm2d_plan_options_default();
    p.algorithm = algo;
    p.batch = c->batch;
    p.grid = ssm2d_grid_2d(c->side, c->side);
    *o = (ours){.params = numbers(context, params),
                .dparams = numbers(context, params),
                .u = numbers(context, count),
                .y = numbers(context, count),
                .dy = numbers(context, count),
                .du = numbers(context, count)};
    if (!o->params || !o->dparams || !o->u || !o->y || !o->dy || !o->du)
        return fail_memory(error, "arrays of %zu elements", count);
    ssm2d_status status = ssm2d_plan_create(context, &layer, &p, &o->plan, error);
    return status ? status : ssm2d_workspace_create(o->plan, &o->workspace, error);
}

/* ---- measuring ------------------------------------------------------------------------------- */

enum { FORWARD, INPUT, TRAIN, THEIR_FORWARD, THEIR_INPUT, THEIR_TRAIN, WORKS };
enum { THEIRS = THEIR_FORWARD };

typedef struct conv_result {
    double time[WORKS];
    double ratio[THEIRS]; /* how many times as fast ours is */
    double spread;
    int rounds;
    char algorithm[16];
} conv_result;

static double ratio(double (*samples)[MAX_ROUNDS], int theirs, int mine, int rounds)
{
    double ratios[MAX_ROUNDS];
    for (int i = 0; i < rounds; i++) ratios[i] = samples[theirs][i] / samples[mine][i];
    return bench_median(ratios, rounds);
}

static void measure(ours *o, onednn_conv *theirs, double seconds, conv_result *r)
{
    static const bench_work works[WORKS] = {
        forward,          input_gradient, train, onednn_conv_forward, onednn_conv_input_gradient,
        onednn_conv_train};
    double samples[WORKS][MAX_ROUNDS];
    int rounds = 0;
    bench_time(train, o, 1); /* warms up */
    bench_time(onednn_conv_train, theirs, 1);
    const double start = bench_now();
    while (rounds < MIN_ROUNDS || (rounds < MAX_ROUNDS && bench_now() - start < seconds * 1e3)) {
        for (int i = 0; i < THEIRS; i++) {
            samples[i][rounds] = bench_time(works[i], o, RUNS);
            samples[THEIRS + i][rounds] = bench_time(works[THEIRS + i], theirs, RUNS);
        }
        rounds++;
    }
    *r = (conv_result){.rounds = rounds};
    for (int i = 0; i < THEIRS; i++) r->ratio[i] = ratio(samples, THEIRS + i, i, rounds);
    for (int w = 0; w < WORKS; w++) r->time[w] = bench_median(samples[w], rounds);
    r->spread = r->time[TRAIN] / samples[TRAIN][0]; /* sorted: the shortest */
    strncpy(r->algorithm, ssm2d_plan_algorithm(o->plan), sizeof r->algorithm - 1);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_head(ssm2d_context *context, int json)
{
    if (json) {
        printf("{\"threads\":%d,\"isa\":\"%s\",\"kernel\":%d,\"cases\":[",
               ssm2d_context_threads(context), ssm2d_context_cpu(context), KERNEL);
        return;
    }
    printf("threads %d, %s; depthwise convolution of %dx%d with bias. Milliseconds; how many times "
           "as fast as oneDNN's.\n",
           ssm2d_context_threads(context), ssm2d_context_cpu(context), KERNEL, KERNEL);
    printf("%-15s %-18s %-7s", "model", "case", "algo");
    printf("  %8s %8s %5s", "forward", "oneDNN", "ratio");
    printf("  %8s %8s %5s", "gradient", "oneDNN", "ratio");
    printf("  %8s %8s %5s\n", "all", "oneDNN", "ratio");
}

static void print_case(const conv_case *c, const conv_result *r, int json)
{
    char name[48];
    if (json) {
        printf("\n{\"model\":\"%s\",\"batch\":%zu,\"rows\":%zu,\"cols\":%zu,\"channels\":%d,"
               "\"algo\":\"%s\"",
               c->model, c->batch, c->side, c->side, c->channels, r->algorithm);
        for (int i = 0; i < THEIRS; i++) {
            static const char *const keys[THEIRS][3] = {
                {"forward_ms", "onednn_forward_ms", "forward_ratio"},
                {"input_gradient_ms", "onednn_input_gradient_ms", "input_gradient_ratio"},
                {"train_ms", "onednn_train_ms", "train_ratio"}};
            bench_number(keys[i][0], r->time[i]);
            bench_number(keys[i][1], r->time[THEIRS + i]);
            bench_number(keys[i][2], r->ratio[i]);
        }
        bench_number("spread", r->spread);
        printf(",\"rounds\":%d}", r->rounds);
        return;
    }
    snprintf(name, sizeof name, "%zu x %zux%zu x %d", c->batch, c->side, c->side, c->channels);
    printf("%-15s %-18s %-7s", c->model, name, r->algorithm);
    for (int i = 0; i < THEIRS; i++)
        printf("  %8.3f %8.3f %5.2f", r->time[i], r->time[THEIRS + i], r->ratio[i]);
    printf("\n");
}

static ssm2d_status run_case(ssm2d_context *context, const conv_case *c, const char *algo,
                             double seconds, conv_result *result, ssm2d_error *error)
{
    const onednn_conv_shape shape = {c->batch, c->side, c->side, (size_t)c->channels, KERNEL};
    ours o = {0};
    onednn_conv *theirs = NULL;
    ssm2d_status status = open_ours(context, c, algo, &o, error);
    if (!status) status = onednn_conv_create(context, &shape, &theirs, error);
    if (!status) measure(&o, theirs, seconds, result);
    onednn_conv_destroy(theirs);
    close_ours(context, &o);
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    double spread = 0;
    print_head(context, o->json);
    for (int i = 0; i < CASES; i++) {
        conv_result r;
        const ssm2d_status status =
            run_case(context, &cases[i], o->algo, o->quick ? 1 : 6, &r, error);
        if (status) return status;
        if (o->json && i) printf(",");
        print_case(&cases[i], &r, o->json);
        fflush(stdout);
        spread = fmax(spread, r.spread);
    }
    if (o->json) printf("\n]}\n");
    bench_warn(spread);
    return SSM2D_OK;
}

const command command_bench_conv = {
    "bench conv",
    "the depthwise convolution against oneDNN's",
    "Times the depthwise convolution of 7 x 7 (the mixer conv) beside oneDNN's on as many images, "
    "at "
    "the shapes of the ConvNeXt models: forward, the gradient of the input, and all of a training "
    "step; same threads and instruction set, oneDNN in the memory layout that it prefers. oneDNN "
    "2.6 has no code of its own for the gradient of the weights of 7 x 7. SSM2D_CPU=avx2 in the "
    "environment measures another instruction set than the best of the processor.",
    options,
    NULL,
    run,
    0,
    NULL};
