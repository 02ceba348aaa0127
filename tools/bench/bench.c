/* bench - `ssm2d bench`, and its part `layer`: the layer's time as a multiple of a Linear layer's
 * on the same tokens. Ratios, because times of one machine mean little on another. */
#include "bench.h"

#include "core/status.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *algo, *precision;
    long batch, rows, cols, channels, directions;
    int complex, json, quick;
} values;

/* A case, and the ratio that forward and backward should reach with float, AVX2 or AVX-512, and 2
 * threads; 0: no goal. */
typedef struct layer_goal {
    size_t batch, rows, cols;
    int channels;
    double goal;
} layer_goal;

static const layer_goal default_cases[] = {
    {128, 8, 8, 192, 0.55}, {32, 14, 14, 192, 0.8}, {128, 16, 16, 96, 1.3},
    {32, 32, 32, 96, 1.5},  {8, 56, 56, 96, 2},
};
enum { DEFAULT_CASES = sizeof default_cases / sizeof *default_cases, MAX_ALGORITHMS = 8 };
enum { MAX_LINES = DEFAULT_CASES * MAX_ALGORITHMS };
static const double exponent_goal = 1.1;

static const char *precision_name(int i) { return i == 0 ? "float" : i == 1 ? "double" : NULL; }
static const char *algo_name(int i)
{
    return i == 0 ? "auto" : i == 1 ? "all" : ssm2d_kind_algorithm("ssm2d", i - 2);
}

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), "print JSON instead of a table"},
    {"quick", OPTION_FLAG, offsetof(values, quick), "about ten seconds in all, less accurate"},
    {"rows", OPTION_INT, offsetof(values, rows), "rows of the grid, for a case of your own",
     .low = 1, .high = 1e5},
    {"cols", OPTION_INT, offsetof(values, cols), "columns of the grid", .low = 1, .high = 1e5},
    {"channels", OPTION_INT, offsetof(values, channels), "channels", .low = 1, .high = 1e5},
    {"batch", OPTION_INT, offsetof(values, batch), "images per batch (default: 1)", .low = 1,
     .high = 1e6},
    {"directions", OPTION_INT, offsetof(values, directions), "number of directions: 1, 2 or 4",
     .low = 1, .high = 4, .default_value = "2"},
    {"complex", OPTION_FLAG, offsetof(values, complex),
     "use complex (polar) instead of real systems"},
    {"algo", OPTION_CHOICE, offsetof(values, algo), "algorithm; with all, each of them in turn",
     .choice = algo_name, .default_value = "auto"},
    {"precision", OPTION_CHOICE, offsetof(values, precision),
     "floating-point type; in double there is no Linear layer to compare with",
     .choice = precision_name, .default_value = "float"},
    {0}};

static int given(long value) { return value != OPTION_UNSET; }

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (o->directions == 3)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--directions=3: use 1, 2 or 4");
    if ((given(o->rows) || given(o->cols) || given(o->channels) || given(o->batch))
        && !(given(o->rows) && given(o->cols) && given(o->channels)))
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "a case of your own needs all of --rows, --cols and --channels");
    return SSM2D_OK;
}

/* ---- printing for all parts ------------------------------------------------------------------ */

void bench_number(const char *key, double value)
{
    if (value > 0)
        printf(",\"%s\":%.5g", key, value);
    else
        printf(",\"%s\":null", key);
}

