#include "help.h"

#include "layers/layer_kind.h"

#include <stdarg.h>
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
    for (size_t i = 0; i < length; i++) fputc(word[i] == HELP_NO_BREAK ? ' ' : word[i], out);
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

const char *help_part_word(const command *part)
{
    const char *space = strrchr(part->name, ' ');
    return space ? space + 1 : part->name;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char help_summary[] = "the 2-D state-space layer and vision transformers on CPUs";
const char help_syntax[] = "Write options as --name value or --name=value; -- ends the options.";
const char help_exit_codes[] =
    "0 success, 1 failure, 2 wrong usage; 130 or 143 if Ctrl-C or SIGTERM stopped a run, after its "
    "last step was saved.";

void help_environment(const help_page *page)
{
    help_heading(page, "environment");
    help_entry(page, "SSM2D_CPU",
               "instruction set: baseline, avx2 or avx512 (default: the best of this machine)");
    help_entry(page, "SSM2D_MPI", "MPI module to load (default: that of the launcher)");
    help_entry(page, "SSM2D_MPI_TIMEOUT",
               "seconds that a process waits for another one (default: 600)");
}

__attribute__((format(printf, 2, 3))) static void append(char text[HELP_TEXT], const char *format,
                                                         ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, HELP_TEXT - used, format, args);
    va_end(args);
}

const char *help_option_form(const option *o, char text[HELP_TEXT])
{
    char name[OPTION_KEY];
    text[0] = 0;
    option_name(o, name);
    if (o->positional) {
        append(text, "%s", name);
        return text;
    }
    if (o->letter) append(text, "-%c, ", o->letter);
    append(text, "--%s", name);
    if (o->kind != OPTION_FLAG) append(text, " %s", value_name(o));
    return text;
}

const char *help_option_text(const option *o, char text[HELP_TEXT])
{
    text[0] = 0;
    append(text, "%s", o->help);
    for (int i = 0; o->choice && o->choice(i); i++)
        append(text, "%s %s", i ? "," : ":", o->choice(i));
    if (o->default_value)
        append(text, " (default:%c%s)", HELP_NO_BREAK, o->default_value);
    else if (o->required)
        append(text, " (required)");
    return text;
}

static const char *field_text(const ssm2d_field *f, char text[HELP_TEXT])
{
    text[0] = 0;
    append(text, "%s", f->help);
    for (int v = 0; f->kind == SSM2D_KIND_CHOICE && f->names[v]; v++)
        append(text, "%s%s%s", v ? " " : " (", f->names[v], f->names[v + 1] ? "," : ")");
    if (f->default_value) append(text, " (default:%c%s)", HELP_NO_BREAK, f->default_value);
    return text;
}

const char *help_usage_word(const command *c, int i, char text[HELP_TEXT])
{
    char name[OPTION_KEY];
    text[0] = 0;
    for (const option *o = c->options; o->name; o++) {
        if (!o->positional || i--) continue;
        append(text, o->default_value || o->optional ? "[%s]" : "%s", o->name);
        if (o->kind == OPTION_LIST) append(text, "..");
        return text;
    }
    for (const option *o = c->options; o->name; o++) {
        if (!o->required || i--) continue;
        if (o->letter)
            append(text, "-%c %s", o->letter, value_name(o));
        else
            append(text, "--%s %s", option_name(o, name), value_name(o));
        return text;
    }
    if (i) return NULL;
    append(text, "[options]");
    return text;
}

/* ---- lists for the terminal ------------------------------------------------------------------ */

static void text_heading(FILE *out, const char *text) { fprintf(out, "\n%s:\n", text); }

/* Prints a name, and its help from the help column on. */
static void text_entry(FILE *out, const char *name, const char *help)
{
    int column = fprintf(out, "  %s", name);
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;
    wrap(out, help, strlen(help), HELP_COLUMN, &column);
    fputc('\n', out);
}

static const help_style text_style = {text_heading, text_entry};

void help_heading(const help_page *page, const char *text)
{
    page->style->heading(page->out, text);
}

void help_entry(const help_page *page, const char *name, const char *help)
{
    page->style->entry(page->out, name, help);
}

void help_fields(const help_page *page, const ssm2d_field *fields)
{
    char text[HELP_TEXT];
    for (const ssm2d_field *f = fields; f->name; f++)
        help_entry(page, f->name, field_text(f, text));
}

void help_further(const help_page *page, const command *c)
{
    if (c->lists_fields) {
        help_heading(page, "fields of a layer in --config");
        help_fields(page, layer_ssm2d.fields);
    }
    if (c->more_help) c->more_help(page);
}

