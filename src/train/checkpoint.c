#include "train/checkpoint.h"

#include "core/context.h"
#include "core/status.h"
#include "io/safetensors.h"
#include "io/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char format_name[] = "ssm2d checkpoint 2";

#ifdef SSM2D_FUZZING /* let changed bytes reach the code behind the checksums */
enum { COMPARE_SUMS = 0 };
#else
enum { COMPARE_SUMS = 1 };
#endif

enum { VALUE_TEXT = 48 };

struct checkpoint {
    const ssm2d_context *context;
    safetensors *file;
    char *path;
};

/* The counters and sums: one table for writing and for reading. */
typedef struct scalar {
    const char *key;
    size_t offset;
    int is_double;
} scalar;

static const scalar scalars[] = {
    {"step", offsetof(train_state, step), 0},
    {"epochs", offsetof(train_state, epochs), 0},
    {"images", offsetof(train_state, images), 0},
    {"correct", offsetof(train_state, score_sum), 1},
    {"loss_sum", offsetof(train_state, loss_sum), 1},
    {"log_steps", offsetof(train_state, log_steps), 0},
    {"log_sum", offsetof(train_state, log_sum), 1},
    {"best_epoch", offsetof(train_state, best_epoch), 0},
    {"best", offsetof(train_state, best), 1},
    {"seconds", offsetof(train_state, seconds), 1},
};
enum { SCALARS = sizeof scalars / sizeof *scalars, NOTES = SCALARS + 7 };

named_arrays train_arrays_list(const train_arrays *arrays)
{
    named_arrays list = {{{"weights", arrays->weights}}};
    int count = 1;
    for (int i = 0; i < optimizer_arrays(arrays->optimizer); i++)
        list.at[count++] = (named_array){arrays->optimizer->arrays[i], arrays->optimizer_arrays[i]};
    if (arrays->average) list.at[count] = (named_array){"average", arrays->average};
    return list;
}

/* The checksum of all metadata, as text. Checksums detect bits that a disk has corrupted. */
static void sum_notes(const safetensors_note *notes, size_t count, char text[VALUE_TEXT])
{
    unsigned long sum = crc32_z(0, NULL, 0);
    for (size_t i = 0; i < count; i++)
        sum = crc32_z(sum, (const unsigned char *)notes[i].value, strlen(notes[i].value) + 1);
    snprintf(text, VALUE_TEXT, "%08lx", sum);
}

/* The checksum of all arrays, as text. */
static void sum_arrays(const train_state *s, char text[VALUE_TEXT])
{
    const named_arrays list = train_arrays_list(&s->arrays);
    unsigned long sum = crc32_z(0, NULL, 0);
    for (const named_array *a = list.at; a->name; a++)
        sum = crc32_z(sum, (const unsigned char *)a->values, s->count * sizeof *a->values);
    snprintf(text, VALUE_TEXT, "%08lx", sum);
}

/* Integers in decimal, other values in hexadecimal; both are exact. */
static void write_double(double x, char text[VALUE_TEXT])
{
    const double whole = 9007199254740992.; /* 2^53 */
    snprintf(text, VALUE_TEXT, x > 0 && x < whole && !(x > floor(x)) ? "%.0f" : "%a", x);
}

ssm2d_status checkpoint_write(const ssm2d_context *context, const char *path,
                              const train_state *state, const train_identity *identity,
                              ssm2d_error *error)
{
    const named_arrays list = train_arrays_list(&state->arrays);
    safetensors_item items[TRAIN_ARRAYS];
    safetensors_note notes[NOTES];
    char text[SCALARS + 3][VALUE_TEXT];
    size_t count = 0, note = 0;
    for (const named_array *a = list.at; a->name; a++)
        items[count++] = (safetensors_item){a->name, SAFETENSORS_F32, 1, {state->count}, a->values};
    notes[note++] = (safetensors_note){"format", format_name};
    for (int i = 0; i < SCALARS; i++) {
        const void *place = (const char *)state + scalars[i].offset;
        if (scalars[i].is_double)
            write_double(*(const double *)place, text[i]);
        else
            snprintf(text[i], VALUE_TEXT, "%ld", *(const long *)place);
        notes[note++] = (safetensors_note){scalars[i].key, text[i]};
    }
    snprintf(text[SCALARS], VALUE_TEXT, "%016" PRIx64, identity->layout);
    notes[note++] = (safetensors_note){"layout", text[SCALARS]};
    notes[note++] = (safetensors_note){"options", identity->options};
    notes[note++] = (safetensors_note){"model", identity->model};
    notes[note++] = (safetensors_note){"data", identity->data};
    sum_arrays(state, text[SCALARS + 1]);
    notes[note++] = (safetensors_note){"array_sum", text[SCALARS + 1]};
    sum_notes(notes, note, text[SCALARS + 2]);
    notes[note++] = (safetensors_note){"note_sum", text[SCALARS + 2]};
    return safetensors_write(context, path, count, items, note, notes, error);
}

