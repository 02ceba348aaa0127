/* text - putting names and foreign text into one-line messages. */
#ifndef SSM2D_IO_TEXT_H
#define SSM2D_IO_TEXT_H

#include <stddef.h>

/* Returns the end of path, short enough to leave space for the message that follows it. */
const char *text_path(const char *path);

/* Copies text from outside to out, as it may be shown in a message, and returns out: control
 * characters become '?', and text that is too long is cut and ends in "..". */
const char *text_show(const char *text, size_t length, char *out, size_t size);

#endif