/* Indents options without a letter, so that all long names begin in one column. */
static void option_line(FILE *out, const option *o)
{
    char form[HELP_TEXT], left[HELP_TEXT + 4], text[HELP_TEXT];
    snprintf(left, sizeof left, "%s%s", o->letter || o->positional ? "" : "    ",
             help_option_form(o, form));
    text_entry(out, left, help_option_text(o, text));
}

static void option_table(FILE *out, const option *table, int positional)
{
    for (const option *o = table; o->name; o++)
        if (!o->positional == !positional) option_line(out, o);
}

static const option *option_named(const option *table, const char *name)
{
    while (table->name && strcmp(table->name, name)) table++;
    return table->name ? table : NULL;
}

void help_each_option(FILE *out, const command *c, void (*heading)(FILE *out, const char *text),
                      void (*entry)(FILE *out, const option *o))
{
    if (!c->groups) heading(out, "options");
    for (const option *o = c->options; !c->groups && o->name; o++)
        if (!o->positional) entry(out, o);
    for (const option_group *g = c->groups; g && (g->title || g->name); g++) {
        const option *o = g->name ? option_named(c->options, g->name) : NULL;
        if (g->title) heading(out, g->title);
        if (o) entry(out, o);
    }
    if (c->groups) heading(out, "options of every command");
    for (const option *o = common_options; o->name; o++) entry(out, o);
}

/* The common options, and how to list the others. */
static void usual_options(FILE *out, const command *c)
{
    int count = 0;
    text_heading(out, "options");
    for (int i = 0; c->usual[i]; i++) {
        const option *o = option_named(c->options, c->usual[i]);
        if (o) option_line(out, o);
    }
    option_table(out, common_options, 0);
    for (const option *o = c->options; o->name; o++) count += !o->positional;
    fprintf(out,
            "\nssm2d %s --help=all lists all %d options by group, with the names they take;\n"
            "so does man ssm2d-%s.\n",
            c->name, count, c->name);
}

/* ---- pages for the terminal ------------------------------------------------------------------ */

static void usage_word(FILE *out, const char *word, int indent, int *column)
{
    if (*column + 1 + (int)strlen(word) > WIDTH) {
        fprintf(out, "\n%*s", indent, "");
        *column = indent;
    }
    *column += fprintf(out, " %s", word);
}

void help_command(FILE *out, const command *c, int all)
{
    char word[HELP_TEXT];
    int arguments = 0, indent = 6, column = fprintf(out, "usage: ssm2d %s", c->name);
    for (const option *o = c->options; o->name; o++) arguments += o->positional;
    for (int i = 0; help_usage_word(c, i, word); i++) usage_word(out, word, indent, &column);
    fputs("\n\n", out);
    const int usual = c->usual && !all;
    paragraphs(out, usual ? c->brief : c->about);
    if (arguments) {
        text_heading(out, "arguments");
        option_table(out, c->options, 1);
    }
    if (usual) {
        usual_options(out, c);
        return;
    }
    help_each_option(out, c, text_heading, option_line);
    help_further(&(help_page){out, &text_style}, c);
}

void help_parts(FILE *out, const command *c)
{
    fprintf(out, "usage: ssm2d %s PART [options]\n       ssm2d %s PART --help\n\n", c->name,
            c->name);
    paragraphs(out, c->about);
    fputs("\nparts:\n", out);
    for (int i = 0; c->parts[i]; i++)
        fprintf(out, "  %-14s%s\n", help_part_word(c->parts[i]), c->parts[i]->summary);
    fputs("\noptions of every part:\n", out);
    option_table(out, common_options, 0);
}

void help_overall(FILE *out, const command *const *commands)
{
    fprintf(out,
            "ssm2d %s: %s\n\n"
            "usage: ssm2d COMMAND [options]\n"
            "       ssm2d help [COMMAND] | --help\n"
            "       ssm2d version | --version | -V\n\ncommands:\n",
            ssm2d_version(), help_summary);
    for (; *commands; commands++)
        fprintf(out, "  %-14s%s\n", (*commands)->name, (*commands)->summary);
    fputs("\noptions of every command:\n", out);
    option_table(out, common_options, 0);
    fputc('\n', out);
    paragraphs(out, help_syntax);
    text_heading(out, "exit codes");
    paragraphs(out, help_exit_codes);
    help_environment(&(help_page){out, &text_style});
}
