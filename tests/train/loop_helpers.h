/* loop_helpers - whole runs of a tiny model on data made by the test, and their final state. */
#ifndef SSM2D_TESTS_LOOP_HELPERS_H
#define SSM2D_TESTS_LOOP_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "small_data.h"
#include "train/training.h"

#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TRAIN = 44,
    TEST = 19,
    BATCH = 8,
    EPOCHS = 4,
    EPOCH_STEPS = TRAIN / BATCH,
    STEPS = EPOCHS * EPOCH_STEPS
};

static char folder[64];
static ssm2d_error error;

static inline const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next = (next + 1) % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ssm2d-XXXXXX", base ? base : "/tmp");
    memset(&error, 0, sizeof error);
    return mkdtemp(folder) && !mkdir(path_of("data"), 0777)
                   && small_data(path_of("data"), TRAIN, TEST)
               ? 0
               : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define assert_line(part)                                                                          \
    do {                                                                                           \
        if (!strstr(error.line, part)) fail_msg("\"%s\" does not say \"%s\"", error.line, part);   \
        if (strchr(error.line, '\n')) fail_msg("\"%s\" is not one line", error.line);              \
    } while (0)

static inline ssm2d_context *make(int threads)
{
    ssm2d_context *context;
    if (ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = threads},
            &context, &error))
        fail_msg("%s", error.line);
    return context;
}

/* Everything random and optional is on. */
static inline train_settings tiny(void)
{
    static const char *const keys[][2] = {
        {"dim", "16"},         {"depth", "2"},           {"heads", "2"},
        {"mixer.n_ssm", "1"},  {"mixer.d_state", "3"},   {"drop_path", "0.2"},
        {"flip", "true"},      {"crop_padding", "1"},    {"ema", "0.9"},
        {"clip", "0.5"},       {"log_every", "3"},       {"save_every", "2"},
        {"batch", "8"},        {"epochs", "4"},          {"seed", "7"},
        {"save_minutes", "0"}, {"mixer.complex", "true"}};
    train_settings s;
    if (train_settings_default(&s, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (train_settings_set(&s, "test", keys[i][0], keys[i][1], &error))
            fail_msg("%s", error.line);
    if (train_settings_set(&s, "test", "data", path_of("data"), &error)) fail_msg("%s", error.line);
    return s;
}

/* ---- the final state of a run ---------------------------------------------------------------- */

typedef struct ending {
    train_state state;
    float *memory;
} ending;

static inline const optimizer *optimizer_in(const char *options)
{
    cJSON *root = cJSON_Parse(options);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "optimizer"));
    const optimizer *found = NULL;
    for (int i = 0; name && optimizer_at(i); i++)
        if (!strcmp(optimizer_at(i)->name, name)) found = optimizer_at(i);
    cJSON_Delete(root);
    assert_non_null(found);
    return found;
}

static inline ending load(const char *run)
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
    run_model_close(&m);
    assert_int_equal(run_path(run, RUN_LAST, path, &error), SSM2D_OK);
    if (checkpoint_open(context, path, &c, &identity, &error)) fail_msg("%s", error.line);
    e.state.arrays =
        (train_arrays){.optimizer = optimizer_in(identity.options),
                       .weights = e.memory,
                       .optimizer_arrays = {e.memory + e.state.count, e.memory + 2 * e.state.count},
                       .average = e.memory + 3 * e.state.count};
    if (checkpoint_read(c, &e.state, &error)) fail_msg("%s", error.line);
    checkpoint_close(c);
    ssm2d_context_destroy(context);
    return e;
}

static inline void assert_same(const ending *a, const char *run)
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

/* Lines of metrics.jsonl without fields that depend on time. */
static inline char *metrics_text(const char *run)
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

static inline train_result train(const char *run, int threads)
{
    ssm2d_context *context = make(threads);
    train_settings s = tiny();
    train_result result;
    if (train_begin(context, run, &s, NULL, &result, &error)) fail_msg("%s", error.line);
    ssm2d_context_destroy(context);
    return result;
}

/* A hook that stops the run at its n-th call, n = `at`. */
typedef struct stopper {
    long at, asked;
} stopper;

static inline int stop_at(void *user)
{
    stopper *s = user;
    return ++s->asked == s->at;
}

#endif
