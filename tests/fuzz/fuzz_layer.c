/* fuzz_layer - any text as the settings of a layer, or as wisdom. What is taken can be written, and
 * is taken again as the same.
 *
 * Input: which kind, or wisdom; the text. */
#define SSM2D_EXPERIMENTAL
#include "fuzz.h"

static void take_settings(const char *kind, const char *text)
{
    ssm2d_layer *layer, *again;
    ssm2d_error error = {{0}};
    char words[2][1024];
    const ssm2d_status status = ssm2d_layer_create(fuzz_context(), kind, text, &layer, &error);
    if (status) {
        REQUIRE(!layer);
        fuzz_check_refusal(status, &error, "");
        return;
    }
    REQUIRE(ssm2d_layer_param_count(layer) > 0 && ssm2d_layer_channels(layer) > 0);
    REQUIRE(ssm2d_layer_settings(layer, words[0], sizeof words[0]) < (int)sizeof words[0]);
    fuzz_no_failure();
    REQUIRE(!ssm2d_layer_create(fuzz_context(), kind, words[0], &again, &error));
    ssm2d_layer_settings(again, words[1], sizeof words[1]);
    REQUIRE(!strcmp(words[0], words[1]));
    ssm2d_layer_destroy(layer);
    ssm2d_layer_destroy(again);
}

static void take_wisdom(const char *text)
{
    const ssm2d_context_options options = {
        .size = sizeof options, .threads = 1, .allocate = fuzz_allocate, .release = fuzz_release};
    ssm2d_context *context;
    ssm2d_error error = {{0}};
    const unsigned countdown = fuzz_countdown;
    fuzz_no_failure();
    REQUIRE(!ssm2d_context_create(&options, &context, NULL));
    fuzz_countdown = countdown;
    const ssm2d_status status = ssm2d_wisdom_import(context, text, &error);
    fuzz_no_failure();
    if (status) {
        fuzz_check_refusal(status, &error, "line ");
    } else {
        const size_t length = ssm2d_wisdom_export(context, NULL, 0);
        char *out = malloc(length + 1), *again = malloc(length + 1);
        REQUIRE(ssm2d_wisdom_export(context, out, length + 1) == length && strlen(out) == length);
        REQUIRE(!ssm2d_wisdom_import(context, out, &error));
        REQUIRE(ssm2d_wisdom_export(context, again, length + 1) == length);
        REQUIRE(!strcmp(out, again));
        free(out), free(again);
    }
    ssm2d_context_destroy(context);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const char *kind = ssm2d_kind_name((int)(fuzz_byte(&in) % 5));
    char *text = malloc(in.left + 1);
    memcpy(text, in.at, in.left);
    text[in.left] = 0;
    if (kind)
        take_settings(kind, text);
    else
        take_wisdom(text);
    free(text);
}
