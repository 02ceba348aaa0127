/* Swin transformers against a plain reference (swin_oracle.h), in double: any map, any window,
 * every place of the mixer; gradients along random directions by finite differences; padding, which
 * must have no effect; other sizes. */

#include "core/arith.h"
#include "model_case.h"
#include "model_trial.h"
#include "models/swin.h"
#include "models/swin_windows.h"
#include "ops/ops.h"
#include "problem.h"
#include "swin_oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of arrays, by parts of their names. */
static const char *const kinds[] = {"relative_position_bias_table",
                                    "attn.qkv",
                                    "attn.proj",
                                    "downsample",
                                    "absolute_pos_embed",
                                    "patch_embed",
                                    "norm1",
                                    "mixer",
                                    "",
                                    NULL};

static void check(ssm2d_context *context, const char *settings, rng *r)
{
    model_config c = trial_config("swin", settings);
    trial t = trial_make(context, &c, r);
    double logits[TRIAL_BATCH * TRIAL_CLASSES];
    graph_forward(t.g);
    swin_oracle(t.w, t.params, TRIAL_BATCH, t.images, logits);
    assert_close(settings, t.logits->data, logits, TRIAL_BATCH * TRIAL_CLASSES, 1e-11);
    check_gradients(&t, settings, kinds, r);
    trial_free(&t);
}

/* The comment after each line says what it tests. */
static void test_models_agree_with_plain_reference(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "image=16;patch=2;dim=8,16;depth=2,2;heads=2,4",        /* two stages, the last clipped */
        "image=[8, 16];patch=2;dim=8;depth=4;heads=2",          /* only columns are shifted */
        "image=[16, 8];patch=2;dim=8;depth=2;heads=1",          /* only rows are shifted */
        "image=[4, 16];patch=2;dim=8;depth=2;heads=2",          /* the window is clipped in rows */
        "image=[24, 6];patch=2;dim=8;depth=2;heads=4;window=5", /* an odd window; clipped, padded */
        "image=16;patch=4;dim=8,16,32,64;depth=2,1,2,2;heads=1,2,4,8", /* down to one token */
        "image=20;patch=2;dim=8,16,32;depth=2,2,1;heads=2,2,2",        /* 10, 5 and 3 tokens */
        "image=[14, 18];patch=2;dim=8;depth=2;heads=2;patch_norm=false",
        "image=[10, 26];patch=2;dim=8;depth=2;heads=2;pos_embed=false;qkv_bias=false",
        "image=[14, 18];patch=2;dim=8,16;depth=2,2;heads=2,4;relative_bias=false", /* masks alone */
        "image=8;patch=2;dim=8;depth=1;heads=2;relative_bias=false", /* neither bias nor mask */
        "image=12;patch=2;dim=8;depth=2;heads=2;window=1",           /* each token by itself */
        "image=[2, 22];patch=2;dim=6;depth=2;heads=3;window=3;mlp_ratio=2.5",
        "image=8;patch=8;dim=8;depth=2;heads=2;channels=1", /* one patch */
    };
    rng r = rng_seed(3);
    ssm2d_context *context = context_of(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(context, cases[i], &r);
    ssm2d_context_destroy(context);
}

static void test_mixers_agree_with_plain_reference(void **state)
{
    (void)state;
    static const char *const places[] = {"attn", "block", "ffn"};
    static const char *const rests[] = {"mixer.directions=4",
                                        "mixer.values=polar;mixer.c_per_channel=false",
                                        "mixer.normalize=true;mixer.share_directions=true"};
    char settings[300];
    rng r = rng_seed(4);
    ssm2d_context *context = context_of(2);
    for (int p = 0; p < 3; p++)
        for (int k = 0; k < 3; k++) {
            snprintf(settings, sizeof settings,
                     "image=[14, 20];patch=2;dim=8,16;depth=2,2;heads=2,4;mixer=ssm2d;"
                     "mixer.place=%s;%s",
                     places[p], rests[k]);
            check(context, settings, &r);
        }
    ssm2d_context_destroy(context);
}

static void test_random_models_agree_with_plain_reference(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    ssm2d_context *context = context_of(2);
    for (int i = 0; i < (short_tests() ? 4 : 24); i++) {
        static const char *const flags[] = {"false", "true"};
        static const char *const depths[] = {"2", "1,2", "2,2,1", "1,1,2,2"};
        const int patch = 1 + below(&r, 3), rows = patch * (1 + below(&r, 12)),
                  cols = patch * (1 + below(&r, 12)), stages = below(&r, 4),
                  window = 1 + below(&r, 6), heads = 1 + below(&r, 2), width = 2 + below(&r, 3),
                  pos = below(&r, 2), normed = below(&r, 2), bias = below(&r, 2),
                  relative = below(&r, 4) > 0;
        char settings[300];
        snprintf(settings, sizeof settings,
                 "image=[%d, %d];patch=%d;depth=%s;dim=%d;heads=%d;window=%d;pos_embed=%s;"
                 "patch_norm=%s;qkv_bias=%s;relative_bias=%s",
                 rows, cols, patch, depths[stages], 2 * heads * width, heads, window, flags[pos],
                 flags[normed], flags[bias], flags[relative]);
        check(context, settings, &r);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_agree_with_plain_reference),
        cmocka_unit_test(test_mixers_agree_with_plain_reference),
        cmocka_unit_test(test_random_models_agree_with_plain_reference),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
