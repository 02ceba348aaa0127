/* Configurations of models: reading, writing back, and refusals. */
#define _GNU_SOURCE /* mkstemp */
#include "core/context.h"
#include "io/json.h"
#include "layers/ssm2d/ssm2d_config.h"
#include "model_case.h"
#include "models/mega.h"
#include "models/swin.h"
#include "models/vit.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static ssm2d_status parse(const char *text, model_config *c, ssm2d_error *error)
{
    cJSON *root;
    memset(c, 0, sizeof *c);
    if (json_parse("m.json", text, strlen(text), &root, error))
        fail_msg("%s: %s", text, error->line);
    ssm2d_status status = model_config_from_json("m.json", root, NULL, c, error);
    cJSON_Delete(root);
    return status ? status : model_config_finish(c, error);
}

static model_config parsed(const char *text)
{
    model_config c;
    ssm2d_error error;
    if (parse(text, &c, &error)) fail_msg("%s: %s", text, error.line);
    return c;
}

static void assert_refused(const char *text, ssm2d_status status, const char *part)
{
    model_config c;
    ssm2d_error error = {""};
    ssm2d_status got = parse(text, &c, &error);
    if (got != status || !strstr(error.line, part))
        fail_msg("%s gives %d, \"%s\", not \"%s\"", text, (int)got, error.line, part);
}

/* A file without the newer keys keeps its meaning; a name means the current model. */
static void test_missing_keys_keep_their_old_defaults(void **state)
{
    (void)state;
    ssm2d_error error;
    model_config c = parsed("{\"model\": \"mega-lra\"}");
    assert_int_equal(mega_of(&c)->head, MEGA_PROJECTION);
    c = parsed("{\"model\": \"mega-lra\", \"head\": \"lra\"}");
    assert_int_equal(mega_of(&c)->head, MEGA_LRA);
    if (model_config_named("mega-lra", &c, &error)) fail_msg("%s", error.line);
    assert_int_equal(mega_of(&c)->head, MEGA_LRA);
    c = parsed("{\"model\": \"swin\"}");
    assert_int_equal(swin_of(&c)->init, SWIN_TRUNC_NORMAL);
    assert_int_equal(swin_of(&c)->relative_bias, 1);
    c = parsed("{\"model\": \"mega\"}");
    assert_int_equal(mega_of(&c)->init, MEGA_NORMAL);
    assert_int_equal(mega_of(&c)->head, MEGA_PROJECTION);
}

static void test_presets_have_published_values(void **state)
{
    (void)state;
    model_config c = parsed("{\"model\": \"vit\"}");
    assert_int_equal(vit_of(&c)->patch, 4);
    assert_int_equal(vit_of(&c)->depth, 9);
    assert_int_equal(vit_of(&c)->heads, 12);
    assert_int_equal(vit_of(&c)->qkv_bias, 0);
    assert_ptr_equal(c.mixer.kind, &mixer_none);
    assert_true(vit_of(&c)->mlp_ratio == 2 && vit_of(&c)->norm_eps == 1e-5
                && vit_of(&c)->drop_path == 0);
    c = parsed("{\"model\": \"vit\", \"image\": 64}");
    assert_int_equal(vit_of(&c)->patch, 8);
    assert_int_equal(c.image[1], 64);
    /* model is applied first, wherever it stands */
    c = parsed("{\"patch\": 2, \"image\": [64, 32], \"model\": \"vit\"}");
    assert_int_equal(vit_of(&c)->patch, 2);
    assert_int_equal(c.image[0], 64);
    assert_int_equal(c.image[1], 32);
    /* values are rounded to those that files can hold */
    c = parsed("{\"model\": \"vit\", \"norm_eps\": 0.00030000000000000003}");
    assert_true(vit_of(&c)->norm_eps == 0.0003);
    c = parsed("{\"model\": \"vit\", \"norm_eps\": 0.016666666666666666}");
    assert_true(vit_of(&c)->norm_eps == 1.0 / 60);
    c = parsed("{\"model\": \"vit-mini\"}");
    assert_int_equal(vit_of(&c)->dim, 96);
    assert_int_equal(vit_of(&c)->depth, 4);
    assert_int_equal(vit_of(&c)->heads, 4);
    c = parsed("{\"model\": \"deit-s\", \"mixer\": \"ssm2d\"}");
    assert_int_equal(vit_of(&c)->dim, 384);
    assert_int_equal(vit_of(&c)->patch, 16);
    assert_int_equal(vit_of(&c)->qkv_bias, 1);
    assert_true(vit_of(&c)->norm_eps == 1e-6 && vit_of(&c)->mlp_ratio == 4);
    assert_ptr_equal(c.mixer.kind, &layer_ssm2d);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->directions
                         * ssm2d_config_of(&c.mixer.values)->n_ssm
                         * ssm2d_config_of(&c.mixer.values)->d_state,
                     32);
}

