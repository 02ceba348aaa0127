/* fuzz_settings - any bytes as train.json (or --config), as config.json of a model, and as
 * KEY=VALUE lines of --set. Settings that are taken are the same after being written and read
 * again; made to fit data, they are refused or give a model whose list of weights can be made.
 *
 * Input: text; JSON when it begins with a brace. */
#include "fuzz.h"

#include "io/json.h"
#include "models/weights.h"
#include "train/settings.h"

enum { MAX_DEPTH = 8 };

/* The settings as JSON give the same settings, read on top of the default ones. */
static void check_round_trip(const train_settings *s)
{
    train_settings again;
    ssm2d_error error;
    cJSON *root = train_settings_to_json(s), *parsed;
    REQUIRE(root);
    char *text = cJSON_Print(root);
    REQUIRE(text && !json_parse("b.json", text, strlen(text), &parsed, &error));
    REQUIRE(!train_settings_default(&again, &error));
    const int open = !s->model.image[0] || !s->model.channels || !s->model.outputs;
    ssm2d_status status = train_settings_from_json(&again, "b.json", parsed, &error);
    /* settings that are still open are written as 0, which is not a valid value */
    int same = 0;
    REQUIRE(status || !train_settings_same(s, &again, &same, &error));
    REQUIRE(status ? open : !open && same);
    cJSON_Delete(parsed);
    cJSON_Delete(root);
    cJSON_free(text);
}

static void check_model(const train_settings *s)
{
    static const char *const families[] = {"patch", "dim", "depth", "heads", NULL};
    char text[32];
    weights *w;
    ssm2d_error error = {{0}};
    for (int i = 0; families[i]; i++)
        REQUIRE(atoi(model_config_text(&s->model, families[i], text, sizeof text)) > 0);
    if (atoi(model_config_text(&s->model, "depth", text, sizeof text)) > MAX_DEPTH) return;
    ssm2d_status status = weights_create(fuzz_context(), &s->model, &w, &error);
    if (status) {
        REQUIRE(!w);
        fuzz_check_refusal(status, &error, "");
        return;
    }
    size_t total = 0;
    for (int i = 0; i < w->count; i++) {
        REQUIRE(w->arrays[i].offset == total && w->arrays[i].count);
        total += w->arrays[i].count;
    }
    REQUIRE(total == w->total);
    weights_destroy(w);
}

static void check_settings(const train_settings *given)
{
    static const dataset_info data[] = {
        {.count = 10, .label_count = 10, .channels = 1, .rows = 28, .cols = 28},
        {.count = 1, .label_count = 2, .channels = 3, .labels = LABEL_BINARY}};
    ssm2d_error error = {{0}};
    check_round_trip(given);
    for (int i = 0; i < 2; i++) {
        train_settings s = *given;
        dataset_info info = data[i];
        if (s.model.outputs) info.label_count = s.model.outputs;
        ssm2d_status status = train_settings_fit(&s, &info, &error);
        if (status) {
            fuzz_check_refusal(status, &error, "");
            continue;
        }
        check_round_trip(&s);
        check_model(&s);
    }
}

static void read_json(const char *text, size_t size)
{
    cJSON *root;
    train_settings s, before;
    model_config m = {0};
    ssm2d_error error = {{0}};
    ssm2d_status status = json_parse("a.json", text, size, &root, &error);
    if (status) {
        fuzz_check_refusal(status, &error, "a.json: ");
        return;
    }
    REQUIRE(!train_settings_default(&s, &error));
    before = s;
    status = train_settings_from_json(&s, "a.json", root, &error);
    if (status) {
        fuzz_check_refusal(status, &error, "a.json: ");
        REQUIRE(!memcmp(&s, &before, sizeof s));
    } else
        check_settings(&s);
    status = model_config_from_json("a.json", root, NULL, &m, &error);
    if (status) {
        fuzz_check_refusal(status, &error, "a.json: ");
        REQUIRE(!m.model);
    } else if ((status = model_config_finish(&m, &error)))
        fuzz_check_refusal(status, &error, "");
    cJSON_Delete(root);
}

/* Lines of KEY=VALUE, each on top of those before. */
static void set_lines(char *text)
{
    train_settings s;
    ssm2d_error error = {{0}};
    char *rest;
    REQUIRE(!train_settings_default(&s, &error));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, '=');
        if (!value) continue;
        *value++ = 0;
        train_settings before = s;
        ssm2d_status status = train_settings_set(&s, "--set", line, value, &error);
        if (!status) continue;
        fuzz_check_refusal(status, &error, "--set: ");
        REQUIRE(!memcmp(&s, &before, sizeof s));
    }
    check_settings(&s);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    if (size && data[0] == '{')
        read_json(text, size);
    else
        set_lines(text);
    free(text);
}
