/* The caller's floating-point mode: in any mode in which a model is opened, planned and run, the
 * results have the same bits, nothing traps, and the mode is as before afterwards. */
#define _GNU_SOURCE /* for float_modes.h */
#include "session_helpers.h"
#include "float_modes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ssm2d_model.h"

enum { CLASSES = 10, ROWS = 20, COLS = 30, LOGITS = 2 * CLASSES };

/* Everything within a mode: a model from its files, resized pixels, and values some of which are
 * subnormal. Returns 0 if a call failed or changed the mode. */
static int classify(const char *name, const mode *m, const uint8_t *pixels, const float *inputs,
                    int threads, float logits[LOGITS], double probabilities[LOGITS])
{
    char config[600], weights[600];
    const test_image image = {pixels, ROWS, COLS, 3, 0};
    ssm2d_model *model = NULL;
    ssm2d_session *plan = NULL;
    snprintf(config, sizeof config, GOLDEN_MODELS "/%s/config.json", name);
    snprintf(weights, sizeof weights, GOLDEN_MODELS "/%s/weights.safetensors", name);
    ssm2d_session_options o = ssm2d_session_options_default();
    ssm2d_model_preparation preparation = ssm2d_model_preparation_default();
    o.threads = threads;
    o.preparation = &preparation;
    enter(m);
    int good = !ssm2d_model_open_files(config, weights, NULL, &model, NULL)
               && !ssm2d_session_create(model, &o, &plan, NULL)
               && !prepare_images(plan, 0, 1, &image, NULL);
    if (good) {
        ssm2d_session_run(plan, NULL, 1, logits, NULL);
        ssm2d_session_run(plan, inputs, 1, logits + CLASSES, NULL);
        ssm2d_model_probabilities(model, logits, 2, probabilities, NULL);
    }
    good = leave(m) && good;
    ssm2d_session_destroy(plan);
    ssm2d_model_close(model);
    return good;
}

static void test_float_mode_changes_no_bit(void **state)
{
    (void)state;
    static const char *const cases[] = {"04_deit", "13_swin_ssm2d", "16_mega_ssm2d"};
    static uint8_t pixels[ROWS * COLS * 3];
    static float inputs[3 * 32 * 32];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        inputs[i] = i % 3 ? (float)(i * 37 % 101) / 50 - 1 : 1e-41f * (float)(i % 5);
    for (int c = 0; c < 3; c++) {
        float expected[LOGITS] = {0}, logits[LOGITS] = {0};
        double expected_shares[LOGITS] = {0}, shares[LOGITS] = {0};
        assert_true(classify(cases[c], &modes[0], pixels, inputs, 1, expected, expected_shares));
        for (int i = 0; i < 2 * MODES; i++) {
            const mode *m = &modes[i / 2];
            if (!classify(cases[c], m, pixels, inputs, 1 + i % 2, logits, shares))
                fail_msg("%s, mode %s: failed or left another mode", cases[c], m->name);
            if (memcmp(logits, expected, sizeof logits)
                || memcmp(shares, expected_shares, sizeof shares))
                fail_msg("%s, mode %s: another result", cases[c], m->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float_mode_changes_no_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
