/* layer_ssm2d - cases of the 2-D SSM. Arrays are channel-first, (batch, channels, rows, columns);
 * the parameter D is called omega. */
#include "layer_case.h"

#include "core/status.h"
#include "io/layer_config.h"
#include "io/text.h"
#include "layer_dkernel.h"

#include <string.h>

static const char *const other_keys[] = {"kind", "name", "seed",   "batch",
                                         "L1",   "L2",   "arrays", NULL};

static ssm2d_status read(const char *path, const cJSON *root, layer_case *c, ssm2d_error *error)
{
    ssm2d_error why;
    c->config.ssm2d = ssm2d_config_default();
    ssm2d_status status = layer_case_size(path, root, "batch", &c->batch, error);
    if (!status) status = layer_case_size(path, root, "L1", &c->rows, error);
    if (!status) status = layer_case_size(path, root, "L2", &c->cols, error);
    if (!status) status = layer_config_from_json(path, root, other_keys, &c->config.ssm2d, error);
    if (status) return status;
    status = ssm2d_config_check(&c->config.ssm2d, &why);
    return status ? fail(error, status, "%s: %s", text_path(path), why.line) : SSM2D_OK;
}

static int array(const layer_case *c, int i, layer_array *a)
{
    ssm2d_param p;
    if (!ssm2d_param_get(&c->config.ssm2d, i, &p)) return 0;
    *a = (layer_array){p.name, p.rank, {0}, p.offset, p.size};
    if (!strcmp(p.name, "D")) a->name = "omega";
    memcpy(a->shape, p.shape, sizeof p.shape);
    return 1;
}

static int grid(const layer_case *c, size_t shape[4], ssm2d_strides *strides)
{
    const size_t sizes[4] = {c->batch, (size_t)c->config.ssm2d.channels, c->rows, c->cols};
    const ptrdiff_t cells = (ptrdiff_t)(c->rows * c->cols);
    memcpy(shape, sizes, sizeof sizes);
    *strides = (ssm2d_strides){c->config.ssm2d.channels * cells, (ptrdiff_t)c->cols, 1, cells};
    return 4;
}

static int kernel(const layer_case *c, size_t shape[4])
{
    const ssm2d_config *config = &c->config.ssm2d;
    const size_t sizes[4] = {(size_t)config->directions, (size_t)config->channels, c->rows,
                             c->cols};
    memcpy(shape, sizes, sizeof sizes);
    return 4;
}

static ssm2d_status check(const layer_case *c, ssm2d_type type, const void *params,
                          ssm2d_error *error)
{
    return ssm2d_params_check(&c->config.ssm2d, type, params, error);
}

static ssm2d_status run(ssm2d_context *context, const layer_case *c, const layer_run *r,
                        ssm2d_error *error)
{
    const ssm2d_plan_options options = layer_case_options(c, r);
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    ssm2d_status status = ssm2d_plan_create(context, &c->config.ssm2d, &options, &plan, error);
    if (!status) status = ssm2d_workspace_create(plan, &workspace, error);
    if (!status) {
        ssm2d_kernel(plan, workspace, r->params, r->kernel);
        ssm2d_forward(plan, workspace, r->params, r->u, r->y);
        ssm2d_backward(plan, workspace, r->params, r->u, r->dy, r->du, r->dparams);
    }
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    return status;
}

const layer_kind layer_kind_ssm2d = {.name = "ssm2d",
                                     .read = read,
                                     .array = array,
                                     .grid = grid,
                                     .kernel = kernel,
                                     .check = check,
                                     .run = run,
                                     .dkernel = layer_dkernel};
