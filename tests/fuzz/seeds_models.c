/* seeds_models - the files of a run of each family's smallest model, as fuzz_model.c takes them
 * apart, good ones and some that do not fit together. */
#include "seeds.h"

#include "core/context.h"
#include "fuzz_input.h"
#include "inference/model_file.h"
#include "io/file.h"
#include "io/json.h"
#include "models/weights.h"

#include <string.h>

enum { FAMILIES = 3, EACH = 10, MAX_TEXT = 4096 };

static const char train[] =
    "{\"loss\": \"cross-entropy\", \"eval_crop\": 0.875, \"interpolation\": \"bicubic\"}";
static const char data[] = "{\"classes\": [\"a\", \"b\"], \"channels\": 1, \"images\": 3, "
                           "\"mean\": [0.5, 0.5, 0.5], \"std\": [0.2, 0.2, 0.2]}";

/* KEY=VALUE, in order */
static const char *const settings[FAMILIES][16] = {
    {"model=vit-mini", "image=4x4", "channels=1", "classes=2", "patch=2", "dim=4", "depth=1",
     "heads=1", "mixer=ssm2d", "mixer.d_state=1"},
    {"model=swin", "image=8x8", "channels=1", "classes=2", "patch=2", "dim=4", "depth=1,1",
     "heads=1", "window=2", "mixer=ssm2d", "mixer.d_state=1"},
    {"model=mega", "image=4x4", "channels=1", "classes=2", "patch=2", "dim=4", "depth=1", "z=2",
     "v=4", "ffn=4", "mixer=ssm2d", "mixer.d_state=1"}};

static model_config config_of(int family)
{
    const field_source from = {.where = "seeds"};
    model_config c;
    for (int i = 0; settings[family][i]; i++) {
        const char *value = strchr(settings[family][i], '=');
        char key[48];
        snprintf(key, sizeof key, "%.*s", (int)(value - settings[family][i]), settings[family][i]);
        check(model_config_set(from, key, value + 1, &c, &error) != SSM2D_OK);
    }
    check(model_config_finish(&c, &error) != SSM2D_OK);
    return c;
}

/* The weights' file, to be freed with mem_free. */
static char *weights_of(const model_config *c, size_t *size)
{
    weights *w;
    char *bytes;
    check(weights_create(context, c, &w, &error) != SSM2D_OK);
    float *params = mem_alloc(context, w->total * sizeof *params);
    check(!params || weights_init(w, PARAM_ALL, 1, params, &error) != SSM2D_OK);
    const char *path = seed_path("model", 0);
    check(weights_save(w, path, params, &error) != SSM2D_OK);
    check(file_read(context, path, 1 << 20, &bytes, size, &error) != SSM2D_OK);
    mem_free(context, params);
    weights_destroy(w);
    return bytes;
}

/* The configuration as text, with one change or none. */
static void changed(const char *text, int which, char out[MAX_TEXT])
{
    static const char *const changes[][2] = {{"\"patch\":\t2", "\"patch\":\t1"},
                                             {"\"classes\":\t2", "\"classes\":\t20000000"},
                                             {"\"heads\"", "\"haeds\""},
                                             {"\"ssm2d\"", "\"s4nd\""}};
    const char *old = which ? changes[which - 1][0] : "", *at = strstr(text, old);
    if (!which || !at)
        snprintf(out, MAX_TEXT, "%s", text);
    else
        snprintf(out, MAX_TEXT, "%.*s%s%s", (int)(at - text), text, changes[which - 1][1],
                 at + strlen(old));
}

/* Model files of every type, of weights in a file. */
static void seed_files(int family, const model_config *c, const char *file)
{
    static const element_type types[] = {ELEMENT_REAL, ELEMENT_BFLOAT16};
    enum { TYPES = sizeof types / sizeof *types };
    ssm2d_model *m;
    cJSON *root;
    check(model_open_weights(context, "seeds", c, file, NULL, NULL, &m, &error) != SSM2D_OK);
    check(json_parse("seeds", data, sizeof data - 1, &root, &error) != SSM2D_OK);
    check(run_data_from_json(context, "seeds", root, &m->data, &error) != SSM2D_OK);
    cJSON_Delete(root);
    m->is_run = 1;
    m->augment = augment_options_default();
    for (int i = 0; i < TYPES; i++) {
        const int number = (FAMILIES + 1) * EACH + TYPES * family + i;
        char *bytes;
        size_t size;
        const char *path = seed_path("model", number);
        check(model_file_write(m, path, types[i], NULL, "a card", &error) != SSM2D_OK);
        check(file_read(context, path, 1 << 20, &bytes, &size, &error) != SSM2D_OK);
        uint8_t *seed = mem_alloc(context, size + 1);
        check(!seed);
        seed[0] = (uint8_t)(8 | (i ? 8 << 4 : 0));
        memcpy(seed + 1, bytes, size);
        seed_put("model", number, seed, size + 1);
        mem_free(context, seed);
        mem_free(context, bytes);
    }
    ssm2d_model_close(m);
}

static void seed_family(int family)
{
    static const uint8_t sizes[] = {0, 8, 4, 12}; /* of images */
    const model_config c = config_of(family);
    cJSON *root = model_config_to_json(&c);
    char *text = root ? cJSON_Print(root) : NULL, config[MAX_TEXT];
    size_t size;
    check(!text);
    char *bytes = weights_of(&c, &size);
    uint8_t *seed = mem_alloc(context, size + 2 * MAX_TEXT);
    check(!seed);
    for (int i = 0; i < EACH; i++) {
        size_t used = 1;
        changed(text, i < 6 ? 0 : i - 5, config);
        seed[0] = (uint8_t)(i % 6 | sizes[i % 4] << 4);
        fuzz_add_part(seed, &used, train, sizeof train - 1);
        fuzz_add_part(seed, &used, config, strlen(config));
        fuzz_add_part(seed, &used, data, sizeof data - 1);
        memcpy(seed + used, bytes, size);
        seed_put("model", EACH * family + i, seed, used + size);
    }
    const char *path = seed_path("model", FAMILIES * EACH);
    seed_put("model", FAMILIES * EACH, bytes, size);
    char file[4096];
    snprintf(file, sizeof file, "%s", path);
    seed_files(family, &c, file);
    mem_free(context, seed);
    mem_free(context, bytes);
    cJSON_free(text);
    cJSON_Delete(root);
}

void seed_models(void)
{
    for (int family = 0; family < FAMILIES; family++) seed_family(family);
}
