/* command - the frame of the `ssm2d` tool: a subcommand is a table of options and a function that
 * takes their values.
 *
 * The table drives parsing, checks, defaults and --help. To add a subcommand, write a file in the
 * folder of its group with
 *
 *     typedef struct values {
 *         const char *image, *algo;
 *         long seed;
 *         int json;
 *     } values;
 *
 *     static const option options[] = {
 *         {"IMAGE", OPTION_STRING, offsetof(values, image), "image to read", .positional = 1},
 *         {"algo", OPTION_CHOICE, offsetof(values, algo), "algorithm", .choice = algo_name,
 *          .default_value = "auto"},
 *         {"seed", OPTION_INT, offsetof(values, seed), "random seed", .low = 0, .high = 1e9,
 *          .default_value = "0"},
 *         {"json", OPTION_FLAG, offsetof(values, json), .help = "print JSON"},
 *         {0}};
 *
 *     static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
 *     {
 *         const values *o = v;
 *         ...
 *     }
 *
 *     const command command_NAME = {"NAME", "what it does in a few words",
 *                                   "What it does in full ...", options, NULL, run, 0};
 *
 * declare command_NAME below, and add it to the list in main.c and the file to CMakeLists.txt.
 *
 * `run` prints its results to standard output. The frame prints an error that it returns as
 * `ssm2d NAME: line` on standard error. Exit codes: 0 success, 1 failure of `run`, 2 wrong usage
 * (parsing, check), 128 + N if signal N has stopped it cleanly (stop_signals.h). All subcommands
 * have `--threads N` and `--help`. */
#ifndef SSM2D_TOOLS_COMMAND_H
#define SSM2D_TOOLS_COMMAND_H

#include "core/field.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_INT,    /* long; OPTION_UNSET when not given and without a default */
    OPTION_DOUBLE, /* double, finite; NAN when not given and without a default */
    OPTION_STRING, /* const char *; NULL when not given and without a default */
    OPTION_CHOICE, /* const char *, one of the names of `choice` */
    OPTION_FLAG,   /* int, 1 when given; takes no value */
    OPTION_LIST    /* word_list of all its values, or of all further positional arguments */
} option_kind;

typedef struct option {
    /* without dashes; for a positional argument the upper-case word shown in --help. The table ends
     * with a NULL name. */
    const char *name;
    option_kind kind;
    size_t offset; /* of the value in the subcommand's struct of values */
    const char *help;
    const char *default_value;    /* the default as text, or NULL */
    const char *value;            /* name of the value in --help; NULL: N, X, TEXT or NAME */
    double low, high;             /* bounds of a number, both included */
    const char *(*choice)(int i); /* returns the i-th allowed name, NULL past the last */
    /* For shell completion: returns the i-th suggested value; or the table with the field that the
     * option is named after. Both may be NULL. */
    const char *(*offers)(int i);
    const ssm2d_field *fields;
    char letter;    /* for the short form -o, or 0 */
    int positional; /* an argument without a name, in the order of the table */
    int optional;   /* a positional argument that may be missing though it has no default */
    int required;   /* an option that must be given */
    int model;      /* a run or a model file: zoo:NAME stands for a file (zoo_model.h) */
} option;

typedef struct word_list {
    char **words; /* in the memory of argv */
    int count;
} word_list;

enum { HELP_USUAL = 1, HELP_ALL };
#define OPTION_UNSET LONG_MIN
enum { COMMAND_VALUES = 512 }; /* bytes that a struct of values may have */
enum { OPTION_KEY = 64 };      /* of the name of an option or setting */

typedef struct help_page help_page; /* help.h */

/* How a command works when mpirun starts it in several processes; see processes.h. */
typedef enum several_kind {
    SEVERAL_REFUSED,  /* it works only in one process */
    SEVERAL_TOGETHER, /* the processes are one MPI job */
    SEVERAL_APART     /* the processes are independent and coordinate by files */
} several_kind;

/* Groups of options in the help: an entry is the title of a group, or the name of an option (as in
 * the table) of the last group. The list ends with an entry that has neither. */
typedef struct option_group {
    const char *title, *name;
} option_group;

typedef struct command {
    const char *name;
    const char *summary; /* one line for `ssm2d --help`, at most 60 characters */
    /* for `ssm2d NAME --help`: paragraphs, which the frame wraps; lines that start with a space are
     * printed as they are */
    const char *about;
    const option *options;
    /* refuses options that contradict each other (exit 2); may be NULL */
    ssm2d_status (*check)(const void *values, ssm2d_error *error);
    ssm2d_status (*run)(ssm2d_context *context, const void *values, ssm2d_error *error);
    int lists_fields; /* --help ends with the fields of a layer's configuration */
    /* NULL, or a NULL-terminated list of commands named `NAME PART`: the word after NAME chooses
     * one, which has its own options and run */
    const struct command *const *parts;
    /* prints further lists at the end of --help, with the functions of help.h; may be NULL */
    void (*more_help)(const help_page *page);
    /* For a command that has --set: if an unknown option --name is a setting, copies it to key,
     * sets *flag if it is true or false, and returns 1; otherwise returns 0. May be NULL. */
    int (*setting)(const char *name, char key[OPTION_KEY], int *flag);
    several_kind several;
    /* For a command with many options: --help prints `brief` instead of `about` and the options in
     * `usual`, a NULL-terminated list of names; --help=all and man pages have all, in groups. */
    const char *brief;
    const char *const *usual;
    const option_group *groups;
} command;

extern const command command_layer, command_kernels, command_filter, command_bench, command_run,
    command_models, command_train, command_eval, command_predict, command_curves, command_data,
    command_arena, command_reproduce, command_report, command_export, command_theory,
    command_quantize, command_zoo;

/* Runs the tool; commands is a NULL-terminated list. Returns the exit code. */
int command_main(const command *const *commands, int argc, char **argv);

/* Parses the words after the command's name into values, a struct of zeros before. Sets *help to
 * HELP_USUAL or HELP_ALL when --help or --help=all is among them. Strings point into argv. */
ssm2d_status command_parse(const command *c, int argc, char **argv, void *values, long *threads,
                           int *help, ssm2d_error *error);

/* Copies the option's name as users write it to text and returns text: with dashes in place of the
 * underscores in the table, whose names may be those of a struct's fields. */
const char *option_name(const option *o, char text[OPTION_KEY]);

/* Splits key=value; name, the option's, is for messages. *value points into word. */
ssm2d_status option_pair(const char *name, const char *word, char key[OPTION_KEY],
                         const char **value, ssm2d_error *error);

#endif
