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

/* Fails the test unless the run ended with this code, and standard error is one line that begins
 * `ssm2d NAME: ` and contains part. */
void assert_refused(int code, const char *name, const char *part);
void assert_done(void); /* code 0 and nothing on standard error */
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
void copy_folder(const char *from, const char *to);
/* Replaces the only occurrence of `old`. */
void edit_file(const char *path, const char *old, const char *new);

/* Writes a picture of this many rows, with edges and gradients, row by row. */
void put_picture(const char *path, size_t rows, size_t cols, int channels);

#endif