static void test_mixer_keys_are_read(void **state)
{
    (void)state;
    model_config c = parsed(
        "{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"place\": \"ffn\", \"init\": "
        "\"authors\", \"complex\": true,"
        " \"complex_form\": \"cartesian\", \"normalize\": true, \"average\": true, \"n_ssm\": 3}}");
    assert_int_equal(c.mixer.place, PLACE_FFN);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->init, LAYER_INIT_AUTHORS);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->values, SSM2D_CARTESIAN);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->layer_norm, 1);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->average, 1);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->n_ssm, 3);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->directions, 4);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->skip, 1);
    c = parsed("{\"model\": \"vit\", \"mixer\": null}");
    assert_ptr_equal(c.mixer.kind, &mixer_none);
    c = parsed("{\"model\": \"vit\", \"mixer\": {\"kind\": \"none\"}}");
    assert_ptr_equal(c.mixer.kind, &mixer_none);
}

/* Lists have a value for each stage; dim and heads may be given for the first stage only. */
static void test_lists_have_a_value_per_stage(void **state)
{
    (void)state;
    model_config c = parsed("{\"model\": \"swin\"}");
    const swin_config *v = swin_of(&c);
    assert_int_equal(v->patch, 2);
    assert_int_equal(v->dim.count, 3);
    assert_int_equal(v->dim.at[2], 384);
    assert_int_equal(v->depth.at[1], 6);
    assert_int_equal(v->heads.at[2], 12);
    assert_int_equal(v->window, 4);
    assert_true(v->pos_embed && v->patch_norm && v->qkv_bias && v->mlp_ratio == 2);
    c = parsed("{\"model\": \"swin\", \"image\": 64, \"dim\": 12, \"heads\": [3],"
               " \"depth\": [1, 2, 3, 4]}");
    assert_int_equal(v->patch, 4);
    assert_int_equal(v->dim.count, 4);
    assert_int_equal(v->dim.at[3], 96);
    assert_int_equal(v->heads.at[3], 24);
    c = parsed("{\"model\": \"swin-t\"}");
    assert_int_equal(v->dim.at[3], 768);
    assert_int_equal(v->window, 7);
    assert_true(!v->pos_embed && v->patch_norm && v->mlp_ratio == 4 && v->norm_eps == 1e-5);

    static const char *const bad[][2] = {
        {"\"dim\": [96, 192]", "\"depth\" has 3 stages, \"dim\" 2 and \"heads\" 3: give all"},
        {"\"depth\": 2", "\"depth\" has 1 stages, \"dim\" 3"},
        {"\"dim\": [96, 200, 384]", "\"dim\" is 200 in stage 1: it must be 192, twice"},
        {"\"heads\": [3, 7, 12]", "\"heads\" is 7 in stage 1: it must divide \"dim\""},
        {"\"dim\": 16384", "\"dim\" 1"},
        {"\"depth\": []", "use a list of 1 to 8 whole numbers, each from 1"},
        {"\"depth\": [2, 0, 2]", "\"depth\" is a list: use a list of 1 to 8"},
        {"\"depth\": [1, 1, 1, 1, 1, 1, 1, 1, 1]", "\"depth\" is"},
        {"\"depth\": \"2,6,4\"", "\"depth\" is \"2,6,4\": use a list"},
        {"\"window\": 0", "\"window\" is 0: use a whole number from 1"},
        {"\"patch\": 3", "\"patch\" is 3: images of 32 x 32 cannot be cut"},
        {"\"mlp_ratio\": 0.01", "\"mlp_ratio\" is 0.01: too small for \"dim\" 96"},
        {"\"init\": \"xavier\"", "\"init\" is \"xavier\": use trunc_normal or torch"},
        {"\"windw\": 4", "did you mean \"window\"?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"model\": \"swin\", %s}", bad[i][0]);
        assert_refused(text, SSM2D_ERROR_ARGUMENT, bad[i][1]);
    }
}

