#include "inference/model_file.h"

#include "core/context.h"
#include "core/status.h"
#include "inference/model_open_impl.h"
#include "io/field_json.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "io/text.h"
#include "models/quantized.h"
#include "models/weights_match.h"
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
    ssm2d_status status = get_choice(r, type_key, type_name, ELEMENT_TYPES, &type, error);
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
            || (a->type == SAFETENSORS_BF16 && r->m->type == ELEMENT_BFLOAT16)
            || ((a->type == SAFETENSORS_I8 || a->type == SAFETENSORS_U8)
                && r->m->type == ELEMENT_INT8))
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
    const weights_options options = {.quantized = m->type == ELEMENT_INT8};
    weights_report report;
    ssm2d_status status =
        weights_read(m->weights, r->path, r->file, &options, m->params, &report, error);
    if (!status && (report.new_mixer_arrays || report.resized || report.resized_tables))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its arrays do not fit its \"%s\": %s",
                    text_path(r->path), config_key,
                    report.new_mixer_arrays ? "those of the mixer are missing"
                                            : "they are for another image size");
    return status;
}

/* ---- reading 8-bit weights ------------------------------------------------------------------- */

/* One of the parts of an 8-bit array, as floats; `count` elements of the type. */
static ssm2d_status read_part(const reading *r, const char *weight, int part, safetensors_type type,
                              size_t count, float *out, ssm2d_error *error)
{
    const safetensors_array *a;
    char name[PARAM_NAME + 16];
    snprintf(name, sizeof name, "%s%s", weight, quantized_parts[part]);
    const int rank = part == QUANTIZED_SCALE;
    ssm2d_status status = safetensors_expect(r->file, name, rank, &count, &a, error);
    if (status) return status;
    if (a->type != type)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\" is %s: it has to be %s",
                    text_path(r->path), name, safetensors_type_name(a->type),
                    safetensors_type_name(type));
    status = safetensors_read_float(r->file, a, out, error);
    /* products of these and of integers stay normal and finite */
    for (size_t i = 0; type == SAFETENSORS_F32 && i < count && !status; i++)
        if (!(out[i] == 0 && rank) && !(out[i] >= 1e-30f && out[i] <= 1e30f))
            status = fail(error, SSM2D_ERROR_ARGUMENT,
                          "%s: %s[%zu] is %g: scales are from 1e-30 to 1e30", text_path(r->path),
                          name, i, (double)out[i]);
    return status;
}

/* Reads what belongs to an 8-bit array, and makes weights of its integers. */
static ssm2d_status read_layer(const reading *r, const param_array *a, quantized_linear *q,
                               ssm2d_error *error)
{
    const size_t k = a->count / q->outputs;
    float *w = r->m->params + a->offset, zero;
    ssm2d_status status = read_part(r, a->name, QUANTIZED_SCALE, SAFETENSORS_F32, q->outputs,
                                    q->weight_scales, error);
    if (!status)
        status = read_part(r, a->name, QUANTIZED_INPUT_SCALE, SAFETENSORS_F32, 1, &q->scale, error);
    if (!status)
        status = read_part(r, a->name, QUANTIZED_INPUT_ZERO, SAFETENSORS_U8, 1, &zero, error);
    if (status) return status;
    q->zero = (int)zero;
    for (size_t i = 0; i < a->count; i++) {
        if (w[i] < -127)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: %s[%zu] is %g: use -127 to 127",
                        text_path(r->path), a->name, i, (double)w[i]);
        w[i] *= q->weight_scales[i / k];
    }
    return SSM2D_OK;
}

/* The arrays of 8 bits have to be weights of linear layers. */
static ssm2d_status choose_quantized(const reading *r, uint8_t *chosen, ssm2d_error *error)
{
    const weights *w = r->m->weights;
    for (size_t i = 0; i < safetensors_count(r->file); i++) {
        const safetensors_array *a = safetensors_get(r->file, i);
        const param_array *mine = weights_find(w, a->name);
        if (!mine || a->type == SAFETENSORS_F32) continue;
        if (a->type != SAFETENSORS_I8 || !model_file_is_factor(mine))
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "%s: array \"%s\" is %s: only weights of linear layers are I8",
                        text_path(r->path), mine->name, safetensors_type_name(a->type));
        chosen[mine - w->arrays] = 1;
    }
    return SSM2D_OK;
}

