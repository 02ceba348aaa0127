#include "layer_baseline.h"

#include "core/status.h"
#include "io/field_json.h"
#include "io/text.h"

#include <string.h>

enum { MAX_NAMES = 32 };

static const char *const other_keys[] = {"kind", "name", "seed", "batch", "arrays", NULL};

static int in_list(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name)) list++;
    return *list != NULL;
}

static ssm2d_status refuse(field_source from, const char *key, const ssm2d_field *fields,
                           const char *const *sizes, ssm2d_error *error)
{
    const char *names[MAX_NAMES + 1] = {0};
    int n = 0;
    for (; fields->name && n < MAX_NAMES; fields++) names[n++] = fields->name;
    for (; *sizes && n < MAX_NAMES; sizes++) names[n++] = *sizes;
    for (int i = 0; other_keys[i] && n < MAX_NAMES; i++) names[n++] = other_keys[i];
    return field_refuse_key(from, key, names, error);
}

ssm2d_status layer_baseline_read(const char *path, const cJSON *root, const char *const *sizes,
                                 layer_case *c, ssm2d_error *error)
{
    const field_source from = {.where = text_path(path)};
    const ssm2d_field *fields = ssm2d_baseline_fields(c->config.base.kind, NULL);
    ssm2d_error why;
    ssm2d_status status = SSM2D_OK;
    for (const cJSON *item = root->child; item && !status; item = item->next) {
        const ssm2d_field *f = field_find(fields, item->string);
        if (f && !cJSON_IsNull(item))
            status = field_from_json(from, f, item, &c->config, error);
        else if (!f && !in_list(item->string, sizes) && !in_list(item->string, other_keys))
            status = refuse(from, item->string, fields, sizes, error);
    }
    if (status) return status;
    status = ssm2d_baseline_config_check(&c->config.base, &why);
    return status ? fail(error, status, "%s: %s", from.where, why.line) : SSM2D_OK;
}

int layer_baseline_array(const layer_case *c, int i, layer_array *a)
{
    ssm2d_baseline_param p;
    if (!ssm2d_baseline_param_get(&c->config.base, i, &p)) return 0;
    *a = (layer_array){p.name, p.rank, {0}, p.offset, p.size};
    memcpy(a->shape, p.shape, sizeof p.shape);
    return 1;
}

ssm2d_status layer_baseline_check(const layer_case *c, ssm2d_type type, const void *params,
                                  ssm2d_error *error)
{
    return ssm2d_baseline_params_check(&c->config.base, type, params, error);
}

ssm2d_status layer_baseline_run(ssm2d_context *context, const layer_case *c, const layer_run *r,
                                ssm2d_error *error)
{
    const ssm2d_plan_options options = layer_case_options(c, r);
    ssm2d_baseline_plan *plan = NULL;
    ssm2d_baseline_workspace *workspace = NULL;
    ssm2d_status status =
        ssm2d_baseline_plan_create(context, &c->config.base, &options, &plan, error);
    if (!status) status = ssm2d_baseline_workspace_create(plan, &workspace, error);
    if (!status) {
        ssm2d_baseline_kernel(plan, workspace, r->params, r->kernel);
        ssm2d_baseline_forward(plan, workspace, r->params, r->u, r->y);
        ssm2d_baseline_backward(plan, workspace, r->params, r->u, r->dy, r->du, r->dparams);
    }
    ssm2d_baseline_workspace_destroy(workspace);
    ssm2d_baseline_plan_destroy(plan);
    return status;
}
