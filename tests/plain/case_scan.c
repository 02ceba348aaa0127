/* case_scan - reads case.json without a JSON library: finds a key anywhere, and parses what
 * follows. That is enough for our own files, in which no key of interest occurs twice. */
#include "case_file.h"

#include "core/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 14];

/* What follows "key": or NULL. */
static const char *after(const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(text, quoted);
    return at ? at + strlen(quoted) + strspn(at + strlen(quoted), " \n") : NULL;
}

static const char *required(const char *key)
{
    const char *at = after(key);
    if (!at) fail_msg("case.json has no %s", key);
    return at;
}

static int number(const char *key) { return atoi(required(key)); }
static int flag(const char *key) { return strncmp(required(key), "true", 4) == 0; }

/* Whether the value of the key is this word in quotes. */
static int is(const char *key, const char *word)
{
    const char *at = required(key);
    return *at == '"' && strncmp(at + 1, word, strlen(word)) == 0 && at[1 + strlen(word)] == '"';
}

/* In "arrays" every name is followed by a list. */
static int count_arrays(void)
{
    int count = 0;
    const char *end = strchr(required("arrays"), '}');
    for (const char *at = required("arrays"); (at = strchr(at, '[')) && at < end; at++) count++;
    return count;
}

/* The fields that have the same name in the file, by the layer's own table of them. */
static void read_fields(ssm2d_config *config)
{
    for (const ssm2d_field *f = layer_ssm2d.fields; f->name; f++) {
        char value[40];
        ssm2d_error error;
        const char *at = after(f->name);
        if (!at) continue;
        at += *at == '"';
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\",\n}"), at);
        if (field_parse((field_source){"case.json"}, f, value, config, &error))
            fail_msg("%s", error.line);
    }
}

case_file case_file_read(const char *folder)
{
    char path[512];
    case_file f = {.config = ssm2d_config_default()};
    /* keys that a case leaves out, as in mixers/layer_json.h */
    f.config.directions = 2;
    f.config.n_ssm = 8;
    f.config.assign = SSM2D_ASSIGN_AUTHORS;
    snprintf(path, sizeof path, GOLDEN "/%s/case.json", folder);
    FILE *stream = fopen(path, "r");
    if (!stream) fail_msg("%s: not there", path);
    text[fread(text, 1, sizeof text - 1, stream)] = 0;
    fclose(stream);
    snprintf(f.kind, sizeof f.kind, "%.*s", (int)strcspn(required("kind") + 1, "\""),
             required("kind") + 1);
    if (strcmp(f.kind, "ssm2d") != 0) return f;
    read_fields(&f.config);
    f.config.values = !flag("complex")                  ? SSM2D_REAL
                      : is("complex_form", "cartesian") ? SSM2D_CARTESIAN
                                                        : SSM2D_POLAR;
    f.config.layer_norm = flag("normalize");
    const char *trunc = required("trunc");
    if (*trunc == '[' && sscanf(trunc, "[%d,%d", &f.config.trunc_rows, &f.config.trunc_cols) != 2)
        fail_msg("%s: trunc is no pair", path);
    f.batch = number("batch");
    f.rows = number("L1");
    f.cols = number("L2");
    f.arrays = count_arrays();
    return f;
}
