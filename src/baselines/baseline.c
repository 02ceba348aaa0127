/* baseline - the table of kinds; configurations and parameters of all of them. */
#include "baselines/baseline.h"

#include "core/field.h"
#include "core/float_mode.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

/* Every kind there is: one line. */
static const baseline_kind *const kinds[] = {
    [SSM2D_S4ND] = &baseline_s4nd, [SSM2D_EMA] = &baseline_ema};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const baseline_kind *kind_of(int kind)
{
    return kind >= 0 && kind < KINDS ? kinds[kind] : NULL;
}

const char *ssm2d_baseline_name(ssm2d_baseline_kind kind)
{
    return kind_of((int)kind) ? kinds[kind]->name : NULL;
}

/* ---- configuration --------------------------------------------------------------------------- */

const ssm2d_field *ssm2d_baseline_fields(ssm2d_baseline_kind kind, size_t *count)
{
    size_t n = 0;
    const baseline_kind *k = kind_of((int)kind);
    while (k && k->fields[n].name) n++;
    if (count) *count = n;
    return k ? k->fields : NULL;
}

static baseline_config defaults(ssm2d_baseline_kind kind)
{
    baseline_config c;
    memset(&c, 0, sizeof c);
    c.base.kind = kind;
    for (const ssm2d_field *f = kinds[kind]->fields; f->name; f++) field_set_default(f, &c);
    return c;
}

void ssm2d_s4nd_config_init(ssm2d_s4nd_config *config, size_t size)
{
    const baseline_config all = defaults(SSM2D_S4ND);
    sized_init(config, size, &all.s4nd, sizeof all.s4nd);
}

void ssm2d_ema_config_init(ssm2d_ema_config *config, size_t size)
{
    const baseline_config all = defaults(SSM2D_EMA);
    sized_init(config, size, &all.ema, sizeof all.ema);
}

ssm2d_status baseline_config_read(baseline_config *full, const ssm2d_baseline_config *config,
                                  const baseline_kind **kind, ssm2d_error *error)
{
    if (!config) return fail(error, SSM2D_ERROR_ARGUMENT, "config=NULL: a configuration is needed");
    const baseline_kind *k = *kind = kind_of((int)config->kind);
    if (!k)
        return fail(error, SSM2D_ERROR_ARGUMENT, "kind=%d: use s4nd (0) or ema (1)",
                    (int)config->kind);
    *full = defaults(config->kind);
    ssm2d_status status = sized_read(full, config, k->sizes, k->config_name, error);
    for (const ssm2d_field *f = k->fields; f->name && !status; f++)
        status = field_check((field_source){0}, f, full, error);
    if (!status && k->check) status = k->check(full, error);
    return status;
}

ssm2d_status ssm2d_baseline_config_check(const ssm2d_baseline_config *config, ssm2d_error *error)
{
    baseline_config full;
    const baseline_kind *kind;
    return baseline_config_read(&full, config, &kind, error);
}

/* ---- parameters ------------------------------------------------------------------------------ */

ssm2d_baseline_param baseline_array(const char *name, int rank, const size_t *shape, int system)
{
    ssm2d_baseline_param p = {.name = name, .rank = rank, .size = 1, .system = system};
    p.decay = !system;
    for (int i = 0; i < rank; i++) p.size *= p.shape[i] = shape[i];
    return p;
}

static int list(const baseline_kind *kind, const baseline_config *c, ssm2d_baseline_param *table)
{
    const int count = kind->list(c, table);
    for (int i = 1; i < count; i++) table[i].offset = table[i - 1].offset + table[i - 1].size;
    return count;
}

size_t baseline_params_total(const baseline_kind *kind, const baseline_config *c)
{
    ssm2d_baseline_param table[BASELINE_ARRAYS];
    const int last = list(kind, c, table) - 1;
    return table[last].offset + table[last].size;
}

int ssm2d_baseline_param_get(const ssm2d_baseline_config *config, int i,
                             ssm2d_baseline_param *param)
{
    ssm2d_baseline_param table[BASELINE_ARRAYS];
    baseline_config full;
    const baseline_kind *kind;
    if (baseline_config_read(&full, config, &kind, NULL) || i < 0 || i >= list(kind, &full, table))
        return 0;
    *param = table[i];
    return 1;
}

size_t ssm2d_baseline_param_total(const ssm2d_baseline_config *config)
{
    baseline_config full;
    const baseline_kind *kind;
    return baseline_config_read(&full, config, &kind, NULL) ? 0
                                                            : baseline_params_total(kind, &full);
}

static ssm2d_status check_array(ssm2d_type type, const void *params, ssm2d_error *error)
{
    if (type != SSM2D_FLOAT && type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use float (0) or double (1)", (int)type);
    if (!params)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "params=NULL: an array of ssm2d_baseline_param_total() numbers is needed");
    return SSM2D_OK;
}

static ssm2d_status init_params(const ssm2d_baseline_config *config, ssm2d_init init, uint64_t seed,
                                ssm2d_type type, void *params, ssm2d_error *error)
{
    ssm2d_baseline_param table[BASELINE_ARRAYS];
    baseline_config full;
    const baseline_kind *kind;
    ssm2d_status status = baseline_config_read(&full, config, &kind, error);
    if (!status) status = check_array(type, params, error);
    if (status) return status;
    if (init != SSM2D_INIT_AUTHORS && (init != SSM2D_INIT_IDENTITY || !kind->has_identity))
        return fail(error, SSM2D_ERROR_ARGUMENT, "init=%d: use authors (1)%s", (int)init,
                    kind->has_identity ? " or identity (0)" : "");
    const int count = list(kind, &full, table);
    rng r = rng_seed(seed);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < table[i].size; k++) {
            const double value = kind->draw(&full, init, i, k, &r);
            if (type == SSM2D_DOUBLE)
                ((double *)params)[table[i].offset + k] = value;
            else
                ((float *)params)[table[i].offset + k] = (float)value;
        }
    return SSM2D_OK;
}

ssm2d_status ssm2d_baseline_params_init(const ssm2d_baseline_config *config, ssm2d_init init,
                                        uint64_t seed, ssm2d_type type, void *params,
                                        ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = init_params(config, init, seed, type, params, error);
    float_mode_restore(before);
    return status;
}

static ssm2d_status check_params(const ssm2d_baseline_config *config, ssm2d_type type,
                                 const void *params, ssm2d_error *error)
{
    ssm2d_baseline_param table[BASELINE_ARRAYS];
    baseline_config full;
    const baseline_kind *kind;
    ssm2d_status status = baseline_config_read(&full, config, &kind, error);
    if (!status) status = check_array(type, params, error);
    if (status) return status;
    const int count = list(kind, &full, table);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < table[i].size; k++) {
            const size_t at = table[i].offset + k;
            const double value = type == SSM2D_DOUBLE ? ((const double *)params)[at]
                                                      : (double)((const float *)params)[at];
            if (!isfinite(value))
                return fail(error, SSM2D_ERROR_ARGUMENT, "%s[%zu]=%g: parameters must be finite",
                            table[i].name, k, value);
        }
    return SSM2D_OK;
}

ssm2d_status ssm2d_baseline_params_check(const ssm2d_baseline_config *config, ssm2d_type type,
                                         const void *params, ssm2d_error *error)
{
    const float_mode before = float_mode_set();
    const ssm2d_status status = check_params(config, type, params, error);
    float_mode_restore(before);
    return status;
}
