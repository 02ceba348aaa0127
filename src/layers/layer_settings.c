/* layer_settings - the table of kinds, and layers created from settings; the public functions of
 * both. */
#include "core/sized.h"
#include "core/status.h"
#include "core/suggest.h"
#include "layers/layer_kind.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FIELDS = 48, WORD = 96, VALUE = 64 };

const char *const layer_init_names[] = {
    [LAYER_INIT_IDENTITY] = "identity", [LAYER_INIT_AUTHORS] = "authors", NULL};

/* ---- kinds ----------------------------------------------------------------------------------- */

static const layer_kind *const kinds[] = {
#define KIND(name) &layer_##name,
#include "layers/kinds.def"
#undef KIND
    NULL};

enum { KINDS = sizeof kinds / sizeof *kinds - 1 };

const layer_kind *layer_kind_at(int i) { return i >= 0 && i < KINDS ? kinds[i] : NULL; }

const layer_kind *layer_kind_find(const char *name)
{
    for (int i = 0; name && i < KINDS; i++)
        if (!strcmp(kinds[i]->name, name)) return kinds[i];
    return NULL;
}

const char *ssm2d_kind_name(int i) { return layer_kind_at(i) ? kinds[i]->name : NULL; }

const char *ssm2d_kind_help(const char *name)
{
    const layer_kind *kind = layer_kind_find(name);
    return kind ? kind->help : NULL;
}

const char *ssm2d_kind_algorithm(const char *name, int i)
{
    const layer_kind *kind = layer_kind_find(name);
    if (!kind || i < 0) return NULL;
    for (int k = 0; k < i; k++)
        if (!kind->functions[SSM2D_FLOAT]->algorithm(k)) return NULL;
    return kind->functions[SSM2D_FLOAT]->algorithm(i);
}

int ssm2d_kind_setting_sized(const char *name, int i, ssm2d_setting *setting, size_t size)
{
    static const ssm2d_setting_type types[] = {[SSM2D_KIND_INT] = SSM2D_SETTING_INT,
                                               [SSM2D_KIND_REAL] = SSM2D_SETTING_REAL,
                                               [SSM2D_KIND_FLAG] = SSM2D_SETTING_FLAG,
                                               [SSM2D_KIND_CHOICE] = SSM2D_SETTING_CHOICE};
    const layer_kind *kind = layer_kind_find(name);
    if (!kind || i < 0 || !setting) return 0;
    const ssm2d_field *f = kind->fields;
    while (f->name && i--) f++;
    if (!f->name) return 0;
    const ssm2d_setting full = {.name = f->name,
                                .help = f->help,
                                .type = types[f->kind],
                                .minimum = f->minimum,
                                .maximum = f->maximum,
                                .default_value = f->default_value,
                                .choices = f->names,
                                .allowed = f->allowed};
    return sized_write(setting, size, &full, sizeof full);
}

unsigned ssm2d_kind_capabilities(const char *name)
{
    const layer_kind *kind = layer_kind_find(name);
    if (!kind) return 0;
    const layer_functions *f = kind->functions[SSM2D_FLOAT];
    unsigned can = f->kernel ? SSM2D_CAN_KERNEL : 0;
    if (f->kernel_backward) can |= SSM2D_CAN_KERNEL_BACKWARD;
    if (kind->stream_check) can |= SSM2D_CAN_STREAM;
    for (unsigned axes = 1; axes <= SSM2D_GRID_AXES; axes++)
        if (kind->axes & 1U << axes) can |= SSM2D_CAN_GRID_1D << (axes - 1);
    return can;
}

/* ---- values ---------------------------------------------------------------------------------- */

ssm2d_layer layer_default(const layer_kind *kind)
{
    ssm2d_layer layer;
    memset(&layer, 0, sizeof layer);
    layer.version = SSM2D_VERSION;
    layer.kind = kind;
    for (const ssm2d_field *f = kind->fields; f->name; f++)
        field_set_default(f, layer.values.bytes);
    return layer;
}

ssm2d_layer layer_of(const layer_kind *kind, const void *config)
{
    ssm2d_layer layer = layer_default(kind);
    memcpy(layer.values.bytes, config, kind->config_size);
    return layer;
}

ssm2d_status layer_check(const ssm2d_layer *layer, ssm2d_error *error)
{
    const layer_kind *kind = layer->kind;
    ssm2d_status status = SSM2D_OK;
    for (const ssm2d_field *f = kind->fields; f->name && !status; f++)
        status = field_check((field_source){0}, f, layer_config(layer), error);
    if (!status && kind->check) status = kind->check(layer_config(layer), error);
    return status;
}

void layer_set_channels(ssm2d_layer *layer, int channels)
{
    memcpy(layer->values.bytes + layer->kind->fields->offset, &channels, sizeof channels);
}

void layer_fit(ssm2d_layer *layer, int rows, int cols)
{
    if (layer->kind->fit) layer->kind->fit(layer->values.bytes, rows, cols);
}

int ssm2d_layer_channels(const ssm2d_layer *layer)
{
    int channels = 0;
    if (layer)
        memcpy(&channels, layer->values.bytes + layer->kind->fields->offset, sizeof channels);
    return channels;
}

const char *ssm2d_layer_kind(const ssm2d_layer *layer) { return layer ? layer->kind->name : NULL; }

