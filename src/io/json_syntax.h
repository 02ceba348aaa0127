/* json_syntax - whether a text is JSON, without memory. cJSON does not say whether it gave up for
 * bad syntax or for want of memory; this tells. */
#ifndef SSM2D_IO_JSON_SYNTAX_H
#define SSM2D_IO_JSON_SYNTAX_H

#include <stddef.h>

/* Whether the text is one JSON value that cJSON reads when it has the memory. The text must not be
 * nested deeply: a value inside a value is a call. */
int json_valid(const char *text, size_t size);

#endif
