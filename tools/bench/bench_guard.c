/* bench guard - compares the speed of this version with the ratios in a file. */
#include "bench_model.h"
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "guard_file.h"
#include "io/file.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct values {
    const char *file;
    int write;
} values;

static const option options[] = {
    {"write", OPTION_FLAG, offsetof(values, write),
     "write the file for this processor instead of comparing with it"},
    {"file", OPTION_STRING, offsetof(values, file),
     "the file (default: bench/guard/KIND.json for the kind of this processor)"},
    {0}};

enum { PASSES = 3, WRITE_PASSES = 5 };
static const double case_seconds = 3, layer_seconds = 1.5;
/* A smaller change is never reported: medians of an idle machine differ by as much. */
static const double min_noise = 0.05;

/* ---- measuring ------------------------------------------------------------------------------- */

/* The values of the passes; every pass measures the ratios in the same order. */
typedef struct passes {
    guard_ratios *r;
    double values[GUARD_RATIOS][WRITE_PASSES];
    int pass, next;
    double spread;
} passes;

static void add_value(passes *p, int larger_is_better, double value, const char *what,
                      const char *of)
{
    if (p->next == GUARD_RATIOS) return;
    guard_ratio *r = &p->r->ratios[p->next];
    snprintf(r->name, sizeof r->name, "%s: %s", what, of);
    r->larger_is_better = larger_is_better;
    p->values[p->next++][p->pass] = value;
}

/* A model's step, or inference. */
typedef struct model_guard {
    const char *name, *model;
    size_t batch;
    int task;
} model_guard;

static const model_guard models[] = {
    {"vit training, batch 128", "vit", 128, BENCH_TRAINING},
    {"deit-t training, batch 8", "deit-t", 8, BENCH_TRAINING},
    {"swin-mini training, batch 32", "swin-mini", 32, BENCH_TRAINING},
    {"mega-mini training, batch 32", "mega-mini", 32, BENCH_TRAINING},
    {"vit inference, batch 128", "vit", 128, BENCH_INFERENCE},
    {"vit inference, batch 1", "vit", 1, BENCH_INFERENCE}};

static ssm2d_status measure_model(ssm2d_context *context, const model_guard *m, passes *p,
                                  ssm2d_error *error)
{
    char of[64];
    model_config config;
    bench_outcome o;
    const bench_values v = {.model = m->model,
                            .image = OPTION_UNSET,
                            .directions = OPTION_UNSET,
                            .n_ssm = OPTION_UNSET,
                            .d_state = OPTION_UNSET};
    ssm2d_status status = bench_model_config(&v, &config, error);
    if (!status)
        status = bench_compare(context, &config, m->batch, m->task, case_seconds, &o, error);
    if (status) return status;
    p->spread = fmax(p->spread, o.spread);
    add_value(p, 0, o.ratio, m->name, "time with / without the mixer");
    add_value(p, 1, o.share, m->name, "matrix products / sgemm peak");
    for (int i = 0; i < o.op_count; i++) {
        const bench_op *op_sum = &o.ops[i];
        const double time = op_sum->forward + op_sum->backward;
        if (!(op_sum->products > 0)) continue;
        snprintf(of, sizeof of, "%s / sgemm peak", op_sum->name);
        add_value(p, 1, op_sum->products / time / o.peak, m->name, of);
    }
    return SSM2D_OK;
}

typedef struct layer_guard {
    const char *name;
    size_t batch, rows, cols;
    int channels;
} layer_guard;

static const layer_guard layers[] = {{"layer 128 x 8x8 x 192", 128, 8, 8, 192},
                                     {"layer 32 x 14x14 x 192", 32, 14, 14, 192},
                                     {"layer 32 x 32x32 x 96", 32, 32, 32, 96}};

static ssm2d_status measure_layer(ssm2d_context *context, const layer_guard *l, passes *p,
                                  ssm2d_error *error)
{
    bench_result result = {{0}};
    bench_case c = {.config = ssm2d_config_default(),
                    .batch = l->batch,
                    .rows = l->rows,
                    .cols = l->cols,
                    .type = SSM2D_FLOAT,
                    .algorithm = "auto",
                    .seconds = layer_seconds};
    c.config.channels = l->channels;
    c.config.directions = 2; /* the configuration of the ratios in bench/guard */
    c.config.n_ssm = 8;
    c.config.assign = SSM2D_ASSIGN_AUTHORS;
    ssm2d_status status = bench_layer(context, &c, &result, error);
    if (status) return status;
    p->spread = fmax(p->spread, result.spread);
    add_value(p, 0, result.forward_ratio, l->name, "forward / Linear");
    add_value(p, 0, result.train_ratio, l->name, "forward and backward / Linear");
    return SSM2D_OK;
}

/* Medians of `count` passes. The noise is the range of the values without the highest and the
 * lowest, which other processes may have disturbed. */
