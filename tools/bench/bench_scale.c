/* bench scale - predicts images per second for many processes from measurements with few. */
#include "bench_model.h"
#include "bench_step.h"
#include "core/context.h"
#include "core/status.h"
#include "draw/canvas.h"
#include "draw/curves.h"
#include "scale_model.h"
#include "tools/processes.h"
#include "tools/setting_hint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
    bench_values model; /* first: bench_model_options.def counts offsets from it */
    const char *latency, *bandwidth, *plot;
    long ranks;
} values;

_Static_assert(sizeof(values) <= COMMAND_VALUES, "COMMAND_VALUES is too small for the values");

#define AT(field) offsetof(values, field)

static const option options[] = {
#include "bench_model_options.def"
    {"latency", OPTION_STRING, AT(latency),
     "latency of a short message, such as 2us or 0.05ms (default: measured)", .value = "TIME"},
    {"bandwidth", OPTION_STRING, AT(bandwidth),
     "bandwidth of a process, each way, such as 12.5GB/s or 10Gbit/s (default: measured)",
     .value = "SPEED"},
    {"ranks", OPTION_INT, AT(ranks), "largest number of processes to predict for", .low = 1,
     .high = 32768, .default_value = "1024"},
    {"plot", OPTION_STRING, AT(plot),
     "draw the efficiency over the number of processes, beside that on usual networks: .png, .svg "
     "or .pdf",
     .value = "FILE"},
    {0}};

