/* Properties for all values: the paper's theorem, adjoint, linearity, shifts, mirrors, grids of
 * every shape. */
#include "oracle.h"
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed[2] = {3e-5, 1e-11};

/* sg(40) is 1 in double, sg(-40) is 4e-18. */
static const double ON = 40, OFF = -40;

static double dot(const double *x, const double *y, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

static double *forward(ssm2d_context *context, const problem *p, ssm2d_type type,
                       const char *algorithm, const double *u)
{
    ssm2d_plan *plan = plan_of(context, p, type, algorithm);
    ssm2d_workspace *workspace = workspace_of(plan);
    double *out = doubles(p->cells);
    void *params = convert(type, p->params, p->total), *in = convert(type, u, p->cells),
         *y = convert(type, out, p->cells);
    plan_forward(plan, workspace, params, in, y);
    convert_back(type, y, out, p->cells);
    free(params), free(in), free(y);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return out;
}

static ssm2d_config small_config(int channels, int d_state, int n_ssm, int directions)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = channels;
    c.d_state = d_state;
    c.n_ssm = n_ssm;
    c.directions = directions;
    return c;
}

/* A one-coordinate, one-direction kernel from given scalars (raw a1..a4, b1, b2; c as it is). */
static void kernel_from(ssm2d_norm norm, size_t rows, size_t cols, const double *raw,
                        double *kernel)
{
    ssm2d_context *context = context_of(1);
    ssm2d_config config = small_config(1, 1, 1, 1);
    config.norm = norm;
    config.skip = 0;
    rng r = rng_seed(0);
    problem p = problem_make(config, 1, rows, cols, &r);
    assert_int_equal(p.total, 8);
    memcpy(p.params, raw, 8 * sizeof *raw);
    ssm2d_plan *plan = plan_of(context, &p, SSM2D_DOUBLE, NULL);
    ssm2d_workspace *workspace = workspace_of(plan);
    plan_kernel(plan, workspace, p.params, kernel);
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    problem_free(&p);
    ssm2d_context_destroy(context);
}

static void pascal_kernel_has_full_rank(void **state)
{
    (void)state;
    enum { SIDE = 12 };
    double got[SIDE * SIDE], want[SIDE * SIDE];
    const double theorem[8] = {ON, ON, ON, OFF, ON, OFF, 1, 0};
    kernel_from(SSM2D_NORM_NONE, SIDE, SIDE, theorem, got);
    oracle_pascal(SIDE, SIDE, want);
    assert_int_equal(want[3 * SIDE + 7], 35);
    assert_int_equal(differs("Theorem 4.1", got, want, SIDE * SIDE, 1e-13), 0);
    assert_int_equal(oracle_rank(SIDE, SIDE, got, 1e-12), SIDE);
}

/* One coordinate of this layer gives kernels that are not separable, which S4ND cannot. */
static void one_coordinate_gives_kernels_of_full_rank(void **state)
{
    (void)state;
    enum { SIDE = 6 };
    double k[SIDE * SIDE], outer[SIDE * SIDE];
    const double apart[8] = {0.3, OFF, OFF, -0.2, 0.5, -0.4, 1.5, -0.7},
                 general[8] = {0.9, 0.4, -0.3, 0.7, 0.5, -0.4, 1.5, -0.7};
    kernel_from(SSM2D_NORM_NONE, SIDE, SIDE, apart, k);
    for (int i = 1; i < SIDE; i++)
        for (int j = 1; j < SIDE; j++) assert_true(fabs(k[i * SIDE + j]) < 1e-15);
    assert_true(fabs(k[SIDE - 1]) > 1e-3 && fabs(k[(SIDE - 1) * SIDE]) > 1e-3);
    assert_int_equal(oracle_rank(SIDE, SIDE, k, 1e-10), 2);
    kernel_from(SSM2D_NORM_RELAXED, SIDE, SIDE, general, k);
    assert_true(oracle_rank(SIDE, SIDE, k, 1e-10) > 2);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) outer[i * SIDE + j] = sin(1 + i) * cos(0.3 + 2 * j);
    assert_int_equal(oracle_rank(SIDE, SIDE, outer, 1e-10), 1);
}

/* The purpose of the normalisation: with all a = b = 1 every state inside stays 1. */
static void relaxed_norm_keeps_states_at_one(void **state)
{
    (void)state;
    enum { ROWS = 30, COLS = 41 };
    static double k[ROWS * COLS];
    const double ones[8] = {ON, ON, ON, ON, ON, ON, 0.75, 0.5};
    kernel_from(SSM2D_NORM_RELAXED, ROWS, COLS, ones, k);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            double want = i && j ? 1.25 : i ? 2 * 0.5 : j ? 2 * 0.75 : 1.25;
            assert_true(fabs(k[i * COLS + j] - want) < 1e-12);
        }
}

