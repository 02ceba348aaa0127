/* What weight decay applies to, for each value of decay_of, by family and mixer. */
#define _GNU_SOURCE
#include "train/trainer.h"

#include "loop_helpers.h"
#include "models/weights.h"

enum {
    A = 1 << TRAIN_DECAY_ALL,
    M = 1 << TRAIN_DECAY_MATRICES,
    P = 1 << TRAIN_DECAY_PAPER,
    E = 1 << TRAIN_DECAY_EVERYTHING
};

typedef struct expected {
    const char *name;
    int decays; /* a sum of the values of decay_of */
} expected;

/* Checks the listed arrays, and that every other array has the name of one of them in another
 * block. */
static void check_model(const char *model_name, const char *const (*set)[2], const expected *list)
{
    ssm2d_context *context = make(1);
    train_settings s;
    weights *w = NULL;
    if (train_settings_default(&s, &error)
        || train_settings_set(&s, "test", "model", model_name, &error))
        fail_msg("%s", error.line);
    for (; set && (*set)[0]; set++)
        if (train_settings_set(&s, "test", (*set)[0], (*set)[1], &error))
            fail_msg("%s", error.line);
    s.model.image[0] = s.model.image[1] = 32;
    s.model.channels = 3;
    s.model.outputs = 10;
    if (model_config_finish(&s.model, &error) || weights_create(context, &s.model, &w, &error))
        fail_msg("%s", error.line);
    for (const expected *e = list; e->name; e++) {
        const param_array *a = weights_find(w, e->name);
        if (!a) fail_msg("%s has no %s", model_name, e->name);
        for (int of = 0; of <= TRAIN_DECAY_EVERYTHING; of++)
            if (train_decays(a, (train_decay)of) != !!(e->decays & 1 << of))
                fail_msg("%s, decay_of %d: %s: %d", model_name, of, a->name,
                         train_decays(a, (train_decay)of));
    }
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        const char *place = strstr(a->name, "blocks.0.");
        int found = strstr(a->name, "blocks.") && !place; /* as in block 0 of its stage */
        found |= !strncmp(a->name, "layers.", 7) && strncmp(a->name, "layers.1.downsample", 19)
                 && strncmp(a->name, "layers.0", 8);
        for (const expected *e = list; e->name && !found; e++) found = !strcmp(e->name, a->name);
        if (!found) fail_msg("%s: %s is not in the list", model_name, a->name);
    }
    weights_destroy(w);
    ssm2d_context_destroy(context);
}

#define MATRIX(name)                                                                               \
    {name ".weight", A | M | P | E}, { name ".bias", E }
#define NORM(name)                                                                                 \
    {name ".weight", A | E}, { name ".bias", E }

#define VIT                                                                                        \
    {"cls_token", A | P | E}, {"pos_embed", A | P | E}, MATRIX("patch_embed.proj"),                \
        NORM("blocks.0.norm1"), {"blocks.0.attn.qkv.weight", A | M | P | E},                       \
        MATRIX("blocks.0.attn.proj"), NORM("blocks.0.norm2"), MATRIX("blocks.0.mlp.fc1"),          \
        MATRIX("blocks.0.mlp.fc2"), NORM("norm"), MATRIX("head")

static void test_decay_of_vit_arrays(void **state)
{
    (void)state;
    static const expected plain[] = {VIT, {0}};
    static const expected layer[] = {VIT,
                                     {"blocks.0.mixer.A", 0},
                                     {"blocks.0.mixer.B", 0},
                                     {"blocks.0.mixer.C", 0},
                                     {"blocks.0.mixer.D", A | P | E},
                                     {"blocks.0.mixer.gamma", A},
                                     {"blocks.0.mixer.beta", 0},
                                     {0}};
    static const expected s4nd[] = {VIT,
                                    {"blocks.0.mixer.log_dt", 0},
                                    {"blocks.0.mixer.A_re", 0},
                                    {"blocks.0.mixer.A_im", 0},
                                    {"blocks.0.mixer.B", 0},
                                    {"blocks.0.mixer.P", 0},
                                    {"blocks.0.mixer.C", 0},
                                    {"blocks.0.mixer.D", A},
                                    {0}};
    static const expected conv[] = {
        VIT, {"blocks.0.mixer.weight", A | M | P | E}, {"blocks.0.mixer.bias", 0}, {0}};
    static const char *const none[][2] = {{"mixer", "none"}, {0}},
                             *const ssm2d[][2] = {{"mixer", "ssm2d"},
                                                  {"mixer.layer_norm", "true"},
                                                  {0}},
                             *const dplr[][2] = {{"mixer", "s4nd"}, {"mixer.form", "dplr"}, {0}},
                             *const depthwise[][2] = {{"mixer", "conv"}, {0}};
    check_model("vit-mini", none, plain);
    check_model("vit-mini", ssm2d, layer);
    check_model("vit-mini", dplr, s4nd);
    check_model("vit-mini", depthwise, conv);
}

