/* Parsing the command line and running a command; the texts of --help are in help.c. */
#include "command.h"

#include "core/processors.h"
#include "core/status.h"
#include "core/suggest.h"
#include "generate.h"
#include "help.h"
#include "io/image.h"
#include "io/text.h"
#include "processes.h"
#include "stop_signals.h"
#include "zoo_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, MAX_NAMES = 64, SHOWN = 64 };

const option common_options[] = {{"threads", OPTION_INT, 0, "threads to use; 0: one per processor",
                                  .low = 0, .high = 1024, .default_value = "0"},
                                 {"help", OPTION_FLAG, 0, "print this text", .letter = 'h'},
                                 {0}};
static const option *const help_option = &common_options[1];

typedef struct parsing {
    const command *command;
    char *values;
    long *threads;
    int *help;
    /* argv; the words of lists are moved to its start, over words read before: list after list, in
     * the order of the table */
    char **words;
    unsigned char given[MAX_NAMES]; /* by index in the table */
} parsing;

/* Copies a word of the command line to buffer, escaped for messages, and returns buffer. */
static const char *escaped(const char *word, char *buffer)
{
    return text_show(word, strlen(word), buffer, SHOWN);
}

const char *option_name(const option *o, char text[OPTION_KEY])
{
    snprintf(text, OPTION_KEY, "%s", o->name);
    for (char *c = text; !o->positional && *c; c++)
        if (*c == '_') *c = '-';
    return text;
}

/* Writes the option as users know it, --out or CASE_DIR, to text and returns text. */
static const char *shown(const option *o, char *text, size_t size)
{
    char name[OPTION_KEY];
    snprintf(text, size, "%s%s", o->positional ? "" : "--", option_name(o, name));
    return text;
}

static ssm2d_status parse_number(const option *o, const char *name, const char *text,
                                 double *number, ssm2d_error *error)
{
    char *end, buffer[SHOWN];
    int whole = o->kind == OPTION_INT;
    errno = 0;
    *number = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    if (end == text || *end || (errno == ERANGE && whole) || !isfinite(*number) || *number < o->low
        || *number > o->high)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%s: use a %s from %.15g to %.15g", name,
                    escaped(text, buffer), whole ? "whole number" : "number", o->low, o->high);
    return SSM2D_OK;
}

static ssm2d_status parse_choice(const option *o, const char *name, const char *text,
                                 const char **value, ssm2d_error *error)
{
    char list[320] = "", buffer[SHOWN];
    const char *names[MAX_NAMES + 1];
    int count = 0;
    for (; o->choice(count) && count < MAX_NAMES; count++) {
        names[count] = o->choice(count);
        if (!strcmp(names[count], text)) {
            *value = names[count];
            return SSM2D_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", names[count]);
    }
    names[count] = NULL;
    const char *near = closest_name(text, names);
    if (near && count > 8)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%s: did you mean %s? Use one of %s", name,
                    escaped(text, buffer), near, list);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%s: use one of %s", name, escaped(text, buffer),
                list);
}

/* Checks the text and stores its value at place. */
static ssm2d_status set_value(const option *o, const char *text, void *place, ssm2d_error *error)
{
    char name[OPTION_KEY + 2];
    double number;
    ssm2d_status status = SSM2D_OK;
    shown(o, name, sizeof name);
    switch (o->kind) {
    case OPTION_INT:
        status = parse_number(o, name, text, &number, error);
        if (!status) *(long *)place = (long)number;
        break;
    case OPTION_DOUBLE:
        status = parse_number(o, name, text, &number, error);
        if (!status) *(double *)place = number;
        break;
    case OPTION_STRING:
        if (!*text) return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the text is empty", name);
        *(const char **)place = text;
        break;
    case OPTION_CHOICE: status = parse_choice(o, name, text, place, error); break;
    case OPTION_FLAG: *(int *)place = 1; break;
    case OPTION_LIST: break; /* see add_word */
    }
    return status;
}

static ssm2d_status set_default(const option *o, void *place, ssm2d_error *error)
{
    if (o->default_value) return set_value(o, o->default_value, place, error);
    if (o->kind == OPTION_INT) *(long *)place = OPTION_UNSET;
    if (o->kind == OPTION_DOUBLE) *(double *)place = NAN;
    return SSM2D_OK;
}

static const option *find(const option *table, const char *name, size_t length, char letter)
{
    char known[OPTION_KEY];
    for (const option *o = table; o->name; o++) {
        if (o->positional) continue;
        if (letter ? o->letter == letter
                   : strlen(o->name) == length && !strncmp(option_name(o, known), name, length))
            return o;
    }
    return NULL;
}

