#include "layer_case.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "io/text.h"
#include "layers/roesser/roesser_plan.h"
#include "mixers/layer_json.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SIDE = 1 << 20, PATH = 4096 };

int layer_case_param(const layer_case *c, int i, ssm2d_param *param)
{
    if (!ssm2d_layer_param(&c->layer, i, param)) return 0;
    /* the authors' name */
    const int is_ssm2d = c->layer.kind == &layer_ssm2d || c->layer.kind == &layer_ssm2d_selective;
    if (is_ssm2d && !strcmp(param->name, "D")) param->name = "omega";
    return 1;
}

int layer_case_grid(const layer_case *c, size_t shape[4], ssm2d_strides *strides)
{
    const size_t H = (size_t)ssm2d_layer_channels(&c->layer), *side = c->grid.extent;
    const ptrdiff_t cells = (ptrdiff_t)(side[0] * side[1]), channels = (ptrdiff_t)H;
    *strides = (ssm2d_strides){0};
    if (c->layer.kind->raster) {
        memcpy(shape, (const size_t[]){side[0], c->batch, H}, 3 * sizeof *shape);
        strides->batch = channels;
        strides->axis[0] = (ptrdiff_t)c->batch * channels;
        strides->channel = 1;
        return 3;
    }
    memcpy(shape, (const size_t[]){c->batch, H, side[0], side[1]}, 4 * sizeof *shape);
    strides->batch = channels * cells;
    strides->axis[0] = (ptrdiff_t)side[1];
    strides->axis[1] = 1;
    strides->channel = cells;
    return 4;
}

ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *name,
                              int rank, const size_t *shape, npy_array *array, ssm2d_error *error)
{
    char path[PATH], has[96], needs[96];
    if (snprintf(path, sizeof path, "%s/%s.npy", folder, name) >= (int)sizeof path)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(folder));
    ssm2d_status status = npy_read(context, path, array, error);
    if (status) return status;
    if (array->rank == rank && !memcmp(array->shape, shape, (size_t)rank * sizeof *shape))
        return SSM2D_OK;
    status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: the shape is %s, the configuration needs %s",
                  text_path(path), npy_shape_text(array->rank, array->shape, has, sizeof has),
                  npy_shape_text(rank, shape, needs, sizeof needs));
    npy_free(context, array);
    return status;
}

/* ---- case.json ------------------------------------------------------------------------------- */

static ssm2d_status get_size(const char *path, const cJSON *root, const char *key, size_t *size,
                             ssm2d_error *error)
{
    int value = 0;
    ssm2d_status status = json_get_int(path, root, key, JSON_REQUIRED, 1, MAX_SIDE, &value, error);
    if (!status) *size = (size_t)value;
    return status;
}

static ssm2d_status refuse_kind(const char *path, const char *kind, ssm2d_error *error)
{
    char shown[40], names[192] = "";
    for (int i = 0; ssm2d_kind_name(i); i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 !i                       ? ""
                 : ssm2d_kind_name(i + 1) ? ", "
                                          : " or ",
                 ssm2d_kind_name(i));
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"kind\" is \"%s\": use %s", text_path(path),
                text_show(kind, strlen(kind), shown, sizeof shown), names);
}

ssm2d_status layer_case_parse(const char *path, const cJSON *root, layer_case *c,
                              ssm2d_error *error)
{
    static const char *const plane[] = {"L1",    "L2",     "kind",   "name",     "seed",
                                        "batch", "arrays", "inputs", "expected", NULL};
    static const char *const line[] = {"L", "kind", "name", "seed", "batch", "arrays", NULL};
    const char *name = NULL;
    ssm2d_error why;
    ssm2d_status status = json_get_string(path, root, "kind", JSON_REQUIRED, &name, error);
    if (status) return status;
    const layer_kind *kind = layer_kind_find(name);
    if (!kind) return refuse_kind(path, name, error);
    const char *const *keys = kind->raster ? line : plane;
    c->layer = layer_file_default(kind);
    /* cases are of published layers, whose transitions are tanh */
    if (kind == &layer_roesser)
        ((roesser_config *)(void *)&c->layer.values)->transition = ROESSER_TANH;
    c->grid = (ssm2d_grid){.axes = kind->raster ? 1 : 2, .extent = {1, 1, 1}};
    status = get_size(path, root, "batch", &c->batch, error);
    for (int i = 0; i < c->grid.axes && !status; i++)
        status = get_size(path, root, keys[i], &c->grid.extent[i], error);
    if (!status) status = layer_from_json(path, root, keys, &c->layer, error);
    if (status) return status;
    status = layer_check(&c->layer, &why);
    return status ? fail(error, status, "%s: %s", text_path(path), why.line) : SSM2D_OK;
}

static ssm2d_status read_config(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    char path[PATH];
    cJSON *root = NULL;
    if (snprintf(path, sizeof path, "%s/case.json", c->folder) >= (int)sizeof path)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(c->folder));
    ssm2d_status status = json_read_regular(context, path, &root, error);
    if (!status) status = layer_case_parse(path, root, c, error);
    cJSON_Delete(root);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* As in read_grid, the arrays are read before anything is allocated for the sizes in case.json. */
static ssm2d_status read_params(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    npy_array arrays[LAYER_ARRAYS];
    ssm2d_param a;
    ssm2d_status status = SSM2D_OK;
    int count = 0;
    while (!status && layer_case_param(c, count, &a)) {
        status =
            layer_case_array(context, c->folder, a.name, a.rank, a.shape, &arrays[count], error);
        if (!status) c->params_count = a.offset + a.count;
        if (!status) count++;
    }
    if (!status) {
        c->params = mem_alloc(context, c->params_count * sizeof *c->params);
        if (!c->params)
            status =
                fail_memory(error, "%s: %zu parameters", text_path(c->folder), c->params_count);
    }
    for (int i = 0; i < count; i++) {
        layer_case_param(c, i, &a);
        if (!status) npy_to_double(&arrays[i], c->params + a.offset);
        npy_free(context, &arrays[i]);
    }
    return status;
}

/* Reads u or dy. The array is read before anything is allocated for the sizes in case.json, so that
 * a wrong size costs no more memory than the file has. */
static ssm2d_status read_grid(const ssm2d_context *context, layer_case *c, const char *name,
                              double **out, ssm2d_error *error)
{
    npy_array array;
    ssm2d_strides strides;
    size_t shape[4];
    const int rank = layer_case_grid(c, shape, &strides);
    ssm2d_status status = layer_case_array(context, c->folder, name, rank, shape, &array, error);
    if (status) return status;
    c->grid_count = array.count;
    *out = mem_alloc(context, array.count * sizeof **out);
    if (*out)
        npy_to_double(&array, *out);
    else
        status =
            fail_memory(error, "%s/%s.npy: %zu elements", text_path(c->folder), name, array.count);
    npy_free(context, &array);
    return status;
}

ssm2d_status layer_case_read(const ssm2d_context *context, const char *folder, layer_case *c,
                             ssm2d_error *error)
{
    ssm2d_status status;
    memset(c, 0, sizeof *c);
    c->folder = folder;
    if ((status = read_config(context, c, error))) return status;
    if ((status = read_params(context, c, error))) return status;
    if ((status = read_grid(context, c, "u", &c->u, error))) return status;
    return read_grid(context, c, "dy", &c->dy, error);
}

void layer_case_free(const ssm2d_context *context, layer_case *c)
{
    mem_free(context, c->params);
    mem_free(context, c->u);
    mem_free(context, c->dy);
    memset(c, 0, sizeof *c);
}
