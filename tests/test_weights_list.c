/* The list of weights: their names, groups and shapes, and initial values. */
#define _GNU_SOURCE /* mkdtemp */
#include "weights_fixture.h"

static void test_list_has_names_order_and_decay(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int decay;
        param_part part;
    } expected[] = {
        {"cls_token", 1, PARAM_BODY},
        {"pos_embed", 1, PARAM_BODY},
        {"patch_embed.proj.weight", 1, PARAM_BODY},
        {"patch_embed.proj.bias", 0, PARAM_BODY},
        {"blocks.3.norm1.weight", 1, PARAM_BODY},
        {"blocks.3.norm1.bias", 0, PARAM_BODY},
        {"blocks.3.attn.qkv.weight", 1, PARAM_BODY},
        {"blocks.3.mlp.fc2.bias", 0, PARAM_BODY},
        {"blocks.3.mixer.A", 0, PARAM_MIXER},
        {"blocks.3.mixer.B", 0, PARAM_MIXER},
        {"blocks.3.mixer.C", 0, PARAM_MIXER},
        {"blocks.3.mixer.D", 1, PARAM_MIXER},
        {"blocks.3.mixer.gamma", 1, PARAM_MIXER},
        {"blocks.3.mixer.beta", 0, PARAM_MIXER},
        {"norm.weight", 1, PARAM_BODY},
        {"head.weight", 1, PARAM_HEAD},
        {"head.bias", 0, PARAM_HEAD},
    };
    weights *w = weights_of("vit-mini", with_mixer, 2);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const param_array *a = find(w, expected[i].name);
        const int decay = a->spec.group == PARAM_DECAY, is_system = a->spec.group == PARAM_SYSTEM;
        if (decay != expected[i].decay) fail_msg("%s: decay is %d", a->name, decay);
        assert_int_equal(a->spec.part, expected[i].part);
        assert_int_equal(is_system, strstr(a->name, "mixer.") && strpbrk(a->name, "ABC"));
    }
    assert_int_equal(w->count, 4 + 4 * (11 + 6) + 4);
    assert_null(weights_find(w, "blocks.0.mixer"));
    assert_null(weights_find(w, "blocks.0.attn.qkv.bias"));
    const param_array *patch = find(w, "patch_embed.proj.weight");
    assert_int_equal(patch->rank, 4);
    assert_true(patch->shape[0] == 96 && patch->shape[1] == 3 && patch->shape[2] == 4
                && patch->shape[3] == 4);
    weights_destroy(w);
}

/* ---- initial values -------------------------------------------------------------------------- */

static void assert_moments(const weights *w, const float *params, const char *name, double mean,
                           double deviation)
{
    const param_array *a = find(w, name);
    double sum = 0, squares = 0, n = (double)a->count;
    for (size_t i = 0; i < a->count; i++) sum += (double)params[a->offset + i];
    for (size_t i = 0; i < a->count; i++)
        squares += pow((double)params[a->offset + i] - sum / n, 2);
    if (fabs(sum / n - mean) > 5 * deviation / sqrt(n)
        || fabs(sqrt(squares / n) - deviation) > 5 * deviation / sqrt(2 * n))
        fail_msg("%s: mean %g, deviation %g, not %g, %g", name, sum / n, sqrt(squares / n), mean,
                 deviation);
}

