#include "core/field.h"

#include "core/status.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 64 };

static const char *const flag_names[] = {"false", "true", NULL};

static const char *const *names_of(const ssm2d_field *f)
{
    return f->kind == SSM2D_KIND_FLAG ? flag_names : f->kind == SSM2D_KIND_CHOICE ? f->names : NULL;
}

static int is_integral(const ssm2d_field *f) { return f->kind != SSM2D_KIND_REAL; }

/* ---- messages ------------------------------------------------------------------------------- */

/* Appends words to a text of `size` bytes; the rest is cut off. */
static void append(char *text, size_t size, const char *between, const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", between, word);
}

const char *field_values(const ssm2d_field *f, char *text, size_t size)
{
    const char *const *names = names_of(f);
    char number[16];
    *text = 0;
    if (f->kind == SSM2D_KIND_FLAG) append(text, size, "", "true or false");
    for (int i = 0; f->kind == SSM2D_KIND_CHOICE && names[i]; i++)
        append(text, size, !i ? "" : names[i + 1] ? ", " : " or ", names[i]);
    for (int i = 0; f->allowed && f->allowed[i]; i++) {
        snprintf(number, sizeof number, "%d", f->allowed[i]);
        append(text, size, !i ? "" : f->allowed[i + 1] ? ", " : " or ", number);
    }
    if (*text) return text;
    const double low = f->minimum, high = f->maximum;
    switch (f->kind) {
    case SSM2D_KIND_INT:
        snprintf(text, size, "a whole number from %.15g to %.15g", low, high);
        break;
    case SSM2D_KIND_REAL: snprintf(text, size, "a number from %.15g to %.15g", low, high); break;
    case SSM2D_KIND_TEXT: snprintf(text, size, "a text of 1 to %d bytes", SSM2D_TEXT - 1); break;
    case SSM2D_KIND_PAIR:
        snprintf(text, size, "[rows, columns], each from %.15g to %.15g", low, high);
        break;
    case SSM2D_KIND_LIST:
        snprintf(text, size, "a list of 1 to %d whole numbers, each from %.15g to %.15g",
                 SSM2D_LIST, low, high);
        break;
    case SSM2D_KIND_FLAG:
    case SSM2D_KIND_CHOICE: break;
    }
    return text;
}

ssm2d_status field_refuse(field_source from, const ssm2d_field *f, const char *shown,
                          ssm2d_error *error)
{
    char values[160], name[SHOWN];
    const char *prefix = from.prefix ? from.prefix : "";
    field_values(f, values, sizeof values);
    snprintf(name, sizeof name, "%s%s", prefix, f->name);
    if (!from.where) return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%s: use %s", name, shown, values);
    if (strcmp(from.where, FIELD_OPTION))
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: \"%s\" is %s: use %s", from.where, name,
                    shown, values);
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return fail(error, SSM2D_ERROR_ARGUMENT, "--%s=%s: use %s", name, shown, values);
}

/* A given value as a message shows it: bounded, printable, and in quotes where the message quotes
 * names and the value is not a number or a flag. */