void bench_warn(double spread)
{
    static const double max_spread = 1.3; /* of an idle machine */
    if (spread > max_spread)
        fprintf(stderr,
                "ssm2d bench: this machine is busy (times vary by a factor of %.1f); the ratios "
                "are not reliable.\n",
                spread);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_head(ssm2d_context *context, const values *o)
{
    int threads = ssm2d_context_threads(context);
    const char *isa = ssm2d_context_cpu(context);
    if (o->json) {
        printf("{\"threads\":%d,\"isa\":\"%s\",\"precision\":\"%s\",\"directions\":%ld,\"complex\":"
               "%s,\"cases\":[",
               threads, isa, o->precision, o->directions, o->complex ? "true" : "false");
        return;
    }
    printf("threads %d, %s, %s, directions %ld, %s; n_ssm 8, d_state 16. Milliseconds; ratio to "
           "the Linear (and its goal).\n",
           threads, isa, o->precision, o->directions, o->complex ? "complex" : "real");
    printf("%-22s %-7s %s   %s   %s\n", "", "", "---------- forward ----------",
           "----- forward + backward ----", "----- kernels ----");
    printf("%-22s %-7s %8s %8s %11s   %8s %8s %11s   %8s %9s %8s\n", "case", "algo", "layer",
           "Linear", "ratio", "layer", "Linear", "ratio", "alone", "+ adjoint", "memcpy");
}

static void print_time(double milliseconds)
{
    if (milliseconds > 0)
        printf(" %8.3f", milliseconds);
    else
        printf(" %8s", "-");
}

static void print_ratio(double ratio, double goal)
{
    char text[32] = "-";
    if (goal > 0)
        snprintf(text, sizeof text, "%.2f (%.2f)%c", ratio, goal, ratio <= goal ? ' ' : '!');
    else if (ratio > 0)
        snprintf(text, sizeof text, "%.2f", ratio);
    printf(" %11s  ", text);
}

typedef struct case_name {
    char text[64];
} case_name;

static case_name name_of(const layer_goal *w)
{
    case_name n;
    snprintf(n.text, sizeof n.text, "%zu x %zux%zu x %d", w->batch, w->rows, w->cols, w->channels);
    return n;
}

static void print_row(const layer_goal *w, const char *algo, const bench_result *r,
                      const char *refusal)
{
    printf("%-22s %-7s", name_of(w).text, algo);
    if (refusal) {
        printf(" refused: %s\n", refusal);
        return;
    }
    print_time(r->forward);
    print_time(r->linear_forward);
    print_ratio(r->forward_ratio, 0);
    print_time(r->train);
    print_time(r->linear_train);
    print_ratio(r->train_ratio, w->goal);
    print_time(r->kernel);
    printf(" ");
    print_time(r->kernel_train);
    print_time(r->memory);
    printf("\n");
}

static void print_json(const layer_goal *w, const char *algo, const bench_result *r,
                       const char *refusal)
{
    printf("\n{\"batch\":%zu,\"rows\":%zu,\"cols\":%zu,\"channels\":%d,\"algo\":\"%s\"", w->batch,
           w->rows, w->cols, w->channels, algo);
    if (refusal) {
        printf(",\"refused\":\"");
        for (const char *c = refusal; *c; c++) printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        printf("\"}");
        return;
    }
    bench_number("forward_ms", r->forward);
    bench_number("train_ms", r->train);
    bench_number("linear_forward_ms", r->linear_forward);
    bench_number("linear_train_ms", r->linear_train);
    bench_number("kernel_ms", r->kernel);
    bench_number("kernel_train_ms", r->kernel_train);
    bench_number("kernel_share", r->kernel_train / r->train);
    bench_number("memcpy_ms", r->memory);
    bench_number("forward_ratio", r->forward_ratio);
    bench_number("train_ratio", r->train_ratio);
    bench_number("forward_sgemm_share", r->forward_products);
    bench_number("train_sgemm_share", r->train_products);
    bench_number("forward_memcpy_share", r->forward_bandwidth);
    bench_number("train_memcpy_share", r->train_bandwidth);
    if (w->goal > 0) {
        bench_number("train_goal", w->goal);
        printf(",\"met\":%s", r->train_ratio <= w->goal ? "true" : "false");
    }
    for (int i = 0; i < BENCH_BASELINES; i++) {
        const bench_baseline_result *b = &r->baselines[i];
        printf(",\"%s\":{\"algo\":\"%s\"", b->name, b->algorithm);
        bench_number("forward_ms", b->forward);
        bench_number("train_ms", b->train);
        bench_number("forward_ratio", b->forward_ratio);
        bench_number("train_ratio", b->train_ratio);
        printf("}");
    }
    bench_number("spread", r->spread);
    printf(",\"workspace_bytes\":%zu,\"rounds\":%d}", r->bytes, r->rounds);
}

static void print_baselines(const layer_goal *cases, const bench_result *results, int count)
{
    printf("\nS4ND and EMA (n_ssm 8, d_state 16) at the same shapes; ratio to the layer's time.\n");
    printf("%-22s %-7s", "case", "layer");
    for (int i = 0; i < BENCH_BASELINES; i++)
        printf("   %-5s %-7s %8s %5s %8s %5s", "", "algo", "forward", "ratio", "+ back", "ratio");
    printf("\n");
    for (int k = 0; k < count; k++) {
        if (!results[k].rounds) continue; /* refused */
        printf("%-22s %-7s", name_of(&cases[k]).text, results[k].algorithm);
        for (int i = 0; i < BENCH_BASELINES; i++) {
            const bench_baseline_result *b = &results[k].baselines[i];
            printf("   %-5s %-7s %8.3f %5.2f %8.3f %5.2f", b->name, b->algorithm, b->forward,
                   b->forward_ratio, b->train, b->train_ratio);
        }
        printf("\n");
    }
}

/* The time per cell relative to that at 32x32; 1: the time is proportional to the cells. */
static double per_cell(const bench_growth *g, int i)
{
    const double cells = (double)(g->side[i] * g->side[i]);
    return g->time[i] / cells / (g->time[1] / (double)(g->side[1] * g->side[1]));
}

static void print_growth(const bench_growth *g, double share, int json)
{
    if (json) {
        bench_number("kernel_exponent", g->exponent);
        printf(",\"kernel_growth\":[");
        for (int i = 0; i < BENCH_SIDES; i++)
            printf("%s{\"side\":%zu,\"ms\":%.5g,\"per_cell\":%.4g}", i ? "," : "", g->side[i],
                   g->time[i], per_cell(g, i));
        printf("]");
        return;
    }
    printf("\nKernels with their adjoint take %.1f %% of the first case (goal: 5 %%); their time "
           "grows with the power %.2f (goal: %g) of the number of cells:\n",
           100 * share, g->exponent, exponent_goal);
    for (int i = 0; i < BENCH_SIDES; i++)
        printf("%s%zux%zu %.3g (%.2f)", i ? ", " : "", g->side[i], g->side[i], g->time[i],
               per_cell(g, i));
    printf(" ms (one direction, 8 channels; in brackets a cell's time relative to 32x32).\n");
}

/* ---- running --------------------------------------------------------------------------------- */

/* Measures and prints one case. With --algo all, an algorithm that refuses the case is printed as a
 * result too. */
static ssm2d_status run_one(ssm2d_context *context, const values *o, const layer_goal *w,
                            const char *algo, double seconds, bench_result *result,
                            ssm2d_error *error)
{
    bench_case c = {ssm2d_config_default(), w->batch, w->rows, w->cols, SSM2D_FLOAT, algo, seconds};
    ssm2d_error why = {""};
    c.config.channels = w->channels;
    c.config.n_ssm = 8;
    c.config.directions = (int)o->directions;
    if (o->complex) c.config.values = SSM2D_POLAR;
    if (!strcmp(o->precision, "double")) c.type = SSM2D_DOUBLE;
    ssm2d_status status = bench_layer(context, &c, result, &why);
    int refused = status == SSM2D_ERROR_UNSUPPORTED && !strcmp(o->algo, "all");
    if (status && !refused) return fail(error, status, "%s", why.line);
    (o->json ? print_json : print_row)(w, refused ? algo : result->algorithm, result,
                                       refused ? why.line : NULL);
    fflush(stdout);
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    layer_goal own = {given(o->batch) ? (size_t)o->batch : 1, (size_t)o->rows, (size_t)o->cols,
                      (int)o->channels, 0};
    int all = !strcmp(o->algo, "all"), lines = 0, defaults = !given(o->rows);
    int goals = defaults && !o->complex && o->directions == 2 && !strcmp(o->algo, "auto")
                && !strcmp(o->precision, "float") && ssm2d_context_threads(context) == 2
                && strcmp(ssm2d_context_cpu(context), "baseline") != 0;
    bench_growth growth;
    bench_result results[MAX_LINES];
    layer_goal cases[MAX_LINES];
    double share = 0, spread = 0, seconds = o->quick ? 1 : 9;
    ssm2d_status status = SSM2D_OK;
    print_head(context, o);
    for (int i = 0; i < (defaults ? DEFAULT_CASES : 1) && !status; i++) {
        layer_goal w = defaults ? default_cases[i] : own;
        if (!goals) w.goal = 0;
        for (int k = 0; !status && (all ? ssm2d_kind_algorithm("ssm2d", k) != NULL : k == 0); k++) {
            assert(lines < MAX_LINES);
            bench_result *result = &results[lines];
            *result = (bench_result){{0}};
            cases[lines] = w;
            if (o->json && lines) printf(",");
            status = run_one(context, o, &w, all ? ssm2d_kind_algorithm("ssm2d", k) : o->algo,
                             seconds, result, error);
            spread = fmax(spread, result->spread);
            if (lines++ == 0) share = result->kernel_train / result->train;
        }
    }
    if (!status && defaults) status = bench_kernel_growth(context, seconds, &growth, error);
    if (status) return status;
    if (o->json) printf("\n]");
    if (!o->json) {
        bench_print_bounds_head();
        for (int k = 0; k < lines; k++)
            if (results[k].rounds) bench_print_bounds(&results[k], name_of(&cases[k]).text);
        print_baselines(cases, results, lines);
    }
    if (defaults) print_growth(&growth, share, o->json);
    if (o->json) printf("}\n");
    bench_warn(spread);
    return SSM2D_OK;
}

static const command command_layer_part = {
    "bench layer",
    "the layer against a Linear layer",
    "Times the layer, forward and forward with backward, beside one Linear layer of as many "
    "channels on the same tokens (oneDNN, same threads and instruction set), beside a copy of "
    "the input, and the generation of the kernels alone. Compare ratios rather than times: all of "
    "them are timed in alternation, so that the speed of the machine cancels out. Further tables "
    "show the share of the machine's arithmetic and memory speed that the layer reaches, and the "
    "times of S4ND and EMA on the same arrays as multiples of the layer's.\n"
    "Without --rows, --cols and --channels, five default cases are timed, in about a minute.\n",
    options,
    check,
    run,
    0,
    NULL};

static const command *const parts[] = {
    &command_layer_part,  &command_bench_conv,  &command_bench_linear,
    &command_bench_train, &command_bench_infer, &command_bench_data,
    &command_bench_scale, &command_bench_guard, NULL};

const command command_bench = {
    "bench",
    "time the layer, training and inference of models, and data",
    "Measures ratios of times. The two sides of a ratio are timed in alternation, so that the "
    "speed of the machine cancels out.",
    NULL,
    NULL,
    NULL,
    0,
    parts};
