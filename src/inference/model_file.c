#include "inference/model_file.h"

#include "core/context.h"
#include "core/status.h"
#include "inference/model_open_impl.h"
#include "io/field_json.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "ops/simd/simd_ops.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char version_key[] = "ssm2d_model", version_now[] = "1", type_key[] = "type",
                  config_key[] = "config", data_key[] = "data", settings_key[] = "evaluation",
                  weights_key[] = "weights", card_key[] = "card";

static const model_parts parts = {config_key, data_key, settings_key};

int model_file_is(const char *path)
{
    struct stat info;
    return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

static const char *weights_name(int i)
{
    static const char *const names[] = {"last", "best", NULL};
    return names[i];
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reading {
    ssm2d_model *m;
    const char *path;
    const safetensors *file;
} reading;

static ssm2d_status get_text(const reading *r, const char *key, const char **text,
                             ssm2d_error *error)
{
    *text = safetensors_metadata(r->file, key);
    if (*text) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is missing in its metadata",
                text_path(r->path), key);
}

/* The index of a value among those allowed, which `at` lists. */
static ssm2d_status get_choice(const reading *r, const char *key, const char *(*at)(int), int count,
                               int *choice, ssm2d_error *error)
{
    const char *text;
    char shown[48];
    const ssm2d_status status = get_text(r, key, &text, error);
    if (status) return status;
    for (*choice = 0; *choice < count; ++*choice)
        if (!strcmp(text, at(*choice))) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: \"%s\" is %s, which this version of ssm2d does not have", text_path(r->path),
                key, text_show(text, strlen(text), shown, sizeof shown));
}

static ssm2d_status check_version(const reading *r, ssm2d_error *error)
{
    const char *text = safetensors_metadata(r->file, version_key);
    char shown[48];
    if (text && !strcmp(text, version_now)) return SSM2D_OK;
    if (text)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is a model file of version %s; this version of ssm2d reads version %s",
                    text_path(r->path), text_show(text, strlen(text), shown, sizeof shown),
                    version_now);
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: is not a model file: it has no \"%s\" in its metadata; ssm2d quantize makes "
                "one of a run",
                text_path(r->path), version_key);
}

/* Parses a value, which has to be JSON; `name`, RUN_PATH bytes, becomes its name in messages. */
static ssm2d_status get_json(const reading *r, const char *key, char *name, cJSON **root,
                             ssm2d_error *error)
{
    const char *text;
    const ssm2d_status status = get_text(r, key, &text, error);
    snprintf(name, RUN_PATH, "%s: %s", text_path(r->path), key);
    return status ? status : json_parse(name, text, strlen(text), root, error);
}

static ssm2d_status read_config(const reading *r, ssm2d_error *error)
{
    char name[RUN_PATH];
    cJSON *root = NULL;
    ssm2d_status status = get_json(r, config_key, name, &root, error);
    if (!status) status = model_config_from_json(name, root, NULL, &r->m->config, error);
    cJSON_Delete(root);
    return status;
}

static ssm2d_status read_data(const reading *r, ssm2d_error *error)
{
    char name[RUN_PATH];
    cJSON *root = NULL;
    ssm2d_status status = get_json(r, data_key, name, &root, error);
    if (!status) status = run_data_from_json(r->m->context, name, root, &r->m->data, error);
    cJSON_Delete(root);
    return status;
}

static ssm2d_status read_settings(const reading *r, ssm2d_error *error)
{
    char name[RUN_PATH];
    cJSON *root = NULL;
    ssm2d_status status = get_json(r, settings_key, name, &root, error);
    if (!status) status = model_read_settings(name, root, r->m, error);
    cJSON_Delete(root);
    return status;
}

static ssm2d_status read_card(const reading *r, ssm2d_error *error)
{
    const char *text = safetensors_metadata(r->file, card_key);
    if (!text) return SSM2D_OK;
    r->m->card = mem_alloc(r->m->context, strlen(text) + 1);
    if (!r->m->card) return fail_memory(error, "%s: %s", text_path(r->path), card_key);
    memcpy(r->m->card, text, strlen(text) + 1);
    return SSM2D_OK;
}

static const char *type_name(int i) { return element_name((element_type)i); }

static ssm2d_status read_types(const reading *r, ssm2d_error *error)
{
    int type = 0, which = 0;
    ssm2d_status status = get_choice(r, type_key, type_name, ELEMENT_INT8, &type, error);
    if (!status) status = get_choice(r, weights_key, weights_name, 2, &which, error);
    r->m->type = (element_type)type;
    r->m->which = which ? RUN_BEST : RUN_MODEL;
    return status;
}

/* Refuses arrays of other element types than the file claims. */
static ssm2d_status check_arrays(const reading *r, ssm2d_error *error)
{
    char shown[64];
    for (size_t i = 0; i < safetensors_count(r->file); i++) {
        const safetensors_array *a = safetensors_get(r->file, i);
        if (a->type == SAFETENSORS_F32
            || (a->type == SAFETENSORS_BF16 && r->m->type == ELEMENT_BFLOAT16))
            continue;
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\" is %s, but \"%s\" is %s",
                    text_path(r->path), text_show(a->name, strlen(a->name), shown, sizeof shown),
                    safetensors_type_name(a->type), type_key, element_name(r->m->type));
    }
    return SSM2D_OK;
}

