/* help - prints --help from the tables of options, in at most 80 columns; and the texts that man
 * pages share with it. */
#ifndef SSM2D_TOOLS_HELP_H
#define SSM2D_TOOLS_HELP_H

#include "command.h"

#include <stdio.h>

extern const option common_options[]; /* that every subcommand has */

void help_overall(FILE *out, const command *const *commands);
void help_command(FILE *out, const command *c, int all); /* all: of many options, not the usual */
void help_parts(FILE *out, const command *c);            /* for a command that has parts */

/* The form of a list of names and their help, which text for the terminal and man pages print
 * differently. */
typedef struct help_style {
    void (*heading)(FILE *out, const char *text);
    void (*entry)(FILE *out, const char *name, const char *help);
} help_style;

struct help_page {
    FILE *out;
    const help_style *style;
};

/* For more_help: a heading, a name and its help, the fields of a table. */
void help_heading(const help_page *page, const char *text);
void help_entry(const help_page *page, const char *name, const char *help);
void help_fields(const help_page *page, const ssm2d_field *fields);
/* The end of a command's help: the fields of a layer, and more_help. */
void help_further(const help_page *page, const command *c);
/* The environment variables of the tool, with a heading. */
void help_environment(const help_page *page);
extern const char help_summary[], help_syntax[], help_exit_codes[];

/* In texts of help: a space at which no line ends. */
#define HELP_NO_BREAK '\1'
enum { HELP_TEXT = 1024 };

/* Write an option's form, "-o, --output FILE", and its help with choices and default to text, and
 * return text. */
const char *help_option_form(const option *o, char text[HELP_TEXT]);
const char *help_option_text(const option *o, char text[HELP_TEXT]);
/* Goes over the options of a command, in its groups if it has some; not over arguments. */
void help_each_option(FILE *out, const command *c, void (*heading)(FILE *out, const char *text),
                      void (*entry)(FILE *out, const option *o));
/* Writes the arguments of a command, "IMAGE -o FILE [options]", word by word: returns the i-th, or
 * NULL past the last. */
const char *help_usage_word(const command *c, int i, char text[HELP_TEXT]);
/* Returns the word that chooses a part of a command: the last one of its name. */
const char *help_part_word(const command *part);

#endif
