/* fuzz_files - a folder in memory for readers that take paths. It is created at its first use, and
 * removed when the program ends. */
#ifndef SSM2D_TESTS_FUZZ_FILES_H
#define SSM2D_TESTS_FUZZ_FILES_H

#include <stddef.h>

const char *fuzz_folder(void);
/* The path of a file in it, valid for three more calls. */
const char *fuzz_path(const char *name);
/* Writes a file; returns its path. */
const char *fuzz_put(const char *name, const void *bytes, size_t size);
/* The contents, to be freed with free. */
char *fuzz_get(const char *name, size_t *size);
void fuzz_remove(const char *name);

#endif
