/* bench_compare - times a model, the same model without its mixer, and the machine's peak of matrix
 * products in alternation; the options and tables that `bench train` and `bench infer` share. */
#include "bench_model.h"

#include "core/status.h"
#include "train/onednn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_ROUNDS = 200, MIN_ROUNDS = 3, MAX_RUNS = 50, PEAK_RUNS = 3 };
/* Milliseconds that each model runs in a round, as far as MAX_RUNS allow: long enough for the
 * caches to be warm most of the time. */
static const double round_time = 250;

/* ---- options --------------------------------------------------------------------------------- */

ssm2d_status bench_model_config(const bench_values *o, model_config *config, ssm2d_error *error)
{
    const struct {
        const char *option, *key;
        long value;
    } settings[] = {{"--image", "image", o->image},
                    {"--directions", "mixer.directions", o->directions},
                    {"--n-ssm", "mixer.n_ssm", o->n_ssm},
                    {"--d-state", "mixer.d_state", o->d_state}};
    char text[32], key[OPTION_KEY];
    const char *value;
    ssm2d_status status = model_config_named(o->model, config, error);
    if (!status && o->mixer)
        status =
            model_config_set((field_source){.where = "--mixer"}, "mixer", o->mixer, config, error);
    else if (!status)
        status = model_config_use_mixer(config, model_default_mixer(config->model), error);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && !status; i++) {
        if (settings[i].value == OPTION_UNSET) continue;
        snprintf(text, sizeof text, "%ld", settings[i].value);
        status = model_config_set((field_source){.where = settings[i].option}, settings[i].key,
                                  text, config, error);
    }
    if (!status && o->complex)
        status = model_config_set((field_source){.where = "--complex"}, "mixer.values", "polar",
                                  config, error);
    for (int i = 0; i < o->set.count && !status; i++) {
        status = option_pair("--set", o->set.words[i], key, &value, error);
        if (!status)
            status = model_config_set((field_source){.where = "--set"}, key, value, config, error);
    }
    return status ? status : model_config_finish(config, error);
}

