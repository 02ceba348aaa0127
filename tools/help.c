#include "help.h"

#include <string.h>

enum { WIDTH = 79, HELP_COLUMN = 24 };

/* Prints words from column *column on, going on at `indent` when a line is full. */
static void wrap(FILE *out, const char *text, size_t length, int indent, int *column)
{
    const char *end = text + length;
    while (text < end) {
        while (text < end && *text == ' ') text++;
        size_t word = 0;
        while (text + word < end && text[word] != ' ') word++;
        if (!word) break;
        if (*column > indent && *column + 1 + (int)word > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            *column = indent;
        } else if (*column > indent) {
            fputc(' ', out);
            ++*column;
        }
        fwrite(text, 1, word, out);
        *column += (int)word;
        text += word;
    }
}

/* Lines of text are paragraphs to be wrapped, but for those that begin with a blank. */
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
    case OPTION_STRING: return "TEXT";
    case OPTION_CHOICE: return "NAME";
    case OPTION_FLAG: break;
    }
    return NULL;
}

static void option_line(FILE *out, const option *o)
{
    char left[64], text[512];
    if (o->positional)
        snprintf(left, sizeof left, "  %s", o->name);
    else
        snprintf(left, sizeof left, "  %c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                 o->letter ? ", " : "  ", o->name, o->kind == OPTION_FLAG ? "" : " ",
                 o->kind == OPTION_FLAG ? "" : value_name(o));
    int column = fprintf(out, "%s", left);
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;

    wrap(out, o->help, strlen(o->help), HELP_COLUMN, &column);
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
    if (o->standard) {
        snprintf(text, sizeof text, "(default: %s)", o->standard);
        wrap(out, text, strlen(text), HELP_COLUMN, &column);
    } else if (o->required) {
        wrap(out, "(required)", 10, HELP_COLUMN, &column);
    }
    fputc('\n', out);
}

static void option_table(FILE *out, const option *table, int positional)
{
    for (const option *o = table; o->name; o++)
        if (!o->positional == !positional) option_line(out, o);
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
    char word[80];
    int arguments = 0, indent = 6, column = fprintf(out, "usage: ssm2d %s", c->name);
    for (const option *o = c->options; o->name; o++) {
        if (!o->positional) continue;
        arguments++;
        snprintf(word, sizeof word, o->standard ? "[%s]" : "%s", o->name);
        usage_word(out, word, indent, &column);
    }
    for (const option *o = c->options; o->name; o++) {
        if (!o->required) continue;
        snprintf(word, sizeof word, "%s%s %s", o->letter ? "-" : "--", o->letter ? (char[]){o->letter, 0} : o->name,
                 value_name(o));
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
}

void help_overall(FILE *out, const command *const *commands)
{
    fprintf(out,
            "ssm2d %s: the 2-D state-space layer on ordinary processors\n\n"
            "usage: ssm2d COMMAND [options]\n"
            "       ssm2d COMMAND --help\n"
            "       ssm2d --help | --version\n\ncommands:\n",
            ssm2d_version());
    for (; *commands; commands++) fprintf(out, "  %-14s%s\n", (*commands)->name, (*commands)->summary);
    fputs("\noptions of every command:\n", out);
    option_table(out, common_options, 0);
    fputs("\nOptions are written --name value or --name=value; -- ends them.\n"
          "Exit codes: 0 done, 1 failed, 2 wrong usage.\n\n"
          "environment:\n"
          "  SSM2D_CPU     the instruction set to use: baseline, avx2 or avx512\n"
          "                (default: the best the machine has)\n",
          out);
}
