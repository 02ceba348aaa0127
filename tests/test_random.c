/* Random numbers are the same bits on every machine, compiler and instruction set: stored hashes of
 * initial parameters. Those of floats are older than the library's own log, sine and cosine, and
 * show that seeds still give the same values as with the C library's. */
#include "problem.h"

#include "core/hash.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>

static ssm2d_config config_of(ssm2d_values values)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = 200;
    c.values = values;
    c.c_per_channel = 1;
    c.directions = 4;
    c.n_ssm = 8;
    c.layer_norm = 1;
    return c;
}

static uint64_t hash_of(ssm2d_values values, layer_init init, ssm2d_type type)
{
    const ssm2d_config c = config_of(values);
    const size_t total = param_total(&c);
    const size_t size = type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
    void *params = malloc(total * size);
    uint64_t hash = HASH_START;
    assert_non_null(params);
    for (uint64_t seed = 0; seed < 5; seed++) {
        assert_int_equal(params_init(&c, init, seed * seed, type, params, NULL), SSM2D_OK);
        hash_add(&hash, params, total * size);
    }
    free(params);
    return hash;
}

static void initial_parameters_have_known_hashes(void **state)
{
    (void)state;
    static const uint64_t want[3][2][2] = {
        {{0xa2941c1d5d4e343c, 0xaf4fb58f6615e1f4}, {0xfffd2c19b62a77f0, 0x3c5a8c081ce0bd5f}},
        {{0x6eb92163b5994ea7, 0x1b224e9884cb4739}, {0xd633bde1baf2f7a4, 0xa0274f7242fe87cc}},
        {{0xd7fde107eda8b3aa, 0x4f54dbfb2a801bfd}, {0xd633bde1baf2f7a4, 0xa0274f7242fe87cc}}};
    for (int values = 0; values < 3; values++)
        for (int init = 0; init < 2; init++)
            for (int type = 0; type < 2; type++) {
                uint64_t got = hash_of((ssm2d_values)values, (layer_init)init, (ssm2d_type)type);
                if (got != want[values][init][type])
                    fail_msg("values %d, init %d, %s: hash 0x%016llx, not 0x%016llx", values, init,
                             type_names[type], (unsigned long long)got,
                             (unsigned long long)want[values][init][type]);
            }
}

/* The uniform draws behind the normals, transformed with the C library, which is accurate to one
 * unit. */
static void normals_are_box_muller(void **state)
{
    (void)state;
    rng r = rng_seed(7), s = r;
    double sum = 0, squares = 0;
    enum { COUNT = 200000 };
    for (int i = 0; i < COUNT; i += 2) {
        const double radius = sqrt(-2 * log(1 - rng_uniform(&s, 0, 1)));
        const double angle = 6.283185307179586 * rng_uniform(&s, 0, 1);
        const double x = rng_normal(&r), y = rng_normal(&r);
        assert_true(fabs(x - radius * cos(angle)) <= 1e-15 * radius);
        assert_true(fabs(y - radius * sin(angle)) <= 1e-15 * radius);
        sum += x + y;
        squares += x * x + y * y;
    }
    assert_true(fabs(sum / COUNT) < 0.01 && fabs(squares / COUNT - 1) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(initial_parameters_have_known_hashes),
                                       cmocka_unit_test(normals_are_box_muller)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