ssm2d_status bench_model_check(const void *values, ssm2d_error *error)
{
    model_config config;
    return bench_model_config(values, &config, error);
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* The highest memory use of the process so far, in MB of 10^6 bytes. */
static double peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

/* The median of `runs` runs, one directly after the other, as in training. */
static double time_runs(bench_work work, void *arg, int runs)
{
    double samples[MAX_RUNS];
    for (int i = 0; i < runs; i++) samples[i] = bench_time(work, arg, 1);
    return bench_median(samples, runs);
}

/* plain: without a mixer, or NULL; normal: in float32 with normal memory, or NULL. */
static void run_rounds(bench_model *mixed, bench_model *plain, bench_model *normal,
                       bench_peak *peak, double seconds, bench_outcome *r)
{
    double to_normal[MAX_ROUNDS];
    double step[MAX_ROUNDS], other[MAX_ROUNDS], rate[MAX_ROUNDS], ratio[MAX_ROUNDS],
        share[MAX_ROUNDS];
    const double products = bench_model_products(mixed);
    double start = bench_now(), once = bench_time(bench_model_run, mixed, 1);
    const int runs = (int)fmin(fmax(round_time / once, 1), MAX_RUNS);
    int n = 0;
    bench_peak_run(peak);
    for (; n < MIN_ROUNDS || (n < MAX_ROUNDS && bench_now() - start < seconds * 1e3); n++) {
        step[n] = time_runs(bench_model_run, mixed, runs);
        other[n] = plain ? time_runs(bench_model_run, plain, runs) : step[n];
        rate[n] = bench_peak_products(peak) / bench_time(bench_peak_run, peak, PEAK_RUNS);
        to_normal[n] = normal ? step[n] / time_runs(bench_model_run, normal, runs) : 0;
        ratio[n] = step[n] / other[n];
        share[n] = products / step[n] / rate[n];
    }
    r->rounds = n;
    r->step = bench_median(step, n);
    r->plain = bench_median(other, n);
    r->ratio = bench_median(ratio, n);
    r->peak = bench_median(rate, n);
    r->share = bench_median(share, n);
    r->normal_ratio = bench_median(to_normal, n);
    r->spread = r->step / step[0]; /* the shortest: bench_median has sorted them */
}

ssm2d_status bench_compare(ssm2d_context *context, const model_config *config, size_t batch,
                           int task, double seconds, bench_outcome *outcome, ssm2d_error *error)
{
    bench_model *mixed = NULL, *plain = NULL, *normal = NULL;
    bench_peak *peak = NULL;
    model_config without = *config;
    mixer_config_default(&mixer_none, &without.mixer);
    *outcome = (bench_outcome){.batch = batch};
    ssm2d_status status = onednn_start(context, error);
    if (!status) status = bench_model_create(context, config, batch, task, &mixed, error);
    outcome->rss = peak_memory();
    if (!status && config->mixer.kind != &mixer_none)
        status = bench_model_create(context, &without, batch, task, &plain, error);
    if (!status && task > BENCH_TRAINING)
        status = bench_model_create(context, config, batch, task & BENCH_TRAINING, &normal, error);
    if (!status) status = bench_peak_create(context, &peak, error);
    if (status) goto done;
    run_rounds(mixed, plain, normal, peak, seconds, outcome);
    outcome->products = bench_model_instructions(mixed);
    outcome->op_count = bench_model_ops(mixed, outcome->ops);
done:
    bench_peak_destroy(peak);
    bench_model_destroy(normal);
    bench_model_destroy(plain);
    bench_model_destroy(mixed);
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static double op_time(const bench_op *o) { return o->forward + o->backward; }

static double all_time(const bench_outcome *r)
{
    double sum = 0;
    for (int i = 0; i < r->op_count; i++) sum += op_time(&r->ops[i]);
    return sum;
}

void bench_outcome_json(const bench_outcome *r, int threads)
{
    printf("\"batch\":%zu,\"threads\":%d", r->batch, threads);
    bench_number("images_per_s", (double)r->batch * 1e3 / r->step);
    bench_number("step_ms", r->step);
    bench_number("plain_step_ms", r->plain);
    bench_number("ratio_to_plain", r->ratio);
    bench_number("sgemm_share", r->share);
    bench_number("sgemm_peak_gflops", 2 * r->peak * 1e-6);
    bench_number("peak_rss_mb", r->rss);
    if (r->normal_ratio > 0) bench_number("ratio_to_normal", r->normal_ratio);
    if (r->products) printf(",\"bfloat16_instructions\":\"%s\"", r->products);
    bench_number("spread", r->spread);
    printf(",\"rounds\":%d,\"ops\":[", r->rounds);
    for (int i = 0; i < r->op_count; i++) {
        const bench_op *o = &r->ops[i];
        printf("%s\n{\"op\":\"%s\",\"nodes\":%d,\"forward_ms\":%.5g,\"backward_ms\":%.5g",
               i ? "," : "", o->name, o->nodes, o->forward, o->backward);
        bench_number("share", op_time(o) / all_time(r));
        bench_number("sgemm_share", o->products / op_time(o) / r->peak);
        printf("}");
    }
    printf("]");
}

void bench_outcome_head(ssm2d_context *context, const model_config *c, const char *what,
                        int threads)
{
    char patch[16], mixed[128];
    printf("%s, %dx%d, patch %s, mixer %s", c->model->name, c->image[0], c->image[1],
           model_config_text(c, "patch", patch, sizeof patch),
           mixer_config_text(&c->mixer, mixed, sizeof mixed));
    printf(": %s, %d threads, %s.\n", what, threads, ssm2d_context_cpu(context));
}

void bench_outcome_table(const bench_outcome *r, int training)
{
    const double all = all_time(r);
    printf("\nbatch %zu: %.1f images/s, %.4g ms; without the mixer %.4g ms, ratio %.3f (medians of "
           "%d rounds)\n",
           r->batch, (double)r->batch * 1e3 / r->step, r->step, r->plain, r->ratio, r->rounds);
    printf("matrix products alone: %.1f %% of this machine's sgemm peak of %.0f Gflop/s; peak "
           "memory %.0f MB\n",
           100 * r->share, 2 * r->peak * 1e-6, r->rss);
    if (r->normal_ratio > 0)
        printf("%.3f times the time of float32%s\n", r->normal_ratio,
               training ? " with normal memory" : "");
    if (r->products) printf("bfloat16 is multiplied by %s\n", r->products);
    printf("%-16s %5s %11s %11s %8s %11s\n", "operator", "nodes", "forward ms",
           training ? "backward ms" : "", "share", "sgemm peak");
    for (int i = 0; i < r->op_count; i++) {
        const bench_op *o = &r->ops[i];
        printf("%-16s %5d %11.3f", o->name, o->nodes, o->forward);
        if (training)
            printf(" %11.3f", o->backward);
        else
            printf(" %11s", "");
        printf(" %6.1f %%", 100 * op_time(o) / all);
        if (o->products > 0) printf(" %9.1f %%", 100 * o->products / op_time(o) / r->peak);
        printf("\n");
    }
}
