#include "case_file.h"

#include "io/json.h"
#include "mixers/layer_json.h"

#include <stdio.h>
#include <string.h>

case_file case_file_read(const char *folder)
{
    static const char *const others[] = {"kind", "name", "seed",   "batch",
                                         "L1",   "L2",   "arrays", NULL};
    char path[512];
    const char *kind;
    cJSON *root;
    ssm2d_error error;
    ssm2d_layer layer = layer_file_default(&layer_ssm2d);
    case_file f = {.batch = 0};
    ssm2d_context *context = context_of(1);
    snprintf(path, sizeof path, GOLDEN "/%s/case.json", folder);
    if (json_read(context, path, &root, &error)
        || json_get_string(path, root, "kind", JSON_REQUIRED, &kind, &error))
        fail_msg("%s", error.line);
    snprintf(f.kind, sizeof f.kind, "%s", kind);
    if (strcmp(kind, "ssm2d") == 0
        && (layer_from_json(path, root, others, &layer, &error)
            || json_get_int(path, root, "batch", JSON_REQUIRED, 1, 1 << 20, &f.batch, &error)
            || json_get_int(path, root, "L1", JSON_REQUIRED, 1, 1 << 20, &f.rows, &error)
            || json_get_int(path, root, "L2", JSON_REQUIRED, 1, 1 << 20, &f.cols, &error)))
        fail_msg("%s", error.line);
    f.config = *ssm2d_config_of(&layer.values);
    f.arrays = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "arrays"));
    cJSON_Delete(root);
    ssm2d_context_destroy(context);
    return f;
}