static ssm2d_status read_quantized(const reading *r, ssm2d_error *error)
{
    ssm2d_model *m = r->m;
    uint8_t *chosen = mem_alloc(m->context, (size_t)m->weights->count);
    if (!chosen) return fail_memory(error, "%s", text_path(r->path));
    ssm2d_status status = choose_quantized(r, chosen, error);
    if (!status && !(m->quantized = quantization_create(m->weights, chosen)))
        status = fail_memory(error, "%s: scales", text_path(r->path));
    mem_free(m->context, chosen);
    for (int i = 0; !status && i < m->quantized->count; i++) {
        quantized_linear *q = &m->quantized->list[i];
        status = read_layer(r, weights_find(m->weights, q->weight), q, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

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
    if (!status) status = read_weights(r, error);
    return status || m->type != ELEMENT_INT8 ? status : read_quantized(r, error);
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
    int8_t *bytes;    /* likewise */
    const quantization *quantized;
    char (*names)[PARAM_NAME + 16]; /* of their parts */
    uint8_t *zeros;
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

int model_file_is_factor(const param_array *a)
{
    return a->spec.role == PARAM_WEIGHT && a->spec.part != PARAM_MIXER && a->rank > 1;
}

/* Adds the parts of an 8-bit array. */
static void add_quantized(writing *w, const quantized_linear *q)
{
    const int number = (int)(q - w->quantized->list);
    const void *const data[] = {q->weight_scales, &q->scale, &w->zeros[number]};
    w->zeros[number] = (uint8_t)q->zero;
    for (int i = 0; i < QUANTIZED_PARTS; i++) {
        char *name = w->names[number * QUANTIZED_PARTS + i];
        snprintf(name, sizeof *w->names, "%s%s", q->weight, quantized_parts[i]);
        w->item[w->items++] =
            (safetensors_item){.name = name,
                               .type = i == QUANTIZED_INPUT_ZERO ? SAFETENSORS_U8 : SAFETENSORS_F32,
                               .rank = i == QUANTIZED_SCALE,
                               .shape = {q->outputs},
                               .data = data[i]};
    }
}

static void add_item(writing *w, const param_array *a)
{
    const float *from = w->m->params + a->offset;
    safetensors_item *item = &w->item[w->items++];
    *item =
        (safetensors_item){.name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = from};
    memcpy(item->shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    const quantized_linear *q = quantization_find(w->quantized, a->name);
    if (q) {
        quantize_weights(from, q->outputs, a->count / q->outputs, q->weight_scales,
                         w->bytes + a->offset);
        item->type = SAFETENSORS_I8;
        item->data = w->bytes + a->offset;
        add_quantized(w, q);
    }
    if (w->type != ELEMENT_BFLOAT16 || !model_file_is_factor(a)) return;
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
    const size_t parts_count = QUANTIZED_PARTS * (w->quantized ? (size_t)w->quantized->count : 0);
    w->item = mem_alloc(m->context, (arrays + parts_count) * sizeof *w->item);
    w->note = mem_alloc(m->context, (arrays + 1 + NOTES) * sizeof *w->note);
    w->texts = mem_alloc(m->context, (arrays + 1) * sizeof *w->texts);
    int good = w->config && w->data && w->settings && w->item && w->note && w->texts;
    if (good && w->type == ELEMENT_BFLOAT16) {
        w->halves = mem_alloc(m->context, m->weights->total * sizeof *w->halves);
        good = w->halves != NULL;
    }
    if (good && w->quantized) {
        w->bytes = mem_alloc(m->context, m->weights->total);
        w->names = mem_alloc(m->context, parts_count * sizeof *w->names + 1);
        w->zeros = mem_alloc(m->context, parts_count + 1);
        good = w->bytes && w->names && w->zeros;
    }
    return good ? SSM2D_OK : fail_memory(error, "%s", text_path(w->path));
}

ssm2d_status model_file_write(const ssm2d_model *m, const char *path, element_type type,
                              const quantization *quantized, const char *card, ssm2d_error *error)
{
    writing w = {.m = m, .path = path, .type = type, .quantized = quantized};
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
    mem_free(m->context, w.bytes);
    mem_free(m->context, w.names);
    mem_free(m->context, w.zeros);
    return status;
}