static void test_decay_of_swin_arrays(void **state)
{
    (void)state;
    static const expected list[] = {{"absolute_pos_embed", A | P | E},
                                    MATRIX("patch_embed.proj"),
                                    NORM("patch_embed.norm"),
                                    NORM("layers.0.blocks.0.norm1"),
                                    {"layers.0.blocks.0.attn.relative_position_bias_table", P | E},
                                    MATRIX("layers.0.blocks.0.attn.qkv"),
                                    MATRIX("layers.0.blocks.0.attn.proj"),
                                    NORM("layers.0.blocks.0.norm2"),
                                    MATRIX("layers.0.blocks.0.mlp.fc1"),
                                    MATRIX("layers.0.blocks.0.mlp.fc2"),
                                    NORM("layers.1.downsample.norm"),
                                    {"layers.1.downsample.reduction.weight", A | M | P | E},
                                    NORM("norm"),
                                    MATRIX("head.fc"),
                                    {0}};
    static const char *const none[][2] = {{"mixer", "none"}, {0}};
    check_model("swin-mini", none, list);
}

#define MEGA                                                                                       \
    MATRIX("patch_embed.proj"), {"blocks.0.mega_layer.gamma", A | M | P | E},                      \
        {"blocks.0.mega_layer.beta", P | E}, NORM("blocks.0.mega_layer.norm.norm"),                \
        MATRIX("blocks.0.mega_layer.v_proj"), MATRIX("blocks.0.mega_layer.mx_proj"),               \
        MATRIX("blocks.0.mega_layer.h_proj"),                                                      \
        {"blocks.0.mega_layer.rel_pos_bias.rel_pos_bias", P | E}, NORM("blocks.0.nffn.norm.norm"), \
        MATRIX("blocks.0.nffn.fc1"), MATRIX("blocks.0.nffn.fc2"), NORM("final_norm.norm"),         \
        MATRIX("out_proj.fc"),                                                                     \
    {                                                                                              \
        "head.weight", A | M | P | E                                                               \
    }
#define EMA                                                                                        \
    {"blocks.0.mixer.alpha", 0}, {"blocks.0.mixer.delta", 0}, {"blocks.0.mixer.beta", 0},          \
        {"blocks.0.mixer.gamma", 0},                                                               \
    {                                                                                              \
        "blocks.0.mixer.omega", A | P | E                                                          \
    }

static void test_decay_of_mega_arrays(void **state)
{
    (void)state;
    static const expected mega[] = {{"pos_embed", A | P | E}, MEGA, {"head.bias", E}, EMA, {0}};
    /* running moments are not parameters */
    static const expected lra[] = {MEGA,
                                   EMA,
                                   {"blocks.0.mega_layer.norm.norm.running_mean", 0},
                                   {"blocks.0.mega_layer.norm.norm.running_var", 0},
                                   {"blocks.0.nffn.norm.norm.running_mean", 0},
                                   {"blocks.0.nffn.norm.norm.running_var", 0},
                                   {"final_norm.norm.running_mean", 0},
                                   {"final_norm.norm.running_var", 0},
                                   {0}};
    static const char *const ema[][2] = {{"mixer", "ema"}, {0}};
    check_model("mega-mini", ema, mega);
    check_model("mega-lra", ema, lra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decay_of_vit_arrays),
                                       cmocka_unit_test(test_decay_of_swin_arrays),
                                       cmocka_unit_test(test_decay_of_mega_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