static void layer_is_linear_and_backward_its_adjoint(void **state)
{
    (void)state;
    static const size_t grids[][2] = {{1, 1}, {1, 2}, {2, 1},  {1, 19}, {23, 1}, {2, 2},
                                      {5, 3}, {8, 8}, {4, 17}, {16, 9}, {9, 31}};
    enum { GRIDS = sizeof grids / sizeof *grids };
    rng r = rng_seed(11);
    ssm2d_context *context = context_of(2);
    const char *algorithm;
    int wrong = 0;
    for (int i = 0; i < 5 * GRIDS; i++) {
        ssm2d_config config = random_config(&r);
        config.layer_norm = 0;
        problem p = problem_make(config, 1 + (size_t)below(&r, 3), grids[i % GRIDS][0],
                                 grids[i % GRIDS][1], &r);
        double *mix = doubles(p.cells), *sum = doubles(p.cells);
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int k = 0; (algorithm = serves(&p, &k)); k++) {
                char what[400];
                snprintf(what, sizeof what, "%s %s %s", algorithm, type_names[type],
                         problem_text(&p));
                answer a = run(context, &p, (ssm2d_type)type, algorithm, DENSE, DENSE);
                double left = dot(p.dy, a.y, p.cells), right = dot(a.du, p.u, p.cells);
                double size = sqrt(dot(p.dy, p.dy, p.cells) * dot(a.y, a.y, p.cells));
                if (!(fabs(left - right) <= allowed[type] * size)) {
                    print_error("%s: <dy,y> is %.15g, <du,u> is %.15g\n", what, left, right);
                    wrong++;
                }
                double *other = forward(context, &p, (ssm2d_type)type, algorithm, p.dy);
                for (size_t c = 0; c < p.cells; c++) {
                    mix[c] = 0.5 * p.u[c] - 2 * p.dy[c];
                    sum[c] = 0.5 * a.y[c] - 2 * other[c];
                }
                double *mixed = forward(context, &p, (ssm2d_type)type, algorithm, mix);
                wrong += differs(what, mixed, sum, p.cells, allowed[type]);
                free(other), free(mixed);
                answer_free(&a);
            }
        free(mix), free(sum);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* The response to an impulse moves with it. */
static void response_moves_with_the_impulse(void **state)
{
    (void)state;
    enum { ROWS = 12, COLS = 15, DOWN = 3, RIGHT = 4 };
    rng r = rng_seed(12);
    ssm2d_context *context = context_of(1);
    const char *algorithm;
    int wrong = 0;
    for (int directions = 1; directions <= 4; directions *= 2)
        for (int k = 0; (algorithm = ssm2d_kind_algorithm("ssm2d", k)); k++) {
            problem p = problem_make(small_config(5, 3, 2, directions), 1, ROWS, COLS, &r);
            double *u = doubles(p.cells), *v = doubles(p.cells), *moved = doubles(p.cells),
                   *same = doubles(p.cells);
            for (size_t c = 0; c < 5; c++) {
                u[(4 * COLS + 6) * 5 + c] = 1;
                v[((4 + DOWN) * COLS + 6 + RIGHT) * 5 + c] = 1;
            }
            double *y = forward(context, &p, SSM2D_DOUBLE, algorithm, u),
                   *z = forward(context, &p, SSM2D_DOUBLE, algorithm, v);
            size_t count = 0;
            for (size_t i = DOWN; i < ROWS; i++)
                for (size_t j = RIGHT; j < COLS; j++)
                    for (size_t c = 0; c < 5; c++, count++) {
                        moved[count] = y[((i - DOWN) * COLS + j - RIGHT) * 5 + c];
                        same[count] = z[(i * COLS + j) * 5 + c];
                    }
            wrong += differs(algorithm, same, moved, count, 1e-12);
            free(u), free(v), free(moved), free(same), free(y), free(z);
            problem_free(&p);
        }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static double *mirrored(const problem *p, const double *x, int flip_rows, int flip_cols)
{
    size_t H = (size_t)p->config.channels;
    double *out = doubles(p->cells);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t i = 0; i < p->rows; i++)
            for (size_t j = 0; j < p->cols; j++) {
                size_t to_i = flip_rows ? p->rows - 1 - i : i,
                       to_j = flip_cols ? p->cols - 1 - j : j;
                memcpy(out + ((b * p->rows + to_i) * p->cols + to_j) * H,
                       x + ((b * p->rows + i) * p->cols + j) * H, H * sizeof *x);
            }
    return out;
}

/* With shared systems a mirrored input gives the mirrored output, for every mirror the directions
 * contain. */
static void mirrored_input_gives_mirrored_output(void **state)
{
    (void)state;
    rng r = rng_seed(13);
    ssm2d_context *context = context_of(1);
    const char *algorithm;
    int wrong = 0;
    for (int variant = 0; variant < 3; variant++) {
        ssm2d_config config = small_config(6, 4, 4, variant ? 2 : 4);
        config.pair = variant == 2 ? SSM2D_PAIR_COLUMNS : SSM2D_PAIR_BOTH;
        config.share_directions = 1;
        config.layer_norm = variant == 0;
        problem p = problem_make(config, 2, 7, 10, &r);
        for (int direction = 1; direction < config.directions; direction++)
            for (int k = 0; (algorithm = serves(&p, &k)); k++) {
                int fr, fc;
                oracle_flips(&config, direction, &fr, &fc);
                double *flipped = mirrored(&p, p.u, fr, fc),
                       *y = forward(context, &p, SSM2D_DOUBLE, algorithm, p.u);
                double *got = forward(context, &p, SSM2D_DOUBLE, algorithm, flipped),
                       *want = mirrored(&p, y, fr, fc);
                wrong += differs(algorithm, got, want, p.cells, 1e-12);
                free(flipped), free(y), free(got), free(want);
            }
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* When the number of systems divides that of the channels, `authors` gives all directions of a
 * channel the same system: the layer commutes with the mirror images of its directions, and cannot
 * tell one side from the other. With `distinct` and `paper` it can. */
static void only_assign_authors_is_mirror_symmetric(void **state)
{
    (void)state;
    rng r = rng_seed(31);
    ssm2d_context *context = context_of(1);
    int wrong = 0;
    for (int directions = 2; directions <= 4; directions += 2)
        for (int assign = 0; assign < 3; assign++)
            for (int k = 0; ssm2d_kind_algorithm("ssm2d", k); k++) {
                const char *algorithm = ssm2d_kind_algorithm("ssm2d", k);
                ssm2d_config c = small_config(2 * 3 * directions, 4, 3, directions);
                c.assign = (ssm2d_assign)assign;
                problem p = problem_make(c, 2, 6, 5, &r);
                double *y = forward(context, &p, SSM2D_DOUBLE, algorithm, p.u);
                /* of both axes for two directions, of either one for four */
                double *mirror = mirrored(&p, p.u, directions == 2, 1);
                double *got = forward(context, &p, SSM2D_DOUBLE, algorithm, mirror);
                double *want = mirrored(&p, y, directions == 2, 1);
                if (c.assign == SSM2D_ASSIGN_AUTHORS) {
                    wrong += differs(algorithm, got, want, p.cells, 1e-12);
                } else {
                    double most = 0;
                    for (size_t i = 0; i < p.cells; i++) most = fmax(most, fabs(got[i] - want[i]));
                    if (most < 1e-3) fail_msg("%s with assign=%d is symmetric", algorithm, assign);
                }
                free(mirror), free(want), free(y), free(got);
                problem_free(&p);
            }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* The same parameters serve any grid: the smaller kernel is the corner of the larger one. */
static void small_kernel_is_a_corner(void **state)
{
    (void)state;
    rng r = rng_seed(16);
    ssm2d_context *context = context_of(1);
    int wrong = 0;
    for (int i = 0; i < 24; i++) {
        ssm2d_config config = random_config(&r);
        problem large = problem_make(config, 1, 13, 11, &r),
                small = problem_make(config, 1, 6, 9, &r);
        memcpy(small.params, large.params, large.total * sizeof(double));
        answer a = run(context, &large, SSM2D_DOUBLE, NULL, DENSE, DENSE),
               b = run(context, &small, SSM2D_DOUBLE, NULL, DENSE, DENSE);
        double *corner = doubles(small.taps);
        for (size_t at = 0; at < small.taps; at++) {
            size_t j = at % 9, row = at / 9 % 6, plane = at / 54;
            corner[at] = a.kernel[plane * 143 + row * 11 + j];
        }
        wrong += differs(problem_text(&small), b.kernel, corner, small.taps, 1e-13);
        free(corner);
        answer_free(&a), answer_free(&b);
        problem_free(&large), problem_free(&small);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Raw values beyond what exp can take: saturated sigmoids, zero gradients, never NaN. */
static void extreme_values_stay_finite(void **state)
{
    (void)state;
    static const double extremes[] = {0, 40, -40, 90, -90, 750, -750, 1e30, -1e30};
    rng r = rng_seed(17);
    ssm2d_context *context = context_of(1);
    const char *algorithm;
    int wrong = 0;
    for (int i = 0; i < 36; i++) {
        ssm2d_config config = small_config(5, 3, 2, 2);
        config.norm = (ssm2d_norm)(i % 4);
        config.values = (ssm2d_values)(i / 4 % 3);
        problem p = problem_make(config, 1, 5, 6, &r);
        ssm2d_param q;
        for (int k = 0; param_get(&config, k, &q); k++) {
            int squashed = q.name[0] == 'A' || q.name[0] == 'B' || strcmp(q.name, "C_angle") == 0;
            for (size_t j = 0; squashed && j < q.count; j++)
                p.params[q.offset + j] = i < 9 ? extremes[i] : extremes[below(&r, 9)];
        }
        double *want = doubles(p.cells);
        oracle_forward(&config, p.params, 1, 5, 6, p.u, want);
        for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
            for (int k = 0; (algorithm = serves(&p, &k)); k++) {
                answer a = run(context, &p, (ssm2d_type)type, algorithm, DENSE, DENSE);
                wrong += differs(problem_text(&p), a.y, want, p.cells, allowed[type]);
                for (size_t j = 0; j < p.cells; j++) wrong += !isfinite(a.du[j]);
                for (size_t j = 0; j < p.total; j++) wrong += !isfinite(a.dparams[j]);
                answer_free(&a);
            }
        free(want);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* The variance over one channel is zero: the output is beta. */
static void layer_norm_of_one_channel_gives_beta(void **state)
{
    (void)state;
    rng r = rng_seed(18);
    ssm2d_context *context = context_of(1);
    ssm2d_config config = small_config(1, 2, 1, 2);
    config.layer_norm = 1;
    problem p = problem_make(config, 2, 4, 3, &r);
    double beta = *oracle_param(&config, p.params, "beta");
    const char *algorithm;
    for (int k = 0; (algorithm = serves(&p, &k)); k++) {
        answer a = run(context, &p, SSM2D_DOUBLE, algorithm, DENSE, DENSE);
        for (size_t i = 0; i < p.cells; i++)
            assert_true(fabs(a.y[i] - beta) < 1e-12 && fabs(a.du[i]) < 1e-9);
        answer_free(&a);
    }
    problem_free(&p);
    ssm2d_context_destroy(context);
}

/* The kernel at (0, 0) in float is the sum in double, rounded once: as far from it as a float is,
 * even with the largest states. Parameters are positive, so that nothing cancels. */
static void centre_is_rounded_once(void **state)
{
    (void)state;
    rng r = rng_seed(34);
    ssm2d_context *context = context_of(1);
    for (int n = 1; n <= 4096; n *= 4) {
        ssm2d_config c = ssm2d_config_default();
        c.channels = 3;
        c.n_ssm = c.directions = 1;
        c.d_state = n;
        c.skip = 0;
        problem p = problem_make(c, 1, 1, 1, &r);
        for (size_t i = 0; i < p.total; i++) p.params[i] = fabs(p.params[i]);
        answer want = run(context, &p, SSM2D_DOUBLE, "direct", DENSE, DENSE);
        answer got = run(context, &p, SSM2D_FLOAT, "direct", DENSE, DENSE);
        for (size_t i = 0; i < p.taps; i++)
            assert_true(fabs(got.kernel[i] - want.kernel[i]) <= 6e-8 * want.kernel[i]);
        answer_free(&want);
        answer_free(&got);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_is_rounded_once),
        cmocka_unit_test(pascal_kernel_has_full_rank),
        cmocka_unit_test(one_coordinate_gives_kernels_of_full_rank),
        cmocka_unit_test(relaxed_norm_keeps_states_at_one),
        cmocka_unit_test(layer_is_linear_and_backward_its_adjoint),
        cmocka_unit_test(response_moves_with_the_impulse),
        cmocka_unit_test(mirrored_input_gives_mirrored_output),
        cmocka_unit_test(small_kernel_is_a_corner),
        cmocka_unit_test(extreme_values_stay_finite),
        cmocka_unit_test(layer_norm_of_one_channel_gives_beta),
        cmocka_unit_test(only_assign_authors_is_mirror_symmetric),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