static ssm2d_status get_note(const checkpoint *c, const char *key, const char **value,
                             ssm2d_error *error)
{
    *value = safetensors_metadata(c->file, key);
    if (*value) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: its metadata have no \"%s\": it is not a checkpoint of a run",
                text_path(c->path), key);
}

static ssm2d_status bad_note(const checkpoint *c, const char *key, const char *value,
                             ssm2d_error *error)
{
    char shown[40];
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: \"%s\" in its metadata is %s: the file was changed", text_path(c->path), key,
                text_show(value, strlen(value), shown, sizeof shown));
}

static ssm2d_status compare_sum(const checkpoint *c, const char *key, const char *sum,
                                ssm2d_error *error)
{
    const char *saved;
    char shown[20];
    ssm2d_status status = get_note(c, key, &saved, error);
    if (status || !COMPARE_SUMS || !strcmp(sum, saved)) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its %s is %s, not %s: the file was changed",
                text_path(c->path), key, sum, text_show(saved, strlen(saved), shown, sizeof shown));
}

static ssm2d_status check_notes(const checkpoint *c, ssm2d_error *error)
{
    static const char *const others[] = {"layout", "options", "model", "data", "array_sum"};
    enum { OTHERS = sizeof others / sizeof *others };
    safetensors_note notes[NOTES] = {{"format", format_name}};
    char sum[VALUE_TEXT];
    size_t note = 1;
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < SCALARS && !status; i++)
        status = get_note(c, scalars[i].key, &notes[note++].value, error);
    for (int i = 0; i < OTHERS && !status; i++)
        status = get_note(c, others[i], &notes[note++].value, error);
    if (status) return status;
    sum_notes(notes, note, sum);
    return compare_sum(c, "note_sum", sum, error);
}

static ssm2d_status read_identity(const checkpoint *c, train_identity *identity, ssm2d_error *error)
{
    const char *text;
    char *end;
    ssm2d_status status;
    if ((status = get_note(c, "layout", &text, error))
        || (status = get_note(c, "options", &identity->options, error))
        || (status = get_note(c, "model", &identity->model, error))
        || (status = get_note(c, "data", &identity->data, error)))
        return status;
    errno = 0;
    identity->layout = strtoull(text, &end, 16);
    return end == text || *end || errno ? bad_note(c, "layout", text, error) : SSM2D_OK;
}

ssm2d_status checkpoint_open(const ssm2d_context *context, const char *path, checkpoint **out,
                             train_identity *identity, ssm2d_error *error)
{
    const char *format;
    *out = NULL;
    checkpoint *c = mem_alloc(context, sizeof *c + strlen(path) + 1);
    if (!c) return fail_memory(error, "reading %s", text_path(path));
    c->context = context;
    c->path = (char *)(c + 1);
    memcpy(c->path, path, strlen(path));
    ssm2d_status status = safetensors_open(context, path, &c->file, error);
    if (!status) status = get_note(c, "format", &format, error);
    if (!status && strcmp(format, format_name)) status = bad_note(c, "format", format, error);
    if (!status) status = check_notes(c, error);
    if (!status) status = read_identity(c, identity, error);
    if (status)
        checkpoint_close(c);
    else
        *out = c;
    return status;
}

static ssm2d_status read_scalar(const checkpoint *c, const scalar *s, train_state *state,
                                ssm2d_error *error)
{
    const char *text;
    char *end;
    void *place = (char *)state + s->offset;
    ssm2d_status status = get_note(c, s->key, &text, error);
    if (status) return status;
    errno = 0;
    if (s->is_double) {
        double value = strtod(text, &end);
        if (!isfinite(value) || value < 0) end = (char *)text;
        *(double *)place = value;
    } else {
        long value = strtol(text, &end, 10);
        if (value < 0) end = (char *)text;
        *(long *)place = value;
    }
    return end == text || *end || errno ? bad_note(c, s->key, text, error) : SSM2D_OK;
}

ssm2d_status checkpoint_read(const checkpoint *c, train_state *state, ssm2d_error *error)
{
    const named_arrays list = train_arrays_list(&state->arrays);
    char sum[VALUE_TEXT];
    ssm2d_status status = SSM2D_OK;
    for (int i = 0; i < SCALARS && !status; i++) status = read_scalar(c, &scalars[i], state, error);
    for (const named_array *a = list.at; a->name && !status; a++) {
        const safetensors_array *array;
        status = safetensors_expect(c->file, a->name, 1, &state->count, &array, error);
        if (!status) status = safetensors_read_float(c->file, array, a->values, error);
        for (size_t k = 0; k < state->count && !status; k++)
            if (!isfinite(a->values[k]))
                status = fail(error, SSM2D_ERROR_ARGUMENT,
                              "%s: %s[%zu] is not finite: the file was changed", text_path(c->path),
                              a->name, k);
    }
    if (status) return status;
    sum_arrays(state, sum);
    return compare_sum(c, "array_sum", sum, error);
}

void checkpoint_close(checkpoint *c)
{
    if (!c) return;
    safetensors_close(c->file);
    mem_free(c->context, c);
}
