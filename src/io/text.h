/* text - putting names and foreign text into one-line messages. */
#ifndef SSM2D_IO_TEXT_H
#define SSM2D_IO_TEXT_H

#include <stddef.h>

/* The end of path, short enough to leave room for the message that follows it. */
const char *text_path(const char *path);

/* Foreign text for a message: what does not print becomes '?', what is too long for out is cut and
 * ends in "..". */
const char *text_show(const char *text, size_t length, char *out, size_t size);

#endif
