/* man - man pages in groff's man macros, from the same tables as --help. */
#include "generate.h"
#include "help.h"

#include <ctype.h>
#include <string.h>

/* Writes text so that groff takes nothing as a request or an escape: a line must not begin with a
 * dot or an apostrophe, and - is a minus sign, as in options. */
static void put_text(FILE *out, const char *text, size_t length)
{
    if (length && (*text == '.' || *text == '\'')) fputs("\\&", out);
    for (size_t i = 0; i < length; i++) switch (text[i]) {
        case '\\': fputs("\\e", out); break;
        case '-': fputs("\\-", out); break;
        case '\'': fputs("\\(aq", out); break;
        case '"': fputs("\\(dq", out); break;
        case '^': fputs("\\(ha", out); break;
        case '~': fputs("\\(ti", out); break;
        case HELP_NO_BREAK: fputs("\\ ", out); break;
        default: fputc(text[i], out);
        }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
    fputc('\n', out);
}

/* Paragraphs, one per line of text; lines that begin with a space are kept as they are. */
static void paragraphs(FILE *out, const char *text)
{
    int literal = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const int kept = *text == ' ';
        if (kept && !literal) fputs(".PP\n.nf\n", out);
        if (!kept && literal) fputs(".fi\n", out);
        if (!kept && length) fputs(".PP\n", out);
        literal = kept;
        if (length) {
            put_text(out, text, length);
            fputc('\n', out);
        }
        text += length + (text[length] == '\n');
    }
    if (literal) fputs(".fi\n", out);
}

/* .SH with the text in capitals. */
static void heading(FILE *out, const char *text)
{
    fputs(".SH \"", out);
    for (; *text; text++) {
        const char upper = (char)toupper((unsigned char)*text);
        put_text(out, &upper, 1);
    }
    fputs("\"\n", out);
}

static void entry(FILE *out, const char *name, const char *help)
{
    fputs(".TP\n\\fB", out);
    put_text(out, name, strlen(name));
    fputs("\\fR\n", out);
    put_line(out, help);
}

static const help_style man_style = {heading, entry};

static void option_entry(FILE *out, const option *o)
{
    char form[HELP_TEXT], text[HELP_TEXT];
    entry(out, help_option_form(o, form), help_option_text(o, text));
}

static void option_entries(FILE *out, const option *table, int positional)
{
    for (const option *o = table; o->name; o++)
        if (!o->positional == !positional) option_entry(out, o);
}

/* Writes "ssm2d-bench-layer" for "bench layer", in capitals when upper is set. */
static void page_name(FILE *out, const char *name, int upper)
{
    fputs(upper ? "SSM2D" : "ssm2d", out);
    if (name) fputs("\\-", out);
    for (; name && *name; name++) {
        const char c = *name == ' ' ? '-' : upper ? (char)toupper((unsigned char)*name) : *name;
        put_text(out, &c, 1);
    }
}

static void header(FILE *out, const char *name, const char *summary)
{
    fputs(".\\\" Written by ssm2d --generate man from its tables of options.\n.TH ", out);
    page_name(out, name, 1);
    fprintf(out, " 1 \"\" \"ssm2d %s\" \"User Commands\"\n.SH NAME\n", ssm2d_version());
    page_name(out, name, 0);
    fputs(" \\- ", out);
    put_line(out, summary);
    fputs(".SH SYNOPSIS\n", out);
}

static void see_also(FILE *out, const char *const *names)
{
    fputs(".SH \"SEE ALSO\"\n", out);
    for (; *names; names++) {
        fputs(".BR ", out);
        page_name(out, **names ? *names : NULL, 0);
        fprintf(out, " (1)%s\n", names[1] ? "," : "");
    }
}

void man_command(FILE *out, const command *c)
{
    char word[HELP_TEXT];
    header(out, c->name, c->summary);
    fprintf(out, ".B ssm2d %s\n", c->name);
    if (c->parts) {
        fputs("PART [options]\n.SH DESCRIPTION\n", out);
        paragraphs(out, c->about);
        heading(out, "parts");
        for (int i = 0; c->parts[i]; i++)
            entry(out, help_part_word(c->parts[i]), c->parts[i]->summary);
        const char *names[16] = {""};
        for (int i = 0; i < 14 && c->parts[i]; i++) names[i + 1] = c->parts[i]->name;
        see_also(out, names);
        return;
    }
    for (int i = 0; help_usage_word(c, i, word); i++) put_line(out, word);
    fputs(".SH DESCRIPTION\n", out);
    paragraphs(out, c->about);
    if (c->options->positional) {
        heading(out, "arguments");
        option_entries(out, c->options, 1);
    }
    help_each_option(out, c, heading, option_entry);
    help_further(&(help_page){out, &man_style}, c);
    see_also(out, (const char *const[]){"", NULL});
}

void man_overall(FILE *out, const command *const *commands)
{
    const char *names[32] = {NULL};
    header(out, NULL, help_summary);
    fputs(".B ssm2d\nCOMMAND [options]\n.br\n.B ssm2d help\n[COMMAND]\n.br\n.B ssm2d version\n"
          ".SH DESCRIPTION\n",
          out);
    paragraphs(out, "Trains, evaluates and runs vision transformers with the layer of \"2-D SSM: A "
                    "General Spatial Layer for Visual Transformers\", runs the layer alone, and "
                    "draws its kernels.");
    heading(out, "commands");
    for (int i = 0; commands[i]; i++) {
        entry(out, commands[i]->name, commands[i]->summary);
        if (i < 31) names[i] = commands[i]->name;
    }
    heading(out, "options of every command");
    option_entries(out, common_options, 0);
    paragraphs(out, help_syntax);
    heading(out, "exit status");
    paragraphs(out, help_exit_codes);
    help_environment(&(help_page){out, &man_style});
    see_also(out, names);
}
