/* params_file - the parameters of the bare layer from and to safetensors files. */
#include "core/context.h"
#include "core/field.h"
#include "core/float_mode.h"
#include "core/status.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "layer/config.h"
#include "ssm2d_model.h"

#include <stdio.h>
#include <string.h>

/* The layer has at most six arrays of systems, D, gamma and beta; more are refused, not cut. */
enum { MAX_ARRAYS = 16, MAX_FIELDS = 32, NAME = 256, VALUE = 64 };

static const char note_prefix[] = "config.";

typedef struct layer_file {
    const char *path, *prefix;
    ssm2d_config config; /* of this version */
    ssm2d_context *context;
    size_t item; /* bytes of a number */
} layer_file;

static ssm2d_status begin(layer_file *f, const char *path, const char *prefix,
                          const ssm2d_config *config, ssm2d_type type, const void *params,
                          ssm2d_error *error)
{
    const ssm2d_context_options one = {.size = sizeof one, .threads = 1};
    if (!path || !config || !params)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: give one",
                    !path     ? "path"
                    : !config ? "config"
                              : "params");
    if (type != SSM2D_FLOAT && type != SSM2D_DOUBLE)
        return fail(error, SSM2D_ERROR_ARGUMENT, "type=%d: use SSM2D_FLOAT or SSM2D_DOUBLE",
                    (int)type);
    *f = (layer_file){.path = path,
                      .prefix = prefix ? prefix : "",
                      .item = type == SSM2D_FLOAT ? sizeof(float) : sizeof(double)};
    const ssm2d_status status = config_read(&f->config, config, error);
    if (status) return status;
    return ssm2d_context_create(&one, &f->context, error);
}

/* The array's name in the file. */
static ssm2d_status name_of(const layer_file *f, const ssm2d_param *p, char name[NAME],
                            ssm2d_error *error)
{
    const int length = snprintf(name, NAME, "%s%s%s", f->prefix, *f->prefix ? "." : "", p->name);
    if (length > 0 && length < NAME) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the prefix has more than %d characters",
                text_path(f->path), NAME - 16);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* The fields of the configuration as notes, by which loading knows another layer of the same
 * shapes. Returns how many there are. */
static size_t notes_of(const layer_file *f, safetensors_note *notes, char (*keys)[VALUE],
                       char (*values)[VALUE])
{
    size_t fields, count = 0;
    const ssm2d_field *field = ssm2d_config_fields(&fields);
    notes[count++] = (safetensors_note){"format", "pt"}; /* as readers of PyTorch weights expect */
    for (size_t i = 0; i < fields && count < MAX_FIELDS; i++) {
        snprintf(keys[i], VALUE, "%s%s", note_prefix, field[i].name);
        notes[count++] = (safetensors_note){
            keys[i], field_print(&field[i], &f->config, values[i], sizeof values[i])};
    }
    return count;
}

static ssm2d_status save(const layer_file *f, const void *params, ssm2d_error *error)
{
    safetensors_item items[MAX_ARRAYS];
    safetensors_note notes[MAX_FIELDS];
    char names[MAX_ARRAYS][NAME], keys[MAX_FIELDS][VALUE], values[MAX_FIELDS][VALUE];
    ssm2d_param p;
    int count = 0;
    for (; ssm2d_param_get(&f->config, count, &p); count++) {
        if (count == MAX_ARRAYS)
            return fail(error, SSM2D_ERROR_UNSUPPORTED, "%s: the layer has more than %d arrays",
                        text_path(f->path), MAX_ARRAYS);
        const ssm2d_status status = name_of(f, &p, names[count], error);
        if (status) return status;
        items[count] =
            (safetensors_item){.name = names[count],
                               .type = f->item == sizeof(float) ? SAFETENSORS_F32 : SAFETENSORS_F64,
                               .rank = p.rank,
                               .data = (const char *)params + p.offset * f->item};
        memcpy(items[count].shape, p.shape, (size_t)p.rank * sizeof *p.shape);
    }
    return safetensors_write(f->context, f->path, (size_t)count, items,
                             notes_of(f, notes, keys, values), notes, error);
}