/* ---- options --------------------------------------------------------------------------------- */

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* ms, and bytes per ms */
static const unit times[] = {{"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"ns", 1e-6}, {0}};
static const unit speeds[] = {{"GB/s", 1e6},       {"MB/s", 1e3},       {"kB/s", 1},
                              {"Gbit/s", 1e6 / 8}, {"Mbit/s", 1e3 / 8}, {0}};

static ssm2d_status parse(const char *name, const char *text, const unit *units, double *value,
                          ssm2d_error *error)
{
    char *end;
    const double number = strtod(text, &end);
    for (; units->name; units++)
        if (!strcmp(end, units->name) && number > 0 && isfinite(number)) {
            *value = number * units->factor;
            return SSM2D_OK;
        }
    return fail(error, SSM2D_ERROR_ARGUMENT, "--%s=%.32s: write it as %s", name, text,
                !strcmp(name, "latency") ? "2us or 0.05ms" : "12.5GB/s or 10Gbit/s");
}

/* Images of each process in a step. */
static long batch_of(const values *o)
{
    return o->model.batch == OPTION_UNSET ? 16 : o->model.batch;
}

static ssm2d_status network_of(const values *o, scale_network *n, ssm2d_error *error)
{
    *n = (scale_network){.name = "given"};
    ssm2d_status status = SSM2D_OK;
    if (o->latency) status = parse("latency", o->latency, times, &n->latency, error);
    if (o->bandwidth && !status)
        status = parse("bandwidth", o->bandwidth, speeds, &n->bandwidth, error);
    return status;
}

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    scale_network n;
    model_config config;
    ssm2d_status status = bench_model_config(&o->model, &config, error);
    if (!status) status = network_of(o, &n, error);
    if (!status && o->plot) status = canvas_check(o->plot, error);
    if (!status && !o->latency != !o->bandwidth)
        status = fail(error, SSM2D_ERROR_ARGUMENT, "--latency and --bandwidth: give both or none");
    if (!status && processes()->size == 1 && !o->latency)
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "one process cannot measure a network: start it with mpirun -np 2, or give "
                      "--latency 2us --bandwidth 12.5GB/s");
    return status;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The time of exchanging `bytes` with the neighbour, as in a stage of a reduction. */
static ssm2d_status time_exchange(char *memory, size_t bytes, int times_each, double *ms,
                                  ssm2d_error *error)
{
    enum { MAX = 200 };
    cluster *c = processes();
    double samples[MAX];
    ssm2d_status status = SSM2D_OK;
    for (int i = -2; i < times_each && !status; i++) {
        transport_request r[2] = {0};
        const double start = bench_now();
        status = cluster_receive(c, memory, bytes, c->rank ^ 1, TAG_REDUCTION, &r[0], error);
        if (!status)
            status =
                cluster_send(c, memory + bytes, bytes, c->rank ^ 1, TAG_REDUCTION, &r[1], error);
        if (!status) status = cluster_wait_all(c, r, 2, error);
        if (i >= 0) samples[i] = bench_now() - start;
    }
    if (!status) *ms = bench_median(samples, times_each);
    return status;
}

static ssm2d_status measure_network(ssm2d_context *context, scale_network *n, ssm2d_error *error)
{
    enum { SMALL = 64, MIDDLE = 1 << 16, LARGE = 1 << 20 };
    double small = 0, middle = 0, large = 0;
    char *memory = mem_alloc(context, 2 * LARGE);
    ssm2d_status status = memory ? SSM2D_OK : fail_memory(error, "messages");
    status = cluster_agree(processes(), status, error);
    if (!status) status = time_exchange(memory, SMALL, 200, &small, error);
    if (!status) status = time_exchange(memory, MIDDLE, 100, &middle, error);
    if (!status) status = time_exchange(memory, LARGE, 50, &large, error);
    mem_free(context, memory);
    if (!status) status = cluster_broadcast(processes(), &small, sizeof small, error);
    if (!status) status = cluster_broadcast(processes(), &middle, sizeof middle, error);
    if (!status) status = cluster_broadcast(processes(), &large, sizeof large, error);
    const int here = processes()->transport.on_node == processes()->size;
    *n = (scale_network){.name = here ? "measured, this machine" : "measured",
                         .latency = small,
                         .bandwidth = (LARGE - MIDDLE) / fmax(large - middle, 1e-6),
                         .by_processor = here};
    return status;
}

/* The speed of adding gradients, in bytes per ms, for half a bucket. */
static ssm2d_status measure_adding(ssm2d_context *context, double *speed, ssm2d_error *error)
{
    enum { COUNT = 1 << 17 };
    float *memory = mem_alloc(context, 2 * COUNT * sizeof *memory);
    double best = INFINITY;
    if (!memory) return fail_memory(error, "gradients to add");
    for (int r = 0; r < 20; r++) {
        const double start = bench_now();
        float *restrict to = memory;
        const float *restrict from = memory + COUNT;
        for (size_t i = 0; i < COUNT; i++) to[i] += from[i];
        __asm__ volatile("" : : "r"(to) : "memory"); /* keeps the loop */
        best = fmin(best, bench_now() - start);
    }
    mem_free(context, memory);
    *speed = COUNT * sizeof *memory / best;
    return SSM2D_OK;
}

/* ---- predicting ------------------------------------------------------------------------------ */

enum { MAX_POINTS = 16 };

/* Common networks, with typical values. */
static const scale_network usual[] = {{"1 Gbit/s Ethernet", 0.05, 0.125e6, 0},
                                      {"10 Gbit/s Ethernet", 0.02, 1.25e6, 0},
                                      {"100 Gbit/s InfiniBand", 0.002, 12.5e6, 0}};
enum { USUAL = sizeof usual / sizeof *usual };

typedef struct prediction {
    int ranks[MAX_POINTS], count;
    scale_step steps[MAX_POINTS];
} prediction;

static prediction predict(const scale_work *w, const scale_network *n, long max_ranks)
{
    prediction p = {.count = 0};
    for (int ranks = 1; ranks <= max_ranks && p.count < MAX_POINTS; ranks *= 2) {
        p.ranks[p.count] = ranks;
        p.steps[p.count++] = scale_simulate(w, n, ranks);
    }
    return p;
}

static double efficiency(const prediction *p, int i) { return p->steps[0].ms / p->steps[i].ms; }

/* Whether the given network is one of those that are drawn anyway. */
static int is_usual(const scale_network *n)
{
    for (int k = 0; k < USUAL; k++)
        if (fabs(n->latency - usual[k].latency) < 1e-9
            && fabs(n->bandwidth - usual[k].bandwidth) < 1e-3)
            return 1;
    return 0;
}

static ssm2d_status draw(const ssm2d_context *context, const values *o, const scale_work *w,
                         const scale_network *own, const char *name, ssm2d_error *error)
{
    double x[MAX_POINTS], y[USUAL + 1][MAX_POINTS];
    curve curves[USUAL + 1];
    char title[160];
    int count = 0;
    for (int k = 0; k <= USUAL; k++) {
        const scale_network *n = k < USUAL ? &usual[k] : own;
        if (k == USUAL && n->by_processor)
            continue; /* measured within one machine, which does not have that many processors */
        if (k == USUAL && is_usual(n)) continue;
        const prediction p = predict(w, n, o->ranks);
        for (int i = 0; i < p.count; i++) {
            x[i] = i;
            y[k][i] = 100 * efficiency(&p, i);
        }
        curves[count++] = (curve){n->name, x, y[k], p.count, colour_of_line(k), 1, 0};
    }
    const curve_panel panel = {"efficiency, % of one process's images/s", curves, count, 0, 0};
    snprintf(title, sizeof title, "%s: predicted, %ld images per process and step", name,
             batch_of(o));
    const curve_figure figure = {.title = title,
                                 .x_label = "processes",
                                 .x_is_log2 = 1,
                                 .shared_legend = 1,
                                 .panels = &panel,
                                 .count = 1,
                                 .x_low = 0,
                                 .x_high = x[curves[0].count - 1] + 0.2};
    return curves_draw(context, o->plot, &figure, error);
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct outcome {
    scale_work work;
    scale_network network;
    prediction predicted;
    double batch; /* of each process */
    size_t gradients;
    double measured; /* ms of a step of the processes that are running */
    scale_step same; /* the prediction for it */
} outcome;

static double per_second(const outcome *r, int ranks, double ms)
{
    return ranks * r->batch * 1e3 / ms;
}

static double computing(const scale_work *w)
{
    double sum = 0;
    for (int i = 0; i < w->visit_count; i++) sum += w->visits[i];
    return sum;
}

static void print_json(const model_config *m, int threads, const outcome *r)
{
    const int size = processes()->size;
    printf("{\"model\":\"%s\",\"mixer\":\"%s\",\"batch_per_process\":%.0f,\"threads\":%d",
           m->model->name, m->mixer.kind->name, r->batch, threads);
    bench_number("compute_ms", computing(&r->work));
    bench_number("update_ms", r->work.update);
    printf(",\"buckets\":%d,\"gradient_bytes\":%zu", r->work.bucket_count, 4 * r->gradients);
    printf(",\"network\":{\"name\":\"%s\"", r->network.name);
    bench_number("latency_us", 1e3 * r->network.latency);
    bench_number("bandwidth_gb_s", 1e-6 * r->network.bandwidth);
    printf("},\n\"check\":{\"ranks\":%d", size);
    bench_number("measured_images_per_s", per_second(r, size, r->measured));
    bench_number("predicted_images_per_s", per_second(r, size, r->same.ms));
    printf(",\"error\":%.4f},\n\"ranks\":[", r->measured / r->same.ms - 1);
    for (int i = 0; i < r->predicted.count; i++) {
        const scale_step *s = &r->predicted.steps[i];
        printf("%s\n{\"ranks\":%d", i ? "," : "", r->predicted.ranks[i]);
        bench_number("images_per_s", per_second(r, r->predicted.ranks[i], s->ms));
        bench_number("efficiency", efficiency(&r->predicted, i));
        printf(",\"communication\":%.4f}", s->exposed / s->ms);
    }
    printf("]}\n");
}

static void print_table(const outcome *r)
{
    const int size = processes()->size;
    printf(
        "\n%.0f images of each process: %.4g ms of computing, %.4g ms of update; %zu gradients in "
        "%d buckets\n",
        r->batch, computing(&r->work), r->work.update, r->gradients, r->work.bucket_count);
    printf("network: %s, %.3g us, %.3g GB/s each way\n", r->network.name, 1e3 * r->network.latency,
           1e-6 * r->network.bandwidth);
    printf("%d process%s here: %.1f images/s measured, %.1f predicted (%+.1f %%)\n\n", size,
           size == 1 ? "" : "es", per_second(r, size, r->measured), per_second(r, size, r->same.ms),
           100 * (r->measured / r->same.ms - 1));
    printf("%9s %12s %11s %14s\n", "processes", "images/s", "efficiency", "communication");
    for (int i = 0; i < r->predicted.count; i++) {
        const scale_step *s = &r->predicted.steps[i];
        printf("%9d %12.0f %9.1f %% %12.1f %%\n", r->predicted.ranks[i],
               per_second(r, r->predicted.ranks[i], s->ms), 100 * efficiency(&r->predicted, i),
               100 * s->exposed / s->ms);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Times the computation alone and whole steps in alternation. Uses the round whose prediction error
 * is the median; the caller frees *visits. */
static ssm2d_status measure_steps(ssm2d_context *context, bench_step *step,
                                  const scale_network *here, double seconds, outcome *r,
                                  double **visits, ssm2d_error *error)
{
    enum { ROUNDS = 5 };
    const size_t count = (size_t)bench_step_visits(step);
    outcome rounds[ROUNDS];
    double ratios[ROUNDS], sorted[ROUNDS];
    *visits = mem_alloc(context, ROUNDS * count * sizeof **visits);
    ssm2d_status status = *visits ? SSM2D_OK : fail_memory(error, "%zu times", count);
    status = cluster_agree(processes(), status, error);
    for (int i = 0; i < ROUNDS && !status; i++) {
        outcome *one = &rounds[i];
        bench_step_cost cost = {0};
        *one = *r;
        one->work.visits = *visits + (size_t)i * count;
        one->work.visit_count = (int)count;
        status = bench_step_timeline(step, seconds / ROUNDS / 2, *visits + (size_t)i * count,
                                     &one->work.update, error);
        if (!status) status = bench_step_measure(step, seconds / ROUNDS / 2, &cost, error);
        one->measured = cost.ms;
        one->same = scale_simulate(&one->work, here, processes()->size);
        ratios[i] = sorted[i] = one->measured / one->same.ms;
    }
    const double median = status ? 0 : bench_median(sorted, ROUNDS);
    for (int i = 0; i < ROUNDS && !status; i++)
        if (!(ratios[i] < median) && !(ratios[i] > median)) *r = rounds[i];
    return status;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    cluster *c = processes();
    model_config config;
    bench_step *step = NULL;
    scale_bucket buckets[SCALE_BUCKETS];
    scale_network here = {.name = "none"};
    outcome r = {.batch = (double)batch_of(o)};
    double *visits = NULL;
    if (c->size & (c->size - 1))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%d processes: use a power of two", c->size);
    ssm2d_status status = bench_model_config(&o->model, &config, error);
    const bench_step_setup setup = {.context = context,
                                    .cluster = c,
                                    .config = &config,
                                    .batch = (size_t)batch_of(o) * (size_t)c->size,
                                    .slices = c->size};
    status = cluster_agree(c, status, error);
    if (!status) status = bench_step_create(&setup, &step, error);
    if (!status) status = network_of(o, &r.network, error);
    if (!status && c->size > 1) status = measure_network(context, &here, error);
    if (!status && !o->latency) r.network = here;
    if (!status) status = measure_adding(context, &r.work.add, error);
    for (int i = 0, ready; i < SCALE_BUCKETS && !status; i++) {
        size_t count;
        if (!batch_gradient_bucket(bench_step_gradient(step), i, &count, &ready)) break;
        buckets[r.work.bucket_count++] = (scale_bucket){count, ready};
        r.gradients += count;
    }
    r.work.buckets = buckets;
    if (!status)
        status = measure_steps(context, step, &here, o->model.quick ? 2 : 16, &r, &visits, error);
    if (status) goto done;
    r.predicted = predict(&r.work, &r.network, o->ranks);
    if (o->model.json) {
        print_json(&config, ssm2d_context_threads(context), &r);
    } else {
        bench_outcome_head(context, &config, "training", ssm2d_context_threads(context));
        print_table(&r);
    }
    if (o->plot && processes_speak())
        status = draw(context, o, &r.work, &r.network, config.model->name, error);
    status = cluster_agree(c, status, error);
done:
    bench_step_destroy(step);
    mem_free(context, visits);
    return status;
}

const command command_bench_scale = {
    "bench scale",
    "training in many processes, predicted from few",
    "Predicts the images per second of training in 1 to 1,024 processes (mpirun), each with the "
    "same number of images per step, by simulating the schedule of a step: the measured times of "
    "its operators, and the buckets of gradients that are sent meanwhile over a network. Latency "
    "and bandwidth are given, or measured with mpirun -np 2 or more.\n"
    "It also times a step of the running processes, and prints the error of the prediction for "
    "them.",
    options,
    check,
    run,
    .setting = setting_of_model,
    .several = SEVERAL_TOGETHER};
