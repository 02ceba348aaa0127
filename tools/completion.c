/* completion - scripts that complete the command line of ssm2d in bash, zsh and fish: commands,
 * parts, options, and the values of options that have names. */
#include "generate.h"
#include "help.h"

#include <string.h>

/* Writes text between single quotes of a shell. bash and zsh leave the quotes for an apostrophe;
 * fish takes a backslash. */
static void put_quoted(FILE *out, const char *text, int fish)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs(fish ? "\\'" : "'\\''", out);
        else if (*text == '\\' && fish)
            fputs("\\\\", out);
        else
            fputc(*text == HELP_NO_BREAK ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static void put_names(FILE *out, const option *o)
{
    for (int i = 0; offer_name(o, i); i++) fprintf(out, "%s%s", i ? " " : "", offer_name(o, i));
}

/* Calls visit for each option of a command and those that every command has. */
static void each_option(FILE *out, const command *c,
                        void (*visit)(FILE *out, const command *c, const option *o))
{
    for (const option *o = c->options; o->name; o++) visit(out, c, o);
    for (const option *o = common_options; o->name; o++) visit(out, c, o);
}

/* The names of commands, and after them help and version. */
static void command_names(FILE *out, const command *const *commands)
{
    for (; *commands; commands++) fprintf(out, "%s ", (*commands)->name);
    fputs("help version", out);
}

static void part_names(FILE *out, const command *c)
{
    for (int i = 0; c->parts[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", help_part_word(c->parts[i]));
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_name(FILE *out, const command *c, const option *o)
{
    char name[OPTION_KEY];
    (void)c;
    if (o->positional) return;
    if (o->letter) fprintf(out, "-%c ", o->letter);
    fprintf(out, "--%s ", option_name(o, name));
}

/* A line of `case "$command $previous"` for an option that takes a value. */
static void bash_value(FILE *out, const command *c, const option *o)
{
    char name[OPTION_KEY];
    if (o->positional || o->kind == OPTION_FLAG) return;
    fprintf(out, "    '%s --%s'", c->name, option_name(o, name));
    if (o->letter) fprintf(out, " | '%s -%c'", c->name, o->letter);
    switch (offer_of(o)) {
    case OFFER_NOTHING: fputs(") compopt +o default 2> /dev/null ;;\n", out); return;
    case OFFER_FILES: fputs(") ;;\n", out); return;
    case OFFER_NAMES:
        fputs(") names='", out);
        put_names(out, o);
        fputs("' ;;\n", out);
    }
}

static void bash_values(FILE *out, const command *c) { each_option(out, c, bash_value); }

static void bash_options(FILE *out, const command *c)
{
    fprintf(out, "        '%s') names='", c->name);
    each_option(out, c, bash_name);
    fputs("' ;;\n", out);
}

void complete_bash(FILE *out, const command *const *commands)
{
    fputs("# bash completion of ssm2d, written by ssm2d --generate bash.\n"
          "# Without a reply bash completes the names of files.\n"
          "_ssm2d()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} names= first=1\n"
          "    COMPREPLY=()\n"
          "    # --name=value is three words\n"
          "    if [[ $current == '=' ]]; then current=\n"
          "    elif [[ $previous == '=' ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "    if [[ $command == help && $COMP_CWORD -gt 1 ]]; then first=2; "
          "command=${COMP_WORDS[2]}; fi\n"
          "    if ((COMP_CWORD == first)); then\n        names='",
          out);
    command_names(out, commands);
    fputs("'\n        [[ $current != -* || $first == 2 ]] || names='--help --version'\n"
          "        COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
          "        compopt +o default 2> /dev/null\n        return\n    fi\n"
          "    case $command in\n",
          out);
    for (int i = 0; commands[i]; i++) {
        if (!commands[i]->parts) continue;
        fprintf(out, "    %s)\n        if ((COMP_CWORD == first + 1)); then\n            names='",
                commands[i]->name);
        part_names(out, commands[i]);
        fputs("'\n            [[ $current != -* || $first == 2 ]] || names=--help\n"
              "            COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
              "            compopt +o default 2> /dev/null\n            return\n        fi\n"
              "        command+=\" ${COMP_WORDS[first + 1]}\" ;;\n",
              out);
    }
    fputs("    esac\n    [[ $first == 1 ]] || return\n    case \"$command $previous\" in\n", out);
    each_command(commands, bash_values, out);
    fputs("    *)\n        [[ $current == -* ]] || return\n        case $command in\n", out);
    each_command(commands, bash_options, out);
    fputs("        esac ;;\n    esac\n"
          "    COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n}\n"
          "complete -o default -F _ssm2d ssm2d\n",
          out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* An option's help as zsh's _arguments takes it between brackets. */
static void zsh_help(FILE *out, const char *text)
{
    fputc('[', out);
    for (; *text; text++) {
        if (strchr("[]:\\", *text)) fputc('\\', out);
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text == HELP_NO_BREAK ? ' ' : *text, out);
    }
    fputc(']', out);
}

static void zsh_action(FILE *out, const option *o)
{
    switch (offer_of(o)) {
    case OFFER_NOTHING: break;
    case OFFER_FILES: fputs("_files", out); break;
    case OFFER_NAMES:
        fputc('(', out);
        put_names(out, o);
        fputc(')', out);
    }
}

static void zsh_option(FILE *out, const command *c, const option *o)
{
    char name[OPTION_KEY];
    const char *repeated = o->kind == OPTION_LIST ? "*" : "";
    (void)c;
    option_name(o, name);
    fputs(" \\\n            ", out);
    if (o->positional) {
        fprintf(out, "'%s:%s:", repeated, name);
        zsh_action(out, o);
        fputc('\'', out);
        return;
    }
    const char *equals = o->kind == OPTION_FLAG ? "" : "=";
    if (o->letter)
        fprintf(out, "'(-%c --%s)'{-%c,--%s%s}'", o->letter, name, o->letter, name, equals);
    else
        fprintf(out, "'%s--%s%s", repeated, name, equals);
    zsh_help(out, o->help);
    if (o->kind != OPTION_FLAG) {
        fprintf(out, ":%s:", name);
        zsh_action(out, o);
    }
    fputc('\'', out);
}

static void zsh_command(FILE *out, const command *c)
{
    fprintf(out, "    '%s')\n        _arguments -S", c->name);
    each_option(out, c, zsh_option);
    fputs(" ;;\n", out);
}

/* name:summary, for _describe. */
static void zsh_summary(FILE *out, const char *name, const char *summary)
{
    char text[256];
    snprintf(text, sizeof text, "%s:%s", name, summary);
    fputs("        ", out);
    put_quoted(out, text, 0);
    fputc('\n', out);
}

void complete_zsh(FILE *out, const command *const *commands)
{
    fputs("#compdef ssm2d\n"
          "# zsh completion of ssm2d, written by ssm2d --generate zsh.\n"
          "_ssm2d()\n{\n"
          "    local command help=0\n    local -a names\n"
          "    if [[ $words[2] == help && $CURRENT -gt 2 ]]; then\n"
          "        help=1\n        shift words\n        ((CURRENT--))\n    fi\n"
          "    if ((CURRENT == 2)); then\n        names=(\n",
          out);
    for (int i = 0; commands[i]; i++) zsh_summary(out, commands[i]->name, commands[i]->summary);
    zsh_summary(out, "help", "help on a command");
    zsh_summary(out, "version", "print the version");
    fputs("        )\n        _describe -t commands command names\n        return\n    fi\n"
          "    command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n",
          out);
    for (int i = 0; commands[i]; i++) {
        if (!commands[i]->parts) continue;
        fprintf(out, "    %s)\n        if ((CURRENT == 2)); then\n        names=(\n",
                commands[i]->name);
        for (int k = 0; commands[i]->parts[k]; k++)
            zsh_summary(out, help_part_word(commands[i]->parts[k]), commands[i]->parts[k]->summary);
        fputs("        )\n        _describe -t parts part names\n        return\n        fi\n"
              "        command+=\" $words[2]\"\n        shift words\n        ((CURRENT--)) ;;\n",
              out);
    }
    fputs("    esac\n    ((help)) && return\n    case $command in\n", out);
    each_command(commands, zsh_command, out);
    fputs("    esac\n}\n\n"
          "if [[ $funcstack[1] == _ssm2d ]]; then _ssm2d \"$@\"; else compdef _ssm2d ssm2d; fi\n",
          out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

/* complete -c ssm2d, when the words so far are those of a command. */
static void fish_start(FILE *out, const char *words)
{
    fprintf(out, "complete -c ssm2d -n '__ssm2d_%s'", words);
}

static void fish_option(FILE *out, const command *c, const option *o)
{
    char name[OPTION_KEY], condition[128];
    snprintf(condition, sizeof condition, "runs %s", c->name);
    if (o->positional) {
        if (offer_of(o) != OFFER_FILES) return;
        fish_start(out, condition);
        fputs(" -F\n", out);
        return;
    }
    fish_start(out, condition);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    fprintf(out, " -l %s", option_name(o, name));
    if (o->kind != OPTION_FLAG) fputs(offer_of(o) == OFFER_FILES ? " -r -F" : " -x", out);
    if (o->kind != OPTION_FLAG && offer_of(o) == OFFER_NAMES) {
        fputs(" -a '", out);
        put_names(out, o);
        fputc('\'', out);
    }
    fputs(" -d ", out);
    put_quoted(out, o->help, 1);
    fputc('\n', out);
}

static void fish_command(FILE *out, const command *c) { each_option(out, c, fish_option); }

static void fish_word(FILE *out, const char *before, const char *name, const char *summary)
{
    char condition[128];
    snprintf(condition, sizeof condition, "at%s%s", *before ? " " : "", before);
    fish_start(out, condition);
    fprintf(out, " -a %s -d ", name);
    put_quoted(out, summary, 1);
    fputc('\n', out);
}

void complete_fish(FILE *out, const command *const *commands)
{
    fputs("# fish completion of ssm2d, written by ssm2d --generate fish.\n"
          "# Whether the words before the cursor are these, and nothing else.\n"
          "function __ssm2d_at\n"
          "    set -l words (commandline -opc)[2..]\n"
          "    test \"$words\" = \"$argv\"\nend\n"
          "# Whether they begin with these.\n"
          "function __ssm2d_runs\n"
          "    set -l words (commandline -opc)[2..]\n"
          "    test \"$words[1..$(count $argv)]\" = \"$argv\"\nend\n"
          "complete -c ssm2d -f\n",
          out);
    for (int i = 0; commands[i]; i++) {
        const command *c = commands[i];
        fish_word(out, "", c->name, c->summary);
        fish_word(out, "help", c->name, c->summary);
        for (int k = 0; c->parts && c->parts[k]; k++) {
            char before[64];
            snprintf(before, sizeof before, "help %s", c->name);
            fish_word(out, c->name, help_part_word(c->parts[k]), c->parts[k]->summary);
            fish_word(out, before, help_part_word(c->parts[k]), c->parts[k]->summary);
        }
    }
    fish_word(out, "", "help", "help on a command");
    fish_word(out, "", "version", "print the version");
    each_command(commands, fish_command, out);
}