static const char *show(field_source from, const char *text, char out[SHOWN])
{
    char *end;
    size_t n = 0;
    const int option = !from.where || !strcmp(from.where, FIELD_OPTION);
    (void)!strtod(text, &end);
    const int bare = option || (end != text && !*end) || !strcmp(text, "true")
                     || !strcmp(text, "false") || *text == '[';
    if (!bare) out[n++] = '"';
    for (; *text && n < SHOWN - 4; text++, n++) {
        const unsigned char c = (unsigned char)*text;
        out[n] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    if (*text) n += (size_t)snprintf(out + n, SHOWN - n, "..");
    if (!bare) out[n++] = '"';
    out[n] = 0;
    return out;
}

/* ---- values --------------------------------------------------------------------------------- */

int field_takes(const ssm2d_field *f, double number)
{
    if (!(number >= f->minimum && number <= f->maximum)) return 0;
    if (is_integral(f) && number != (double)(int)number) return 0;
    for (int i = 0; f->allowed; i++) {
        if (!f->allowed[i]) return 0;
        if (f->allowed[i] == (int)number) return 1;
    }
    return 1;
}

double field_real(double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", number);
    const double shorter = strtod(text, NULL);
    return fabs(shorter - number) <= DBL_EPSILON * fmax(fabs(shorter), fabs(number)) ? shorter
                                                                                     : number;
}

/* Parses the number at the start of a text; *end is where it stops, NULL if it is not valid. */
static double number_at(const ssm2d_field *f, const char *text, char **end)
{
    errno = 0;
    const double number = is_integral(f) ? (double)strtol(text, end, 10) : strtod(text, end);
    if (*end == text || (errno == ERANGE && is_integral(f)) || !field_takes(f, number)) *end = NULL;
    return number;
}

/* Parses a list of integers: 4 / 2,6,4 / 16x24 / [2, 6, 4]. Returns their count, 0 if it is not
 * valid. */
static int numbers_of(const ssm2d_field *f, const char *text, int max_count, int *numbers)
{
    int count = 0;
    const int brackets = *text == '[';
    char *end = (char *)text;
    for (text += brackets; count < max_count;) {
        const double number = number_at(f, text, &end);
        if (!end) return 0;
        numbers[count++] = (int)number;
        end += strspn(end, " ");
        if (*end != ',' && (brackets || *end != 'x')) break;
        text = end + 1;
    }
    if (brackets && *end++ != ']') return 0;
    return *end ? 0 : count;
}

/* A configuration may be kept as bytes: fields are read and written as such. */
typedef union field_value {
    int number, pair[2];
    double real;
    ssm2d_list list;
} field_value;

static field_value value_of(const ssm2d_field *f, const char *place)
{
    field_value v = {0};
    if (f->kind == SSM2D_KIND_REAL)
        memcpy(&v.real, place, sizeof v.real);
    else if (f->kind == SSM2D_KIND_LIST)
        memcpy(&v.list, place, sizeof v.list);
    else if (f->kind == SSM2D_KIND_PAIR)
        memcpy(v.pair, place, sizeof v.pair);
    else if (f->kind != SSM2D_KIND_TEXT)
        memcpy(&v.number, place, sizeof v.number);
    return v;
}

static void put_int(char *place, int number) { memcpy(place, &number, sizeof number); }

ssm2d_status field_parse(field_source from, const ssm2d_field *f, const char *text, void *config,
                         ssm2d_error *error)
{
    char *place = (char *)config + f->offset, *end, shown[SHOWN];
    const char *const *names = names_of(f);
    const size_t length = strlen(text);
    int numbers[SSM2D_LIST], count;
    ssm2d_list list = {0};
    switch (f->kind) {
    case SSM2D_KIND_INT:
    case SSM2D_KIND_REAL: {
        const double number = number_at(f, text, &end);
        if (!end || *end) break;
        if (f->kind == SSM2D_KIND_INT)
            put_int(place, (int)number);
        else
            memcpy(place, &(double){field_real(number)}, sizeof(double));
        return SSM2D_OK;
    }
    case SSM2D_KIND_FLAG:
    case SSM2D_KIND_CHOICE:
        for (int i = 0; names[i]; i++) {
            if (strcmp(names[i], text)) continue;
            put_int(place, i);
            return SSM2D_OK;
        }
        break;
    case SSM2D_KIND_TEXT:
        if (!length || length >= SSM2D_TEXT) break;
        memset(place, 0, SSM2D_TEXT);
        memcpy(place, text, length);
        return SSM2D_OK;
    case SSM2D_KIND_PAIR:
        if (!(count = numbers_of(f, text, 2, numbers))) break;
        put_int(place, numbers[0]);
        put_int(place + sizeof(int), numbers[count - 1]);
        return SSM2D_OK;
    case SSM2D_KIND_LIST:
        if (!(count = numbers_of(f, text, SSM2D_LIST, numbers))) break;
        list.count = count;
        memcpy(list.at, numbers, (size_t)count * sizeof *numbers);
        memcpy(place, &list, sizeof list);
        return SSM2D_OK;
    }
    return field_refuse(from, f, show(from, text, shown), error);
}

void field_set_default(const ssm2d_field *f, void *config)
{
    static const size_t sizes[] = {
        [SSM2D_KIND_INT] = sizeof(int),        [SSM2D_KIND_REAL] = sizeof(double),
        [SSM2D_KIND_FLAG] = sizeof(int),       [SSM2D_KIND_CHOICE] = sizeof(int),
        [SSM2D_KIND_TEXT] = SSM2D_TEXT,        [SSM2D_KIND_PAIR] = 2 * sizeof(int),
        [SSM2D_KIND_LIST] = sizeof(ssm2d_list)};
    if (f->default_value)
        field_parse((field_source){0}, f, f->default_value, config, NULL);
    else
        memset((char *)config + f->offset, 0, sizes[f->kind]);
}

const char *field_print(const ssm2d_field *f, const void *config, char *text, size_t size)
{
    const char *place = (const char *)config + f->offset;
    const field_value v = value_of(f, place);
    switch (f->kind) {
    case SSM2D_KIND_INT: snprintf(text, size, "%d", v.number); break;
    case SSM2D_KIND_REAL:
        snprintf(text, size, "%.15g", v.real);
        if (strtod(text, NULL) != v.real) snprintf(text, size, "%.17g", v.real);
        break;
    case SSM2D_KIND_FLAG:
    case SSM2D_KIND_CHOICE: snprintf(text, size, "%s", names_of(f)[v.number]); break;
    case SSM2D_KIND_TEXT: snprintf(text, size, "%s", place); break;
    case SSM2D_KIND_PAIR: snprintf(text, size, "%dx%d", v.pair[0], v.pair[1]); break;
    case SSM2D_KIND_LIST: {
        char one[16];
        *text = 0;
        for (int i = 0; i < v.list.count; i++) {
            snprintf(one, sizeof one, "%d", v.list.at[i]);
            append(text, size, i ? "," : "", one);
        }
    }
    }
    return text;
}

ssm2d_status field_check(field_source from, const ssm2d_field *f, const void *config,
                         ssm2d_error *error)
{
    const char *place = (const char *)config + f->offset;
    const field_value v = value_of(f, place);
    const char *const *names = names_of(f);
    char shown[SHOWN];
    int good = 1, count = 0;
    switch (f->kind) {
    case SSM2D_KIND_INT: good = field_takes(f, v.number); break;
    case SSM2D_KIND_REAL: good = field_takes(f, v.real); break;
    case SSM2D_KIND_FLAG:
    case SSM2D_KIND_CHOICE:
        while (names[count]) count++;
        good = v.number >= 0 && v.number < count;
        if (good) break;
        snprintf(shown, sizeof shown, "%d", v.number);
        return field_refuse(from, f, shown, error);
    case SSM2D_KIND_TEXT: good = *place && memchr(place, 0, SSM2D_TEXT); break;
    case SSM2D_KIND_PAIR: good = field_takes(f, v.pair[0]) && field_takes(f, v.pair[1]); break;
    case SSM2D_KIND_LIST:
        good = v.list.count >= 1 && v.list.count <= SSM2D_LIST;
        for (int i = 0; good && i < v.list.count; i++) good = field_takes(f, v.list.at[i]);
    }
    return good ? SSM2D_OK
                : field_refuse(from, f, field_print(f, config, shown, sizeof shown), error);
}

static int same_name(const char *field, const char *name)
{
    while (*field && (*field == *name || (*field == '_' && *name == '-'))) field++, name++;
    return !*field && !*name;
}

const ssm2d_field *field_find(const ssm2d_field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (same_name(fields->name, name)) return fields;
    return NULL;
}

const ssm2d_field *field_find_in(const field_group *groups, const char *name, void **config)
{
    for (; groups->fields; groups++) {
        const ssm2d_field *f = field_find(groups->fields, name);
        if (!f) continue;
        *config = (char *)*config + groups->offset;
        return f;
    }
    return NULL;
}
