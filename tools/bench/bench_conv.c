/* bench_conv - `ssm2d bench conv`: the kind `conv` beside oneDNN's depthwise convolution, at the
 * shapes of the ConvNeXt models. */
#include "bench.h"

#include "layers/conv/conv_layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KERNEL = 7 };

typedef struct values {
    const char *algo;
    int json, quick;
} values;

static const char *algo_name(int i) { return i ? ssm2d_kind_algorithm("conv", i - 1) : "auto"; }

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), "print JSON instead of a table"},
    {"quick", OPTION_FLAG, offsetof(values, quick), "a few seconds in all, less accurate"},
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

/* ---- measuring ------------------------------------------------------------------------------- */

/* Ours, then oneDNN's in the same order. */
enum { FORWARD, INPUT_GRADIENT, TRAIN, PASSES };

typedef struct conv_result {
    double time[2 * PASSES];
    double ratio[PASSES]; /* oneDNN's time over ours */
    double spread;
    int rounds;
    char algorithm[16];
} conv_result;

static void measure(bench_subject *ours, onednn_conv *theirs, double seconds, conv_result *r)
{
    const bench_item items[2 * PASSES] = {
        {bench_subject_forward, ours},        {bench_subject_input_gradient, ours},
        {bench_subject_train, ours},          {onednn_conv_forward, theirs},
        {onednn_conv_input_gradient, theirs}, {onednn_conv_train, theirs}};
    bench_samples samples[2 * PASSES];
    const int rounds = bench_rounds(items, 2 * PASSES, seconds, samples);
    *r = (conv_result){.rounds = rounds};
    for (int i = 0; i < PASSES; i++)
        r->ratio[i] = bench_ratio(samples[PASSES + i], samples[i], rounds);
    for (int i = 0; i < 2 * PASSES; i++) r->time[i] = bench_median(samples[i], rounds);
    r->spread = r->time[TRAIN] / samples[TRAIN][0]; /* sorted: the shortest */
    strncpy(r->algorithm, ssm2d_plan_algorithm(ours->plan), sizeof r->algorithm - 1);
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
        for (int i = 0; i < PASSES; i++) {
            static const char *const keys[PASSES][3] = {
                {"forward_ms", "onednn_forward_ms", "forward_ratio"},
                {"input_gradient_ms", "onednn_input_gradient_ms", "input_gradient_ratio"},
                {"train_ms", "onednn_train_ms", "train_ratio"}};
            bench_number(keys[i][0], r->time[i]);
            bench_number(keys[i][1], r->time[PASSES + i]);
            bench_number(keys[i][2], r->ratio[i]);
        }
        bench_number("spread", r->spread);
        printf(",\"rounds\":%d}", r->rounds);
        return;
    }
    snprintf(name, sizeof name, "%zu x %zux%zu x %d", c->batch, c->side, c->side, c->channels);
    printf("%-15s %-18s %-7s", c->model, name, r->algorithm);
    for (int i = 0; i < PASSES; i++)
        printf("  %8.3f %8.3f %5.2f", r->time[i], r->time[PASSES + i], r->ratio[i]);
    printf("\n");
}

static ssm2d_status run_case(ssm2d_context *context, const conv_case *c, const char *algo,
                             double seconds, conv_result *result, ssm2d_error *error)
{
    const onednn_conv_shape shape = {c->batch, c->side, c->side, (size_t)c->channels, KERNEL};
    const conv_config config = {.channels = c->channels, .kernel = KERNEL, .bias = 1};
    const ssm2d_layer layer = layer_of(&layer_conv, &config);
    ssm2d_plan_options plan = ssm2d_plan_options_default();
    bench_subject ours;
    onednn_conv *theirs = NULL;
    plan.algorithm = algo;
    plan.batch = c->batch;
    plan.grid = ssm2d_grid_2d(c->side, c->side);
    ssm2d_status status = bench_subject_open(context, &layer, &plan, NULL, &ours, error);
    if (!status) status = onednn_conv_create(context, &shape, &theirs, error);
    if (!status) measure(&ours, theirs, seconds, result);
    onednn_conv_destroy(theirs);
    bench_subject_close(&ours);
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
            run_case(context, &cases[i], o->algo, o->quick ? 0.3 : 6, &r, error);
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
    "Times the depthwise convolution of 7 x 7 (the mixer conv) beside oneDNN's on the same shapes, "
    "those of the ConvNeXt models: forward, the gradient of the input, and forward with the whole "
    "backward; same threads and instruction set, oneDNN in the memory layout that it prefers. "
    "oneDNN 2.6 has no optimised gradient of the weights of 7 x 7. SSM2D_CPU=avx2 in the "
    "environment measures another instruction set than the best of the processor.",
    options,
    NULL,
    run,
    0,
    NULL};
