#include "layer_case.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SIDE = 1 << 20, PATH = 4096, MAX_ARRAYS = 16 };

/* Every kind there is: one line. */
static const layer_kind *const kinds[] = {&layer_kind_ssm2d, &layer_kind_s4nd, &layer_kind_ema};

enum { KINDS = sizeof kinds / sizeof *kinds };

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

ssm2d_status layer_case_size(const char *path, const cJSON *root, const char *key, size_t *size,
                             ssm2d_error *error)
{
    int value = 0;
    ssm2d_status status = json_get_int(path, root, key, JSON_REQUIRED, 1, MAX_SIDE, &value, error);
    if (!status) *size = (size_t)value;
    return status;
}

static ssm2d_status refuse_kind(const char *path, const char *kind, ssm2d_error *error)
{
    char shown[40], names[64] = "";
    for (int i = 0; i < KINDS; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 !i              ? ""
                 : i + 1 < KINDS ? ", "
                                 : " or ",
                 kinds[i]->name);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"kind\" is \"%s\": use %s", text_path(path),
                text_show(kind, strlen(kind), shown, sizeof shown), names);
}

ssm2d_status layer_case_parse(const char *path, const cJSON *root, layer_case *c,
                              ssm2d_error *error)
{
    const char *kind = NULL;
    ssm2d_status status = json_get_string(path, root, "kind", JSON_REQUIRED, &kind, error);
    if (status) return status;
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i]->name, kind)) c->kind = kinds[i];
    if (!c->kind) return refuse_kind(path, kind, error);
    return c->kind->read(path, root, c, error);
}

static ssm2d_status read_config(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    char path[PATH];
    cJSON *root = NULL;
    if (snprintf(path, sizeof path, "%s/case.json", c->folder) >= (int)sizeof path)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(c->folder));
    ssm2d_status status = json_read(context, path, &root, error);
    if (!status) status = layer_case_parse(path, root, c, error);
    cJSON_Delete(root);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Reads the parameters. As with u and dy, the arrays are read before anything is allocated for the
 * sizes in case.json. */
static ssm2d_status read_params(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    npy_array arrays[MAX_ARRAYS];
    layer_array a;
    ssm2d_status status = SSM2D_OK;
    int count = 0;
    while (!status && count < MAX_ARRAYS && c->kind->array(c, count, &a)) {
        status =
            layer_case_array(context, c->folder, a.name, a.rank, a.shape, &arrays[count], error);
        if (!status) c->params_count = a.offset + a.size;
        if (!status) count++;
    }
    if (!status) {
        c->params = mem_alloc(context, c->params_count * sizeof *c->params);
        if (!c->params)
            status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for %zu parameters",
                          text_path(c->folder), c->params_count);
    }
    for (int i = 0; i < count; i++) {
        c->kind->array(c, i, &a);
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
    const int rank = c->kind->grid(c, shape, &strides);
    ssm2d_status status = layer_case_array(context, c->folder, name, rank, shape, &array, error);
    if (status) return status;
    c->grid_count = array.count;
    *out = mem_alloc(context, array.count * sizeof **out);
    if (*out)
        npy_to_double(&array, *out);
    else
        status = fail(error, SSM2D_ERROR_MEMORY, "%s/%s.npy: no memory for %zu numbers",
                      text_path(c->folder), name, array.count);
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

ssm2d_plan_options layer_case_options(const layer_case *c, const layer_run *r)
{
    size_t shape[4];
    ssm2d_plan_options o = ssm2d_plan_options_default();
    o.batch = c->batch;
    o.rows = c->rows;
    o.cols = c->cols;
    o.type = r->type;
    o.algorithm = r->algorithm;
    c->kind->grid(c, shape, &o.in);
    o.out = o.in;
    return o;
}
