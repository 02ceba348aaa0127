/* ssm2d theory - what the paper proves, as tables and pictures of kernels that the library
 * computes. */
#include "theory.h"

#include "core/status.h"
#include "draw/canvas.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    const char *topic, *output;
    long side, seed;
} values;

static const theory_topic *const topics[] = {&theory_pascal, &theory_ranks, &theory_special_case,
                                             &theory_paths, &theory_relaxation};
enum { TOPICS = sizeof topics / sizeof *topics };

static const char *topic_at(int i) { return i >= 0 && i < TOPICS ? topics[i]->name : NULL; }

static const option options[] = {
    {"TOPIC", OPTION_CHOICE, offsetof(values, topic), "topic to show (default: all of them)",
     .positional = 1, .optional = 1, .choice = topic_at},
    {"output", OPTION_STRING, offsetof(values, output),
     "picture of the topic to write: .png, .svg or .pdf", .value = "FILE", .letter = 'o'},
    {"side", OPTION_INT, offsetof(values, side),
     "rows and columns of the kernels (default: 5 as in the paper, for ranks and relaxation 16)",
     .low = 2, .high = THEORY_SIDE},
    {"seed", OPTION_INT, offsetof(values, seed),
     "random seed of the kernels with random parameters", .low = 0, .high = INT_MAX,
     .default_value = "0"},
    {0}};

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (o->output && !o->topic)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "--output needs a topic, such as ssm2d theory pascal -o pascal.png");
    return o->output ? canvas_check(o->output, error) : SSM2D_OK;
}

static ssm2d_status show(ssm2d_context *context, const theory_topic *t, const values *o,
                         ssm2d_error *error)
{
    const theory_view view = {o->side == OPTION_UNSET ? t->side : (int)o->side, (uint64_t)o->seed};
    printf("%s\n\n", t->title);
    ssm2d_status status = t->print(context, &view, error);
    if (status || !o->output) return status;
    status = t->draw(context, &view, o->output, error);
    if (status) return status;
    printf("\n");
    written_print(o->output, "%s", t->title);
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    ssm2d_status status = SSM2D_OK;
    for (int i = 0, shown = 0; i < TOPICS && !status; i++) {
        if (o->topic && strcmp(o->topic, topics[i]->name)) continue;
        if (shown++) printf("\n");
        status = show(context, topics[i], o, error);
    }
    return status;
}

static const char about[] =
    "Shows what the paper proves about the kernels of the layer and of S4ND, and where its text "
    "needs a correction. Every value comes from a kernel that the library computes in double, from "
    "a single system with the coefficients that the table names.\n"
    "\n"
    "  ssm2d theory\n"
    "  ssm2d theory paths -o figure2.pdf\n"
    "\n"
    "paths with its picture is the paper's Figure 2; its Figure 3 is ssm2d kernels --figure3.";

static void more_help(const help_page *page)
{
    help_heading(page, "topics");
    for (int i = 0; i < TOPICS; i++) help_entry(page, topics[i]->name, topics[i]->title);
}

const command command_theory = {.name = "theory",
                                .summary = "show what the paper proves about kernels",
                                .about = about,
                                .options = options,
                                .check = check_values,
                                .run = run,
                                .more_help = more_help};