/* A mixer given by its name has the model's own settings; an object without `assign` keeps the
 * meaning it had before that key existed. */
static void test_missing_assign_keeps_its_old_default(void **state)
{
    (void)state;
    model_config c = parsed("{\"model\": \"vit\", \"mixer\": \"ssm2d\"}");
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->assign, SSM2D_ASSIGN_DISTINCT);
    c = parsed("{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"n_ssm\": 3}}");
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->assign, SSM2D_ASSIGN_AUTHORS);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->directions, 4);
    c = parsed("{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", "
               "\"assign\": \"distinct\"}}");
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->assign, SSM2D_ASSIGN_DISTINCT);
}

static void test_bad_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"dim\": 96}", "m.json: \"model\" is missing"},
        {"[1]", "m.json: the configuration is a list"},
        {"{\"model\": 3}", "m.json: \"model\" is 3"},
        {"{\"model\": \"vti\"}", "m.json: there is no model \"vti\": did you mean \"vit\"?"},
        {"{\"model\": \"resnet-50\"}", "use vit-mini, vit, deit-t"},
        {"{\"model\": \"vit\", \"detph\": 3}",
         "m.json: \"detph\" is not a known key: did you mean \"depth\"?"},
        {"{\"model\": \"vit\", \"window\": 4}", "\"window\" is not a known key"},
        {"{\"model\": \"vit\", \"dim\": 0}", "m.json: \"dim\" is 0: use a whole number from 1 to"},
        {"{\"model\": \"vit\", \"dim\": [96, 192]}", "\"dim\" is a list: use a whole number"},
        {"{\"model\": \"vit\", \"dim\": 100}",
         "\"heads\" is 12: it must divide \"dim\", which is 100"},
        {"{\"model\": \"vit\", \"depth\": 2.5}", "\"depth\" is 2.5"},
        {"{\"model\": \"vit\", \"depth\": \"two\"}", "\"depth\" is \"two\""},
        {"{\"model\": \"vit\", \"classes\": -1}", "\"classes\" is -1"},
        {"{\"model\": \"vit\", \"image\": [32]}", "\"image\" is a list: use [rows, columns]"},
        {"{\"model\": \"vit\", \"image\": [32, 0]}", "\"image\""},
        {"{\"model\": \"vit\", \"image\": [32, 32, 3]}", "\"image\""},
        {"{\"model\": \"vit\", \"image\": [32, 30]}",
         "\"patch\" is 4: images of 32 x 30 cannot be cut"},
        {"{\"model\": \"vit\", \"patch\": 5}", "\"patch\" is 5: images of 32 x 32"},
        {"{\"model\": \"vit\", \"mlp_ratio\": 0}", "\"mlp_ratio\" is 0"},
        {"{\"model\": \"vit\", \"qkv_bias\": 1}", "\"qkv_bias\" is 1: use true or false"},
        {"{\"model\": \"vit\", \"norm_eps\": 0}", "\"norm_eps\" is 0"},
        {"{\"model\": \"vit\", \"drop_path\": 1}",
         "\"drop_path\" is 1: use a number from 0 to 0.99"},
        {"{\"model\": \"deit\"}", "model deit has no default for \"dim\""},
        {"{\"model\": \"vit\", \"mixer\": \"smm2d\"}",
         "\"mixer\" is \"smm2d\": use none, ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"},
        {"{\"model\": \"vit\", \"mixer\": 5}",
         "\"mixer\" is 5: use none, ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"cnv\"}}",
         "\"mixer.kind\" is \"cnv\": use none, ssm2d, s4nd, ema, conv, "
         "ssm2d_selective, ss2d, mamba2d, scan2d, chimera or roesser"},
        {"{\"model\": \"vit\", \"mixer\": {\"n_ssm\": 2}}",
         "\"mixer\" has settings, but no \"kind\" that has any"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"none\", \"n_ssm\": 2}}",
         "\"mixer\" has settings, but no \"kind\""},
        {"{\"model\": \"vit\", \"mixer\": {}}", "\"mixer\" has settings, but no \"kind\""},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"place\": \"top\"}}",
         "\"mixer.place\" is \"top\": use attn, block or ffn"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"init\": 3}}",
         "\"mixer.init\" is 3: use identity or authors"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"n_sms\": 3}}",
         "\"mixer.n_sms\" is not a known key: did you mean \"mixer.n_ssm\"?"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"directions\": 3}}",
         "\"mixer.directions\" is 3: use 1, 2 or 4"},
        {"{\"model\": \"vit\", \"mixer\": {\"kind\": \"ssm2d\", \"channels\": 3}}",
         "\"channels\" of \"mixer\" follow from the model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, SSM2D_ERROR_ARGUMENT, cases[i].part);
}

