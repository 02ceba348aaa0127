/* fuzz_json - any bytes as JSON, and as a layer configuration. */
#include "fuzz.h"

#include "io/json.h"
#include "mixers/layer_json.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    static const char *const others[] = {"kind", "name", "batch", "L1", "L2", "arrays", NULL};
    cJSON *root;
    ssm2d_error error = {{0}};
    ssm2d_status status = json_parse("a.json", (const char *)data, size, &root, &error);
    if (status) {
        REQUIRE(!root);
        fuzz_check_refusal(status, &error, "a.json: ");
        return;
    }
    ssm2d_layer layer = layer_file_default(&layer_ssm2d);
    layer_set_channels(&layer, 1);
    const ssm2d_layer before = layer;
    if ((status = layer_from_json("a.json", root, others, &layer, &error))) {
        fuzz_check_refusal(status, &error, "a.json: ");
        REQUIRE(!memcmp(&layer, &before, sizeof layer));
    } else
        REQUIRE(!layer_check(&layer, &error)); /* what is accepted is within the bounds */
    const char *text = NULL;
    int number = 0;
    status = json_get_int("a.json", root, "batch", JSON_REQUIRED, 1, 1000, &number, &error);
    if (status) fuzz_check_refusal(status, &error, "a.json: ");
    status = json_get_string("a.json", root, "kind", JSON_OPTIONAL, &text, &error);
    if (status) fuzz_check_refusal(status, &error, "a.json: ");
    cJSON_Delete(root);
}
