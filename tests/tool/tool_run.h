/* tool_run - for the tests of the command-line tool: running it, and a temporary folder. */
#ifndef SSM2D_TESTS_TOOL_RUN_H
#define SSM2D_TESTS_TOOL_RUN_H

#include "../short_tests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct tool_result {
    int code;      /* the exit code, or -1 when a signal ended it */
    char *out;     /* standard output */
    char *err;     /* standard error */
    long peak_kib; /* peak memory */
} tool_result;

/* The result of the last run; overwritten by the next. */
extern tool_result tool;

/* Runs `ssm2d WORDS..`. */
#define TOOL(...) tool_run((const char *const[]){"ssm2d", __VA_ARGS__, NULL})
void tool_run(const char *const *words);

/* Runs a script of the shell, in which $SSM2D is the tool and $FOLDER the test's folder. */
void shell_run(const char *script);

/* A refused command: this exit code; standard error is one line that begins `ssm2d NAME: ` and
 * names the given file, field and value; nothing on standard output; and the test's folder is as
 * before the run, to the last byte. assert_ended: only the exit code and the line, for commands
 * that print or write before an error or a warning, and for scripts. */
#define assert_refused(code, name, ...)                                                            \
    check_refused(code, name, (const char *const[]){__VA_ARGS__, NULL}, 1)
#define assert_ended(code, name, ...)                                                              \
    check_refused(code, name, (const char *const[]){__VA_ARGS__, NULL}, 0)
void check_refused(int code, const char *name, const char *const *parts, int nothing_else);
void assert_one_line(const char *name, const char *part); /* on standard error */

/* A command that is done: exit code 0, nothing on standard error, and no file half-written.
 * assert_wrote: it has written exactly these files of the test's folder, and removed none; a name
 * with a slash at its end stands for the folder with all below. assert_wrote_nothing: it has only
 * read. */
void assert_done(void);
#define assert_wrote(...)      check_wrote((const char *const[]){__VA_ARGS__, NULL})
#define assert_wrote_nothing() check_wrote((const char *const[]){NULL})
void check_wrote(const char *const *names);
void assert_absent(const char *path);

/* The test's folder: created before each test, removed after it. */
int folder_setup(void **state);
int folder_teardown(void **state);
/* a path in it; eight live at a time */
const char *in_folder(const char *format, ...) __attribute__((format(printf, 1, 2)));
int count_files(const char *path); /* in a folder and below; 0 when it is not there */

void put_file(const char *path, const void *bytes, size_t size);
void put_text(const char *path, const char *text);
char *get_file(const char *path, size_t *size); /* to be freed; a NUL follows the contents */
void assert_same_file(const char *one, const char *two);
void copy_folder(const char *from, const char *to);
/* Replaces the only occurrence of `old`. */
void edit_file(const char *path, const char *old, const char *new);

/* Writes a picture of this many rows, with edges and gradients, row by row. */
void put_picture(const char *path, size_t rows, size_t cols, int channels);

#endif
