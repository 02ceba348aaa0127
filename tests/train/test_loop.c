/* Whole runs of a tiny model: the same bits on every run and any number of threads, after crashes at random moments and after
 * stops; and one clear line about whatever goes wrong. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "core/rng.h"
#include "small_data.h"
#include "train/loop.h"

#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRAIN = 44, TEST = 19, BATCH = 8, EPOCHS = 4, EPOCH_STEPS = TRAIN / BATCH, STEPS = EPOCHS * EPOCH_STEPS };

static char folder[64];
static ssm2d_error error;

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next = (next + 1) % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ssm2d-XXXXXX", base ? base : "/tmp");
    memset(&error, 0, sizeof error);
    return mkdtemp(folder) && !mkdir(path_of("data"), 0777) && small_data(path_of("data"), TRAIN, TEST) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define assert_line(part)                                                                                                      \
    do {                                                                                                                       \
        if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);                               \
        if (strchr(error.line, '\n')) fail_msg("\"%s\" is not one line", error.line);                                          \
    } while (0)

static ssm2d_context *make(int threads)
{
    ssm2d_context *context;
    if (ssm2d_context_create(&(ssm2d_context_options){.threads = threads}, &context, &error)) fail_msg("%s", error.line);
    return context;
}

/* Everything random and optional is on. */
static train_settings tiny(void)
{
    static const char *const keys[][2] = {
        {"dim", "16"},         {"depth", "2"},          {"heads", "2"},        {"mixer.n_ssm", "1"}, {"mixer.d_state", "3"},
        {"drop_path", "0.2"},  {"flip", "true"},        {"crop_padding", "1"}, {"ema", "0.9"},       {"clip", "0.5"},
        {"log_every", "3"},    {"save_every", "2"},     {"batch", "8"},        {"epochs", "4"},      {"seed", "7"},
        {"save_minutes", "0"}, {"mixer.complex", "true"}};
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (train_settings_set(&s, "test", keys[i][0], keys[i][1], &error)) fail_msg("%s", error.line);
    if (train_settings_set(&s, "test", "data", path_of("data"), &error)) fail_msg("%s", error.line);
    return s;
}

/* ---- the state that a run ended with -------------------------------------------------------------------------------- */

typedef struct ending {
    train_state state;
    float *memory;
} ending;

static ending load(const char *run)
{
    ssm2d_context *context = make(1);
    char path[RUN_PATH];
    checkpoint *c;
    train_identity identity;
    run_model m;
    ending e = {0};
    if (run_model_open(context, run, RUN_MODEL, NULL, &m, &error)) fail_msg("%s", error.line);
    e.state.count = m.weights->total;
    e.memory = calloc(5 * m.weights->total, sizeof *e.memory);
    memcpy(e.memory + 4 * m.weights->total, m.params, m.weights->total * sizeof *e.memory);
    run_model_close(context, &m);
    e.state.weights = e.memory;
    e.state.moment1 = e.memory + e.state.count;
    e.state.moment2 = e.memory + 2 * e.state.count;
    e.state.average = e.memory + 3 * e.state.count;
    assert_int_equal(run_path(run, RUN_LAST, path, &error), SSM2D_OK);
    if (checkpoint_open(context, path, &c, &identity, &error)) fail_msg("%s", error.line);
    if (checkpoint_read(c, &e.state, &error)) fail_msg("%s", error.line);
    checkpoint_close(c);
    ssm2d_context_destroy(context);
    return e;
}

static void assert_same(const ending *a, const char *run)
{
    ending b = load(run);
    assert_int_equal(a->state.count, b.state.count);
    assert_memory_equal(a->memory, b.memory, 5 * a->state.count * sizeof *a->memory);
    assert_int_equal(a->state.step, b.state.step);
    assert_int_equal(a->state.epochs, b.state.epochs);
    assert_int_equal(a->state.best_epoch, b.state.best_epoch);
    assert_true(a->state.best == b.state.best);
    assert_true(a->state.loss_sum == b.state.loss_sum && a->state.log_sum == b.state.log_sum);
    free(b.memory);
}

/* Lines of metrics.jsonl without what depends on time. */
static char *metrics_text(const char *run)
{
    char path[RUN_PATH], *text = calloc(1, 1 << 16), line[1024];
    assert_int_equal(run_path(run, RUN_METRICS, path, &error), SSM2D_OK);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *speed = strstr(line, ", \"images_per_s\"");
        assert_non_null(speed);
        strcpy(speed, "\n");
        assert_true(strlen(text) + strlen(line) < (1 << 16) - 1);
        strcat(text, line);
    }
    fclose(f);
    return text;
}

