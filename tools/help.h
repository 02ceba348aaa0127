/* help - prints the texts of --help from the tables of options, in at most 80 columns. */
#ifndef SSM2D_TOOLS_HELP_H
#define SSM2D_TOOLS_HELP_H

#include "command.h"

#include <stdio.h>

extern const option common_options[]; /* that every subcommand has */

void help_overall(FILE *out, const command *const *commands);
void help_command(FILE *out, const command *c);
/* Print lines of more_help: the fields of a table; a name and its help. */
void help_fields(FILE *out, const ssm2d_field *fields);
void help_entry(FILE *out, const char *name, const char *text);
void help_parts(FILE *out, const command *c); /* for a command that has parts */

#endif
