#include "layer/params.h"

#include "core/float_mode.h"
#include "core/rng.h"
#include "core/status.h"
#include "layer/config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* How the numbers of one array are drawn. */
typedef enum draw { DRAW_SMALL, DRAW_UNIFORM, DRAW_NORMAL, DRAW_ONE, DRAW_ZERO } draw;

typedef struct entry {
    ssm2d_param param;
    draw draw;
    int is_c;      /* its scale is what `identity` makes small */
    size_t *where; /* in param_offsets */
} entry;

enum { MAX_ENTRIES = 9 };

static void add(entry *table, int *count, size_t *total, const char *name, draw how, int is_c,
                size_t *where, size_t a, size_t b, size_t c, size_t d)
{
    entry *e = &table[(*count)++];
    size_t shape[4] = {a, b, c, d};
    memset(e, 0, sizeof *e);
    e->param.name = name;
    e->param.size = 1;
    for (int i = 0; i < 4 && shape[i]; i++) {
        e->param.shape[e->param.rank++] = shape[i];
        e->param.size *= shape[i];
    }
    e->param.offset = *total;
    e->draw = how;
    e->is_c = is_c;
    *where = *total;
    *total += e->param.size;
}

/* The one place that says which arrays there are, in which order. */
static int list(const ssm2d_config *config, entry *table, param_offsets *at)
{
    size_t K = (size_t)config_systems(config), C = (size_t)config_c_rows(config),
           N = (size_t)config->d_state;
    size_t H = (size_t)config->channels, total = 0;
    int n = 0;
    memset(at, 0, sizeof *at);
    switch (config->values) {
    case SSM2D_REAL:
        add(table, &n, &total, "A", DRAW_SMALL, 0, &at->a, 4, K, N, 0);
        add(table, &n, &total, "B", DRAW_SMALL, 0, &at->b, 2, K, N, 0);
        add(table, &n, &total, "C", DRAW_NORMAL, 1, &at->c, 2, C, N, 0);
        break;
    case SSM2D_POLAR:
        add(table, &n, &total, "A_angle", DRAW_UNIFORM, 0, &at->a_angle, 4, K, N, 0);
        add(table, &n, &total, "A_radius", DRAW_UNIFORM, 0, &at->a, 4, K, N, 0);
        add(table, &n, &total, "B_angle", DRAW_SMALL, 0, &at->b_angle, 2, K, N, 0);
        add(table, &n, &total, "B_radius", DRAW_SMALL, 0, &at->b, 2, K, N, 0);
        add(table, &n, &total, "C_angle", DRAW_NORMAL, 0, &at->c_angle, 2, C, N, 0);
        add(table, &n, &total, "C_radius", DRAW_NORMAL, 1, &at->c, 2, C, N, 0);
        break;
    case SSM2D_CARTESIAN:
        add(table, &n, &total, "A_angle", DRAW_UNIFORM, 0, &at->a_angle, 4, K, N, 0);
        add(table, &n, &total, "A_radius", DRAW_UNIFORM, 0, &at->a, 4, K, N, 0);
        add(table, &n, &total, "B", DRAW_SMALL, 0, &at->b, 2, K, N, 2);
        add(table, &n, &total, "C", DRAW_NORMAL, 1, &at->c, 2, C, N, 2);
        break;
    }
    for (int i = 0; i < n; i++) table[i].param.system = 1;
    if (config->skip) {
        add(table, &n, &total, "D", DRAW_NORMAL, 0, &at->d, H, 0, 0, 0);
        table[n - 1].param.decay = 1;
    }
    if (config->layer_norm) {
        add(table, &n, &total, "gamma", DRAW_ONE, 0, &at->gamma, H, 0, 0, 0);
        table[n - 1].param.decay = 1;
        add(table, &n, &total, "beta", DRAW_ZERO, 0, &at->beta, H, 0, 0, 0);
    }
    at->total = total;
    return n;
}

param_offsets params_offsets(const ssm2d_config *config)
{
    entry table[MAX_ENTRIES];
    param_offsets at;
    list(config, table, &at);
    return at;
}

int ssm2d_param_get(const ssm2d_config *config, int i, ssm2d_param *param)
{
    entry table[MAX_ENTRIES];
    param_offsets at;
    ssm2d_config full;
    if (config_read(&full, config, NULL) || i < 0 || i >= list(&full, table, &at)) return 0;
    *param = table[i].param;
    return 1;
}

