/* bench data - images per second of the loader: CIFAR with the recipe `small`, and a folder of JPEG
 * files with the recipe `deit`. */
#include "bench.h"
#include "bench_images.h"
#include "core/arith.h"
#include "core/status.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/recipes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5 };

typedef struct values {
    const char *cifar, *folder;
    long workers;
    int json, quick;
} values;

static const option options[] = {
    {"json", OPTION_FLAG, offsetof(values, json), "print JSON instead of text"},
    {"quick", OPTION_FLAG, offsetof(values, quick), "about five seconds in all, less accurate"},
    {"workers", OPTION_INT, offsetof(values, workers), "threads of the loader", .low = 1,
     .high = MAX_WORKERS, .default_value = "1"},
    {"cifar", OPTION_STRING, offsetof(values, cifar),
     "data for the first case, as for train --data; synthetic by default", .value = "DATA"},
    {"folder", OPTION_STRING, offsetof(values, folder),
     "data for the second case; default: synthetic JPEG files of 375 x 500, in TMPDIR",
     .value = "DATA"},
    {0}};

/* What is measured: a recipe on data, at a model's size. */
typedef struct data_case {
    const char *name, *recipe, *model;
    const char *data;
    double goal; /* images per second on one worker */
} data_case;

/* Per second of wall-clock time, and of processor time: equal on an idle machine. */
typedef struct data_speed {
    double images_per_s, images_per_cpu_s, spread;
} data_speed;

static ssm2d_status make_loader(const ssm2d_context *context, const data_case *c, const dataset *d,
                                int workers, loader **out, ssm2d_error *error)
{
    train_settings s;
    const recipe *r = recipe_find(c->recipe, error);
    const dataset_info *info = dataset_about(d);
    ssm2d_status status = r ? train_settings_default(&s, error) : SSM2D_ERROR_ARGUMENT;
    if (!status) status = train_settings_set(&s, "bench", "model", c->model, error);
    if (!status) status = recipe_apply(r, &s, &s, error);
    if (!status) status = train_settings_fit(&s, info, error);
    if (status) return status;
    loader_options o = loader_options_default(d);
    o.train = 1;
    /* repeated images come in multiples of 256 */
    const size_t epoch = info->count < 256 ? info->count : info->count / 256 * 256;
    o.batch = min_size((size_t)s.options.batch, epoch);
    o.rows = (size_t)s.model.image[0];
    o.cols = (size_t)s.model.image[1];
    o.channels = s.model.channels;
    o.norm = dataset_norm(info, o.channels);
    o.augment = s.augment;
    o.targets = task_targets(&task_classification, &(task_shape){.outputs = info->label_count},
                             s.options.smoothing);
    o.repeats = s.options.repeats;
    o.repeat_kind = (repeat_kind)s.options.repeat_kind;
    o.workers = workers;
    return loader_create(context, d, &o, out, error);
}

/* Processor time of this process, in milliseconds. */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Takes batches for `seconds`. */
static ssm2d_status measure(loader *l, double seconds, double *per_s, double *per_cpu_s,
                            ssm2d_error *error)
{
    const double start = bench_now(), cpu_start = cpu_now();
    size_t images = 0;
    double passed = 0;
    while (passed < 1000 * seconds) {
        loader_batch batch;
        ssm2d_status status = loader_next(l, &batch, error);
        if (status) return status;
        images += batch.count;
        passed = bench_now() - start;
    }
    *per_s = 1000 * (double)images / passed;
    *per_cpu_s = 1000 * (double)images / (cpu_now() - cpu_start);
    return SSM2D_OK;
}

static ssm2d_status run_case(const ssm2d_context *context, const values *o, const data_case *c,
                             data_speed *speed, ssm2d_error *error)
{
    dataset *d = NULL;
    loader *l = NULL;
    double speeds[ROUNDS], cpu_speeds[ROUNDS];
    ssm2d_status status = dataset_open(context, c->data, DATASET_TRAIN, &d, error);
    if (!status) status = make_loader(context, c, d, (int)o->workers, &l, error);
    /* skips batches that were prefetched before the measurement */
    if (!status) status = measure(l, 0.3, &speeds[0], &cpu_speeds[0], error);
    for (int i = 0; i < ROUNDS && !status; i++)
        status = measure(l, o->quick ? 0.4 : 2, &speeds[i], &cpu_speeds[i], error);
    if (!status) {
        *speed = (data_speed){.images_per_s = bench_median(speeds, ROUNDS),
                              .images_per_cpu_s = bench_median(cpu_speeds, ROUNDS)};
        speed->spread = speeds[ROUNDS - 1] / speed->images_per_s; /* bench_median has sorted them */
    }
    loader_destroy(l);
    dataset_close(d);
    return status;
}

static void print_text(const data_case *c, const data_speed *s, long workers)
{
    printf("%s with the recipe %s: %.0f images/s", c->name, c->recipe, s->images_per_s);
    if (workers == 1) printf(" (goal: %.0f)%s", c->goal, s->images_per_s < c->goal ? " !" : "");
    printf(", %.0f per second of processor time\n", s->images_per_cpu_s);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    char folder[BENCH_FOLDER] = "", cifar[BENCH_FOLDER + 16], jpeg[BENCH_FOLDER + 16];
    data_case cases[] = {{"cifar", "small", "vit", o->cifar, 3000},
                         {"jpeg", "deit", "deit-t", o->folder, 150}};
    data_speed speeds[2];
    double spread = 0;
    ssm2d_status status = SSM2D_OK;
    if (!o->cifar || !o->folder) status = bench_images_make(context, folder, error);
    snprintf(cifar, sizeof cifar, "cifar100:%s/cifar", folder);
    snprintf(jpeg, sizeof jpeg, "%s/jpeg", folder);
    if (!o->cifar) cases[0].data = cifar;
    if (!o->folder) cases[1].data = jpeg;
    for (int i = 0; i < 2 && !status; i++) {
        status = run_case(context, o, &cases[i], &speeds[i], error);
        if (status) break;
        spread = fmax(spread, speeds[i].spread);
        if (!o->json) print_text(&cases[i], &speeds[i], o->workers);
        fflush(stdout);
    }
    bench_images_remove(folder);
    if (status) return status;
    if (o->json) {
        printf("{\"workers\":%ld", o->workers);
        for (int i = 0; i < 2; i++) {
            char key[64];
            snprintf(key, sizeof key, "%s_%s_images_per_s", cases[i].name, cases[i].recipe);
            bench_number(key, speeds[i].images_per_s);
            snprintf(key, sizeof key, "%s_%s_images_per_cpu_s", cases[i].name, cases[i].recipe);
            bench_number(key, speeds[i].images_per_cpu_s);
            snprintf(key, sizeof key, "%s_%s_goal", cases[i].name, cases[i].recipe);
            bench_number(key, cases[i].goal);
        }
        bench_number("spread", spread);
        printf("}\n");
    }
    bench_warn(spread);
    return SSM2D_OK;
}

const command command_bench_data = {
    "bench data",
    "images per second of the data loader",
    "Measures the images per second of the loader with all augmentations of a recipe, on an idle "
    "machine: CIFAR (32 x 32) with the recipe small, and JPEG files at 224 x 224 with the recipe "
    "deit. Without data, synthetic images are used that are about as hard to decode as "
    "photographs.",
    options,
    NULL,
    run};
