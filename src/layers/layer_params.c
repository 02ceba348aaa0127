/* layer_params - the parameters of any kind of layer: their arrays, initial values, and checks. */
#include "core/float_mode.h"
#include "core/sized.h"
#include "core/status.h"
#include "layers/layer_kind.h"

#include <math.h>
#include <string.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

layer_array layer_array_of(const char *name, int draw, int rank, const size_t *shape)
{
    layer_array a = {.param = {.name = name, .rank = rank, .count = 1}, .draw = draw};
    for (int i = 0; i < rank; i++) a.param.count *= a.param.shape[i] = shape[i];
    return a;
}

int layer_arrays(const ssm2d_layer *layer, layer_array *table)
{
    const int count = layer->kind->arrays(layer_config(layer), table);
    for (int i = 1; i < count; i++)
        table[i].param.offset = table[i - 1].param.offset + table[i - 1].param.count;
    return count;
}

int ssm2d_layer_param_sized(const ssm2d_layer *layer, int i, ssm2d_param *param, size_t size)
{
    layer_array table[LAYER_ARRAYS];
    if (!layer || !param || i < 0 || i >= layer_arrays(layer, table)) return 0;
    return sized_write(param, size, &table[i].param, sizeof *param);
}

size_t ssm2d_layer_param_count(const ssm2d_layer *layer)
{
    layer_array table[LAYER_ARRAYS];
    if (!layer) return 0;
    const ssm2d_param *last = &table[layer_arrays(layer, table) - 1].param;
    return last->offset + last->count;
}

static ssm2d_status check_pointers(const ssm2d_layer *layer, const void *params, ssm2d_error *error)
{
    if (!layer)
        return fail(error, SSM2D_ERROR_ARGUMENT, "layer=NULL: make one with ssm2d_layer_create");
    if (!params)
        return fail(error, SSM2D_ERROR_ARGUMENT, "params=NULL: an array of %zu elements is needed",
                    ssm2d_layer_param_count(layer));
    return SSM2D_OK;
}

void layer_element_put(layer_element *e, size_t i, double value)
{
    if (e->type == SSM2D_DOUBLE)
        ((double *)e->params)[i] = value;
    else
        ((float *)e->params)[i] = (float)value;
}

double layer_element_get(const layer_element *e, size_t i)
{
    return e->type == SSM2D_DOUBLE ? ((const double *)e->params)[i]
                                   : (double)((const float *)e->params)[i];
}

ssm2d_status layer_params_init(const ssm2d_layer *layer, uint64_t seed, ssm2d_type type,
                               void *params, ssm2d_error *error)
{
    const ssm2d_status status = check_pointers(layer, params, error);
    if (status) return status;
    const float_mode before = float_mode_set();
    layer_array table[LAYER_ARRAYS];
    layer_element elements = {type, params};
    const int count = layer_arrays(layer, table);
    rng r = rng_seed(seed);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < table[i].param.count; k++)
            layer_element_put(&elements, table[i].param.offset + k,
                              layer->kind->draw(layer_config(layer), &table[i], k, &r));
    if (layer->kind->settle) layer->kind->settle(layer_config(layer), &elements);
    float_mode_restore(before);
    return SSM2D_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Compares exponent bits, an integer loop that compilers vectorise: the Python package checks
 * parameters at every call. */
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

static ssm2d_status check_params(const ssm2d_layer *layer, ssm2d_type type, const void *params,
                                 ssm2d_error *error)
{
    const layer_element elements = {type, (void *)params}; /* only read */
    layer_array table[LAYER_ARRAYS];
    const int count = layer_arrays(layer, table);
    if (all_finite(type, params, ssm2d_layer_param_count(layer))) return SSM2D_OK;
    for (int i = 0; i < count; i++) {
        const ssm2d_param *p = &table[i].param;
        for (size_t k = 0; k < p->count; k++) {
            const double value = layer_element_get(&elements, p->offset + k);
            if (!isfinite(value))
                return fail(error, SSM2D_ERROR_ARGUMENT, "%s[%zu]=%g: parameters must be finite",
                            p->name, k, value);
        }
    }
    return SSM2D_OK;
}

ssm2d_status layer_params_check(const ssm2d_layer *layer, ssm2d_type type, const void *params,
                                ssm2d_error *error)
{
    ssm2d_status status = check_pointers(layer, params, error);
    if (status) return status;
    const float_mode before = float_mode_set();
    status = check_params(layer, type, params, error);
    float_mode_restore(before);
    return status;
}

/* ---- public: float and double ---------------------------------------------------------------- */

#define PUBLIC(suffix, element, type)                                                              \
    ssm2d_status ssm2d_params_init##suffix(const ssm2d_layer *layer, uint64_t seed,                \
                                           element *params, ssm2d_error *error)                    \
    {                                                                                              \
        return layer_params_init(layer, seed, type, params, error);                                \
    }                                                                                              \
    ssm2d_status ssm2d_params_check##suffix(const ssm2d_layer *layer, const element *params,       \
                                            ssm2d_error *error)                                    \
    {                                                                                              \
        return layer_params_check(layer, type, params, error);                                     \
    }

PUBLIC(, float, SSM2D_FLOAT)
PUBLIC(_double, double, SSM2D_DOUBLE)
