/* fuzz_field - text as the value of a field of every kind, and as one of the settings of a layer.
 * What is taken is within the bounds and, printed, is taken again as the same; what is refused
 * changes nothing.
 *
 * Input: which field, where it comes from, the text. */
#include "fuzz.h"

#include "core/field.h"

typedef struct values {
    int whole, odd, flag, choice, pair[2];
    double real;
    char text[SSM2D_TEXT];
    ssm2d_list list;
} values;

static const char *const names[] = {"one", "two", "three", NULL};
static const int odd[] = {1, 3, 5, 0};

#define PLACE(name) offsetof(values, name)

static const ssm2d_field fields[] = {
    {"whole", "", SSM2D_KIND_INT, PLACE(whole), -5, 2147483647, "3", NULL, NULL},
    {"odd_one", "", SSM2D_KIND_INT, PLACE(odd), 1, 5, "3", NULL, odd},
    {"real", "", SSM2D_KIND_REAL, PLACE(real), -1e300, 1e300, "0.5", NULL, NULL},
    {"small_real", "", SSM2D_KIND_REAL, PLACE(real), 0, 0.999999999, "0.5", NULL, NULL},
    {"flag", "", SSM2D_KIND_FLAG, PLACE(flag), 0, 1, "true", NULL, NULL},
    {"choice", "", SSM2D_KIND_CHOICE, PLACE(choice), 0, 2, "two", names, NULL},
    {"text", "", SSM2D_KIND_TEXT, PLACE(text), 0, 0, "a", NULL, NULL},
    {"pair", "", SSM2D_KIND_PAIR, PLACE(pair), 1, 16384, "2x3", NULL, NULL},
    {"list", "", SSM2D_KIND_LIST, PLACE(list), 1, 1024, "2,6,4", NULL, NULL},
    {"odd_list", "", SSM2D_KIND_LIST, PLACE(list), 1, 5, "1,3", NULL, odd},
    {0},
};
enum { FIELDS = sizeof fields / sizeof *fields - 1 };

static const field_source sources[] = {
    {NULL, NULL}, {FIELD_OPTION, NULL}, {"a.json", NULL}, {"--set", "mixer."}};

/* The beginning of a refusal of this field. */
static void refusal_begins(field_source from, const ssm2d_field *f, char *begin, size_t size)
{
    if (!from.where)
        snprintf(begin, size, "%s=", f->name);
    else if (!strcmp(from.where, FIELD_OPTION))
        snprintf(begin, size, "--%.3s", f->name);
    else
        snprintf(begin, size, "%s: \"%s%s\" is ", from.where, from.prefix ? from.prefix : "",
                 f->name);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const ssm2d_field *f = &fields[fuzz_byte(&in) % FIELDS];
    const field_source from = sources[fuzz_byte(&in) % 4];
    char *text = malloc(in.left + 1), begin[64], printed[SSM2D_TEXT + 16], small[8];
    memcpy(text, in.at, in.left);
    text[in.left] = 0;
    values v, before, again;
    memset(&v, 0, sizeof v);
    for (int i = 0; i < FIELDS; i++) field_set_default(&fields[i], &v);
    before = again = v;
    ssm2d_error error = {{0}};
    ssm2d_status status = field_parse(from, f, text, &v, &error);
    if (status) {
        refusal_begins(from, f, begin, sizeof begin);
        fuzz_check_refusal(status, &error, begin);
        REQUIRE(!memcmp(&v, &before, sizeof v));
    } else {
        REQUIRE(!field_check(from, f, &v, &error));
        field_print(f, &v, printed, sizeof printed);
        REQUIRE(!field_parse(from, f, printed, &again, &error));
        REQUIRE(!memcmp(&v, &again, sizeof v));
        REQUIRE(strlen(field_print(f, &v, small, sizeof small)) < sizeof small);
    }
    const ssm2d_field *named = field_find(fields, text);
    REQUIRE(!named || strlen(named->name) == strlen(text));
    free(text);
}