/* ---- settings -------------------------------------------------------------------------------- */

static ssm2d_status refuse_kind(const char *name, ssm2d_error *error)
{
    const char *names[KINDS + 1] = {NULL};
    char list[128] = "";
    for (int i = 0; i < KINDS; i++) {
        const size_t used = strlen(list);
        names[i] = kinds[i]->name;
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *close = closest_name(name, names);
    return close ? fail(error, SSM2D_ERROR_ARGUMENT,
                        "kind=%.40s: unknown kind of layer; did you mean %s?", name, close)
                 : fail(error, SSM2D_ERROR_ARGUMENT,
                        "kind=%.40s: unknown kind of layer; use one of %s", name, list);
}

static ssm2d_status refuse_key(const layer_kind *kind, const char *key, ssm2d_error *error)
{
    const char *names[MAX_FIELDS + 1] = {NULL};
    int count = 0;
    for (const ssm2d_field *f = kind->fields; f->name && count < MAX_FIELDS; f++)
        names[count++] = f->name;
    const char *close = closest_name(key, names);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s has no setting \"%s\"%s%s%s", kind->name, key,
                close ? "; did you mean \"" : "", close ? close : "", close ? "\"?" : "");
}

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Takes the next word of the settings and splits it into key and value. */
static ssm2d_status next_word(const char **settings, char word[WORD], char **value,
                              ssm2d_error *error)
{
    size_t length = 0;
    while (is_space(**settings)) ++*settings;
    for (; **settings && !is_space(**settings); ++*settings) {
        const unsigned char c = (unsigned char)**settings;
        if (length == WORD - 1)
            return fail(error, SSM2D_ERROR_ARGUMENT,
                        "settings: a word is longer than %d characters", WORD - 1);
        word[length++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    word[length] = 0;
    *value = strchr(word, '=');
    if (length && (!*value || *value == word))
        return fail(error, SSM2D_ERROR_ARGUMENT, "settings: \"%s\" is not key=value", word);
    if (*value) *(*value)++ = 0;
    return SSM2D_OK;
}

ssm2d_status layer_parse(const char *settings, ssm2d_layer *layer, ssm2d_error *error)
{
    const ssm2d_field *fields = layer->kind->fields;
    uint64_t seen = 0; /* a bit for each field */
    char word[WORD], *value;
    ssm2d_status status = next_word(&settings, word, &value, error);
    for (; !status && *word; status = next_word(&settings, word, &value, error)) {
        const ssm2d_field *f = fields;
        while (f->name && strcmp(f->name, word)) f++;
        if (!f->name) return refuse_key(layer->kind, word, error);
        const uint64_t bit = (uint64_t)1 << (f - fields);
        if (seen & bit)
            return fail(error, SSM2D_ERROR_ARGUMENT, "settings: \"%s\" is given twice", word);
        seen |= bit;
        if ((status = field_parse((field_source){0}, f, value, layer->values.bytes, error)))
            return status;
    }
    if (!status && !(seen & 1)) /* channels */
        status = fail(error, SSM2D_ERROR_ARGUMENT, "settings: \"%s\" is missing: give %s=N",
                      fields->name, fields->name);
    return status ? status : layer_check(layer, error);
}

ssm2d_status ssm2d_layer_create(ssm2d_context *context, const char *name, const char *settings,
                                ssm2d_layer **out, ssm2d_error *error)
{
    if (!out)
        return fail(error, SSM2D_ERROR_ARGUMENT, "layer=NULL: there is nowhere to put the result");
    *out = NULL;
    if (!context)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "context=NULL: make one with ssm2d_context_create");
    if (!name || !settings)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: give one", name ? "settings" : "kind");
    const layer_kind *kind = layer_kind_find(name);
    if (!kind) return refuse_kind(name, error);
    ssm2d_layer layer = layer_default(kind);
    const ssm2d_status status = layer_parse(settings, &layer, error);
    if (status) return status;
    layer.context = context;
    if (!(*out = mem_alloc(context, sizeof **out))) return fail_memory(error, "layer");
    **out = layer;
    return SSM2D_OK;
}

void ssm2d_layer_destroy(ssm2d_layer *layer)
{
    if (layer) mem_free(layer->context, layer);
}

int ssm2d_layer_setting(const ssm2d_layer *layer, const char *key, char *text, size_t size)
{
    char value[VALUE];
    if (!layer || !key) return -1;
    for (const ssm2d_field *f = layer->kind->fields; f->name; f++)
        if (!strcmp(f->name, key))
            return snprintf(text, size, "%s",
                            field_print(f, layer_config(layer), value, sizeof value));
    return -1;
}

int ssm2d_layer_settings(const ssm2d_layer *layer, char *text, size_t size)
{
    char value[VALUE], word[WORD + VALUE];
    size_t length = 0;
    if (size) *text = 0;
    for (const ssm2d_field *f = layer ? layer->kind->fields : NULL; f && f->name; f++) {
        const size_t more =
            (size_t)snprintf(word, sizeof word, "%s%s=%s", length ? " " : "", f->name,
                             field_print(f, layer_config(layer), value, sizeof value));
        if (length < size) snprintf(text + length, size - length, "%s", word);
        length += more;
    }
    return (int)length;
}
