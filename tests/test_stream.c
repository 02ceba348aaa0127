/* The layer row by row: recurrent = convolution, for every norm, value type and number type. */
#include "oracle.h"
#include "problem.h"

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
    if (ssm2d_stream_create(context, &p->config, p->batch, p->cols, type, params, &stream, &error))
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
        ssm2d_stream_push(stream, in, out);
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

static void recurrent_is_convolution(void **state)
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

/* Many more rows than a plan would like: the state neither drifts nor grows. */
static void many_rows(void **state)
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

static void bad_streams(void **state)
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
            ssm2d_stream_create(context, &config, 1, 3, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_null(stream);
        assert_non_null(strstr(error.line, "directions"));
        assert_int_not_equal(
            ssm2d_stream_create(context, &config, 1, 3, SSM2D_DOUBLE, p.params, &stream, NULL),
            SSM2D_OK);
        config.directions = 1;
        assert_int_not_equal(
            ssm2d_stream_create(context, &config, 1, 0, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_non_null(strstr(error.line, "cols"));
        assert_int_not_equal(
            ssm2d_stream_create(context, &config, 0, 3, SSM2D_DOUBLE, p.params, &stream, &error),
            SSM2D_OK);
        assert_non_null(strstr(error.line, "batch"));
        config.channels = 1 << 20; /* its state would have 2^62 numbers */
        config.d_state = 1 << 12;
        config.values = SSM2D_POLAR;
        double *params = doubles(ssm2d_param_total(&config));
        ssm2d_status status = ssm2d_stream_create(context, &config, 1 << 24, 1 << 4, SSM2D_DOUBLE,
                                                  params, &stream, &error);
        assert_int_not_equal(status, SSM2D_OK);
        free(params);
        problem_free(&p);
    }
    ssm2d_stream_destroy(NULL);
    ssm2d_context_destroy(context);
}

/* A cut kernel either streams right or is refused with the field's name. */
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
        if (ssm2d_stream_create(context, &config, p.batch, p.cols, SSM2D_DOUBLE, p.params, &stream,
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recurrent_is_convolution),
                                       cmocka_unit_test(many_rows), cmocka_unit_test(bad_streams),
                                       cmocka_unit_test(trunc_is_honoured_or_refused)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