static train_result train(const char *run, int threads)
{
    ssm2d_context *context = make(threads);
    train_settings s = tiny();
    train_result result;
    if (train_begin(context, run, &s, NULL, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    return result;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

static void test_same_bits(void **state)
{
    (void)state;
    train_result first = train(path_of("one"), 1);
    assert_int_equal(first.step, STEPS);
    assert_int_equal(first.stopped, 0);
    ending e = load(path_of("one"));
    char *text = metrics_text(path_of("one"));
    train(path_of("again"), 1);
    assert_same(&e, path_of("again"));
    train(path_of("two"), 2);
    assert_same(&e, path_of("two"));
    train(path_of("four"), 4);
    assert_same(&e, path_of("four"));
    char *other = metrics_text(path_of("four"));
    assert_string_equal(text, other);
    free(other);
    free(text);
    free(e.memory);
}

/* It learns: a square in a corner is easily told from the others. */
static void test_learns(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    s.options.epochs = 25;
    s.options.ema = 0;
    s.options.lr = 5e-3;
    s.augment = (augment_options){0};
    s.model.drop_path = 0;
    if (train_begin(context, path_of("run"), &s, NULL, &result, &error)) fail_msg("%s", error.line);
    if (result.test_accuracy < 0.9) fail_msg("accuracy %g", result.test_accuracy);
    /* what was saved evaluates to the same */
    run_model m;
    if (run_model_open(context, path_of("run"), RUN_MODEL, NULL, &m, &error)) fail_msg("%s", error.line);
    assert_int_equal(m.data.classes, SMALL_CLASSES);
    assert_string_equal(m.data.names[2], "2");
    assert_true(m.data.norm.std[0] > 0);
    run_model_close(context, &m);
    /* and at another size, too */
    if (run_model_open(context, path_of("run"), RUN_BEST, (int[]){16, 16}, &m, &error)) fail_msg("%s", error.line);
    assert_true(m.resized);
    run_model_close(context, &m);
    assert_int_not_equal(run_model_open(context, path_of("run"), RUN_BEST, (int[]){15, 16}, &m, &error), SSM2D_OK);
    assert_line("cannot be cut into such patches");
    ssm2d_context_destroy(context);
}

/* Every setting that changes the numbers does so. */
static void test_settings_act(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"seed", "8"},
                                             {"lr", "0.003"},
                                             {"decay", "0.5"},
                                             {"beta1", "0.8"},
                                             {"beta2", "0.9"},
                                             {"eps", "0.01"},
                                             {"clip", "0"},
                                             {"smoothing", "0"},
                                             {"loss", "bce"},
                                             {"schedule", "constant"},
                                             {"warmup", "0.4"},
                                             {"lr_start", "1e-4"},
                                             {"lr_final", "1e-4"},
                                             {"flip", "false"},
                                             {"crop_padding", "0"},
                                             {"drop_path", "0"},
                                             {"mixer.init", "authors"},
                                             {"ema", "0.5"},
                                             {"mixer.normalize", "true"},
                                             {"mixer_lr", "0.5"}};
    train(path_of("run"), 1);
    ending e = load(path_of("run"));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        char name[32];
        snprintf(name, sizeof name, "run%zu", i);
        if (train_settings_set(&s, "test", changes[i][0], changes[i][1], &error)) fail_msg("%s", error.line);
        if (train_begin(context, path_of(name), &s, NULL, &result, &error)) fail_msg("%s", error.line);
        ssm2d_context_destroy(context);
        ending other = load(path_of(name));
        if (other.state.count == e.state.count
            && !memcmp(e.memory + 4 * e.state.count, other.memory + 4 * e.state.count, e.state.count * sizeof(float)))
            fail_msg("%s=%s changes nothing", changes[i][0], changes[i][1]);
        free(other.memory);
    }
    free(e.memory);
}

static void keep_report(void *user, const train_start *start)
{
    if (start->read) *(weights_report *)user = *start->read;
}