static ssm2d_status read_weights(const reading *r, ssm2d_error *error)
{
    ssm2d_model *m = r->m;
    weights_report report;
    ssm2d_status status =
        weights_read(m->weights, r->path, r->file, NULL, m->params, &report, error);
    if (!status && (report.new_mixer_arrays || report.resized || report.resized_tables))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its arrays do not fit its \"%s\": %s",
                    text_path(r->path), config_key,
                    report.new_mixer_arrays ? "those of the mixer are missing"
                                            : "they are for another image size");
    return status;
}

static ssm2d_status read_all(const reading *r, ssm2d_error *error)
{
    ssm2d_model *m = r->m;
    ssm2d_status status;
    m->is_run = 1;
    if ((status = check_version(r, error)) || (status = read_types(r, error))
        || (status = read_config(r, error)) || (status = read_data(r, error))
        || (status = read_settings(r, error)) || (status = read_card(r, error))
        || (status = check_arrays(r, error))
        || (status = model_check_run(r->path, &parts, m, error)))
        return status;
    m->config.head = m->data.task->head;
    status = model_allocate_params(m, r->path, r->path, error);
    return status ? status : read_weights(r, error);
}

ssm2d_status model_file_read(ssm2d_model *m, const char *path, const int image[2],
                             ssm2d_error *error)
{
    safetensors *file;
    ssm2d_status status = safetensors_open(m->context, path, &file, error);
    if (status) return status;
    status = read_all(&(reading){m, path, file}, error);
    safetensors_close(file);
    return status ? status : model_resize(m, path, image, error);
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { NOTES = 7 };

/* What a file is made of, in memory until it is written. */
typedef struct writing {
    const ssm2d_model *m;
    const char *path;
    element_type type;
    char *config, *data, *settings; /* freed with cJSON_free */
    size_t items, notes;
    safetensors_item *item;
    safetensors_note *note;
    char (*texts)[WEIGHTS_NOTE];
    bfloat16 *halves; /* of all arrays, or NULL */
} writing;

static char *print_and_delete(cJSON *root)
{
    char *text = root ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

/* The settings that decide how images are prepared, and what logits mean. */
static cJSON *settings_to_json(const ssm2d_model *m)
{
    cJSON *root = cJSON_CreateObject();
    const augmentation *a;
    int good = root && cJSON_AddStringToObject(root, "loss", loss_names[m->loss]);
    for (int i = 0; good && (a = augmentation_at(i)); i++)
        for (const ssm2d_field *f = a->fields; good && a->when & AUGMENT_EVALUATION && f->name; f++)
            good = field_add_to_json(root, f, augment_options_at(&m->augment, i));
    if (good) return root;
    cJSON_Delete(root);
    return NULL;
}

/* Whether an array is a factor of matrix products. */
static int is_factor(const param_array *a)
{
    return a->spec.role == PARAM_WEIGHT && a->spec.part != PARAM_MIXER && a->rank > 1;
}

static void add_item(writing *w, const param_array *a)
{
    const float *from = w->m->params + a->offset;
    safetensors_item *item = &w->item[w->items++];
    *item =
        (safetensors_item){.name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = from};
    memcpy(item->shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    if (w->type != ELEMENT_BFLOAT16 || !is_factor(a)) return;
    simd_ops_for(w->m->context->cpu)->real_to_bfloat16(w->halves + a->offset, from, a->count);
    item->type = SAFETENSORS_BF16;
    item->data = w->halves + a->offset;
}

static void add_notes(writing *w, const char *card)
{
    const safetensors_note own[] = {{version_key, version_now},
                                    {type_key, element_name(w->type)},
                                    {config_key, w->config},
                                    {data_key, w->data},
                                    {settings_key, w->settings},
                                    {weights_key, weights_name(w->m->which == RUN_BEST)},
                                    {card_key, card}};
    w->notes = weights_notes(w->m->weights, w->note, w->texts);
    for (int i = 0; i < NOTES; i++)
        if (own[i].value) w->note[w->notes++] = own[i];
}

static ssm2d_status make_parts(writing *w, ssm2d_error *error)
{
    const ssm2d_model *m = w->m;
    const size_t arrays = (size_t)m->weights->count;
    w->config = print_and_delete(model_config_to_json(&m->config));
    w->data = run_data_print(&m->data);
    w->settings = print_and_delete(settings_to_json(m));
    w->item = mem_alloc(m->context, arrays * sizeof *w->item);
    w->note = mem_alloc(m->context, (arrays + 1 + NOTES) * sizeof *w->note);
    w->texts = mem_alloc(m->context, (arrays + 1) * sizeof *w->texts);
    int good = w->config && w->data && w->settings && w->item && w->note && w->texts;
    if (good && w->type == ELEMENT_BFLOAT16) {
        w->halves = mem_alloc(m->context, m->weights->total * sizeof *w->halves);
        good = w->halves != NULL;
    }
    return good ? SSM2D_OK : fail_memory(error, "%s", text_path(w->path));
}

ssm2d_status model_file_write(const ssm2d_model *m, const char *path, element_type type,
                              const char *card, ssm2d_error *error)
{
    writing w = {.m = m, .path = path, .type = type};
    ssm2d_status status = make_parts(&w, error);
    if (!status) {
        for (int i = 0; i < m->weights->count; i++) add_item(&w, &m->weights->arrays[i]);
        add_notes(&w, card ? card : m->card);
        status = safetensors_write(m->context, path, w.items, w.item, w.notes, w.note, error);
    }
    cJSON_free(w.config);
    cJSON_free(w.data);
    cJSON_free(w.settings);
    mem_free(m->context, w.item);
    mem_free(m->context, w.note);
    mem_free(m->context, w.texts);
    mem_free(m->context, w.halves);
    return status;
}
