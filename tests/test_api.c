/* The public interface: its descriptions, the arguments that it refuses, and its error messages. */
#define SSM2D_EXPERIMENTAL
#include "problem.h"

#include "core/sized.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ssm2d_config config_of(int channels)
{
    ssm2d_config c = ssm2d_config_default();
    c.channels = channels;
    return c;
}

static void versions_and_names_are_consistent(void **state)
{
    (void)state;
    assert_string_equal(ssm2d_version(), SSM2D_VERSION);
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SSM2D_VERSION_MAJOR, SSM2D_VERSION_MINOR,
             SSM2D_VERSION_PATCH);
    assert_string_equal(text, SSM2D_VERSION);
    for (int i = SSM2D_OK; i <= SSM2D_ERROR_SYSTEM; i++) {
        const char *name = ssm2d_status_name((ssm2d_status)i);
        assert_non_null(name);
        assert_true(name[0]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(name, ssm2d_status_name((ssm2d_status)j));
    }
    assert_non_null(ssm2d_status_name((ssm2d_status)1234));
    assert_non_null(ssm2d_kind_algorithm("ssm2d", 0));
    assert_null(ssm2d_kind_algorithm("ssm2d", -1));
    assert_null(ssm2d_kind_algorithm("ssm2d", 1000));
    int direct = 0;
    for (int i = 0; ssm2d_kind_algorithm("ssm2d", i); i++)
        direct += strcmp(ssm2d_kind_algorithm("ssm2d", i), "direct") == 0;
    assert_int_equal(direct, 1);
}

static void contexts_check_their_options(void **state)
{
    (void)state;
    ssm2d_context *context = NULL;
    ssm2d_error error = {"untouched"};
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_string_equal(error.line, "untouched");
    assert_true(ssm2d_context_threads(context) >= 1);
    const char *cpu = getenv("SSM2D_CPU");
    if (cpu && *cpu) assert_string_equal(ssm2d_context_cpu(context), cpu);
    ssm2d_context_destroy(context);
    ssm2d_context_destroy(NULL);

    ssm2d_context_options options = {.size = sizeof options, .threads = 3, .cpu = "baseline"};
    assert_int_equal(ssm2d_context_create(&options, &context, NULL), SSM2D_OK);
    assert_int_equal(ssm2d_context_threads(context), 3);
    assert_string_equal(ssm2d_context_cpu(context), "baseline");
    ssm2d_context_destroy(context);
    options.threads = -2;
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_ERROR_ARGUMENT);
    assert_null(context);
    says(&error, "threads", "-2");
    options.threads = 1;
    options.cpu = "z80";
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "cpu", "z80");
    assert_int_equal(ssm2d_context_create(&options, &context, NULL), SSM2D_ERROR_ARGUMENT);
    options.cpu = NULL;
    options.release = (void (*)(void *, void *))1; /* without allocate */
    assert_int_equal(ssm2d_context_create(&options, &context, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "allocate", "release");
}

static void default_configuration_is_documented_one(void **state)
{
    (void)state;
    ssm2d_config c = ssm2d_config_default();
    assert_int_equal(c.channels, 0);
    assert_int_equal(c.d_state, 16);
    assert_int_equal(c.n_ssm, 2);
    assert_int_equal(c.directions, 4);
    assert_int_equal(c.assign, SSM2D_ASSIGN_DISTINCT);
    assert_int_equal(c.pair, SSM2D_PAIR_BOTH);
    assert_int_equal(c.norm, SSM2D_NORM_RELAXED);
    assert_int_equal(c.values, SSM2D_REAL);
    assert_int_equal(c.skip, 1);
    assert_int_equal(c.average | c.share_directions | c.c_per_channel | c.layer_norm | c.trunc_rows
                         | c.trunc_cols,
                     0);
    ssm2d_error error;
    /* channels must be set */
    assert_int_equal(config_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "channels", "0");
    c.channels = 192;
    assert_int_equal(config_check(&c, &error), SSM2D_OK);
    assert_int_equal(config_check(&c, NULL), SSM2D_OK);
}

