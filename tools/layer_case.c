#include "layer_case.h"

#include "core/context.h"
#include "core/status.h"
#include "io/json.h"
#include "io/layer_config.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SIDE = 1 << 20, PATH = 4096 };

static const char *const other_keys[] = {"kind", "name", "seed",   "batch",
                                         "L1",   "L2",   "arrays", NULL};

const char *layer_case_file(const ssm2d_param *param)
{
    return strcmp(param->name, "D") ? param->name : "omega";
}

ssm2d_status layer_case_array(const ssm2d_context *context, const char *folder, const char *prefix,
                              const char *name, int rank, const size_t *shape, npy_array *array,
                              ssm2d_error *error)
{
    char path[PATH], has[96], needs[96];
    if (snprintf(path, sizeof path, "%s/%s%s.npy", folder, prefix, name) >= (int)sizeof path)
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

static ssm2d_status read_config(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    char path[PATH], shown[40];
    const char *kind = NULL;
    int batch = 1, rows = 0, cols = 0;
    cJSON *root = NULL;
    ssm2d_status status;
    if (snprintf(path, sizeof path, "%s/case.json", c->folder) >= (int)sizeof path)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(c->folder));
    c->config = ssm2d_config_default();
    if ((status = json_read(context, path, &root, error))) return status;
    if ((status = json_get_string(path, root, "kind", JSON_REQUIRED, &kind, error))) goto done;
    if (!strcmp(kind, "s4nd") || !strcmp(kind, "ema")) {
        status = fail(error, SSM2D_ERROR_UNSUPPORTED,
                      "%s: \"kind\" is \"%s\", which is not supported yet: use ssm2d",
                      text_path(path), kind);
        goto done;
    }
    if (strcmp(kind, "ssm2d")) {
        status = fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"kind\" is \"%s\": use ssm2d",
                      text_path(path), text_show(kind, strlen(kind), shown, sizeof shown));
        goto done;
    }
    if ((status = json_get_int(path, root, "batch", JSON_REQUIRED, 1, MAX_SIDE, &batch, error)))
        goto done;
    if ((status = json_get_int(path, root, "L1", JSON_REQUIRED, 1, MAX_SIDE, &rows, error)))
        goto done;
    if ((status = json_get_int(path, root, "L2", JSON_REQUIRED, 1, MAX_SIDE, &cols, error)))
        goto done;
    if ((status = layer_config_from_json(path, root, other_keys, &c->config, error))) goto done;
    ssm2d_error why;
    if ((status = ssm2d_config_check(&c->config, &why)))
        fail(error, status, "%s: %s", text_path(path), why.line);
    c->batch = (size_t)batch;
    c->rows = (size_t)rows;
    c->cols = (size_t)cols;
done:
    cJSON_Delete(root);
    return status;
}

enum { MAX_ARRAYS = 16 };

/* Reads the parameters. As with u and dy, the arrays are read before anything is allocated for the
 * sizes in case.json. */
static ssm2d_status read_params(const ssm2d_context *context, layer_case *c, ssm2d_error *error)
{
    npy_array arrays[MAX_ARRAYS];
    ssm2d_param param;
    ssm2d_status status = SSM2D_OK;
    int count = 0;
    while (!status && count < MAX_ARRAYS && ssm2d_param_get(&c->config, count, &param)) {
        status = layer_case_array(context, c->folder, "", layer_case_file(&param), param.rank,
                                  param.shape, &arrays[count], error);
        if (!status) count++;
    }
    if (!status) {
        c->params_count = ssm2d_param_total(&c->config);
        c->params = mem_alloc(context, c->params_count * sizeof *c->params);
        if (!c->params)
            status = fail(error, SSM2D_ERROR_MEMORY, "%s: no memory for %zu parameters",
                          text_path(c->folder), c->params_count);
    }
    for (int i = 0; i < count; i++) {
        ssm2d_param_get(&c->config, i, &param);
        if (!status) npy_to_double(&arrays[i], c->params + param.offset);
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
    size_t shape[4] = {c->batch, (size_t)c->config.channels, c->rows, c->cols};
    ssm2d_status status = layer_case_array(context, c->folder, "", name, 4, shape, &array, error);
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