static void test_initial_values_have_declared_moments(void **state)
{
    (void)state;
    weights *w = weights_of("vit", with_mixer, 2), *plain = weights_of("vit", NULL, 0),
            *deit = weights_of("deit-t", NULL, 0);
    float *params = initial(w, 7), *again = initial(w, 7), *other = initial(w, 8),
          *bare = initial(plain, 7), *deits = initial(deit, 7);
    assert_moments(w, params, "cls_token", 0, 1);
    assert_moments(w, params, "pos_embed", 0, 0.02);
    assert_moments(w, params, "patch_embed.proj.weight", 0, sqrt(2.0 / (48 + 192)));
    assert_moments(w, params, "blocks.2.attn.qkv.weight", 0, sqrt(2.0 / (192 + 576)));
    assert_moments(w, params, "blocks.2.mlp.fc2.weight", 0, sqrt(2.0 / (192 + 384)));
    assert_moments(w, params, "head.weight", 0, sqrt(2.0 / (192 + 100)));
    assert_moments(w, params, "blocks.2.attn.proj.bias", 0, 0);
    assert_moments(w, params, "blocks.2.norm1.weight", 1, 0);
    assert_moments(w, params, "norm.bias", 0, 0);
    assert_moments(w, params, "blocks.2.mixer.A", 0, 0.2);
    assert_moments(w, params, "blocks.2.mixer.C", 0, 0.1);
    assert_moments(w, params, "blocks.2.mixer.D", 1, 0);
    assert_moments(w, params, "blocks.2.mixer.gamma", 1, 0);
    assert_moments(deit, deits, "pos_embed", 0, 0.02);
    assert_moments(deit, deits, "cls_token", 0, 0.02);
    assert_moments(deit, deits, "blocks.2.attn.qkv.weight", 0, 0.02);
    assert_moments(deit, deits, "patch_embed.proj.weight", 0, 0.02);
    assert_moments(deit, deits, "blocks.2.attn.qkv.bias", 0, 0);
    assert_moments(deit, deits, "blocks.11.norm2.weight", 1, 0);
    /* the seed decides; a mixer does not change the rest; no two arrays are alike */
    assert_memory_equal(params, again, w->total * sizeof *params);
    assert_memory_not_equal(params, other, w->total * sizeof *params);
    for (int i = 0; i < plain->count; i++) {
        const param_array *a = &plain->arrays[i], *b = find(w, a->name);
        assert_memory_equal(bare + a->offset, params + b->offset, a->count * sizeof *params);
    }
    const param_array *a = find(w, "blocks.0.mixer.A"), *b = find(w, "blocks.1.mixer.A");
    assert_memory_not_equal(params + a->offset, params + b->offset, a->count * sizeof *params);
    a = find(w, "blocks.0.mlp.fc1.weight"), b = find(w, "blocks.1.mlp.fc1.weight");
    assert_memory_not_equal(params + a->offset, params + b->offset, a->count * sizeof *params);
    free(params), free(again), free(other), free(bare), free(deits);
    weights_destroy(w), weights_destroy(plain), weights_destroy(deit);
}

static void test_authors_init_has_published_moments(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"mixer", "ssm2d"}, {"mixer.init", "authors"}};
    weights *w = weights_of("vit", set, 2);
    float *params = initial(w, 7);
    assert_moments(w, params, "blocks.2.mixer.C", 0, 1);
    assert_moments(w, params, "blocks.2.mixer.D", 0, 1);
    free(params);
    weights_destroy(w);
}

/* The elements are uniform in +-bound. */
static void assert_uniform(const weights *w, const float *params, const char *name, double bound)
{
    const param_array *a = find(w, name);
    assert_moments(w, params, name, 0, bound / sqrt(3));
    for (size_t i = 0; i < a->count; i++) assert_true(fabs((double)params[a->offset + i]) <= bound);
}

static double rows_deviation(const weights *w, const float *params, const char *name, size_t first,
                             size_t rows)
{
    const param_array *a = find(w, name);
    const size_t row = a->count / a->shape[0];
    const float *x = params + a->offset + first * row;
    double squares = 0;
    for (size_t i = 0; i < rows * row; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares / (double)(rows * row));
}

