/* fuzz_checkpoint - any bytes as last.safetensors: refused with a line, or every value is within
 * bounds, and the same after being written and read again. Built without the check sums. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "train/checkpoint.h"

#include <math.h>

enum { COUNT = 3 };

typedef struct arrays {
    float weights[COUNT], moment1[COUNT], moment2[COUNT], average[COUNT];
} arrays;

static train_state state_in(arrays *a, int average)
{
    return (train_state){.count = COUNT,
                         .arrays = {.optimizer = optimizer_at(0),
                                    .weights = a->weights,
                                    .optimizer_arrays = {a->moment1, a->moment2},
                                    .average = average ? a->average : NULL}};
}

static ssm2d_status load(const char *path, train_state *s, int check, ssm2d_error *error)
{
    checkpoint *c;
    train_identity who = {0};
    ssm2d_status status = checkpoint_open(fuzz_context(), path, &c, &who, error);
    if (status) {
        REQUIRE(!c);
        return status;
    }
    REQUIRE(who.options && who.model && who.data);
    status = checkpoint_read(c, s, error);
    if (!status && check) {
        fuzz_no_failure();
        REQUIRE(!checkpoint_write(fuzz_context(), fuzz_path("again"), s, &who, error));
    }
    checkpoint_close(c);
    return status;
}

static void check_state(const train_state *s)
{
    const long whole[] = {s->step, s->epochs, s->images, s->score_sum, s->log_steps, s->best_epoch};
    const double real[] = {s->loss_sum, s->log_sum, s->best, s->seconds};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) REQUIRE(whole[i] >= 0);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        REQUIRE(isfinite(real[i]) && real[i] >= 0);
    for (int i = 0; i < COUNT; i++)
        REQUIRE(isfinite(s->arrays.weights[i]) && isfinite(s->arrays.optimizer_arrays[0][i])
                && isfinite(s->arrays.optimizer_arrays[1][i]));
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    ssm2d_error error = {{0}};
    const char *path = fuzz_put("last.safetensors", data, size);
    for (int average = 0; average < 2; average++) {
        arrays one = {{0}}, two = {{0}};
        train_state s = state_in(&one, average), again = state_in(&two, average);
        ssm2d_status status = load(path, &s, 1, &error);
        if (status) {
            fuzz_check_refusal(status, &error, path);
            continue;
        }
        check_state(&s);
        REQUIRE(!load(fuzz_path("again"), &again, 0, &error));
        REQUIRE(!memcmp(&one, &two, sizeof one));
        again.arrays = s.arrays;
        REQUIRE(!memcmp(&s, &again, sizeof s));
    }
}
