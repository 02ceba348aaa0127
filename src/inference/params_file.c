/* params_file - reads and writes the parameters of a layer as safetensors files. */
#include "core/context.h"
#include "core/float_mode.h"
#include "core/status.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "layers/layer_kind.h"
#include "ssm2d_model.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NOTES = 50, NAME = 256, VALUE = 64 }; /* notes: two, and one per field */

static const char note_prefix[] = "config.", kind_note[] = "kind";

typedef struct layer_file {
    const char *path, *prefix;
    const ssm2d_layer *layer;
    ssm2d_context *context;
    size_t item; /* bytes of an element */
} layer_file;

static ssm2d_status begin(layer_file *f, const char *path, const char *prefix,
                          const ssm2d_layer *layer, ssm2d_type type, const void *params,
                          ssm2d_error *error)
{
    const ssm2d_context_options one = {.size = sizeof one, .threads = 1};
    if (!path || !layer || !params)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: give one",
                    !path    ? "path"
                    : !layer ? "layer"
                             : "params");
    if (strcmp(layer->version, SSM2D_VERSION))
        return fail(
            error, SSM2D_ERROR_ARGUMENT,
            "layer: was created by version %s of libssm2d, but libssm2d_model is version %s",
            layer->version, SSM2D_VERSION);
    *f = (layer_file){.path = path,
                      .prefix = prefix ? prefix : "",
                      .layer = layer,
                      .item = type == SSM2D_FLOAT ? sizeof(float) : sizeof(double)};
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

/* Whether a setting is saved: all except that of initial values, which no longer matters. */
static int is_noted(const ssm2d_field *field) { return strcmp(field->name, LAYER_INIT) != 0; }

static void note_key(const ssm2d_field *field, char key[VALUE])
{
    snprintf(key, VALUE, "%s%s", note_prefix, field->name);
}

/* Writes kind and settings as notes, so that loading can refuse a different layer with the same
 * shapes. Returns the number of notes. */
static size_t notes_of(const layer_file *f, safetensors_note *notes, char (*keys)[VALUE],
                       char (*values)[VALUE])
{
    size_t count = 0;
    notes[count++] =
        (safetensors_note){"format", "pt"}; /* expected by readers of PyTorch weights */
    notes[count++] = (safetensors_note){kind_note, f->layer->kind->name};
    for (const ssm2d_field *field = f->layer->kind->fields; field->name; field++) {
        if (!is_noted(field) || count == MAX_NOTES) continue;
        note_key(field, keys[count]);
        field_print(field, layer_config(f->layer), values[count], VALUE);
        notes[count] = (safetensors_note){keys[count], values[count]};
        count++;
    }
    return count;
}

static ssm2d_status save(const layer_file *f, const void *params, ssm2d_error *error)
{
    safetensors_item items[LAYER_ARRAYS];
    safetensors_note notes[MAX_NOTES];
    char names[LAYER_ARRAYS][NAME], keys[MAX_NOTES][VALUE], values[MAX_NOTES][VALUE];
    ssm2d_param p;
    int count = 0;
    for (; ssm2d_layer_param(f->layer, count, &p); count++) {
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

static ssm2d_status save_params(const char *path, const char *prefix, const ssm2d_layer *layer,
                                ssm2d_type type, const void *params, ssm2d_error *error)
{
    layer_file f;
    ssm2d_error why;
    ssm2d_status status = begin(&f, path, prefix, layer, type, params, error);
    if (status) return status;
    if ((status = layer_params_check(layer, type, params, &why)))
        fail(error, status, "%s: not written: %s", text_path(path), why.line);
    else
        status = save(&f, params, error);
    ssm2d_context_destroy(f.context);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static ssm2d_status refuse_note(const layer_file *f, const char *what, const char *saved,
                                const char *own, ssm2d_error *error)
{
    char shown[VALUE];
    return fail(
        error, SSM2D_ERROR_ARGUMENT,
        "%s: was saved by a layer whose %s is %s, not %s: use the settings that it was saved with",
        text_path(f->path), what, text_show(saved, strlen(saved), shown, sizeof shown), own);
}

/* A file without these notes is accepted if its shapes match. */
static ssm2d_status check_notes(const layer_file *f, const safetensors *file, ssm2d_error *error)
{
    const char *kind = safetensors_metadata(file, kind_note);
    if (kind && strcmp(kind, f->layer->kind->name))
        return refuse_note(f, kind_note, kind, f->layer->kind->name, error);
    for (const ssm2d_field *field = f->layer->kind->fields; field->name; field++) {
        char key[VALUE], own[VALUE];
        note_key(field, key);
        const char *saved = is_noted(field) ? safetensors_metadata(file, key) : NULL;
        field_print(field, layer_config(f->layer), own, sizeof own);
        if (saved && strcmp(saved, own)) return refuse_note(f, field->name, saved, own, error);
    }
    return SSM2D_OK;
}

/* Whether an array of the file belongs to the prefix. */
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
        for (int k = 0; !known && ssm2d_layer_param(f->layer, k, &p); k++) {
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
    for (int i = 0; !status && ssm2d_layer_param(f->layer, i, &p); i++) {
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

static ssm2d_status load_file(const char *path, const char *prefix, const ssm2d_layer *layer,
                              ssm2d_type type, void *params, ssm2d_error *error)
{
    layer_file f;
    safetensors *file;
    ssm2d_error why;
    ssm2d_status status = begin(&f, path, prefix, layer, type, params, error);
    if (status) return status;
    status = safetensors_open(f.context, path, &file, error);
    if (!status) {
        status = load(&f, file, params, error);
        safetensors_close(file);
        if (!status && (status = layer_params_check(layer, type, params, &why)))
            fail(error, status, "%s: %s", text_path(path), why.line);
    }
    ssm2d_context_destroy(f.context);
    return status;
}

static ssm2d_status load_params(const char *path, const char *prefix, const ssm2d_layer *layer,
                                ssm2d_type type, void *params, ssm2d_error *error)
{
    const float_mode before = float_mode_set(); /* elements of another type are rounded */
    const ssm2d_status status = load_file(path, prefix, layer, type, params, error);
    float_mode_restore(before);
    return status;
}

/* ---- public: float and double ---------------------------------------------------------------- */

#define PUBLIC(suffix, element, type)                                                              \
    ssm2d_status ssm2d_params_save##suffix(const char *path, const char *prefix,                   \
                                           const ssm2d_layer *layer, const element *params,        \
                                           ssm2d_error *error)                                     \
    {                                                                                              \
        return save_params(path, prefix, layer, type, params, error);                              \
    }                                                                                              \
    ssm2d_status ssm2d_params_load##suffix(const char *path, const char *prefix,                   \
                                           const ssm2d_layer *layer, element *params,              \
                                           ssm2d_error *error)                                     \
    {                                                                                              \
        return load_params(path, prefix, layer, type, params, error);                              \
    }

PUBLIC(, float, SSM2D_FLOAT)
PUBLIC(_double, double, SSM2D_DOUBLE)
