#include "help.h"

#include <string.h>

enum { WIDTH = 79, HELP_COLUMN = 24 };

/* Prints a word after the text so far, on a new line when this one is full. */
static void put_word(FILE *out, const char *word, size_t length, int indent, int *column)
{
    if (*column > indent && *column + 1 + (int)length > WIDTH) {
        fprintf(out, "\n%*s", indent, "");
        *column = indent;
    } else if (*column > indent) {
        fputc(' ', out);
        ++*column;
    }
    fwrite(word, 1, length, out);
    *column += (int)length;
}

/* Prints words from column *column on; further lines start at column `indent`. */
static void wrap(FILE *out, const char *text, size_t length, int indent, int *column)
{
    const char *end = text + length;
    while (text < end) {
        while (text < end && *text == ' ') text++;
        size_t word = 0;
        while (text + word < end && text[word] != ' ') word++;
        if (!word) break;
        put_word(out, text, word, indent, column);
        text += word;
    }
}

/* Prints paragraphs, one per line of text, wrapped; a line that starts with a space is kept as it
 * is. */
static void paragraphs(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        int column = 0;
        if (*text == ' ')
            fwrite(text, 1, length, out);
        else
            wrap(out, text, length, 0, &column);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
}

static const char *value_name(const option *o)
{
    if (o->value) return o->value;
    switch (o->kind) {
    case OPTION_INT: return "N";
    case OPTION_DOUBLE: return "X";
    case OPTION_STRING:
    case OPTION_LIST: return "TEXT";
    case OPTION_CHOICE: return "NAME";
    case OPTION_FLAG: break;
    }
    return NULL;
}

/* Prints a name, and its help from the help column on. Sets *column to the end of the text. */
static void entry(FILE *out, const char *left, const char *help, int *column)
{
    *column = fprintf(out, "%s", left);
    if (*column > HELP_COLUMN - 2) {
        fputc('\n', out);
        *column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - *column, "");
    *column = HELP_COLUMN;
    wrap(out, help, strlen(help), HELP_COLUMN, column);
}

static void option_line(FILE *out, const option *o)
{
    char left[128], text[512], name[OPTION_KEY];
    option_name(o, name);
    if (o->positional)
        snprintf(left, sizeof left, "  %s", name);
    else
        snprintf(left, sizeof left, "  %c%c%s--%s%s%s", o->letter ? '-' : ' ',
                 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", name,
                 o->kind == OPTION_FLAG ? "" : " ", o->kind == OPTION_FLAG ? "" : value_name(o));
    int column;
    entry(out, left, o->help, &column);
    text[0] = 0;
    if (o->choice) {
        for (int i = 0; o->choice(i); i++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", o->choice(i));
        }
        fputc(':', out);
        column++;
        wrap(out, text, strlen(text), HELP_COLUMN, &column);
    }
    if (o->default_value) {
        snprintf(text, sizeof text, "(default: %s)", o->default_value);
        put_word(out, text, strlen(text), HELP_COLUMN, &column);
    } else if (o->required) {
        put_word(out, "(required)", 10, HELP_COLUMN, &column);
    }
    fputc('\n', out);
}

static void option_table(FILE *out, const option *table, int positional)
{
    for (const option *o = table; o->name; o++)
        if (!o->positional == !positional) option_line(out, o);
}

void help_entry(FILE *out, const char *name, const char *text)
{
    char left[128];
    int column;
    snprintf(left, sizeof left, "  %s", name);
    entry(out, left, text, &column);
    fputc('\n', out);
}

void help_fields(FILE *out, const ssm2d_field *fields)
{
    for (const ssm2d_field *f = fields; f->name; f++) {
        char text[256];
        int column;
        snprintf(text, sizeof text, "  %s", f->name);
        entry(out, text, f->help, &column);
        for (int v = 0; f->kind == SSM2D_KIND_CHOICE && f->names[v]; v++) {
            snprintf(text, sizeof text, "%s%s%s", v ? "" : "(", f->names[v],
                     f->names[v + 1] ? "," : ")");
            wrap(out, text, strlen(text), HELP_COLUMN, &column);
        }
        snprintf(text, sizeof text, "(default: %s)", f->default_value);
        if (f->default_value) put_word(out, text, strlen(text), HELP_COLUMN, &column);
        fputc('\n', out);
    }
}

static void usage_word(FILE *out, const char *word, int indent, int *column)
{
    if (*column + 1 + (int)strlen(word) > WIDTH) {
        fprintf(out, "\n%*s", indent, "");
        *column = indent;
    }
    *column += fprintf(out, " %s", word);
}

void help_command(FILE *out, const command *c)
{
    char word[160], name[OPTION_KEY];
    int arguments = 0, indent = 6, column = fprintf(out, "usage: ssm2d %s", c->name);
    for (const option *o = c->options; o->name; o++) {
        if (!o->positional) continue;
        arguments++;
        snprintf(word, sizeof word, o->default_value || o->optional ? "[%s]" : "%s", o->name);
        if (o->kind == OPTION_LIST) strcat(word, "..");
        usage_word(out, word, indent, &column);
    }
    for (const option *o = c->options; o->name; o++) {
        if (!o->required) continue;
        snprintf(word, sizeof word, "%s%s %s", o->letter ? "-" : "--",
                 o->letter ? (char[]){o->letter, 0} : option_name(o, name), value_name(o));
        usage_word(out, word, indent, &column);
    }
    usage_word(out, "[options]", indent, &column);
    fputs("\n\n", out);
    paragraphs(out, c->about);
    if (arguments) {
        fputs("\narguments:\n", out);
        option_table(out, c->options, 1);
    }
    fputs("\noptions:\n", out);
    option_table(out, c->options, 0);
    option_table(out, common_options, 0);
    if (c->lists_fields) {
        fputs("\nfields of a layer in --config:\n", out);
        help_fields(out, ssm2d_config_fields(NULL));
    }
    if (c->more_help) c->more_help(out);
}

void help_parts(FILE *out, const command *c)
{
    fprintf(out, "usage: ssm2d %s PART [options]\n       ssm2d %s PART --help\n\n", c->name,
            c->name);
    paragraphs(out, c->about);
    fputs("\nparts:\n", out);
    for (int i = 0; c->parts[i]; i++)
        fprintf(out, "  %-14s%s\n", strrchr(c->parts[i]->name, ' ') + 1, c->parts[i]->summary);
    fputs("\noptions of every part:\n", out);
    option_table(out, common_options, 0);
}

void help_overall(FILE *out, const command *const *commands)
{
    fprintf(out,
            "ssm2d %s: the 2-D state-space layer and vision transformers on CPUs\n\n"
            "usage: ssm2d COMMAND [options]\n"
            "       ssm2d COMMAND --help\n"
            "       ssm2d --help | --version\n\ncommands:\n",
            ssm2d_version());
    for (; *commands; commands++)
        fprintf(out, "  %-14s%s\n", (*commands)->name, (*commands)->summary);
    fputs("\noptions of every command:\n", out);
    option_table(out, common_options, 0);
    fputs("\nOptions are written --name value or --name=value; -- ends the options.\n"
          "Exit codes: 0 success, 1 failure, 2 wrong usage.\n\n"
          "environment:\n"
          "  SSM2D_CPU     the instruction set to use: baseline, avx2 or avx512\n"
          "                (default: the best the machine has)\n",
          out);
}
