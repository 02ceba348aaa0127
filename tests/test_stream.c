/* The layer row by row: recurrence equals convolution, for every norm, value type and element
 * type. */
#include "oracle.h"
#include "problem.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed[2] = {3e-5, 1e-11};

static size_t width(ssm2d_type type)
{
    return type == SSM2D_FLOAT ? sizeof(float) : sizeof(double);
}

static ssm2d_stream *stream_of(ssm2d_context *context, const problem *p, ssm2d_type type,
                               const void *params)
{
    ssm2d_stream *stream;
    ssm2d_error error;
    if (stream_create(context, &p->config, p->batch, p->cols, type, params, &stream, &error))
        fail_msg("%s: %s", problem_text(p), error.line);
    return stream;
}

/* Pushes all rows; u and y are dense [batch][rows][cols][channels], a row of the stream is
 * [batch][cols][channels]. */
static void push_all(ssm2d_stream *stream, const problem *p, ssm2d_type type, double *y)
{
    size_t line = p->cols * (size_t)p->config.channels, size = p->batch * line;
    double *row = doubles(size);
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t b = 0; b < p->batch; b++)
            memcpy(row + b * line, p->u + (b * p->rows + i) * line, line * sizeof *row);
        void *in = convert(type, row, size), *out = malloc(size * width(type));
        memset(out, 0x55, size * width(type));
        stream_push(stream, in, out);
        convert_back(type, out, row, size);
        for (size_t b = 0; b < p->batch; b++)
            memcpy(y + (b * p->rows + i) * line, row + b * line, line * sizeof *row);
        free(in), free(out);
    }
    free(row);
}

static int check_stream(ssm2d_context *context, const problem *p)
{
    int wrong = 0;
    double *want = doubles(p->cells), *got = doubles(p->cells), *again = doubles(p->cells);
    oracle_forward(&p->config, p->params, p->batch, p->rows, p->cols, p->u, want);
    for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++) {
        char what[400];
        double limit = type == SSM2D_FLOAT && p->config.layer_norm ? 1e-4 : allowed[type];
        snprintf(what, sizeof what, "stream %s %s", type_names[type], problem_text(p));
        void *params = convert((ssm2d_type)type, p->params, p->total);
        ssm2d_stream *stream = stream_of(context, p, (ssm2d_type)type, params);
        memset(params, 0xff, p->total * width((ssm2d_type)type)); /* the stream has its own copy */
        free(params);
        push_all(stream, p, (ssm2d_type)type, got);
        wrong += differs(what, got, want, p->cells, limit);
        ssm2d_stream_reset(stream);
        push_all(stream, p, (ssm2d_type)type, again);
        wrong += bits_differ(what, again, got, p->cells);
        answer a = run(context, p, (ssm2d_type)type, NULL, DENSE, DENSE);
        wrong += differs(what, got, a.y, p->cells, limit);
        answer_free(&a);
        ssm2d_stream_destroy(stream);
    }
    free(want), free(got), free(again);
    return wrong;
}

