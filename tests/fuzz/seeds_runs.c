/* seeds_runs - the files of a run: settings, metrics, checkpoint, weights. */
#include "seeds.h"

#include "core/context.h"
#include "fuzz_input.h"
#include "io/file.h"
#include "models/weights.h"
#include "train/checkpoint.h"
#include "train/settings.h"

#include <string.h>

static void seed_settings(void)
{
    static const char *const texts[] = {
        "{\"model\": \"vit-mini\", \"mixer\": \"ssm2d\", \"epochs\": 3, \"lr\": 1e-3, "
        "\"schedule\": \"constant\", \"data\": \"idx:a\", \"loss\": \"bce\", \"flip\": true, "
        "\"crop_padding\": 4}",
        "{\"model\": \"deit\", \"image\": [32, 48], \"channels\": 3, \"classes\": 7, \"patch\": 8, "
        "\"dim\": 12, \"depth\": 2, \"heads\": 3, \"mlp_ratio\": 4, \"init\": \"trunc_normal\", "
        "\"mixer\": {\"kind\": \"ssm2d\", \"place\": \"ffn\", \"d_state\": 2, \"complex\": true}}",
        ("{\"image\": 24, \"mixer\": {\"kind\": \"ssm2d\", \"trunc\": null, \"norm\": \"paper\", "
         "\"values\": \"polar\", \"directions\": 4, \"init\": \"authors\"}}"),
        "{\"mixer\": null, \"warmup\": 0, \"ema\": 0.99, \"seed\": 7, \"drop_path\": 0.1}",
        "model=vit\nmixer.place=block\nmixer.d_state=3\nlr-start=1e-5\nimage=32x64\nmixer=none",
        "dim=32\ndepth=2\nheads=4\nbatch=16\nsmoothing=0.2\nqkv_bias=true\ninit=xavier\nflip=true",
    };
    train_settings s;
    for (int i = 0; i < 6; i++) seed_text("settings", i, texts[i]);
    /* all keys there are */
    check(train_settings_default(&s, &error) != SSM2D_OK);
    s.model.image[0] = s.model.image[1] = 32;
    s.model.channels = 1;
    s.model.outputs = 10;
    cJSON *root = train_settings_to_json(&s);
    char *text = root ? cJSON_Print(root) : NULL;
    check(!text);
    seed_text("settings", 6, text);
    cJSON_free(text);
    cJSON_Delete(root);
}

static void seed_metrics(void)
{
    static const char *const texts[] = {
        "\x1f{\"kind\": \"step\", \"step\": 50, \"epoch\": 0.1, \"loss\": 1.9, \"lr\": 0.001, "
        "\"norm\": 0.8, \"images_per_s\": 1210}\n{\"kind\": \"epoch\", \"step\": 468, \"epoch\": "
        "1, \"loss\": 0.9, \"accuracy\": 0.7, \"test_loss\": 0.5, \"test_accuracy\": 0.8}\n",
        "\x05{\"kind\": \"step\", \"step\": 1}\n\n{}\n{\"kind\": \"step\", \"st",
    };
    for (int i = 0; i < 2; i++) seed_text("metrics", i, texts[i]);
}

static void seed_checkpoint(void)
{
    static float elements[4][3] = {{1, 2, 3}, {0.5f}, {0.25f}, {1}};
    static const train_identity who = {"{\"lr\": 0.1}", "{}", "{}", 0x123456789abcdefu};
    for (int average = 0; average < 2; average++) {
        const train_state s = {.count = 3,
                               .arrays = {.optimizer = optimizer_at(0),
                                          .weights = elements[0],
                                          .optimizer_arrays = {elements[1], elements[2]},
                                          .average = average ? elements[3] : NULL},
                               .step = 5,
                               .epochs = 1,
                               .loss_sum = 2.5,
                               .best = 0.125};
        check(checkpoint_write(context, seed_path("checkpoint", average), &s, &who, &error)
              != SSM2D_OK);
    }
}

/* The file of a small model, after the two bytes that fuzz_weights.c expects. */
static void seed_file_of_weights(int number)
{
    static const char *const settings[][2] = {{"image", "4x4"}, {"channels", "1"}, {"classes", "2"},
                                              {"patch", "2"},   {"dim", "2"},      {"depth", "1"},
                                              {"heads", "1"},   {"mixer", "ssm2d"}};
    const field_source from = {.where = "seeds"};
    model_config c;
    weights *w;
    char *bytes;
    size_t size;
    check(model_config_named("vit-mini", &c, &error) != SSM2D_OK);
    for (int i = 0; i < 8; i++)
        check(model_config_set(from, settings[i][0], settings[i][1], &c, &error) != SSM2D_OK);
    check(model_config_set(from, "mixer.d_state", "1", &c, &error) != SSM2D_OK);
    check(model_config_finish(&c, &error) != SSM2D_OK);
    check(weights_create(context, &c, &w, &error) != SSM2D_OK);
    float *params = mem_alloc(context, w->total * sizeof *params);
    check(!params || weights_init(w, PARAM_ALL, 1, params, &error) != SSM2D_OK);
    const char *path = seed_path("weights", number);
    check(weights_save(w, path, params, &error) != SSM2D_OK);
    check(file_read(context, path, 1 << 20, &bytes, &size, &error) != SSM2D_OK);
    uint8_t *seed = mem_alloc(context, size + 2);
    check(!seed);
    seed[0] = 1;
    seed[1] = (uint8_t)(number % 2);
    memcpy(seed + 2, bytes, size);
    seed_put("weights", number, seed, size + 2);
    mem_free(context, seed);
    mem_free(context, bytes);
    mem_free(context, params);
    weights_destroy(w);
}

static void seed_weights(void)
{
    static const char *const grids[] = {"2x2", "1x4", "4x1", "", "2x3"};
    for (int i = 0; i < 20; i++) {
        uint8_t seed[64] = {(uint8_t)(i % 8 << 1), (uint8_t)i};
        size_t used = 2;
        fuzz_add_part(seed, &used, grids[i % 5], strlen(grids[i % 5]));
        const uint8_t changes[] = {1, 1, (uint8_t)(i + 1), (uint8_t)i, 9, (uint8_t)i};
        memcpy(seed + used, changes, sizeof changes);
        seed_put("weights", i, seed, used + sizeof changes * (i % 3 != 0));
    }
    seed_file_of_weights(20);
    seed_file_of_weights(21);
}

void seed_runs(void)
{
    seed_settings();
    seed_metrics();
    seed_checkpoint();
    seed_weights();
}
