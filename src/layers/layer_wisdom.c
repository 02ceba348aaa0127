/* layer_wisdom - a plan's request as text, and back; see ssm2d_wisdom_export. */
#define SSM2D_EXPERIMENTAL
#include "core/status.h"
#include "core/wisdom.h"
#include "layers/layer_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void append(char text[WISDOM_LINE], const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, WISDOM_LINE - used, "%s", word);
}

static void append_strides(char text[WISDOM_LINE], const char *name, const ssm2d_grid *grid,
                           const ssm2d_strides *s)
{
    char word[64];
    snprintf(word, sizeof word, " %s=%td", name, s->batch);
    append(text, word);
    for (int i = 0; i < grid->axes; i++) {
        snprintf(word, sizeof word, ",%td", s->axis[i]);
        append(text, word);
    }
    snprintf(word, sizeof word, ",%td", s->channel);
    append(text, word);
}

/* Whether a setting affects initial values only, and so no execution time. */
static int is_initial(const layer_kind *kind, const char *name)
{
    const char *const *n = kind->initial;
    if (!strcmp(name, LAYER_INIT)) return 1;
    while (n && *n && strcmp(*n, name)) n++;
    return n && *n;
}

static void append_layer(char text[WISDOM_LINE], const ssm2d_layer *layer)
{
    char value[64];
    append(text, layer->kind->name);
    for (const ssm2d_field *f = layer->kind->fields; f->name; f++) {
        if (is_initial(layer->kind, f->name)) continue;
        append(text, " ");
        append(text, f->name);
        append(text, "=");
        append(text, field_print(f, layer_config(layer), value, sizeof value));
    }
}

static void request_text(const ssm2d_layer *layer, const ssm2d_plan_options *o, const char *cpu,
                         int threads, char text[WISDOM_LINE])
{
    char word[128];
    *text = 0;
    append_layer(text, layer);
    snprintf(word, sizeof word, " | batch=%zu grid=%zu", o->batch, o->grid.extent[0]);
    append(text, word);
    for (int i = 1; i < o->grid.axes; i++) {
        snprintf(word, sizeof word, "x%zu", o->grid.extent[i]);
        append(text, word);
    }
    append_strides(text, "in", &o->grid, &o->in);
    append_strides(text, "out", &o->grid, &o->out);
    snprintf(word, sizeof word, " type=%s inference=%d max_bytes=%zu cpu=%s threads=%d",
             o->type == SSM2D_DOUBLE ? "double" : "float", o->inference != 0, o->max_bytes, cpu,
             threads);
    append(text, word);
}

void layer_wisdom_request(const ssm2d_plan *r, const ssm2d_layer *layer, char *text)
{
    request_text(layer, &r->options, ssm2d_context_cpu(r->context),
                 ssm2d_context_threads(r->context), text);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Skips `text` if it comes next; returns 0 if it does not. */
static int take(const char **at, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(*at, text, length)) return 0;
    *at += length;
    return 1;
}

static int take_number(const char **at, long long low, long long high, long long *number)
{
    char *end;
    if (**at != '-' && (**at < '0' || **at > '9')) return 0;
    errno = 0;
    *number = strtoll(*at, &end, 10);
    if (end == *at || errno || *number < low || *number > high) return 0;
    *at = end;
    return 1;
}

static int take_strides(const char **at, const char *name, int axes, ssm2d_strides *s)
{
    long long number[SSM2D_GRID_AXES + 2] = {0};
    if (!take(at, name)) return 0;
    for (int i = 0; i < axes + 2; i++)
        if ((i && !take(at, ",")) || !take_number(at, PTRDIFF_MIN, PTRDIFF_MAX, &number[i]))
            return 0;
    s->batch = (ptrdiff_t)number[0];
    for (int i = 0; i < axes; i++) s->axis[i] = (ptrdiff_t)number[1 + i];
    s->channel = (ptrdiff_t)number[axes + 1];
    return 1;
}

static int take_grid(const char **at, ssm2d_grid *grid)
{
    long long extent;
    if (!take(at, " grid=")) return 0;
    for (grid->axes = 0; grid->axes < SSM2D_GRID_AXES; grid->axes++) {
        if (grid->axes && !take(at, "x")) break;
        if (!take_number(at, 1, PTRDIFF_MAX, &extent)) return 0;
        grid->extent[grid->axes] = (size_t)extent;
    }
    return 1;
}

static const char *take_name(const char **at, const char *const *names, int count)
{
    for (int i = count - 1; i >= 0; i--) /* longest first: a name may be a prefix */
        if (take(at, names[i])) return names[i];
    return NULL;
}

