/* config - a model's configuration as a whole: by name, checked, to and from files. The keys are in
 * fields.c. */
#include "core/status.h"
#include "io/file.h"
#include "io/field_json.h"
#include "io/json.h"
#include "models/fields.h"
#include "models/registry.h"

#include <string.h>

ssm2d_status model_config_named(const char *name, model_config *config, ssm2d_error *error)
{
    const model *m;
    ssm2d_status status = model_find(name, &m, error);
    if (status) return status;
    *config = m->preset;
    config->model = m;
    config->mixer.layer = ssm2d_config_default();
    config->mixer.layer.directions = m->preset.mixer.layer.directions;
    config->mixer.layer.n_ssm = m->preset.mixer.layer.n_ssm;
    config->mixer.layer.d_state = m->preset.mixer.layer.d_state;
    return SSM2D_OK;
}

int model_hidden(const model_config *c) { return (int)(c->dim * c->mlp_ratio); }

int model_mixer_channels(const model_config *c)
{
    return c->mixer.place == PLACE_FFN ? model_hidden(c) : c->dim;
}

ssm2d_status model_config_finish(model_config *c, ssm2d_error *error)
{
    if (!c->model) return fail(error, SSM2D_ERROR_ARGUMENT, "the model has no name");
    /* 8 x 8 tokens at 32 and at 64 pixels */
    if (!c->patch) c->patch = c->image[0] >= 64 && c->image[1] >= 64 ? 8 : 4;
    for (int i = 0; i < model_field_count; i++) {
        const model_field *f = &model_fields[i];
        const void *place = (const char *)c + f->offset;
        const double value = f->kind == FIELD_REAL ? *(const double *)place : *(const int *)place;
        if (value == 0 && f->low > 0)
            return fail(error, SSM2D_ERROR_ARGUMENT, "model %s has no \"%s\" of its own: give it",
                        c->model->name, f->name);
        if (!(value >= f->low && value <= f->high))
            return fail(error, SSM2D_ERROR_ARGUMENT, "\"%s\" is %.15g: use %.15g to %.15g", f->name,
                        value, f->low, f->high);
    }
    if (c->image[0] % c->patch || c->image[1] % c->patch || c->image[1] < 1)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"patch\" is %d: images of %d x %d cannot be cut into such patches", c->patch,
                    c->image[0], c->image[1]);
    if (c->dim % c->heads)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "\"heads\" is %d: it must divide \"dim\", which is %d", c->heads, c->dim);
    if (model_hidden(c) < 1)
        return fail(error, SSM2D_ERROR_ARGUMENT, "\"mlp_ratio\" is %g: too small for \"dim\" %d",
                    c->mlp_ratio, c->dim);
    if (c->mixer.kind == &mixer_none) return SSM2D_OK;
    ssm2d_config layer = c->mixer.layer;
    ssm2d_error why;
    layer.channels = model_mixer_channels(c);
    ssm2d_status status = ssm2d_config_check(&layer, &why);
    return status ? fail(error, status, "\"mixer\": %s", why.line) : SSM2D_OK;
}

ssm2d_status model_config_read(const ssm2d_context *context, const char *path, model_config *config,
                               ssm2d_error *error)
{
    cJSON *root = NULL;
    ssm2d_status status = json_read(context, path, &root, error);
    if (status) return status;
    status = model_config_from_json(path, root, NULL, config, error);
    cJSON_Delete(root);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int add_field(cJSON *object, const model_field *f, const model_config *c)
{
    const void *place = (const char *)c + f->offset;
    const int *number = place;
    switch (f->kind) {
    case FIELD_INT: return cJSON_AddNumberToObject(object, f->name, *number) != NULL;
    case FIELD_REAL:
        return cJSON_AddNumberToObject(object, f->name, *(const double *)place) != NULL;
    case FIELD_FLAG: return cJSON_AddBoolToObject(object, f->name, *number) != NULL;
    case FIELD_IMAGE: break;
    }
    cJSON *list = cJSON_CreateIntArray(number, 2);
    if (list && cJSON_AddItemToObject(object, f->name, list)) return 1;
    cJSON_Delete(list);
    return 0;
}

static int add_mixer(cJSON *root, const mixer_config *m)
{
    size_t count;
    const ssm2d_field *fields = ssm2d_config_fields(&count);
    if (m->kind == &mixer_none) return cJSON_AddNullToObject(root, "mixer") != NULL;
    cJSON *object = cJSON_AddObjectToObject(root, "mixer");
    int good = object && cJSON_AddStringToObject(object, "kind", m->kind->name)
               && cJSON_AddStringToObject(object, "place", mixer_place_names[m->place])
               && cJSON_AddStringToObject(object, "init", mixer_init_names[m->init]);
    for (size_t i = 0; good && i < count; i++)

        if (strcmp(fields[i].name, "channels")) /* which follow from the model */
            good = field_add_to_json(object, &fields[i], &m->layer);
    return good;
}

cJSON *model_config_to_json(const model_config *c)
{
    cJSON *root = cJSON_CreateObject();
    int good = root && cJSON_AddStringToObject(root, "model", c->model->name);
    for (int i = 0; good && i < model_field_count; i++) good = add_field(root, &model_fields[i], c);
    if (good && add_mixer(root, &c->mixer)) return root;
    cJSON_Delete(root);
    return NULL;
}

ssm2d_status model_config_write(const ssm2d_context *context, const char *path,
                                const model_config *config, ssm2d_error *error)
{
    atomic_file file;
    cJSON *root = model_config_to_json(config);
    char *text = root ? cJSON_Print(root) : NULL;
    ssm2d_status status =
        text ? atomic_open(context, path, &file, error)
             : fail(error, SSM2D_ERROR_MEMORY, "no memory to write a configuration");
    if (!status) {
        status = atomic_write(&file, text, strlen(text), error);
        if (!status) status = atomic_write(&file, "\n", 1, error);
        if (!status)
            status = atomic_commit(&file, error);
        else
            atomic_cancel(&file);
    }
    cJSON_free(text);
    cJSON_Delete(root);
    return status;
}