/* Initial values as in the paper's code of 2023. */
static void test_init_of_2023_has_its_moments(void **state)
{
    (void)state;
    static const char *const attn[][2] = {{"mixer", "ssm2d"}, {"mixer.place", "attn"}},
                             *const torch[][2] = {{"init", "torch"}},
                             *const authors[][2] = {{"init", "authors"}};
    static const char qkv[] = "blocks.2.attn.qkv.weight", block[] = "layers.1.blocks.0.";
    weights *w = weights_of("vit", attn, 2);
    float *params = initial(w, 7);
    assert_true(fabs(rows_deviation(w, params, qkv, 0, 384) - sqrt(2.0 / (3 * 192))) < 4e-4);
    assert_true(fabs(rows_deviation(w, params, qkv, 384, 192) - sqrt(2.0 / (2 * 192))) < 4e-4);
    free(params), weights_destroy(w);

    w = weights_of("swin", torch, 1), params = initial(w, 7);
    char name[PARAM_NAME];
    static const struct {
        const char *name;
        double in;
    } arrays[] = {{"attn.qkv.weight", 192}, {"attn.qkv.bias", 192},  {"attn.proj.bias", 192},
                  {"mlp.fc1.weight", 192},  {"mlp.fc2.weight", 384}, {"mlp.fc2.bias", 384}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        snprintf(name, sizeof name, "%s%s", block, arrays[i].name);
        assert_uniform(w, params, name, 1 / sqrt(arrays[i].in));
    }
    assert_uniform(w, params, "patch_embed.proj.weight", 1 / sqrt(12));
    assert_uniform(w, params, "patch_embed.proj.bias", 1 / sqrt(12));
    assert_uniform(w, params, "layers.1.downsample.reduction.weight", 1 / sqrt(384));
    assert_uniform(w, params, "head.fc.weight", 1 / sqrt(384));
    assert_uniform(w, params, "head.fc.bias", 1 / sqrt(384));
    assert_moments(w, params, "absolute_pos_embed", 0, 0.02);
    assert_moments(w, params, "layers.1.blocks.0.attn.relative_position_bias_table", 0, 0.02);
    assert_moments(w, params, "layers.1.blocks.0.norm1.weight", 1, 0);
    assert_moments(w, params, "layers.1.blocks.0.norm1.bias", 0, 0);
    free(params), weights_destroy(w);

    w = weights_of("mega", authors, 1), params = initial(w, 7);
    assert_uniform(w, params, "patch_embed.proj.weight", 1 / sqrt(48));
    assert_uniform(w, params, "patch_embed.proj.bias", 1 / sqrt(48));
    assert_uniform(w, params, "head.weight", sqrt(6.0 / (192 + 100)));
    assert_moments(w, params, "head.bias", 0, 0);
    assert_moments(w, params, "blocks.1.mega_layer.v_proj.weight", 0, 0.02);
    assert_moments(w, params, "out_proj.fc.weight", 0, 0.02);
    assert_moments(w, params, "out_proj.fc.bias", 0, 0);
    free(params), weights_destroy(w);

    w = weights_of("mega-lra", NULL, 0), params = initial(w, 7);
    assert_moments(w, params, "patch_embed.proj.weight", 0, 1);
    assert_moments(w, params, "patch_embed.proj.bias", 0, 0.1);
    assert_uniform(w, params, "out_proj.fc.weight", sqrt(6.0 / (160 + 320)));
    assert_moments(w, params, "out_proj.fc.bias", 0, 0);
    assert_uniform(w, params, "head.weight", sqrt(6.0 / (320 + 10)));
    assert_null(weights_find(w, "head.bias"));
    assert_moments(w, params, "blocks.1.mega_layer.v_proj.weight", 0, 0.02);
    free(params), weights_destroy(w);
}

