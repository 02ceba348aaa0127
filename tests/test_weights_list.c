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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_has_names_order_and_decay),
        cmocka_unit_test(test_initial_values_have_declared_moments),
        cmocka_unit_test(test_authors_init_has_published_moments),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
