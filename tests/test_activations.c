/* Activations in float, for arguments of any magnitude, against their formulas in double. */
#include "core/context.h"
#include "ops/simd/simd_ops.h"
#include "problem.h"

#include <float.h>
#include <math.h>

static void near_reference(const char *what, double x, float got, double want)
{
    if (!(fabs((double)got - want) <= 2e-6 * fabs(want) + 1e-30))
        fail_msg("%s(%g) is %g, not %g", what, x, (double)got, want);
}

/* SiLU, its derivative, and operators that use them, for arguments of any magnitude. */
static void silu_of_large_arguments_is_accurate(void **state)
{
    (void)state;
    static const float x[] = {-FLT_MAX, -INFINITY, -1e38f, -1e20f, -1000,  -100, -81,
                              -79,      -5,        -0.5f,  0,      0.5f,   5,    79,
                              81,       1000,      1e20f,  1e38f,  FLT_MAX};
    enum { N = sizeof x / sizeof *x };
    float zeros[N] = {0}, ones[N], y[N], dx[N], da[N], db[N], updated[N], dh[N], du[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    ssm2d_context *context = context_of(1);
    const simd_ops *simd = simd_ops_for(context->cpu);
    simd->silu(y, x, N);
    simd->silu_back(dx, ones, x, N, 0);
    simd->silu_gate_back(&(silu_gate_args){.a = ones, .b = x, .dy = ones, .da = da, .db = db}, N);
    const gated_update_args g = {
        .x = zeros, .u = zeros, .h = x, .p = zeros, .dy = ones, .y = updated, .du = du, .dh = dh};
    simd->gated_update(&g, N);
    simd->gated_update_back(&g, N);
    for (int i = 0; i < N; i++) {
        const double z = (double)x[i], s = 1 / (1 + exp(-z)), silu = z < -1000 ? 0 : z * s;
        const double slope = z < -1000 ? 0 : s * (1 + z * (1 - s));
        near_reference("silu", z, y[i], silu);
        near_reference("slope of silu", z, dx[i], slope);
        near_reference("silu in silu_gate", z, da[i], silu);
        near_reference("slope in silu_gate", z, db[i], slope);
        near_reference("gated_update", z, updated[i], silu / 2);
        near_reference("slope in gated_update", z, dh[i], slope / 2);
        near_reference("du of gated_update", z, du[i], silu / 4);
    }
    const float not_a_number = NAN, infinite = INFINITY;
    simd->silu(y, &not_a_number, 1);
    simd->silu_back(dx, ones, &not_a_number, 1, 0);
    assert_true(isnan(y[0]) && isnan(dx[0]));
    simd->silu_back(dx, ones, &infinite, 1, 0);
    assert_true(dx[0] == 1);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(silu_of_large_arguments_is_accurate)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