static ssm2d_status measure(ssm2d_context *context, int count, guard_ratios *r, double *spread,
                            ssm2d_error *error)
{
    passes p = {.r = r};
    ssm2d_status status = SSM2D_OK;
    for (p.pass = 0; p.pass < count && !status; p.pass++) {
        p.next = 0;
        fprintf(stderr, "pass %d of %d\n", p.pass + 1, count);
        for (size_t i = 0; i < sizeof models / sizeof *models && !status; i++)
            status = measure_model(context, &models[i], &p, error);
        for (size_t i = 0; i < sizeof layers / sizeof *layers && !status; i++)
            status = measure_layer(context, &layers[i], &p, error);
    }
    r->count = p.next;
    for (int i = 0; i < r->count && !status; i++) {
        double *v = p.values[i];
        r->ratios[i].value = bench_median(v, count);
        /* bench_median has sorted them */
        r->ratios[i].noise = fmax(min_noise, 2 * (v[count - 2] - v[1]) / r->ratios[i].value);
    }
    *spread = p.spread;
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static ssm2d_status compare(const char *path, const guard_ratios *then, const guard_ratios *now,
                            ssm2d_error *error)
{
    int worse = 0, compared = 0;
    printf("%-66s %8s %8s %8s %8s\n", "ratio", "then", "now", "change", "noise");
    for (int i = 0; i < now->count; i++) {
        const guard_ratio *n = &now->ratios[i], *t = guard_find(then, n->name);
        if (!t) {
            printf("%-66s %8s %8.3f\n", n->name, "new", n->value);
            continue;
        }
        const double change = guard_worse(t, n->value) - 1;
        const int slower = change > t->noise;
        printf("%-66s %8.3f %8.3f %+7.1f%% %7.1f%%%s\n", n->name, t->value, n->value, 100 * change,
               100 * t->noise,
               slower               ? "  slower"
               : change < -t->noise ? "  faster"
                                    : "");
        worse += slower;
        compared++;
    }
    for (int i = 0; i < then->count; i++)
        if (!guard_find(now, then->ratios[i].name))
            printf("%-66s %8.3f %8s\n", then->ratios[i].name, then->ratios[i].value, "gone");
    if (!compared)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has none of the ratios that this version measures; use --write",
                    text_path(path));
    if (worse)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%d of %d ratios are worse than in %s", worse,
                    compared, text_path(path));
    printf("None of %d ratios is worse than in ", compared);
    text_print(stdout, path);
    printf(".\n");
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    static const char folder[] = "bench/guard";
    char path[sizeof folder + GUARD_KIND + 8], *cpuinfo = NULL;
    guard_ratios now = {.threads = ssm2d_context_threads(context)}, then;
    double spread = 0;
    size_t size;
    ssm2d_status status = file_read(context, "/proc/cpuinfo", 16 << 20, &cpuinfo, &size, error);
    if (status) return status;
    guard_kind(cpuinfo, ssm2d_context_cpu(context), now.kind);
    mem_free(context, cpuinfo);
    snprintf(path, sizeof path, "%s/%s.json", folder, now.kind);
    const char *file = o->file ? o->file : path;
    if (!o->write) {
        if (access(file, F_OK))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: there are no ratios for this processor (%s); run ssm2d bench guard "
                        "--write in the version to compare with",
                        text_path(file), now.kind);
        if ((status = guard_read(context, file, &then, error))) return status;
        if (strcmp(then.kind, now.kind) != 0 || then.threads != now.threads)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s is for %s with %d threads; this is %s with %d", text_path(file),
                        then.kind, then.threads, now.kind, now.threads);
    }
    status = measure(context, o->write ? WRITE_PASSES : PASSES, &now, &spread, error);
    if (status) return status;
    bench_warn(spread);
    if (!o->write) return compare(file, &then, &now, error);
    if (!o->file && (status = folder_make(folder, error))) return status;
    status = guard_write(context, file, &now, error);
    if (status) return status;
    text_print(stdout, file);
    printf(": %d ratios\n", now.count);
    return SSM2D_OK;
}

const command command_bench_guard = {
    "bench guard",
    "detect slowdowns, for developers",
    "Measures a short list of ratios (a model's step with and without its mixer, the share of the "
    "sgemm peak that matrix products and single operators reach, the layer against a Linear layer) "
    "and compares them with those in a file of bench/guard, which has one for each kind of "
    "processor. Run it in the source tree, on an idle machine; it takes about two minutes.\n"
    "Ratios that are worse by more than the noise in the file are printed as slower, and the exit "
    "code is 1. For a processor without a file, check out the version to compare with, run ssm2d "
    "bench guard --write, and commit the file; SSM2D_CPU=avx2 uses another file.",
    options,
    NULL,
    run,
    0,
    NULL};