size_t ssm2d_param_total(const ssm2d_config *config)
{
    ssm2d_config full;
    return config_read(&full, config, NULL) ? 0 : params_offsets(&full).total;
}

static double draw_one(rng *r, draw how)
{
    switch (how) {
    case DRAW_SMALL: return 0.2 * rng_normal(r);
    case DRAW_UNIFORM: return rng_uniform(r, 0.5, 3);
    case DRAW_NORMAL: return rng_normal(r);
    case DRAW_ONE: return 1;
    case DRAW_ZERO: break;
    }
    return 0;
}

static double number(ssm2d_type type, const void *params, size_t i)
{
    return type == SSM2D_DOUBLE ? ((const double *)params)[i] : (double)((const float *)params)[i];
}

static ssm2d_status check_array(ssm2d_type type, const void *params, ssm2d_error *error)
{
    if (type != SSM2D_FLOAT && type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use float (0) or double (1)", (int)type);
    if (!params)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "params=NULL: an array of ssm2d_param_total() numbers is needed");
    return SSM2D_OK;
}

static ssm2d_status init_params(const ssm2d_config *config, ssm2d_init init, uint64_t seed,
                                ssm2d_type type, void *params, ssm2d_error *error)
{
    entry table[MAX_ENTRIES];
    param_offsets at;
    ssm2d_config full;
    ssm2d_status status = config_read(&full, config, error);
    if (status) return status;
    if (init != SSM2D_INIT_IDENTITY && init != SSM2D_INIT_AUTHORS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "init=%d: use identity (0) or authors (1)",
                    (int)init);
    status = check_array(type, params, error);
    if (status) return status;
    int count = list(&full, table, &at);
    rng r = rng_seed(seed);
    for (int i = 0; i < count; i++) {
        const ssm2d_param *p = &table[i].param;
        int identity_d = init == SSM2D_INIT_IDENTITY && full.skip && p->offset == at.d;
        double scale = init == SSM2D_INIT_IDENTITY && table[i].is_c ? 0.1 : 1;
        for (size_t k = 0; k < p->size; k++) {
            double value = identity_d ? 1 : scale * draw_one(&r, table[i].draw);
            if (type == SSM2D_DOUBLE)
                ((double *)params)[p->offset + k] = value;
            else
                ((float *)params)[p->offset + k] = (float)value;
        }
    }
    return SSM2D_OK;
}

ssm2d_status ssm2d_params_init(const ssm2d_config *config, ssm2d_init init, uint64_t seed,
                               ssm2d_type type, void *params, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = init_params(config, init, seed, type, params, error);
    float_mode_restore(before);
    return status;
}

/* By exponents, which is an integer loop that compilers vectorise: Python checks at every call. */
static int all_finite(ssm2d_type type, const void *params, size_t count)
{
    unsigned found = 0;
    if (type == SSM2D_DOUBLE) {
        const uint64_t exponent = 0x7ffULL << 52;
        for (size_t i = 0; i < count; i++) {
            uint64_t bits;
            memcpy(&bits, (const double *)params + i, sizeof bits);
            found |= (bits & exponent) == exponent;
        }
        return !found;
    }
    const uint32_t exponent = 0xffU << 23;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const float *)params + i, sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return !found;
}

static ssm2d_status check_params(const ssm2d_config *config, ssm2d_type type, const void *params,
                                 ssm2d_error *error)
{
    entry table[MAX_ENTRIES];
    param_offsets at;
    ssm2d_config full;
    ssm2d_status status = config_read(&full, config, error);
    if (status) return status;
    status = check_array(type, params, error);
    if (status) return status;
    if (all_finite(type, params, ssm2d_param_total(&full))) return SSM2D_OK;
    int count = list(&full, table, &at);
    for (int i = 0; i < count; i++) {
        const ssm2d_param *p = &table[i].param;
        for (size_t k = 0; k < p->size; k++) {
            double value = number(type, params, p->offset + k);
            if (!isfinite(value))
                return fail(error, SSM2D_ERROR_ARGUMENT, "%s[%zu]=%g: parameters must be finite",
                            p->name, k, value);
        }
    }
    return SSM2D_OK;
}

ssm2d_status ssm2d_params_check(const ssm2d_config *config, ssm2d_type type, const void *params,
                                ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = check_params(config, type, params, error);
    float_mode_restore(before);
    return status;
}