static int *field_of(ssm2d_config *c, const ssm2d_field *f)
{
    return (int *)((char *)c + f->offset);
}

static void field_is_refused(const ssm2d_field *f, int value)
{
    ssm2d_config c = config_of(8);
    ssm2d_error error;
    char text[16];
    *field_of(&c, f) = value;
    snprintf(text, sizeof text, "%d", value);
    if (config_check(&c, &error) != SSM2D_ERROR_ARGUMENT)
        fail_msg("%s=%d is accepted", f->name, value);
    says(&error, f->name, text);
    assert_int_equal(config_check(&c, NULL), SSM2D_ERROR_ARGUMENT);
    if (f->kind != SSM2D_KIND_INT) return;
    /* the same as text */
    char words[64];
    snprintf(words, sizeof words, "%s%s=%d", f == layer_ssm2d.fields ? "" : "channels=8 ", f->name,
             value);
    ssm2d_context *context = context_of(1);
    ssm2d_layer *layer;
    assert_int_equal(ssm2d_layer_create(context, "ssm2d", words, &layer, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_null(layer);
    says(&error, f->name, text);
    ssm2d_context_destroy(context);
}

/* The table covers every int of the struct once, agrees with the defaults, and the check agrees
 * with its bounds. */
static void field_table_matches_struct_defaults_and_check(void **state)
{
    (void)state;
    size_t count = 0;
    const ssm2d_field *fields = layer_ssm2d.fields;
    while (fields[count].name) count++;
    assert_int_equal(count * sizeof(int), sizeof(ssm2d_config));
    ssm2d_config standard = ssm2d_config_default();
    for (size_t i = 0; i < count; i++) {
        const ssm2d_field *f = &fields[i];
        assert_true(f->name && f->name[0] && f->help && f->help[0]);
        assert_true(f->offset % sizeof(int) == 0 && f->offset < sizeof(ssm2d_config));
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(f->offset, fields[j].offset);
            assert_string_not_equal(f->name, fields[j].name);
        }
        const int minimum = (int)f->minimum, maximum = (int)f->maximum;
        ssm2d_config parsed = standard;
        if (!f->default_value) assert_int_equal(*field_of(&standard, f), 0);
        if (f->default_value && field_parse((field_source){0}, f, f->default_value, &parsed, NULL))
            fail_msg("%s: its default is refused", f->name);
        assert_memory_equal(&parsed, &standard, sizeof parsed);
        assert_true(minimum < maximum);
        for (int k = 0; f->names && k <= maximum; k++) assert_true(f->names[k] && f->names[k][0]);
        if (f->names) assert_null(f->names[maximum + 1]);
        field_is_refused(f, minimum - 1);
        if (maximum < INT_MAX) field_is_refused(f, maximum + 1);
        field_is_refused(f, INT_MIN);
        if (maximum < INT_MAX) field_is_refused(f, INT_MAX);

        ssm2d_config c = config_of(8);
        ssm2d_error error;
        *field_of(&c, f) = minimum;
        if (config_check(&c, &error)) fail_msg("the minimum is refused: %s", error.line);
        if (f->allowed) {
            int last = 0;
            for (int v = minimum; v <= maximum; v++) {
                int listed = 0;
                for (const int *a = f->allowed; *a; a++) listed |= *a == v;
                *field_of(&c, f) = v;
                assert_int_equal(config_check(&c, NULL) == SSM2D_OK, listed);
                if (listed) last = v;
            }
            assert_int_equal(last, maximum);
        } else if (f->names)
            for (int v = minimum; v <= maximum; v++) {
                *field_of(&c, f) = v;
                assert_int_equal(config_check(&c, NULL), SSM2D_OK);
            }
    }
}

static void bad_configurations_are_refused_by_field(void **state)
{
    (void)state;
    ssm2d_error error;
    ssm2d_config c = config_of(8);
    c.d_state = 0;
    assert_int_equal(config_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "d_state", "0");
    c = config_of(8);
    c.directions = 3;
    assert_int_equal(config_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "directions", "3");
    c = config_of(8);
    c.trunc_cols = -1;
    assert_int_equal(config_check(&c, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "trunc_cols", "-1");

    /* The largest value of every field at once: refused, or counted without overflow. */
    c = config_of(8);
    for (const ssm2d_field *f = layer_ssm2d.fields; f->name; f++)
        if (f->kind == SSM2D_KIND_INT) *field_of(&c, f) = (int)f->maximum;
    c.values = SSM2D_POLAR;
    c.c_per_channel = c.layer_norm = 1;
    c.share_directions = 0;
    c.directions = 4;
    assert_int_equal(config_check(&c, &error), SSM2D_OK);
    {
        unsigned __int128 K = 4 * (unsigned __int128)c.n_ssm, N = (unsigned __int128)c.d_state,
                          H = (unsigned __int128)c.channels;
        unsigned __int128 total = 2 * (6 * K * N + 2 * 4 * H * N) + 3 * H;
        assert_true(total < SIZE_MAX / 8);
        assert_true(param_total(&c) == (size_t)total);
    }
}

/* Names, shapes and order as the golden arrays have them; offsets that tile the flat array. */
static void parameter_table_matches_golden_arrays(void **state)
{
    (void)state;
    static const char *const names[3][9] = {
        {"A", "B", "C"},
        {"A_angle", "A_radius", "B_angle", "B_radius", "C_angle", "C_radius"},
        {"A_angle", "A_radius", "B", "C"}};
    static const int count[3] = {3, 6, 4};
    rng r = rng_seed(41);
    for (int i = 0; i < 300; i++) {
        ssm2d_config c = random_config(&r);
        size_t H = (size_t)c.channels, N = (size_t)c.d_state,
               R = c.share_directions ? 1 : (size_t)c.directions;
        size_t K = R * (size_t)c.n_ssm, rows = c.c_per_channel ? R * H : K, offset = 0;
        int at = 0;
        ssm2d_param p;
        for (; at < count[c.values]; at++) {
            assert_int_equal(param_get(&c, at, &p), 1);
            assert_string_equal(p.name, names[c.values][at]);
            char letter = p.name[0];
            int pairs = c.values == SSM2D_CARTESIAN && letter != 'A';
            assert_int_equal(p.rank, pairs ? 4 : 3);
            assert_int_equal(p.shape[0], letter == 'A' ? 4 : 2);
            assert_int_equal(p.shape[1], letter == 'C' ? rows : K);
            assert_int_equal(p.shape[2], N);
            if (pairs) assert_int_equal(p.shape[3], 2);
            assert_int_equal(p.decay, 0);
            assert_int_equal(p.offset, offset);
            size_t size = 1;
            for (int d = 0; d < p.rank; d++) size *= p.shape[d];
            assert_int_equal(p.count, size);
            offset += size;
        }
        const char *const rest[] = {c.skip ? "D" : NULL, c.layer_norm ? "gamma" : NULL,
                                    c.layer_norm ? "beta" : NULL};
        for (int k = 0; k < 3; k++) {
            if (!rest[k]) continue;
            assert_int_equal(param_get(&c, at++, &p), 1);
            assert_string_equal(p.name, rest[k]);
            assert_true(p.rank == 1 && p.shape[0] == H && p.count == H && p.offset == offset);
            offset += H;
        }
        assert_int_equal(param_get(&c, at, &p), 0);
        assert_int_equal(param_get(&c, -1, &p), 0);
        assert_int_equal(param_total(&c), offset);
        if (!c.c_per_channel && c.skip && !c.layer_norm)
            assert_int_equal(offset, (c.values == SSM2D_REAL ? 8 : 16) * K * N + H);
    }
}

/* Mean and spread within five standard errors. */
static void distributed(const char *what, const double *x, size_t count, double mean, double spread)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += x[i];
    double m = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (x[i] - m) * (x[i] - m);
    double s = sqrt(squares / (double)count), limit = 5 * spread / sqrt((double)count) + 1e-12;
    if (fabs(m - mean) > limit || fabs(s - spread) > limit)
        fail_msg("%s: mean %g and spread %g instead of %g and %g (%zu values)", what, m, s, mean,
                 spread, count);
}

static void initial_values_have_declared_moments(void **state)
{
    (void)state;
    for (int values = SSM2D_REAL; values <= SSM2D_CARTESIAN; values++)
        for (int init = LAYER_INIT_IDENTITY; init <= LAYER_INIT_AUTHORS; init++) {
            ssm2d_config c = config_of(4096);
            c.d_state = 64;
            c.n_ssm = 64;
            c.directions = 4;
            c.values = (ssm2d_values)values;
            c.layer_norm = 1;
            size_t total = param_total(&c);
            double *x = doubles(total), *again = doubles(total), *other = doubles(total);
            float *f = calloc(total, sizeof *f);
            assert_int_equal(params_init(&c, (layer_init)init, 7, SSM2D_DOUBLE, x, NULL), SSM2D_OK);
            assert_int_equal(params_init(&c, (layer_init)init, 7, SSM2D_DOUBLE, again, NULL),
                             SSM2D_OK);
            assert_int_equal(params_init(&c, (layer_init)init, 8, SSM2D_DOUBLE, other, NULL),
                             SSM2D_OK);
            assert_int_equal(params_init(&c, (layer_init)init, 7, SSM2D_FLOAT, f, NULL), SSM2D_OK);
            assert_memory_equal(x, again, total * sizeof *x);
            size_t equal = 0;
            for (size_t i = 0; i < total; i++) {
                assert_true(f[i] == (float)x[i]);
                equal += x[i] == other[i];
            }
            /* only constants may agree: D of identity, gamma, beta */
            assert_true(equal < total / 10);
            assert_int_equal(params_check(&c, SSM2D_DOUBLE, x, NULL), SSM2D_OK);
            assert_int_equal(params_check(&c, SSM2D_FLOAT, f, NULL), SSM2D_OK);
            ssm2d_param p;
            for (int i = 0; param_get(&c, i, &p); i++) {
                const double *a = x + p.offset;
                int identity = init == LAYER_INIT_IDENTITY, angle = strcmp(p.name, "C_angle") == 0;
                if (p.name[0] == 'A' && values != SSM2D_REAL) {
                    distributed(p.name, a, p.count, 1.75, 2.5 / sqrt(12));
                    for (size_t k = 0; k < p.count; k++) assert_true(a[k] >= 0.5 && a[k] <= 3);
                } else if (p.name[0] == 'A' || p.name[0] == 'B')
                    distributed(p.name, a, p.count, 0, 0.2);
                else if (p.name[0] == 'C')
                    distributed(p.name, a, p.count, 0, identity && !angle ? 0.1 : 1);
                else if (p.name[0] == 'D' && !identity)
                    distributed(p.name, a, p.count, 0, 1);
                else
                    distributed(p.name, a, p.count, strcmp(p.name, "beta") != 0, 0);
            }
            free(x), free(again), free(other), free(f);
        }
}

static void parameters_that_are_not_finite_are_named(void **state)
{
    (void)state;
    static const double bad[3] = {NAN, INFINITY, -INFINITY};
    ssm2d_config c = config_of(12);
    c.layer_norm = 1;
    size_t total = param_total(&c);
    double *x = doubles(total);
    ssm2d_param p;
    for (int i = 0; param_get(&c, i, &p); i++)
        for (int k = 0; k < 3; k++) {
            ssm2d_error error = {"untouched"};
            float *f = convert(SSM2D_FLOAT, x, total);
            assert_int_equal(params_check(&c, SSM2D_DOUBLE, x, &error), SSM2D_OK);
            assert_string_equal(error.line, "untouched");
            x[p.offset + 7] = bad[k]; /* 7 is also the last index of [0][0][7] */
            f[p.offset + 7] = (float)bad[k];
            assert_int_equal(params_check(&c, SSM2D_DOUBLE, x, &error), SSM2D_ERROR_ARGUMENT);
            says(&error, p.name, "7");
            assert_int_equal(params_check(&c, SSM2D_FLOAT, f, &error), SSM2D_ERROR_ARGUMENT);
            says(&error, p.name, "7");
            x[p.offset + 7] = 0;
            free(f);
        }
    x[total - 1] = NAN;
    assert_int_equal(params_check(&c, SSM2D_DOUBLE, x, NULL), SSM2D_ERROR_ARGUMENT);
    ssm2d_error refused;
    assert_int_equal(params_check(&c, SSM2D_DOUBLE, NULL, &refused), SSM2D_ERROR_ARGUMENT);
    says(&refused, "params", "NULL");
    free(x);
}

/* Structs that begin with their size: what is refused, and a program with an older header. */
static void structs_of_older_headers_are_accepted(void **state)
{
    (void)state;
    ssm2d_error error;
    ssm2d_context *context = NULL;
    ssm2d_context_options co = ssm2d_context_options_default();
    ssm2d_config c = config_of(3);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    ssm2d_plan *plan;
    o.grid = ssm2d_grid_2d(2, 2);
    assert_int_equal(co.size, sizeof co);
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(ssm2d_context_create(&co, &context, &error), SSM2D_OK);
    assert_int_equal(plan_create(context, &c, &o, &plan, &error), SSM2D_OK);
    ssm2d_plan_destroy(plan);
    const size_t bad[] = {0, 1, sizeof o - 1, sizeof o + 8, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ssm2d_context *other;
        ssm2d_plan_options p = o;
        ssm2d_context_options co2 = co;
        p.size = bad[i];
        assert_int_equal(plan_create(context, &c, &p, &plan, &error), SSM2D_ERROR_ARGUMENT);
        says(&error, "plan_options.size", "ssm2d_plan_options_default()");
        co2.size = bad[i];
        assert_int_equal(ssm2d_context_create(&co2, &other, &error), SSM2D_ERROR_ARGUMENT);
        says(&error, "context_options.size", "ssm2d_context_options_default()");
    }
    ssm2d_context_destroy(context);

    /* a struct that has grown twice */
    typedef struct version1 {
        size_t size;
        int a;
    } version1;
    typedef struct version3 {
        size_t size;
        int a, unused;
        double b, c;
    } version3;
    const size_t sizes[] = {sizeof(version1), offsetof(version3, c), sizeof(version3), 0};
    const version3 defaults = {0, 1, 0, 2, 3};
    struct {
        version1 v;
        char after[8];
    } old;
    memset(&old, 0x55, sizeof old);
    sized_init(&old.v, sizeof old.v, &defaults, sizeof defaults);
    assert_int_equal(old.v.size, sizeof old.v);
    assert_int_equal(old.v.a, 1);
    for (size_t i = 0; i < sizeof old.after; i++) assert_int_equal(old.after[i], 0x55);
    old.v.a = 7;
    version3 full = defaults;
    assert_int_equal(sized_read(&full, &old.v, sizes, "x", &error), SSM2D_OK);
    assert_true(full.size == sizeof full && full.a == 7 && full.b == 2 && full.c == 3);
    struct {
        version3 v;
        char later[16];
    } next; /* a program newer than the library */
    sized_init(&next, sizeof next, &defaults, sizeof defaults);
    assert_true(next.v.size == sizeof next && next.v.c == 3 && next.later[15] == 0);
    assert_int_equal(sized_read(&full, &next, sizes, "x", &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "x.size", "newer");
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void layers_are_created_from_settings(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    ssm2d_layer *layer, *again;
    ssm2d_error error = {"untouched"};
    char text[512], small[12], value[16];
    assert_int_equal(ssm2d_layer_create(context, "ssm2d",
                                        " channels=192\tdirections=2\n values=polar average=true ",
                                        &layer, &error),
                     SSM2D_OK);
    assert_string_equal(error.line, "untouched");
    assert_string_equal(ssm2d_layer_kind(layer), "ssm2d");
    assert_int_equal(ssm2d_layer_channels(layer), 192);
    static const char *const settings[][2] = {{"directions", "2"}, {"values", "polar"},
                                              {"average", "true"}, {"init", "identity"},
                                              {"d_state", "16"},   {"channels", "192"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const int length = ssm2d_layer_setting(layer, settings[i][0], value, sizeof value);
        assert_int_equal(length, strlen(settings[i][1]));
        assert_string_equal(value, settings[i][1]);
    }
    assert_int_equal(ssm2d_layer_setting(layer, "init", value, 4), 8);
    assert_string_equal(value, "ide");
    assert_int_equal(ssm2d_layer_setting(layer, "rate", value, sizeof value), -1);
    /* all settings, and read back */
    const int length = ssm2d_layer_settings(layer, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_int_equal(ssm2d_layer_settings(layer, NULL, 0), length);
    assert_int_equal(ssm2d_layer_settings(layer, small, sizeof small), length);
    assert_string_equal(small, "channels=19");
    assert_int_equal(ssm2d_layer_create(context, "ssm2d", text, &again, &error), SSM2D_OK);
    assert_memory_equal(&layer->values, &again->values, sizeof layer->values);
    ssm2d_layer_destroy(again);
    ssm2d_layer_destroy(layer);
    ssm2d_layer_destroy(NULL);
    ssm2d_context_destroy(context);
}

static void bad_settings_are_refused_with_a_suggestion(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"ssm2d", "channels=8 dstate=3", "ssm2d has no setting \"dstate\"", "mean \"d_state\"?"},
        {"ssm2d", "channels=8 rate=1", "ssm2d has no setting", "rate"},
        {"ssm2d", "channels=8 directions=3", "directions=3", "1, 2 or 4"},
        {"ssm2d", "channels=8 norm=relaxd", "norm=relaxd", "relaxed"},
        {"ssm2d", "channels=8 d_state=", "d_state=", "whole number"},
        {"ssm2d", "channels=8 d_state=1e3", "d_state=1e3", "whole number"},
        {"ssm2d", "channels=8 d_state=99999999999999999999", "d_state=999", "whole number"},
        {"ssm2d", "channels=8 skip=1", "skip=1", "true or false"},
        {"ssm2d", "channels=8 channels=9", "channels", "twice"},
        {"ssm2d", "", "channels", "missing"},
        {"ssm2d", "d_state=3", "channels", "missing"},
        {"ssm2d", "channels=0", "channels=0", "use"},
        {"ssm2d", "channels", "channels", "key=value"},
        {"ssm2d", "=8", "=8", "key=value"},
        {"ssm2d", "channels = 8", "channels", "key=value"},
        {"s4nd", "channels=8 d_state=7", "d_state=7", "even"},
        {"s4nd", "channels=8 rate=nan", "rate=nan", "number"},
        {"ema", "channels=8 init=authors", "ema has no setting", "init"},
        {"ssm3d", "channels=8", "kind=ssm3d", "did you mean ssm2d?"},
        {"", "channels=8", "kind=", "use one of ssm2d, s4nd, ema"}};
    ssm2d_context *context = context_of(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ssm2d_layer *layer = (ssm2d_layer *)context;
        ssm2d_error error;
        if (ssm2d_layer_create(context, cases[i][0], cases[i][1], &layer, &error)
            != SSM2D_ERROR_ARGUMENT)
            fail_msg("%s \"%s\" is accepted", cases[i][0], cases[i][1]);
        assert_null(layer);
        says(&error, cases[i][2], cases[i][3]);
    }
    char word[300] = "channels=8 ";
    memset(word + 11, 'x', sizeof word - 12);
    ssm2d_layer *layer;
    ssm2d_error error;
    assert_int_equal(ssm2d_layer_create(context, "ssm2d", word, &layer, &error),
                     SSM2D_ERROR_ARGUMENT);
    says(&error, "longer", "95");
    assert_int_equal(ssm2d_layer_create(NULL, "ssm2d", "", &layer, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "context", "NULL");
    assert_int_equal(ssm2d_layer_create(context, NULL, "", &layer, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "kind", "NULL");
    assert_int_equal(ssm2d_layer_create(context, "ema", NULL, &layer, &error),
                     SSM2D_ERROR_ARGUMENT);
    says(&error, "settings", "NULL");
    assert_int_equal(ssm2d_layer_create(context, "ema", "", NULL, &error), SSM2D_ERROR_ARGUMENT);
    says(&error, "layer", "NULL");
    ssm2d_context_destroy(context);
}

/* Everything that another language needs to know about a kind: settings whose defaults make a
 * layer, algorithms that make plans, and abilities that it has. */
static void kinds_describe_themselves(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    int kinds = 0;
    const char *kind, *name;
    for (; (kind = ssm2d_kind_name(kinds)); kinds++) {
        ssm2d_layer *layer;
        ssm2d_error error;
        ssm2d_setting s;
        char words[512] = "channels=3", value[64];
        assert_true(strlen(ssm2d_kind_help(kind)) > 0);
        assert_int_equal(ssm2d_kind_setting(kind, 0, &s), 1);
        assert_string_equal(s.name, "channels");
        assert_null(s.default_value);
        for (int i = 1; ssm2d_kind_setting(kind, i, &s); i++) {
            assert_true(s.name && s.help && s.default_value);
            assert_int_equal(s.type == SSM2D_SETTING_CHOICE, s.choices != NULL);
            const size_t used = strlen(words);
            snprintf(words + used, sizeof words - used, " %s=%s", s.name, s.default_value);
        }
        if (ssm2d_layer_create(context, kind, words, &layer, &error)) fail_msg("%s", error.line);
        for (int i = 1; ssm2d_kind_setting(kind, i, &s); i++) {
            ssm2d_layer_setting(layer, s.name, value, sizeof value);
            assert_string_equal(value, s.default_value);
        }
        const unsigned can = ssm2d_kind_capabilities(kind);
        for (int axes = 1; axes <= 3; axes++)
            for (int i = 0; (name = ssm2d_kind_algorithm(kind, i)); i++) {
                ssm2d_plan_options o = ssm2d_plan_options_default();
                ssm2d_plan *plan;
                size_t shape[SSM2D_KERNEL_RANK];
                o.grid = (ssm2d_grid){axes, {2, 3, 4}};
                o.algorithm = name;
                const ssm2d_status status = ssm2d_plan_create(context, layer, &o, &plan, &error);
                assert_int_equal(status == SSM2D_OK, (can & SSM2D_CAN_GRID_1D << (axes - 1)) != 0);
                if (status) {
                    assert_int_equal(status, SSM2D_ERROR_UNSUPPORTED);
                    says(&error, "grid.axes", kind);
                    continue;
                }
                assert_string_equal(ssm2d_plan_algorithm(plan), name);
                assert_int_equal(ssm2d_kernel_shape(plan, shape) > 0,
                                 (can & SSM2D_CAN_KERNEL) != 0);
                ssm2d_plan_destroy(plan);
            }
        ssm2d_layer_destroy(layer);
    }
    assert_int_equal(kinds, 10);
    assert_true(ssm2d_kind_capabilities("ssm2d") & SSM2D_CAN_STREAM);
    assert_true(ssm2d_kind_capabilities("ssm2d") & SSM2D_CAN_KERNEL_BACKWARD);
    assert_false(ssm2d_kind_capabilities("ema") & SSM2D_CAN_STREAM);
    assert_int_equal(ssm2d_kind_capabilities("none"), 0);
    assert_null(ssm2d_kind_help("none"));
    assert_null(ssm2d_kind_algorithm("none", 0));
    assert_null(ssm2d_kind_name(-1));
    ssm2d_setting s;
    assert_int_equal(ssm2d_kind_setting("ssm2d", -1, &s), 0);
    assert_int_equal(ssm2d_kind_setting("ssm2d", 100, &s), 0);
    /* structs of other versions */
    struct {
        ssm2d_setting now;
        char later[16];
    } next;
    memset(&next, 0x55, sizeof next);
    assert_int_equal(ssm2d_kind_setting_sized("ema", 1, &next.now, sizeof next), 1);
    assert_string_equal(next.now.name, "d_state");
    for (size_t i = 0; i < sizeof next.later; i++) assert_int_equal(next.later[i], 0);
    memset(&next, 0x55, sizeof next);
    assert_int_equal(
        ssm2d_kind_setting_sized("ema", 1, &next.now, offsetof(ssm2d_setting, minimum)), 1);
    assert_true(next.now.type == SSM2D_SETTING_INT);
    assert_int_equal(((const char *)&next.now.minimum)[0], 0x55);
    ssm2d_context_destroy(context);
}

/* A sequence, and a volume in raster order, are what a grid of the same cells is. */
static void ema_takes_any_number_of_axes(void **state)
{
    (void)state;
    static const ssm2d_grid grids[] = {
        {2, {6, 4, 1}}, {1, {24, 1, 1}}, {3, {2, 3, 4}}, {3, {6, 1, 4}}, {3, {1, 6, 4}}};
    enum { CHANNELS = 5, CELLS = 24, BATCH = 2, SIZE = BATCH * CELLS * CHANNELS };
    ssm2d_context *context = context_of(2);
    ssm2d_layer *layer;
    ssm2d_error error;
    ssm2d_plan *plan;
    const char *algorithm;
    double params[512], u[SIZE], dy[SIZE], y[2][SIZE], du[2][SIZE], dparams[2][512];
    rng r = rng_seed(3);
    for (int i = 0; i < SIZE; i++) u[i] = rng_normal(&r);
    for (int i = 0; i < SIZE; i++) dy[i] = rng_normal(&r);
    assert_int_equal(ssm2d_layer_create(context, "ema", "channels=5 d_state=4", &layer, &error),
                     SSM2D_OK);
    const size_t total = ssm2d_layer_param_count(layer);
    assert_true(total <= 512);
    assert_int_equal(ssm2d_params_init_double(layer, 1, params, &error), SSM2D_OK);
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = BATCH;
    o.type = SSM2D_DOUBLE;
    for (int k = 0; (algorithm = ssm2d_kind_algorithm("ema", k)); k++)
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
            const int at = g > 0;
            o.grid = grids[g];
            o.algorithm = algorithm;
            if (ssm2d_plan_create(context, layer, &o, &plan, &error)) fail_msg("%s", error.line);
            ssm2d_workspace *ws = workspace_of(plan);
            memset(du[at], 0, sizeof du[at]);
            memset(dparams[at], 0, sizeof dparams[at]);
            assert_int_equal(ssm2d_forward_double(plan, ws, params, u, y[at]), SSM2D_OK);
            assert_int_equal(ssm2d_backward_double(plan, ws, params, u, dy, du[at], dparams[at]),
                             SSM2D_OK);
            ssm2d_workspace_destroy(ws);
            ssm2d_plan_destroy(plan);
            if (!at) continue;
            assert_int_equal(differs("y", y[1], y[0], SIZE, 1e-13), 0);
            assert_int_equal(differs("du", du[1], du[0], SIZE, 1e-13), 0);
            assert_int_equal(differs("dparams", dparams[1], dparams[0], total, 1e-12), 0);
        }
    /* planes that do not follow each other */
    o.grid = grids[2];
    o.in = (ssm2d_strides){400, {100, 20, 5}, 1};
    assert_int_equal(ssm2d_plan_create(context, layer, &o, &plan, &error), SSM2D_ERROR_UNSUPPORTED);
    says(&error, "in.axis[0]=100", "3 rows");
    ssm2d_layer_destroy(layer);
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_and_names_are_consistent),
        cmocka_unit_test(contexts_check_their_options),
        cmocka_unit_test(default_configuration_is_documented_one),
        cmocka_unit_test(field_table_matches_struct_defaults_and_check),
        cmocka_unit_test(bad_configurations_are_refused_by_field),
        cmocka_unit_test(parameter_table_matches_golden_arrays),
        cmocka_unit_test(initial_values_have_declared_moments),
        cmocka_unit_test(parameters_that_are_not_finite_are_named),
        cmocka_unit_test(structs_of_older_headers_are_accepted),
        cmocka_unit_test(layers_are_created_from_settings),
        cmocka_unit_test(bad_settings_are_refused_with_a_suggestion),
        cmocka_unit_test(kinds_describe_themselves),
        cmocka_unit_test(ema_takes_any_number_of_axes)};
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
