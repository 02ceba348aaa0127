/* written - the line that names the file that a command wrote. */
#ifndef SSM2D_TOOLS_WRITTEN_H
#define SSM2D_TOOLS_WRITTEN_H

/* Prints "PATH: what, 12 kB" to standard output; without the size if PATH is not a regular file. */
void written_print(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