/* A refusal changes nothing. */
static void test_refused_values_change_nothing(void **state)
{
    (void)state;
    model_config c, before;
    ssm2d_error error;
    static const char *const good[][2] = {{"dim", "48"},          {"image", "[16, 24]"},
                                          {"mixer", "ssm2d"},     {"mixer.directions", "2"},
                                          {"pos_embed", "false"}, {"mixer.place", "block"},
                                          {"norm_eps", "1e-4"},   {"mixer.values", "polar"}};
    static const char *const bad[][3] = {
        {"dmi", "48", "--set: \"dmi\" is not a known key: did you mean \"dim\"?"},
        {"dim", "many", "--set: \"dim\" is \"many\""},
        {"dim", "", "--set: \"dim\" is \"\""},
        {"dim", "48 49", "\"dim\" is \"48 49\""},
        {"mixer.plaec", "attn", "did you mean \"mixer.place\"?"},
        {"mixer.mixer.place", "attn", "\"mixer.mixer.place\" is not a known key"},
        {"mixer.directions", "3", "--set: \"mixer.directions\" is 3"}};
    assert_int_equal(model_config_named("vit-mini", &c, &error), SSM2D_OK);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (model_config_set((field_source){.where = "--set"}, good[i][0], good[i][1], &c, &error))
            fail_msg("%s: %s", good[i][0], error.line);
    assert_int_equal(vit_of(&c)->dim, 48);
    assert_int_equal(c.image[1], 24);
    assert_int_equal(vit_of(&c)->pos_embed, 0);
    assert_ptr_equal(c.mixer.kind, &layer_ssm2d);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->directions, 2);
    assert_int_equal(ssm2d_config_of(&c.mixer.values)->values, SSM2D_POLAR);
    assert_int_equal(c.mixer.place, PLACE_BLOCK);
    assert_true(vit_of(&c)->norm_eps == 1e-4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(&before, &c, sizeof c);
        assert_int_equal(
            model_config_set((field_source){.where = "--set"}, bad[i][0], bad[i][1], &c, &error),
            SSM2D_ERROR_ARGUMENT);
        if (!strstr(error.line, bad[i][2]))
            fail_msg("\"%s\" does not say \"%s\"", error.line, bad[i][2]);
        assert_memory_equal(&before, &c, sizeof c);
    }
}

/* Every key that is listed can be set to what the written file has for it. */
static void test_every_listed_key_can_be_set(void **state)
{
    (void)state;
    model_config c = parsed("{\"model\": \"vit\", \"mixer\": \"ssm2d\"}");
    cJSON *root = model_config_to_json(&c);
    char key[MODEL_KEY];
    const char *help;
    int count = 0;
    for (; model_config_key(&c, count, key, &help); count++) {
        const char *inner = strncmp(key, "mixer.", 6) ? NULL : key + 6;
        ssm2d_error error;
        assert_non_null(help);
        const cJSON *at = inner ? cJSON_GetObjectItemCaseSensitive(root, "mixer") : root;
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(at, inner ? inner : key);
        if (!item) fail_msg("%s is listed, but not written", key);
        char *printed = cJSON_PrintUnformatted(item);
        const char *text = cJSON_IsString(item) ? item->valuestring : printed;
        if (cJSON_IsObject(item)) text = "ssm2d";
        if (model_config_set((field_source){.where = "--set"}, key, text, &c, &error))
            fail_msg("%s", error.line);
        cJSON_free(printed);
    }
    assert_int_equal(count, 1 + 3 + 12 + 1 + 1 + 1 + 15);
    cJSON_Delete(root);
}