/* The parameter counts of the paper's code of 2023; settings of models and mixers. */
static void test_counts_are_those_of_2023(void **state)
{
    (void)state;
#define LAYER "mixer=ssm2d mixer.c_per_channel=false mixer.assign=paper mixer.place=attn "
#define S8N16 "mixer.n_ssm=8 mixer.d_state=16 "
#define S4    "mixer=s4nd mixer.form=dplr mixer.d_state=16 mixer.place=attn "
    static const struct {
        const char *model, *settings;
        size_t count;
    } rows[] = {
        {"vit", "mixer=none", 2709796},
        {"vit", "mixer=none pos_embed=false", 2697316},
        {"vit", S4 "mixer.n_ssm=8", 2726500},
        {"vit", S4 "mixer.n_ssm=2", 2717860},
        {"vit", LAYER S8N16 "mixer.directions=2", 2729956},
        {"vit", LAYER S8N16 "mixer.directions=4", 2748388},
        {"vit", LAYER "mixer.n_ssm=2 mixer.d_state=16 mixer.directions=4", 2720740},
        {"vit", LAYER "mixer.n_ssm=4 mixer.d_state=16 mixer.directions=2", 2720740},
        {"vit", LAYER S8N16 "mixer.directions=2 mixer.values=cartesian", 2748388},
        {"vit", LAYER S8N16 "mixer.directions=4 mixer.values=cartesian", 2785252},
        {"vit", LAYER "mixer.n_ssm=2 mixer.d_state=16 mixer.directions=4 mixer.values=cartesian",
         2729956},
        {"mega", "mixer=none", 2761435},
        {"mega", "mixer=none pos_embed=false", 2749147},
        {"mega", "mixer=ema mixer.d_state=16", 2984347},
        {"mega", S4 "mixer.n_ssm=2", 2769499},
        {"mega", LAYER S8N16 "mixer.directions=2", 2781595},
        {"mega", LAYER S8N16 "mixer.directions=4", 2800027},
        {"mega", LAYER S8N16 "mixer.directions=2 mixer.values=cartesian", 2800027},
        {"mega", LAYER S8N16 "mixer.directions=4 mixer.values=cartesian", 2836891},
        {"swin", "mixer=none", 7107838},
        {"swin", "image=64 classes=200 mixer=none", 7149794},
        {"swin", "image=64 classes=200 mixer=ema mixer.d_state=16", 7521314},
        {"swin", "image=64 classes=200 " S4 "mixer.n_ssm=8", 7173794},
        {"swin", "image=64 classes=200 " LAYER S8N16 "mixer.directions=2", 7177250},
        {"swin", "image=64 classes=200 " LAYER S8N16 "mixer.directions=4", 7201826},
        {"swin", "image=64 classes=200 " LAYER "mixer.n_ssm=16 mixer.d_state=16", 7250978},
        {"swin", "image=64 classes=200 " LAYER S8N16 "mixer.values=cartesian", 7250978},
        {"swin", "image=64 classes=200 " LAYER S8N16 "mixer.values=cartesian mixer.layer_norm=true",
         7256738},
        {"swin", "image=64 classes=200 mixer=none relative_bias=false",
         7149794 - 49 * (2 * 3 + 6 * 6 + 4 * 12)},
        {"mega-t", LAYER S8N16 "mixer.directions=2", 5939260},
        {"mega-t", LAYER S8N16 "mixer.directions=4", 5963836},
        {"mega-lra", "mixer=none", 2673976},
        {"mega-lra", "mixer=ema mixer.d_state=16", 2839096},
        {"mega-lra", LAYER "mixer.activation=silu mixer.n_ssm=2 mixer.d_state=1 mixer.directions=2",
         2675512},
        {"mega-lra", LAYER "mixer.activation=silu " S8N16 "mixer.directions=4", 2708024},
        {"mega-lra", "mixer=none relative_bias=false", 2673976 - 8 * 2047},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char text[24][2][32];
        const char *set[24][2], *rest = rows[i].settings;
        int count = 0, length;
        for (; sscanf(rest, " %31[^ =]=%31s%n", text[count][0], text[count][1], &length) == 2;
             rest += length, count++)
            set[count][0] = text[count][0], set[count][1] = text[count][1];
        weights *w = weights_of(rows[i].model, set, count);
        if (w->learned != rows[i].count)
            fail_msg("%s %s: %zu, not %zu", rows[i].model, rows[i].settings, w->learned,
                     rows[i].count);
        weights_destroy(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_has_names_order_and_decay),
        cmocka_unit_test(test_initial_values_have_declared_moments),
        cmocka_unit_test(test_authors_init_has_published_moments),
        cmocka_unit_test(test_init_of_2023_has_its_moments),
        cmocka_unit_test(test_counts_are_those_of_2023),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