ssm2d_status ssm2d_params_save(const char *path, const char *prefix, const ssm2d_config *config,
                               ssm2d_type type, const void *params, ssm2d_error *error)
{
    layer_file f;
    ssm2d_error why;
    ssm2d_status status = begin(&f, path, prefix, config, type, params, error);
    if (status) return status;
    if ((status = ssm2d_params_check(&f.config, type, params, &why)))
        fail(error, status, "%s: not written: %s", text_path(path), why.line);
    else
        status = save(&f, params, error);
    ssm2d_context_destroy(f.context);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* A file that says nothing of a configuration is taken by its shapes. */
static ssm2d_status check_notes(const layer_file *f, const safetensors *file, ssm2d_error *error)
{
    size_t fields;
    const ssm2d_field *field = ssm2d_config_fields(&fields);
    for (size_t i = 0; i < fields; i++) {
        char key[VALUE], own[VALUE], shown[VALUE];
        snprintf(key, sizeof key, "%s%s", note_prefix, field[i].name);
        const char *said = safetensors_metadata(file, key);
        field_print(&field[i], &f->config, own, sizeof own);
        if (said && strcmp(said, own))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: is of a layer whose %s is %s, not %s: use the configuration that it "
                        "was saved with",
                        text_path(f->path), field[i].name,
                        text_show(said, strlen(said), shown, sizeof shown), own);
    }
    return SSM2D_OK;
}

/* Whether an array of the file is one of those that the prefix stands for. */
static int is_ours(const layer_file *f, const char *name)
{
    const size_t length = strlen(f->prefix);
    return !length || (!strncmp(name, f->prefix, length) && name[length] == '.');
}

static ssm2d_status check_names(const layer_file *f, const safetensors *file, ssm2d_error *error)
{
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_get(file, i)->name;
        char one[NAME], shown[VALUE];
        ssm2d_param p;
        int known = !is_ours(f, name);
        for (int k = 0; !known && ssm2d_param_get(&f->config, k, &p); k++) {
            const ssm2d_status status = name_of(f, &p, one, error);
            if (status) return status;
            known = !strcmp(one, name);
        }
        if (!known)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the layer has no array %s",
                        text_path(f->path), text_show(name, strlen(name), shown, sizeof shown));
    }
    return SSM2D_OK;
}

static ssm2d_status load(const layer_file *f, const safetensors *file, void *params,
                         ssm2d_error *error)
{
    ssm2d_param p;
    ssm2d_status status = check_notes(f, file, error);
    if (!status) status = check_names(f, file, error);
    for (int i = 0; !status && ssm2d_param_get(&f->config, i, &p); i++) {
        const safetensors_array *array;
        char name[NAME];
        void *to = (char *)params + p.offset * f->item;
        if ((status = name_of(f, &p, name, error))
            || (status = safetensors_expect(file, name, p.rank, p.shape, &array, error)))
            return status;
        status = f->item == sizeof(float) ? safetensors_read_float(file, array, to, error)
                                          : safetensors_read_double(file, array, to, error);
    }
    return status;
}

static ssm2d_status load_params(const char *path, const char *prefix, const ssm2d_config *config,
                                ssm2d_type type, void *params, ssm2d_error *error)
{
    layer_file f;
    safetensors *file;
    ssm2d_error why;
    ssm2d_status status = begin(&f, path, prefix, config, type, params, error);
    if (status) return status;
    status = safetensors_open(f.context, path, &file, error);
    if (!status) {
        status = load(&f, file, params, error);
        safetensors_close(file);
        if (!status && (status = ssm2d_params_check(&f.config, type, params, &why)))
            fail(error, status, "%s: %s", text_path(path), why.line);
    }
    ssm2d_context_destroy(f.context);
    return status;
}

ssm2d_status ssm2d_params_load(const char *path, const char *prefix, const ssm2d_config *config,
                               ssm2d_type type, void *params, ssm2d_error *error)
{
    const float_mode before = float_mode_set(); /* numbers of another type are rounded */
    const ssm2d_status status = load_params(path, prefix, config, type, params, error);
    float_mode_restore(before);
    return status;
}
