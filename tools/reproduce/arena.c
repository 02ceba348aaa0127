/* ssm2d arena - every mixer in the same models under the same recipe: the experiment `arena` of
 * `ssm2d reproduce`, with options of its own. */
#include "core/status.h"
#include "data/dataset.h"
#include "reproduce_options.h"
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
    reproduce_values run;
    const char *data, *models, *mixers;
} values;

enum { WORD = DATA_SPEC + 16, PATTERNS = 1024 };

#define RUN_PLACE(member) offsetof(values, run.member)
static const option options[] = {
    {"data", OPTION_STRING, offsetof(values, data),
     "data with one class per image, as --data of ssm2d train; stored in DIR", .value = "DATA"},
    {"out", OPTION_STRING, RUN_PLACE(out),
     "folder for runs, table and picture; several processes may share it", .value = "DIR",
     .letter = 'o', .required = 1},
    {"models", OPTION_STRING, offsetof(values, models),
     "run only these models, separated by commas, such as vit-mini,swin-mini (default: all)",
     .value = "LIST"},
    {"mixers", OPTION_STRING, offsetof(values, mixers),
     "run only these rows of the table, separated by commas, such as none,SS2D or *matched* "
     "(default: all)",
     .value = "LIST"},
    {"scale", OPTION_CHOICE, RUN_PLACE(scale),
     "full: vit and swin, as the paper trains them; small: models for two cores, 20,000 images, 15 "
     "epochs; tiny: minutes (default: as before in DIR, else small)",
     .choice = experiment_scale_name},
#include "run_options.def"
    {0}};

_Static_assert(sizeof(values) <= COMMAND_VALUES, "COMMAND_VALUES is too small for the values");

/* What the options mean to reproduce; the words are in the texts. */
typedef struct translated {
    reproduce_values values;
    char data[WORD], columns[PATTERNS], rows[PATTERNS];
    char *words[1];
} translated;

/* A list separated by commas as patterns separated by bars. */
static ssm2d_status patterns(const char *name, const char *list, char text[PATTERNS],
                             const char **out, ssm2d_error *error)
{
    if (!list) return SSM2D_OK;
    if (strlen(list) >= PATTERNS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--%s: the list is too long", name);
    snprintf(text, PATTERNS, "%s", list);
    for (char *s = text; *s; s++)
        if (*s == ',') *s = '|';
    *out = text;
    return SSM2D_OK;
}

static ssm2d_status translate(const values *o, translated *t, ssm2d_error *error)
{
    t->values = o->run;
    t->values.name = "arena";
    t->values.rows_option = "mixers";
    t->values.columns_option = "models";
    ssm2d_status status = patterns("models", o->models, t->columns, &t->values.columns, error);
    if (!status) status = patterns("mixers", o->mixers, t->rows, &t->values.rows, error);
    if (status || !o->data) return status;
    if (strlen(o->data) >= DATA_SPEC)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--data: the name of the folder is too long");
    snprintf(t->data, sizeof t->data, "images=%s", o->data);
    t->words[0] = t->data;
    t->values.data = (word_list){t->words, 1};
    return SSM2D_OK;
}

static ssm2d_status check_values(const void *v, ssm2d_error *error)
{
    translated t;
    const ssm2d_status status = translate(v, &t, error);
    return status ? status : reproduce_check(&t.values, error);
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    translated t;
    const ssm2d_status status = translate(v, &t, error);
    return status ? status : reproduce_run(context, &t.values, error);
}

static const char about[] =
    "Trains the same models with every mixer under one recipe - none, convolutions of 3x3 and 7x7, "
    "EMA, S4ND, the 2-D SSM (real, complex and selective), and the selective scans SS2D, Mamba2D, "
    "2DMamba, Chimera and Roesser - and writes DIR/arena.md, .csv and .json with accuracy, time, "
    "parameters and memory, and a picture. Each mixer is there as it is, and matched: with MLPs "
    "widened until every model of a column has as many parameters.\n"
    "\n"
    "  ssm2d arena --data cifar10:FOLDER --models vit-mini,swin-mini --out runs/arena\n"
    "  ssm2d arena --data fashion-mnist --scale tiny --out runs/tiny\n"
    "\n"
    "Ctrl-C saves and stops; the same command continues. Runs, tables and options are those of "
    "ssm2d reproduce arena, which has some more options.";

const command command_arena = {.name = "arena",
                               .summary = "compare all mixers under one recipe",
                               .about = about,
                               .options = options,
                               .check = check_values,
                               .run = run,
                               .several = SEVERAL_APART};
