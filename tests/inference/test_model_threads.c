/* One model shared by several threads, each with a session of its own, of any number of threads: no
 * bit of a result changes, and the thread sanitizer finds nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session_helpers.h"
#include "ssm2d_model.h"

#include <math.h>
#include <pthread.h>

enum {
    THREADS = 6,
    ROUNDS = 3,
    BATCH = 5,
    CLASSES = 10,
    PIXELS = 3 * 32 * 32,
    BYTES = 20 * 30 * 3
};

typedef struct job {
    const ssm2d_model *model;
    const float *images;
    const uint8_t *pixels;
    int threads, bad;
    const float *expected, *expected_prepared; /* NULL: they are to be made */
    float logits[BATCH * CLASSES], prepared[CLASSES];
} job;

static void *run(void *arg)
{
    job *j = arg;
    ssm2d_error error;
    for (int round = 0; round < ROUNDS && !j->bad; round++) {
        ssm2d_session_options o = ssm2d_session_options_default();
        ssm2d_model_preparation prepare = ssm2d_model_preparation_default();
        ssm2d_session *p;
        const test_image image = {j->pixels, 20, 30, 3, 0};
        o.batch = BATCH;
        o.threads = j->threads;
        o.preparation = &prepare;
        j->bad = 1;
        if (ssm2d_session_create(j->model, &o, &p, &error)) break;
        for (int i = 0; i < 3; i++) ssm2d_session_run(p, j->images, BATCH, j->logits, &error);
        if (!prepare_images(p, 0, 1, &image, &error)) {
            ssm2d_session_run(p, NULL, 1, j->prepared, &error);
            j->bad = 0;
        }
        ssm2d_session_destroy(p);
        if (j->expected)
            j->bad |= memcmp(j->logits, j->expected, sizeof j->logits)
                      || memcmp(j->prepared, j->expected_prepared, sizeof j->prepared);
    }
    return NULL;
}

static void test_threads_share_one_model(void **state)
{
    (void)state;
    static const char *const cases[] = {"04_deit", "13_swin_ssm2d", "16_mega_ssm2d"};
    static float images[BATCH * PIXELS];
    static uint8_t pixels[BYTES];
    static job alone, jobs[THREADS];
    pthread_t threads[THREADS];
    ssm2d_error error;
    for (int i = 0; i < BATCH * PIXELS; i++) images[i] = (float)sin(0.37 * i);
    for (int i = 0; i < BYTES; i++) pixels[i] = (uint8_t)(i * 7);
    for (int c = 0; c < 3; c++) {
        ssm2d_model *m;
        char config[600], path[600];
        snprintf(config, sizeof config, GOLDEN_MODELS "/%s/config.json", cases[c]);
        snprintf(path, sizeof path, GOLDEN_MODELS "/%s/weights.safetensors", cases[c]);
        if (ssm2d_model_open_files(config, path, NULL, &m, &error)) fail_msg("%s", error.line);
        const ssm2d_model_info info = ssm2d_model_info_of(m);
        assert_true(info.rows * info.cols * info.channels <= PIXELS && info.outputs <= CLASSES);
        alone = (job){.model = m, .images = images, .pixels = pixels, .threads = 1};
        run(&alone);
        assert_int_equal(alone.bad, 0);
        for (int i = 0; i < THREADS; i++) {
            jobs[i] = (job){.model = m,
                            .images = images,
                            .pixels = pixels,
                            .threads = 1 + i % 3,
                            .expected = alone.logits,
                            .expected_prepared = alone.prepared};
            assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) assert_int_equal(jobs[i].bad, 0);
        ssm2d_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_share_one_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
