/* text - external names and text in one-line messages. */
#ifndef SSM2D_IO_TEXT_H
#define SSM2D_IO_TEXT_H

#include "ssm2d.h"

#include <stdio.h>

/* Returns the end of path, short enough to leave space for the message that follows it. It is for
 * `fail`, which replaces control characters; to print a path, use text_print. */
const char *text_path(const char *path);

/* Returns SSM2D_ERROR_SYSTEM with the line "PATH: WHAT: text of errno". */
ssm2d_status fail_errno(ssm2d_error *error, const char *path, const char *what);

/* Copies external text to out for a message, and returns out: control characters become '?', and
 * text that is too long is truncated and ends in "..". */
const char *text_show(const char *text, size_t length, char *out, size_t size);

/* As text_show of the whole text; bytes that are not UTF-8 become '?', too, as drawing needs. */
const char *text_valid(const char *text, char *out, size_t size);

/* Whether a file's name ends in an extension, such as ".png"; case does not matter. */
int text_has_extension(const char *path, const char *extension);

/* Returns the length in bytes of the UTF-8 character at text; 0 if it is not valid UTF-8. */
int text_utf8(const char *text);

/* Replaces bytes that are not UTF-8 by '?'; returns whether there were any. */
int text_make_utf8(char *text);

/* Terminates the line at *rest, without its line ending, and returns it; *rest becomes the next
 * line. NULL after the last line. */
char *text_next_line(char **rest);

/* Prints external text of any length: control characters become '?'. */
void text_print(FILE *out, const char *text);

#endif
