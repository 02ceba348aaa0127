/* reproduce_plan - the runs that fill the cells of an experiment's table.
 *
 * A run is the words of an `ssm2d train` command; its folder is OUT/runs/NAME, whose name contains
 * the data, the model and all settings that differ from their defaults. So experiments that need
 * the same run share it, and a name means one run wherever it is planned. */
#ifndef SSM2D_TOOLS_REPRODUCE_PLAN_H
#define SSM2D_TOOLS_REPRODUCE_PLAN_H

#include "published.h"
#include "reproduce_data.h"
#include "train/settings.h"

enum { PLAN_SETS = 64 }; /* words of --set, at most */
enum { PLAN_SIZES = 8 }; /* sizes of --test-sizes */
enum { PLAN_NAME = 240, PLAN_SETUP = 216, PLAN_WORDS = 128, PLAN_TEXT = 4096, PLAN_PATH = 2048 };

typedef struct planned_run {
    char name[PLAN_NAME];
    char setup[PLAN_SETUP]; /* the name without the seed */
    char folder[PLAN_PATH]; /* OUT/runs/NAME */
    /* OUT/taken/NAME.json: an imported result; empty if the experiment also needs the weights */
    char taken[PLAN_PATH];
    const data_choice *data;
    int top5;                          /* is needed of it */
    int sizes[PLAN_SIZES], size_count; /* other sides of test images at which it is measured */
    int seed;
    char *words[PLAN_WORDS]; /* of the command, after `ssm2d`; in text */
    int count;
    char text[PLAN_TEXT];
} planned_run;

typedef struct plan_options {
    const experiment *experiment;
    experiment_scale scale;
    const word_list *data;    /* of --data */
    const data_facts *before; /* [DATA_NAMES]: what is known about data that are gone */
    const char *rows;         /* patterns ONE|TWO.. of the labels of rows to run; NULL: all */
    const char *columns;      /* the same of columns, or of the names of their data */
    const char *rows_option, *columns_option; /* which options these were, for messages */
    const char *out;
    long seeds, epochs; /* epochs 0: the form's */
    published_variant variant;
    double lr;      /* of every run; 0: the recipe's */
    word_list sets; /* KEY=VALUE for every run that has the setting */
    int sizes[PLAN_SIZES], size_count;
    int placeholder; /* show missing data as NAME:FOLDER */
} plan_options;

typedef struct plan {
    const ssm2d_context *context;
    plan_options options;
    const experiment_form *form;
    int rows, columns;
    /* Whether row and column match the patterns, so that the cell is to be run. */
    char chosen[EXPERIMENT_ROWS][EXPERIMENT_COLUMNS];
    double widths[EXPERIMENT_ROWS][EXPERIMENT_COLUMNS]; /* MATCH_KEY of matched rows; 0: own */
    /* By the names of data that the experiment has; those without a name are missing. */
    data_choice choices[EXPERIMENT_COLUMNS + EXPERIMENT_ROWS];
    int choice_count;
    planned_run *runs; /* [all]: those of chosen cells come first */
    int count;         /* of chosen cells */
    int all;
    uint64_t used; /* words of options.sets that a run has, as bits */
    int *cells;    /* [seeds][rows][columns]: the index of its run; -1: none */
} plan;

/* Plans the runs. Fails if no column has data, naming what is missing. Data that have disappeared
 * do not matter until a run needs them. The caller destroys it. */
ssm2d_status plan_create(ssm2d_context *context, const plan_options *options, plan *p,
                         ssm2d_error *error);
void plan_destroy(plan *p);

/* Plans the run of a cell with one seed; with MLPs of this width, unless it is 0, and with those
 * settings of --set that it has, which are marked in p->used: mixer.n_ssm, for example, is nothing
 * that a model without a mixer has. */
ssm2d_status plan_write_run(plan *p, const experiment_row *r, const experiment_column *c,
                            const data_choice *data, double width, int seed, planned_run *run,
                            ssm2d_error *error);
/* The run of a cell, or NULL. */
const planned_run *plan_cell(const plan *p, int seed, int row, int column);
/* The data of a cell. */
const data_choice *plan_data(const plan *p, int row, int column);
/* The settings that the words of a run mean to `ssm2d train`. */
ssm2d_status plan_settings(const planned_run *run, train_settings *settings, ssm2d_error *error);
/* Prints `ssm2d train ..`, or `ssm2d train --resume ..`, as a line for a shell; threads 0: as many
 * as there are processors. */
void plan_print_command(FILE *out, const planned_run *run, int resume, int threads);
/* Prints a word quoted for the shell. */
void plan_print_word(FILE *out, const char *word);

#endif
