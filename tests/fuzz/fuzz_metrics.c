/* fuzz_metrics - any bytes as metrics.jsonl of a run that is taken up. Lines that are kept are kept
 * again when the file is read once more, and everything can be drawn.
 *
 * Input: a byte (bits 0 and 1: the step to go on from; bits 2 and 3: the epochs; bit 4: the curves
 * are drawn), and the file. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "train/metrics.h"

#include <limits.h>

static void fuzz_one(const uint8_t *data, size_t size)
{
    static const long steps[] = {1, 50, 1000000, LONG_MAX}, epochs[] = {0, 1, 100, LONG_MAX};
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in);
    const long step = steps[flags & 3], epoch = epochs[flags >> 2 & 3];
    const char *path = fuzz_put("metrics.jsonl", in.at, in.left);
    const metric line = {.step = step, .epoch = 1, .loss = 2, .lr = 0.1, .norm = 3};
    metrics *m;
    size_t one_size, two_size;
    ssm2d_error error = {{0}};
    ssm2d_status status =
        metrics_open(fuzz_context(), path, &task_classification, step, epoch, &m, &error);
    if (status) {
        REQUIRE(!m);
        fuzz_check_refusal(status, &error, path);
        return;
    }
    char *one = fuzz_get("metrics.jsonl", &one_size);
    REQUIRE(one_size <= in.left && (!one_size || one[one_size - 1] == '\n'));
    fuzz_no_failure();
    REQUIRE(!metrics_add(m, &line, &error));
    if (flags & 16) REQUIRE(!metrics_draw(m, fuzz_path("curves.svg"), "a", NULL, 2, &error));
    metrics_close(m);

    fuzz_put("metrics.jsonl", one, one_size);
    REQUIRE(!metrics_open(fuzz_context(), fuzz_path("metrics.jsonl"), &task_classification, step,
                          epoch, &m, &error));
    metrics_close(m);
    char *two = fuzz_get("metrics.jsonl", &two_size);
    REQUIRE(one_size == two_size && !memcmp(one, two, one_size));
    free(one);
    free(two);
}