static void stream_equals_convolution(void **state)
{
    (void)state;
    rng r = rng_seed(21);
    ssm2d_context *context = context_of(2);
    int wrong = 0;
    for (int i = 0; i < 4 * 3 * 6; i++) {
        ssm2d_config config = random_config(&r);
        config.norm = (ssm2d_norm)(i % 4);
        config.values = (ssm2d_values)(i / 4 % 3);
        config.directions = 1 + i / 12 % 2;
        config.pair = SSM2D_PAIR_COLUMNS;
        config.trunc_rows = config.trunc_cols = 0;
        const size_t cols = 1 + (size_t)below(&r, 12), rows = 1 + (size_t)below(&r, 12),
                     batch = 1 + (size_t)below(&r, 3);
        problem p = problem_make(config, batch, rows, cols, &r);
        wrong += check_stream(context, &p);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

/* Many more rows than a plan could hold: the state neither drifts nor grows. */
static void state_does_not_drift_over_many_rows(void **state)
{
    (void)state;
    rng r = rng_seed(22);
    ssm2d_context *context = context_of(1);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 2;
    config.d_state = 3;
    config.n_ssm = 1;
    config.directions = 1;
    problem p = problem_make(config, 1, 300, 4, &r);
    int wrong = check_stream(context, &p);
    problem_free(&p);
    ssm2d_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void unsupported_streams_are_refused(void **state)
{
    (void)state;
    rng r = rng_seed(23);
    ssm2d_context *context = context_of(1);
    for (int directions = 2; directions <= 4; directions += 2) {
        ssm2d_config config = ssm2d_config_default();
        config.channels = 2;
        config.directions = directions;
        problem p = problem_make(config, 1, 3, 3, &r);
        ssm2d_stream *stream = NULL;
        ssm2d_error error = {""};
        assert_int_not_equal(
            stream_create(context, &config, 1, 3, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_null(stream);
        assert_non_null(strstr(error.line, "directions"));
        assert_int_not_equal(
            stream_create(context, &config, 1, 3, SSM2D_DOUBLE, p.params, &stream, NULL), SSM2D_OK);
        config.directions = 1;
        assert_int_not_equal(
            stream_create(context, &config, 1, 0, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_non_null(strstr(error.line, "cols"));
        assert_int_not_equal(
            stream_create(context, &config, 0, 3, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_non_null(strstr(error.line, "batch"));
        config.channels = 1 << 20; /* its state would have 2^62 elements */
        config.d_state = 1 << 12;
        config.values = SSM2D_POLAR;
        double *params = doubles(param_total(&config));
        ssm2d_status status =
            stream_create(context, &config, 1 << 24, 1 << 4, SSM2D_DOUBLE, params, &stream, &error);
        assert_int_not_equal(status, SSM2D_OK);
        free(params);
        problem_free(&p);
    }
    ssm2d_stream_destroy(NULL);
    ssm2d_context_destroy(context);
}

/* A truncated kernel either streams correctly or is refused with the field's name. */
static void trunc_is_honoured_or_refused(void **state)
{
    (void)state;
    rng r = rng_seed(24);
    ssm2d_context *context = context_of(1);
    for (int variant = 0; variant < 3; variant++) {
        ssm2d_config config = ssm2d_config_default();
        config.channels = 3;
        config.directions = 1;
        config.trunc_rows = variant == 1 ? 0 : 3;
        config.trunc_cols = variant == 0 ? 0 : 2;
        problem p = problem_make(config, 2, 6, 7, &r);
        ssm2d_stream *stream = NULL;
        ssm2d_error error = {""};
        if (stream_create(context, &config, p.batch, p.cols, SSM2D_DOUBLE, p.params, &stream,
                          &error))
            assert_non_null(strstr(error.line, "trunc"));
        else {
            ssm2d_stream_destroy(stream);
            assert_int_equal(check_stream(context, &p), 0);
        }
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
}

/* Sets one input, far from the first row and column, and pushes all rows. */
static void push_with(ssm2d_stream *stream, problem *p, ssm2d_type type, size_t at, double value,
                      double *y)
{
    const double before = p->u[at];
    p->u[at] = value;
    ssm2d_stream_reset(stream);
    push_all(stream, p, type, y);
    p->u[at] = before;
}

/* An input that is not finite, or close to the largest number, reaches the cells that depend on it
 * and no others: not other images, channels, rows above, columns to the left; and is gone after a
 * reset. */
static void extreme_inputs_reach_dependent_cells_only(void **state)
{
    (void)state;
    rng r = rng_seed(25);
    ssm2d_context *context = context_of(2);
    for (int variant = 0; variant < 2 * 3; variant++) {
        ssm2d_config config = ssm2d_config_default();
        config.channels = 5;
        config.d_state = 3;
        config.directions = 1;
        config.values = (ssm2d_values)(variant % 3);
        const ssm2d_type type = variant < 3 ? SSM2D_FLOAT : SSM2D_DOUBLE;
        problem p = problem_make(config, 2, 6, 7, &r);
        const size_t channels = 5, image = 1, row = 3, col = 4, channel = 2;
        const size_t at = ((image * p.rows + row) * p.cols + col) * channels + channel;
        const double large = type == SSM2D_FLOAT ? 3e38 : 1e308;
        const double values[] = {NAN, INFINITY, -INFINITY, large, -large};
        void *params = convert(type, p.params, p.total);
        ssm2d_stream *stream = stream_of(context, &p, type, params);
        double *clean = doubles(p.cells), *y = doubles(p.cells);
        push_all(stream, &p, type, clean);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            push_with(stream, &p, type, at, values[v], y);
            for (size_t i = 0; i < p.cells; i++) {
                const size_t c = i % channels, j = i / channels % p.cols,
                             k = i / channels / p.cols % p.rows, b = i / channels / p.cols / p.rows;
                const int depends = b == image && c == channel && k >= row && j >= col;
                if (!depends) assert_true(y[i] == clean[i]);
                if (depends && !isfinite(values[v])) assert_false(isfinite(y[i]));
            }
        }
        push_with(stream, &p, type, at, p.u[at], y);
        assert_int_equal(bits_differ("after a reset", y, clean, p.cells), 0);
        ssm2d_stream_destroy(stream);
        free(params), free(clean), free(y);
        problem_free(&p);
    }
    ssm2d_context_destroy(context);
}

/* Subnormal inputs, which may count as zero: the output is zero or as small as they are. */
static void subnormal_inputs_count_as_zero(void **state)
{
    (void)state;
    rng r = rng_seed(26);
    ssm2d_context *context = context_of(1);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 5;
    config.directions = 1;
    problem p = problem_make(config, 1, 6, 7, &r);
    double *want = doubles(p.cells), *y = doubles(p.cells), *size = doubles(p.cells);
    oracle_forward(&p.config, p.params, p.batch, p.rows, p.cols, p.u, size);
    for (size_t i = 0; i < p.cells; i++) p.u[i] = (double)(float)(p.u[i] * 1e-40);
    p.u[p.cells / 2] = 1;
    oracle_forward(&p.config, p.params, p.batch, p.rows, p.cols, p.u, want);
    void *params = convert(SSM2D_FLOAT, p.params, p.total);
    ssm2d_stream *stream = stream_of(context, &p, SSM2D_FLOAT, params);
    push_all(stream, &p, SSM2D_FLOAT, y);
    /* at most their exact contribution, and the rounding of a sum of the state */
    for (size_t i = 0; i < p.cells; i++)
        assert_true(fabs(y[i] - want[i])
                    <= 1e-40 * fabs(size[i]) + 1000 * (double)FLT_MIN + 3e-5 * fabs(want[i]));
    ssm2d_stream_destroy(stream);
    free(params), free(want), free(y), free(size);
    problem_free(&p);
    ssm2d_context_destroy(context);
}

/* Parameters that are not finite are refused by name; the largest ones are not. */
static void extreme_parameters_are_accepted_or_named(void **state)
{
    (void)state;
    rng r = rng_seed(27);
    ssm2d_context *context = context_of(1);
    ssm2d_config config = ssm2d_config_default();
    config.channels = 2;
    config.directions = 1;
    problem p = problem_make(config, 1, 4, 4, &r);
    for (int type = SSM2D_FLOAT; type <= SSM2D_DOUBLE; type++)
        for (int i = 0; i < 4; i++) {
            ssm2d_param param;
            ssm2d_stream *stream;
            ssm2d_error error;
            assert_true(param_get(&config, i, &param));
            const double before = p.params[param.offset + 1];
            const double values[] = {NAN, INFINITY, -INFINITY};
            for (int v = 0; v < 3; v++) {
                p.params[param.offset + 1] = values[v];
                void *params = convert((ssm2d_type)type, p.params, p.total);
                assert_int_equal(stream_create(context, &config, 1, 4, (ssm2d_type)type, params,
                                               &stream, &error),
                                 SSM2D_ERROR_ARGUMENT);
                assert_null(stream);
                assert_ptr_equal(strstr(error.line, param.name), error.line);
                free(params);
            }
            p.params[param.offset + 1] = 3e38;
            void *params = convert((ssm2d_type)type, p.params, p.total);
            stream = stream_of(context, &p, (ssm2d_type)type, params);
            double *y = doubles(p.cells);
            push_all(stream, &p, (ssm2d_type)type, y);
            /* sigmoids accept any value; C and D scale the output */
            for (size_t n = 0; n < p.cells; n++) assert_false(param.system && isnan(y[n]));
            ssm2d_stream_destroy(stream);
            free(params), free(y);
            p.params[param.offset + 1] = before;
        }
    problem_free(&p);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stream_equals_convolution),
                                       cmocka_unit_test(state_does_not_drift_over_many_rows),
                                       cmocka_unit_test(unsupported_streams_are_refused),
                                       cmocka_unit_test(trunc_is_honoured_or_refused),
                                       cmocka_unit_test(extreme_inputs_reach_dependent_cells_only),
                                       cmocka_unit_test(subnormal_inputs_count_as_zero),
                                       cmocka_unit_test(extreme_parameters_are_accepted_or_named)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