/* A run without mixers and for other classes is a beginning for one with them. */
static void test_start(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    weights_report report = {0};
    run_model m;
    char path[RUN_PATH];
    train_hooks hooks = {.user = &report, .start = keep_report};
    if (train_settings_set(&s, "test", "mixer", "none", &error)) fail_msg("%s", error.line);
    if (train_begin(context, path_of("plain"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 0);
    assert_int_equal(run_path(path_of("plain"), RUN_MODEL, path, &error), SSM2D_OK);

    s = tiny();
    s.options.lr = s.options.lr_start = s.options.lr_final = s.options.decay = 0; /* it stays where it begins */
    s.options.epochs = 1;
    if (train_settings_set(&s, "test", "start", path, &error)) fail_msg("%s", error.line);
    if (train_begin(context, path_of("same"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 0);
    assert_int_equal(report.new_mixer_arrays, 2 * 7);
    if (run_model_open(context, path_of("same"), RUN_MODEL, NULL, &m, &error)) fail_msg("%s", error.line);
    weights *given;
    model_config plain = m.settings.model;
    plain.mixer.kind = &mixer_none;
    assert_int_equal(weights_create(context, &plain, &given, &error), SSM2D_OK);
    float *first = calloc(given->total, sizeof *first);
    assert_int_equal(weights_load(given, path, NULL, first, NULL, &error), SSM2D_OK);
    for (int i = 0; i < given->count; i++) {
        const weights_array *a = &given->arrays[i], *b = weights_find(m.weights, a->name);
        assert_non_null(b);
        assert_memory_equal(first + a->offset, m.params + b->offset, a->count * sizeof *first);
    }
    free(first);
    weights_destroy(given);

    model_config more = m.settings.model;
    more.classes = SMALL_CLASSES + 2;
    assert_int_equal(weights_create(context, &more, &given, &error), SSM2D_OK);
    first = calloc(given->total, sizeof *first);
    assert_int_equal(weights_init(given, WEIGHTS_ALL, 1, first, &error), SSM2D_OK);
    assert_int_equal(weights_save(given, path, first, &error), SSM2D_OK);
    free(first);
    weights_destroy(given);
    run_model_close(context, &m);
    if (train_begin(context, path_of("more"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(report.new_head, 1);
    assert_int_equal(report.new_mixer_arrays, 0);
    remove(path); /* a run goes on without it */
    if (train_resume(context, path_of("more"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_int_not_equal(train_begin(context, path_of("none"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("model.safetensors");
    assert_int_equal(access(path_of("none"), F_OK), -1);
    ssm2d_context_destroy(context);
}

/* ---- crashes -------------------------------------------------------------------------------------------------------- */

typedef struct killer {
    long at, now; /* steps */
} killer;

static void kill_at(void *user, const train_progress *p)
{
    killer *k = user;
    (void)p;
    if (++k->now == k->at) raise(SIGKILL);
}

/* In a child: goes on with the run, or begins it; killed after so many steps, or by a timer (microseconds; 0: not). */
static int attempt(const char *run, int threads, long steps, long microseconds)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        killer k = {steps, 0};
        train_hooks hooks = {.user = &k, .step = kill_at};
        train_result result;
        ssm2d_context *context;
        train_settings s = tiny();
        struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
        if (microseconds) setitimer(ITIMER_REAL, &timer, NULL); /* SIGALRM ends the process wherever it is */
        if (ssm2d_context_create(&(ssm2d_context_options){.threads = threads}, &context, &error)) _exit(3);
        ssm2d_status failed = run_exists(run) ? train_resume(context, run, &hooks, &result, &error)
                                              : train_begin(context, run, &s, &hooks, &result, &error);
        if (failed) fprintf(stderr, "%s\n", error.line);
        _exit(failed ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status)) fail_msg("a run that was resumed failed");
    return WIFEXITED(status);
}

static void test_killed_at_steps(void **state)
{
    (void)state;
    train(path_of("whole"), 2);
    ending e = load(path_of("whole"));
    char *text = metrics_text(path_of("whole"));
    rng r = rng_seed(11);
    for (int round = 0; round < 6; round++) {
        char name[32];
        int kills = 0;
        snprintf(name, sizeof name, "killed%d", round);
        while (!attempt(path_of(name), 1 + kills % 3, 2 + (long)(rng_next(&r) % 7), 0)) assert_true(++kills < 100);
        assert_true(kills > 0);
        assert_same(&e, path_of(name));
        char *other = metrics_text(path_of(name));
        assert_string_equal(text, other);
        free(other);
    }
    free(text);
    free(e.memory);
}

static void test_killed_at_any_time(void **state)
{
    (void)state;
    struct timeval start, end;
    gettimeofday(&start, NULL);
    train(path_of("whole"), 2);
    gettimeofday(&end, NULL);
    long whole = (end.tv_sec - start.tv_sec) * 1000000 + end.tv_usec - start.tv_usec;
    ending e = load(path_of("whole"));
    rng r = rng_seed(12);
    for (int round = 0; round < 4; round++) {
        char name[32];
        int kills = 0;
        snprintf(name, sizeof name, "killed%d", round);
        /* more time with every kill, so that it ends on slow machines */
        while (!attempt(path_of(name), 2, 0, 1 + (long)(rng_next(&r) % (uint64_t)(whole / 2 + kills * whole / 20))))
            assert_true(++kills < 300);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
}

/* ---- stops ---------------------------------------------------------------------------------------------------------- */

typedef struct stopper {
    long at, asked;
} stopper;

static int stop_at(void *user)
{
    stopper *s = user;
    return ++s->asked == s->at;
}

/* Stopped at each question in turn, between steps and while testing: it is saved, and goes on to the same end. */
static void test_stopped(void **state)
{
    (void)state;
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    for (long at = 1; at < 20; at += 2) {
        ssm2d_context *context = make(1);
        train_settings s = tiny();
        train_result result;
        stopper stop = {at, 0};
        train_hooks hooks = {.user = &stop, .stop = stop_at};
        char name[32];
        snprintf(name, sizeof name, "stopped%ld", at);
        if (train_begin(context, path_of(name), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
        assert_int_equal(result.stopped, 1);
        assert_true(result.step < STEPS);
        if (train_resume(context, path_of(name), NULL, &result, &error)) fail_msg("%s", error.line);
        assert_int_equal(result.stopped, 0);
        assert_int_equal(result.step, STEPS);
        ssm2d_context_destroy(context);
        assert_same(&e, path_of(name));
    }
    free(e.memory);
}

static void test_complete(void **state)
{
    (void)state;
    train(path_of("run"), 1);
    ending e = load(path_of("run"));
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    if (train_resume(context, path_of("run"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(result.step, STEPS);
    assert_same(&e, path_of("run"));
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("has a run already");
    assert_same(&e, path_of("run"));
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* Two at once would mix their checkpoints. */
static void try_another(void *user, const train_progress *p)
{
    train_result result;
    ssm2d_context *context = user;
    if (p->step != 1 || p->epoch != 1) return;
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("another process is training in this folder");
    assert_int_not_equal(run_clear(path_of("run"), &error), SSM2D_OK);
    assert_line("another process is training in this folder");
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    ssm2d_context *context = make(1), *other = make(1);
    train_settings s = tiny();
    train_result result;
    train_hooks hooks = {.user = other, .step = try_another};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(result.step, STEPS);
    ssm2d_context_destroy(other);
    ssm2d_context_destroy(context);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------------ */

static void test_not_finite(void **state)
{
    (void)state;
    ssm2d_context *context = make(2);
    train_settings s = tiny();
    train_result result;
    s.options.lr = 1e20;
    s.options.clip = 0;
    s.options.ema = 0;
    assert_int_not_equal(train_begin(context, path_of("run"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("is not finite");
    assert_line("step ");
    assert_line("last.safetensors");
    assert_line("Last good checkpoint");
    ssm2d_context_destroy(context);
}

static void remove_later(void *user, const train_progress *p)
{
    (void)user;
    if (p->step == 2) {
        char path[RUN_PATH];
        snprintf(path, sizeof path, "%s", path_of("data/t10k-images-idx3-ubyte"));
        remove(path);
    }
}

static void test_data(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    stopper stop = {3, 0};
    train_hooks hooks = {.user = &stop, .stop = stop_at, .step = remove_later};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(result.stopped, 1);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("t10k-images-idx3-ubyte");
    /* others than before */
    assert_true(small_data(path_of("data"), TRAIN + 1, TEST));
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("not those the run began with");
    assert_true(small_data(path_of("data"), TRAIN, TEST));
    assert_int_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

static void test_same_classes(void **state)
{
    (void)state;
    const char *names[] = {"cat", "dog"};
    const char *const same[] = {"cat", "dog"}, *const others[] = {"cat", "cow"}, *const numbers[] = {"0", "1"};
    const run_data data = {.classes = 2, .names = names};
    assert_int_equal(run_data_matches(&data, &(dataset_info){.classes = 2, .class_names = same}, &error), SSM2D_OK);
    assert_int_equal(run_data_matches(&data, &(dataset_info){.classes = 2, .class_names = numbers}, &error), SSM2D_OK);
    assert_int_not_equal(run_data_matches(&data, &(dataset_info){.classes = 2, .class_names = others}, &error), SSM2D_OK);
    assert_line("class 1 of the data is cow, that of the model dog");
    assert_int_not_equal(run_data_matches(&data, &(dataset_info){.classes = 1, .class_names = same}, &error), SSM2D_OK);
    assert_line("the data have 1 classes and the model 2");
}

static void test_bad_folders(void **state)
{
    (void)state;
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    char path[RUN_PATH];
    assert_int_not_equal(train_resume(context, path_of("none"), NULL, &result, &error), SSM2D_OK);
    assert_line("is not the folder of a run");
    assert_int_not_equal(train_begin(context, path_of("data/t10k-images-idx3-ubyte"), &s, NULL, &result, &error), SSM2D_OK);
    assert_line("is a file, not a folder");
    train(path_of("run"), 1);
    assert_int_equal(run_path(path_of("run"), RUN_LAST, path, &error), SSM2D_OK);
    assert_int_equal(truncate(path, 4000), 0);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("last.safetensors");
    assert_int_equal(remove(path), 0);
    assert_int_not_equal(train_resume(context, path_of("run"), NULL, &result, &error), SSM2D_OK);
    assert_line("last.safetensors");
    ssm2d_context_destroy(context);
}

static void test_full_disk(void **state)
{
    (void)state;
    train(path_of("whole"), 1);
    ending e = load(path_of("whole"));
    ssm2d_context *context = make(1);
    train_settings s = tiny();
    train_result result;
    struct rlimit was, small;
    stopper stop = {4, 0};
    train_hooks hooks = {.user = &stop, .stop = stop_at};
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 64; most < 30000; most = most * 3) {
        small = was;
        small.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        ssm2d_status status = train_resume(context, path_of("run"), NULL, &result, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_int_equal(status, SSM2D_ERROR_SYSTEM);
        assert_line("cannot be written");
    }
    signal(SIGXFSZ, SIG_DFL);
    if (train_resume(context, path_of("run"), NULL, &result, &error)) fail_msg("%s", error.line);
    assert_same(&e, path_of("run"));
    free(e.memory);
    ssm2d_context_destroy(context);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

typedef struct meter {
    long calls, fail_at, live;
} meter;

static void *meter_take(size_t bytes, void *user)
{
    meter *m = user;
    if (__atomic_fetch_add(&m->calls, 1, __ATOMIC_RELAXED) == m->fail_at) return NULL;
    __atomic_fetch_add(&m->live, 1, __ATOMIC_RELAXED);
    return malloc(bytes);
}

static void meter_give(void *memory, void *user)
{
    __atomic_fetch_sub(&((meter *)user)->live, 1, __ATOMIC_RELAXED);
    free(memory);
}

/* Some of the allocations of a run fail in turn: always the same kind of answer, and nothing is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    meter m = {.fail_at = -1};
    ssm2d_context *context;
    ssm2d_context_options options = {.threads = 2, .allocate = meter_take, .release = meter_give, .user = &m};
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    train_settings s = tiny();
    train_result result;
    s.options.epochs = 1;
    long live = m.live, done = 0;
    for (long n = 0, step = 1; !done; n += step, step += n > 60 ? 3 : 0) {
        assert_int_equal(run_clear(path_of("run"), &error), SSM2D_OK);
        m.calls = 0;
        m.fail_at = n;
        ssm2d_status status = train_begin(context, path_of("run"), &s, NULL, &result, &error);
        done = m.calls <= n;
        m.fail_at = -1;
        if (status && status != SSM2D_ERROR_MEMORY) fail_msg("allocation %ld: %s", n, error.line);
        if (status) assert_line("no memory");
        /* a batch that could not be made ahead may have been made again: then the run went well all the same */
        assert_int_equal(m.live, live);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(m.live, 0);
}

/* Once everything has run a first time, steps take no memory; checkpoints and pictures do. */
typedef struct watcher {
    meter *m;
    long calls;
} watcher;

static void watch(void *user, const train_progress *p)
{
    watcher *w = user;
    long calls = __atomic_load_n(&w->m->calls, __ATOMIC_RELAXED);
    if (p->epoch > 1 && p->step > 1) assert_int_equal(calls, w->calls);
    w->calls = calls;
}

static void test_steps_take_nothing(void **state)
{
    (void)state;
    meter m = {.fail_at = -1};
    ssm2d_context *context;
    ssm2d_context_options options = {.threads = 2, .allocate = meter_take, .release = meter_give, .user = &m};
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_OK);
    train_settings s = tiny();
    train_result result;
    watcher w = {&m, 0};
    train_hooks hooks = {.user = &w, .step = watch};
    s.options.save_every = 0;
    s.options.log_every = 1000;
    if (train_begin(context, path_of("run"), &s, &hooks, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_learns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_settings_act, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_at_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_at_any_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_complete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_finite, setup, teardown),
        cmocka_unit_test_setup_teardown(test_data, setup, teardown),
        cmocka_unit_test(test_same_classes),
        cmocka_unit_test_setup_teardown(test_bad_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_take_nothing, setup, teardown),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