/* The options, which stand between layer and algorithm. */
static int take_options(const char **at, ssm2d_plan_options *o, const char **cpu, int *threads)
{
    static const char *const types[] = {"float", "double"};
    long long number;
    if (!take(at, " batch=") || !take_number(at, 1, PTRDIFF_MAX, &number)) return 0;
    o->batch = (size_t)number;
    if (!take_grid(at, &o->grid) || !take_strides(at, " in=", o->grid.axes, &o->in)
        || !take_strides(at, " out=", o->grid.axes, &o->out) || !take(at, " type="))
        return 0;
    const char *type = take_name(at, types, 2);
    if (!type || !take(at, " inference=") || !take_number(at, 0, 1, &number)) return 0;
    o->type = type == types[1] ? SSM2D_DOUBLE : SSM2D_FLOAT;
    o->inference = (int)number;
    if (!take(at, " max_bytes=") || !take_number(at, 0, PTRDIFF_MAX, &number)) return 0;
    o->max_bytes = (size_t)number;
    if (!take(at, " cpu=") || !(*cpu = take_name(at, cpu_names, CPU_LEVELS))) return 0;
    if (!take(at, " threads=") || !take_number(at, 1, 1024, &number)) return 0;
    *threads = (int)number;
    return take(at, " ") && !**at;
}

static int has_algorithm(const layer_kind *kind, const char *name)
{
    for (int i = 0; kind->functions[SSM2D_FLOAT]->algorithm(i); i++)
        if (!strcmp(kind->functions[SSM2D_FLOAT]->algorithm(i), name)) return 1;
    return 0;
}

/* Parses one line "KIND SETTINGS | OPTIONS | ALGORITHM", which is modified. request: receives the
 * request as this version writes it. */
static ssm2d_status read_line(const ssm2d_context *context, char *line, char request[WISDOM_LINE],
                              const char **algorithm, ssm2d_error *error)
{
    ssm2d_plan_options o = ssm2d_plan_options_default();
    const char *cpu = NULL;
    int threads = 0;
    char *options = strchr(line, '|'), *name = options ? strchr(options + 1, '|') : NULL;
    char *settings = strchr(line, ' ');
    if (!name || name[1] != ' ' || !settings || settings > options)
        return fail(error, SSM2D_ERROR_ARGUMENT, "is not \"KIND SETTINGS | OPTIONS | ALGORITHM\"");
    *options = *name = *settings = 0;
    *algorithm = name + 2;
    const layer_kind *kind = layer_kind_find(line);
    if (!kind)
        return fail(error, SSM2D_ERROR_ARGUMENT, "there is no kind of layer \"%.40s\"", line);
    ssm2d_layer layer = layer_default(kind);
    ssm2d_status status = layer_parse(settings + 1, &layer, error);
    if (status) return status;
    const char *at = options + 1;
    if (!take_options(&at, &o, &cpu, &threads))
        return fail(error, SSM2D_ERROR_ARGUMENT, "the options are malformed at \"%.40s\"", at);
    status = plan_options_check(context, ssm2d_layer_channels(&layer), &o, error);
    if (status) return status;
    if (!has_algorithm(kind, *algorithm))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s has no algorithm \"%.40s\"", kind->name,
                    *algorithm);
    request_text(&layer, &o, cpu, threads, request);
    return SSM2D_OK;
}

/* Checks all lines; if `adds`, also adds them. */
static ssm2d_status read_lines(const ssm2d_context *context, const char *text, int adds,
                               ssm2d_error *error)
{
    for (int number = 1; *text; number++) {
        const size_t length = strcspn(text, "\n");
        char line[WISDOM_LINE], request[WISDOM_LINE];
        const char *algorithm = NULL;
        ssm2d_error why;
        ssm2d_status status;
        if (length >= sizeof line)
            return fail(error, SSM2D_ERROR_ARGUMENT, "line %d: is longer than %d characters",
                        number, WISDOM_LINE - 1);
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
        if (!*line || *line == '#') continue;
        status = read_line(context, line, request, &algorithm, &why);
        if (!status && adds) status = wisdom_add(context, request, algorithm, &why);
        if (status) return fail(error, status, "line %d: %s", number, why.line);
    }
    return SSM2D_OK;
}

ssm2d_status ssm2d_wisdom_import(ssm2d_context *context, const char *text, ssm2d_error *error)
{
    if (!context || !text)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=NULL: give one", context ? "text" : "context");
    const ssm2d_status status = read_lines(context, text, 0, error);
    return status ? status : read_lines(context, text, 1, error);
}