static void test_written_configurations_read_back_unchanged(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"model\": \"vit-mini\", \"image\": [28, 32], \"channels\": 1, \"drop_path\": 0.1}",
        "{\"model\": \"deit-b\", \"classes\": 40, \"mixer\": {\"kind\": \"ssm2d\", \"complex\": "
        "true, \"norm\": \"paper\", "
        "\"pair\": \"columns\"}}",
        "{\"model\": \"vit\", \"image\": 64, \"norm_eps\": 3e-7, \"mixer\": {\"kind\": \"ssm2d\", "
        "\"place\": \"ffn\", "
        "\"init\": \"authors\","
        " \"values\": \"cartesian\", \"trunc\": [3, 4], \"skip\": false, \"normalize\": true, "
        "\"c_per_channel\": true}}"};
    ssm2d_context *context;
    ssm2d_error error;
    char path[] = "/tmp/ssm2d-config-XXXXXX";
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_true(mkstemp(path) >= 0);
    for (int i = 0; i < 3; i++) {
        model_config c = parsed(texts[i]), again;
        memset(&again, 0, sizeof again);
        if (json_write(context, path, model_config_to_json(&c), &error)
            || model_config_read(context, path, &again, &error)
            || model_config_finish(&again, &error))
            fail_msg("%s", error.line);
        assert_memory_equal(&c, &again, sizeof c);
    }
    remove(path);
    model_config c = parsed(texts[0]);
    assert_int_not_equal(
        json_write(context, "/proc/nowhere/config.json", model_config_to_json(&c), &error),
        SSM2D_OK);
    assert_int_not_equal(model_config_read(context, path, &c, &error), SSM2D_OK);
    assert_non_null(strstr(error.line, "ssm2d-config-"));
    ssm2d_context_destroy(context);
}

/* Every folder of tests/golden-models is in the list of cases, or its mixer is refused as
 * unknown. */
static void test_golden_models_are_run_or_refused(void **state)
{
    (void)state;
    ssm2d_context *context;
    ssm2d_error error = {""};
    int run = 0;
    DIR *dir = opendir(GOLDEN_MODELS);
    assert_non_null(dir);
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        model_config c = {0};
        int listed = 0;
        if (strchr(entry->d_name, '.')) continue; /* README.md, . and .. */
        for (int i = 0; i < MODEL_CASES; i++) listed |= !strcmp(model_cases[i], entry->d_name);
        snprintf(path, sizeof path, GOLDEN_MODELS "/%.64s/config.json", entry->d_name);
        ssm2d_status status = model_config_read(context, path, &c, &error);
        run += listed;
        if (listed && status) fail_msg("%s", error.line);
        if (!listed && !status) fail_msg("%s can be run, and is not in model_cases", entry->d_name);
        if (!listed && !strstr(error.line, "\"mixer.kind\" is")) fail_msg("%s", error.line);
    }
    assert_int_equal(run, MODEL_CASES);
    closedir(dir);
    ssm2d_context_destroy(context);
}

/* Whether images fit depends on the patches into which they would be cut: from 64 pixels on those
 * are twice as large. */
static void default_patches_fit_the_image(void **state)
{
    (void)state;
    static const char *const names[] = {"vit", "mega", "swin"};
    for (int i = 0; i < 3; i++) {
        model_config c;
        ssm2d_error why;
        if (model_config_named(names[i], &c, &why)) fail_msg("%s", why.line);
        const model_family *family = c.model->family;
        assert_true(family->fits(&c, 32, 32));
        assert_true(family->fits(&c, 64, 64));
        assert_true(family->fits(&c, 36, 36));
        assert_int_equal(family->fits(&c, 100, 100), i == 2); /* patches of 8, 8 and 4 */
        assert_false(family->fits(&c, 35, 35));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_patches_fit_the_image),
        cmocka_unit_test(test_golden_models_are_run_or_refused),
        cmocka_unit_test(test_presets_have_published_values),
        cmocka_unit_test(test_missing_keys_keep_their_old_defaults),
        cmocka_unit_test(test_lists_have_a_value_per_stage),
        cmocka_unit_test(test_mixer_keys_are_read),
        cmocka_unit_test(test_missing_assign_keeps_its_old_default),
        cmocka_unit_test(test_bad_configurations_are_refused),
        cmocka_unit_test(test_refused_values_change_nothing),
        cmocka_unit_test(test_every_listed_key_can_be_set),
        cmocka_unit_test(test_written_configurations_read_back_unchanged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