static void *place_of(parsing *p, const option *o)
{
    if (o == &common_options[0]) return p->threads;
    if (o == help_option) return p->help;
    p->given[o - p->command->options] = 1;
    return p->values + o->offset;
}

/* Appends a word to a list, and moves the lists after it. */
static ssm2d_status add_word(parsing *p, const option *to, const char *word, ssm2d_error *error)
{
    char name[OPTION_KEY + 2];
    int used = 0, at = -1; /* words of the lists so far; where the new one goes */
    if (!*word)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the text is empty",
                    shown(to, name, sizeof name));
    for (const option *o = p->command->options; o->name; o++) {
        word_list *list = (word_list *)(void *)(p->values + o->offset);
        if (o->kind != OPTION_LIST) continue;
        list->words = p->words + used;
        if (o == to) at = used + list->count++;
        used += list->count;
    }
    place_of(p, to); /* notes that it is given */
    memmove(p->words + at + 1, p->words + at, (size_t)(used - 1 - at) * sizeof *p->words);
    p->words[at] = (char *)word;
    return SSM2D_OK;
}

static ssm2d_status give_value(parsing *p, const option *o, const char *text, ssm2d_error *error)
{
    const ssm2d_status status = o->model ? zoo_resolve(&text, error) : SSM2D_OK;
    if (status) return status;
    return o->kind == OPTION_LIST ? add_word(p, o, text, error)
                                  : set_value(o, text, place_of(p, o), error);
}

/* Refuses an option that names a setting, and says how to give the setting. value: the word after
 * the option, or NULL. */
static ssm2d_status is_setting(const char *word, const char *key, int flag, const char *value,
                               ssm2d_error *error)
{
    char buffer[SHOWN];
    if (flag && (!value || (strcmp(value, "true") && strcmp(value, "false")))) value = "true";
    return fail(error, SSM2D_ERROR_ARGUMENT, "unknown option %s; it is a setting: --set %s=%s",
                word, key, value ? escaped(value, buffer) : "VALUE");
}

static ssm2d_status unknown_option(const command *c, const char *word, const char *name,
                                   const char *value, ssm2d_error *error)
{
    const char *names[MAX_NAMES + 3];
    char texts[MAX_NAMES + 3][OPTION_KEY], key[OPTION_KEY];
    int n = 0, flag = 0;
    if (c->setting && word[1] == '-' && c->setting(name, key, &flag))
        return is_setting(word, key, flag, value, error);
    for (const option *o = c->options; o->name && n < MAX_NAMES; o++)
        if (!o->positional) names[n] = option_name(o, texts[n]), n++;
    for (const option *o = common_options; o->name; o++) names[n] = option_name(o, texts[n]), n++;
    names[n] = NULL;
    const char *near = closest_name(name, names);
    if (near)
        return fail(error, SSM2D_ERROR_ARGUMENT, "unknown option %s; did you mean --%s?", word,
                    near);
    return fail(error, SSM2D_ERROR_ARGUMENT, "unknown option %s; see ssm2d %s --help", word,
                c->name);
}

/* Parses the option at argv[0]; sets *used to the number of words that it takes. */
static ssm2d_status parse_option(parsing *p, int argc, char **argv, int *used, ssm2d_error *error)
{
    const char *word = argv[0];
    int is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t length = is_long ? strcspn(name, "=") : 1;
    const char *value =
        is_long ? (name[length] ? name + length + 1 : NULL) : (name[1] ? name + 1 : NULL);
    char letter = is_long ? 0 : *name, text[OPTION_KEY + 2];

    const option *o = find(p->command->options, name, length, letter);
    if (!o) o = find(common_options, name, length, letter);
    if (!o) {
        char bare[SHOWN], whole[SHOWN + 2];
        snprintf(whole, sizeof whole, "%s%s", is_long ? "--" : "-",
                 text_show(name, length, bare, sizeof bare));
        if (!value && argc > 1 && argv[1][0] != '-') value = argv[1];
        return unknown_option(p->command, whole, bare, value, error);
    }
    *used = 1;
    if (o == help_option && value && !strcmp(value, "all")) {
        *p->help = HELP_ALL;
        return SSM2D_OK;
    }
    if (o->kind == OPTION_FLAG) {
        if (value)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s takes no value",
                        shown(o, text, sizeof text));
    } else if (!value) {
        if (argc < 2)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s needs a value",
                        shown(o, text, sizeof text));
        value = argv[1];
        *used = 2;
    }
    return give_value(p, o, value, error);
}

static ssm2d_status parse_positional(parsing *p, const char *word, ssm2d_error *error)
{
    char buffer[SHOWN];
    for (const option *o = p->command->options; o->name; o++)
        if (o->positional && (o->kind == OPTION_LIST || !p->given[o - p->command->options]))
            return give_value(p, o, word, error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "unexpected argument %s; see ssm2d %s --help",
                escaped(word, buffer), p->command->name);
}

