/* help - the texts of --help, made from the tables; no line is wider than 80 columns. */
#ifndef SSM2D_TOOLS_HELP_H
#define SSM2D_TOOLS_HELP_H

#include "command.h"

#include <stdio.h>

extern const option common_options[]; /* of every subcommand */

void help_overall(FILE *out, const command *const *commands);
void help_command(FILE *out, const command *c);
/* For more_help: the fields of a table, and a name with what it stands for. */
void help_fields(FILE *out, const ssm2d_field *fields);
void help_entry(FILE *out, const char *name, const char *text);
void help_parts(FILE *out, const command *c); /* of a command that has parts */

#endif
