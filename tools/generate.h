/* generate - man pages and completions of shells, written from the tables of options when the tool
 * is built: `ssm2d --generate man|bash|zsh|fish DIR`. */
#ifndef SSM2D_TOOLS_GENERATE_H
#define SSM2D_TOOLS_GENERATE_H

#include "command.h"

#include <stdio.h>

/* Writes files of one kind, such as ssm2d.1 and ssm2d-train.1, into a folder that exists. commands
 * is a NULL-terminated list. */
ssm2d_status generate(const char *kind, const char *folder, const command *const *commands,
                      ssm2d_error *error);

/* The man page of the tool, and of a command or part. */
void man_overall(FILE *out, const command *const *commands);
void man_command(FILE *out, const command *c);

void complete_bash(FILE *out, const command *const *commands);
void complete_zsh(FILE *out, const command *const *commands);
void complete_fish(FILE *out, const command *const *commands);

/* Calls visit for every command and every part of one. */
void each_command(const command *const *commands, void (*visit)(FILE *out, const command *c),
                  FILE *out);

/* The completions of an option's value, or of a positional argument. */
typedef enum offer {
    OFFER_NOTHING, /* a number or text */
    OFFER_NAMES,   /* those of offer_name */
    OFFER_FILES
} offer;
offer offer_of(const option *o);
/* Returns the i-th name, NULL past the last. */
const char *offer_name(const option *o, int i);

#endif
