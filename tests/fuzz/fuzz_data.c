/* fuzz_data - any bytes as data.json of a run: refused with a line, or in bounds, and the same
 * after being written and read again. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "train/run_folder.h"

#include <math.h>

static void check_data(const run_data *data)
{
    REQUIRE(data->outputs >= 1 && data->task && data->images >= 0);
    REQUIRE(data->channels == 1 || data->channels == 3);
    for (int i = 0; i < 3; i++) {
        REQUIRE(isfinite(data->norm.mean[i]) && isfinite(data->norm.std[i]));
        REQUIRE(data->norm.std[i] > 0);
    }
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    run_data one, two;
    ssm2d_error error = {{0}};
    const char *path = fuzz_put("data.json", data, size);
    ssm2d_status status = run_data_read(fuzz_context(), fuzz_folder(), &one, &error);
    if (status) {
        REQUIRE(!one.names && !one.outputs);
        fuzz_check_refusal(status, &error, path);
        return;
    }
    check_data(&one);
    fuzz_no_failure();
    if (!one.names) { /* both tasks that there are write names */
        run_data_free(fuzz_context(), &one);
        return;
    }
    const dataset_info info = {.count = (size_t)one.images,
                               .labels = one.task == &task_attributes ? LABEL_BINARY : LABEL_CLASS,
                               .label_count = one.outputs,
                               .label_names = one.names,
                               .label_ids = one.ids,
                               .channels = one.channels};
    char *text = run_data_text(one.task, &info, &one.norm);
    REQUIRE(text);
    fuzz_put("data.json", text, strlen(text));
    REQUIRE(!run_data_read(fuzz_context(), fuzz_folder(), &two, &error));
    REQUIRE(!run_data_matches(&two, &info, &error));
    REQUIRE(one.ids || !two.ids); /* those that are not UTF-8 are not written */
    REQUIRE(!memcmp(&one.norm, &two.norm, sizeof one.norm) && one.images == two.images);
    cJSON_free(text);
    run_data_free(fuzz_context(), &one);
    run_data_free(fuzz_context(), &two);
}