ssm2d_status command_parse(const command *c, int argc, char **argv, void *values, long *threads,
                           int *help, ssm2d_error *error)
{
    parsing p = {c, values, threads, help, argv, {0}};
    ssm2d_status status = SSM2D_OK;
    *threads = 0;
    *help = 0;
    for (const option *o = c->options; o->name && !status; o++)
        status = set_default(o, p.values + o->offset, error);

    int options_over = 0;
    for (int i = 0, used; i < argc && !status && !*help; i += used) {
        used = 1;
        if (!options_over && !strcmp(argv[i], "--"))
            options_over = 1;
        else if (!options_over && argv[i][0] == '-' && argv[i][1])
            status = parse_option(&p, argc - i, argv + i, &used, error);
        else
            status = parse_positional(&p, argv[i], error);
    }
    if (*help) return SSM2D_OK;
    for (const option *o = c->options; o->name && !status; o++) {
        char name[OPTION_KEY + 2];
        if ((o->required || (o->positional && !o->default_value && !o->optional))
            && !p.given[o - c->options])
            status = fail(error, SSM2D_ERROR_ARGUMENT, "%s is missing; see ssm2d %s --help",
                          shown(o, name, sizeof name), c->name);
    }
    if (!status && c->check) status = c->check(values, error);
    return status;
}

ssm2d_status option_pair(const char *name, const char *word, char key[OPTION_KEY],
                         const char **value, ssm2d_error *error)
{
    char buffer[SHOWN];
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || equals - word >= OPTION_KEY)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s %s: write it as key=value", name,
                    escaped(word, buffer));
    snprintf(key, OPTION_KEY, "%.*s", (int)(equals - word), word);
    *value = equals + 1;
    return SSM2D_OK;
}

static int complain(const char *command_name, const ssm2d_error *error, int code)
{
    if (processes_speak())
        fprintf(stderr, "ssm2d%s%s: %s\n", command_name ? " " : "",
                command_name ? command_name : "", error->line);
    return code;
}

/* A few more threads than processors do little harm, and tests use them; many more are a mistake,
 * but no reason to fail. */
static void warn_of_threads(const command *c, long threads)
{
    const int processors = processors_available();
    if (threads > 4L * processors && processes_speak())
        fprintf(stderr, "ssm2d %s: --threads=%ld: there %s only %d processor%s, so this is slow\n",
                c->name, threads, processors == 1 ? "is" : "are", processors,
                processors == 1 ? "" : "s");
}

static int run_command(const command *c, int argc, char **argv)
{
    _Alignas(max_align_t) char values[COMMAND_VALUES] = {0};
    ssm2d_context_options context_options = ssm2d_context_options_default();
    ssm2d_context *context = NULL;
    ssm2d_error error = {""};
    long threads;
    int help, code = EXIT_USAGE;
    if (processes_join(c, &error)) return complain(c->name, &error, EXIT_USAGE);
    const char *words = processes_words(argc, argv);
    ssm2d_status status = command_parse(c, argc, argv, values, &threads, &help, &error);
    if (status && processes()->size == 1) return complain(c->name, &error, EXIT_USAGE);
    if (help) {
        help_command(stdout, c, help == HELP_ALL);
        processes_leave(EXIT_DONE);
        return EXIT_DONE;
    }
    warn_of_threads(c, status ? 0 : threads);
    context_options.threads = status ? 1 : processes_threads(threads);
    ssm2d_error why;
    const ssm2d_status bad = ssm2d_context_create(&context_options, &context, &why);
    if (bad) {
        status = bad; /* it cannot join the others, which see it end */
        error = why;
        code = EXIT_FAILED;
    } else {
        status = cluster_meet(processes(), context, words, status, &error);
        if (!status) {
            status = c->run(context, values, &error);
            code = status ? stop_signals_code(EXIT_FAILED) : EXIT_DONE;
        }
    }
    fflush(stdout);
    if (status) {
        processes_failed(&error);
        complain(c->name, &error, code);
    }
    processes_leave(code);
    ssm2d_context_destroy(context);
    return code;
}

static int unknown_part(const command *c, const char *word)
{
    char list[160] = "", buffer[SHOWN];
    ssm2d_error error;
    for (int i = 0; c->parts[i]; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                 help_part_word(c->parts[i]));
    }
    fail(&error, SSM2D_ERROR_ARGUMENT, "unknown part %s: use one of %s", escaped(word, buffer),
         list);
    return complain(c->name, &error, EXIT_USAGE);
}

/* Returns the part of a command, or NULL. */
static const command *find_part(const command *c, const char *word)
{
    for (int i = 0; c->parts[i]; i++)
        if (!strcmp(help_part_word(c->parts[i]), word)) return c->parts[i];
    return NULL;
}

static int is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "--help=all") || !strcmp(word, "-h");
}

/* Runs a command of several parts: the first word chooses one. */
static int run_part(const command *c, int argc, char **argv)
{
    if (argc < 1) {
        help_parts(stderr, c);
        return EXIT_USAGE;
    }
    if (is_help(argv[0])) {
        help_parts(stdout, c);
        return EXIT_DONE;
    }
    const command *part = find_part(c, argv[0]);
    return part ? run_command(part, argc - 1, argv + 1) : unknown_part(c, argv[0]);
}

static int unknown_command(const command *const *commands, const char *word)
{
    const char *names[MAX_NAMES + 3] = {"help", "version"};
    char buffer[SHOWN];
    ssm2d_error error;
    int n = 2;
    while (n < MAX_NAMES && commands[n - 2]) names[n] = commands[n - 2]->name, n++;
    names[n] = NULL;
    const char *near = closest_name(word, names);
    if (near)
        fail(&error, SSM2D_ERROR_ARGUMENT, "unknown command %s; did you mean %s?",
             escaped(word, buffer), near);
    else
        fail(&error, SSM2D_ERROR_ARGUMENT, "unknown command %s; see ssm2d --help",
             escaped(word, buffer));
    return complain(NULL, &error, EXIT_USAGE);
}

static const command *find_command(const command *const *commands, const char *name)
{
    for (; *commands; commands++)
        if (!strcmp((*commands)->name, name)) return *commands;
    return NULL;
}

static int unexpected(const char *word, const char *after)
{
    char buffer[SHOWN];
    ssm2d_error error;
    fail(&error, SSM2D_ERROR_ARGUMENT, "unexpected argument %s", escaped(word, buffer));
    return complain(after, &error, EXIT_USAGE);
}

/* `help`, `help COMMAND` and `help COMMAND PART`: what --help prints in their place. */
static int run_help(const command *const *commands, int argc, char **argv)
{
    const command *c = argc > 0 ? find_command(commands, argv[0]) : NULL;
    if (argc < 1 || is_help(argv[0]) || !strcmp(argv[0], "help")) {
        help_overall(stdout, commands);
        return EXIT_DONE;
    }
    if (!c) return unknown_command(commands, argv[0]);
    const int words = argc > 1 && c->parts ? 2 : 1;
    const command *part = words == 2 ? find_part(c, argv[1]) : NULL;
    if (words == 2 && !part) return unknown_part(c, argv[1]);
    if (argc > words) return unexpected(argv[words], "help");
    if (part || !c->parts)
        help_command(stdout, part ? part : c, 0);
    else
        help_parts(stdout, c);
    return EXIT_DONE;
}

/* Words in the place of a command that are not commands: help, version, and their options. */
static int run_other(const command *const *commands, int argc, char **argv)
{
    const char *first = argv[0];
    if (!strcmp(first, "help")) return run_help(commands, argc - 1, argv + 1);
    if (is_help(first)) return run_help(commands, 0, NULL);
    if (!strcmp(first, "version") || !strcmp(first, "--version") || !strcmp(first, "-V")) {
        if (argc > 1) return unexpected(argv[1], "version");
        printf("ssm2d %s\nreads %s\n", ssm2d_version(), image_kinds((char[IMAGE_LIST]){0}));
        return EXIT_DONE;
    }
    if (!strcmp(first, "--generate")) { /* for the build */
        ssm2d_error error;
        if (argc == 3 && !generate(argv[1], argv[2], commands, &error)) return EXIT_DONE;
        if (argc != 3)
            fail(&error, SSM2D_ERROR_ARGUMENT,
                 "--generate needs man, bash, zsh or fish, and a folder");
        return complain(NULL, &error, argc == 3 ? EXIT_FAILED : EXIT_USAGE);
    }
    return unknown_command(commands, first);
}

int command_main(const command *const *commands, int argc, char **argv)
{
    int code = EXIT_USAGE;
    const command *chosen = argc > 1 ? find_command(commands, argv[1]) : NULL;
    if (chosen)
        code = (chosen->parts ? run_part : run_command)(chosen, argc - 2, argv + 2);
    else if (argc > 1)
        code = run_other(commands, argc - 1, argv + 1);
    else
        help_overall(stderr, commands);
    /* A failed write to standard output, as on a full disk, is a failure too. The cause of an
     * earlier one is no longer known. */
    const int earlier = ferror(stdout);
    if (fflush(stdout) || earlier) {
        fprintf(stderr, "ssm2d: standard output: %s\n",
                earlier ? "could not be written completely" : strerror(errno));
        return EXIT_FAILED;
    }
    return code;
}
